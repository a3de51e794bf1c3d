// The latest events: changes, plans, rejections, statuses, alarms and models.

import { el, labelled, link } from "./dom.js";
import { state } from "./live.js";
import { col, name, num, planColumn, sentence, Table, when } from "./table.js";
import { number, whole, words } from "./text.js";

const KINDS = { CHANGE: "", PLAN: "", REJECTED: "bad", INFEASIBLE: "bad", STATUS: "", ALARM: "warn", MODEL: "good" };
const REDRAW_MS = 200;

function summaryText({ lag, planning, answers, medianMs, p99Ms }) {
  return `The planner lags ${lag === null ? "an unknown number of" : number(lag)} records behind; ${number(planning)} workloads are pending. ` +
    (answers
      ? `Planning latency, from the write of a change to the write of its plan: median ${whole(medianMs)}, p99 ${whole(p99Ms)}, over the latest ${number(answers)} plans.`
      : "No change was planned since this server started.");
}

const aboutLink = (id, event) => (!id ? "" : event.kind === "MODEL" ? link(id, "learning") : link(id, "workload", id));

export function events() {
  let paused = false;
  let timer = null;
  const table = new Table({
    caption: "The latest 500 events, the latest first",
    name: "Events",
    filter: "Filter",
    key: (event) => event.number,
    sort: 7,
    descending: true,
    columns: [
      when("Time", "at"),
      col("Kind", (event) => words(event.kind), (text, event) => el("span", { class: KINDS[event.kind] }, text)),
      name("Workload or hardware", "about", aboutLink), col("Code", "code"), sentence("Description", "text"),
      planColumn("Plan", "planId"), num("Planning latency", "answeredMs", whole), num("Number", "number"),
    ],
  });
  const summary = el("p", { class: "soft" });
  const select = el("select", { onchange: () => showEvents() },
    el("option", { value: "" }, "all"),
    Object.keys(KINDS).map((code) => el("option", { value: code }, words(code))));
  const pause = el("button", {
    type: "button",
    "aria-pressed": "false",
    onclick: () => {
      paused = !paused;
      pause.setAttribute("aria-pressed", String(paused));
      showEvents();
    },
  }, "Pause");
  function showEvents() {
    timer = null;
    if (!paused) table.set(state.events.filter((event) => !select.value || event.kind === select.value));
  }
  const showSummary = () => { summary.textContent = state.statistics ? summaryText(state.statistics) : ""; };
  showEvents();
  showSummary();
  return {
    title: "Events",
    node: el("div", {}, el("h1", {}, "Events"), summary, el("div", { class: "tools" }, labelled("Kind", select), pause), table.node),
    update(what) {
      if (what === "statistics") showSummary();
      if (what === "event" || what === "connected") timer ??= setTimeout(showEvents, REDRAW_MS);
    },
    close: () => clearTimeout(timer),
  };
}
