// The latest events: changes, plans, rejections, statuses, alarms and models.

import { el, labelled, link } from "./dom.js";
import { state } from "./live.js";
import { Table } from "./table.js";
import { clock, number, short, whole, words } from "./text.js";

const KINDS = { CHANGE: "", PLAN: "", REJECTED: "bad", INFEASIBLE: "bad", STATUS: "", ALARM: "warn", MODEL: "good" };
const REDRAW_MS = 200;

export function events() {
  let paused = false;
  let kind = "";
  const table = new Table({
    caption: "The latest 500 events, the latest first",
    name: "Events",
    filter: "Filter",
    key: (event) => event.number,
    sort: 7,
    descending: true,
    columns: [
      { title: "Time", fixed: true, value: (event) => event.at, cell: (event) => clock(event.at) },
      { title: "Kind", fixed: true, value: (event) => words(event.kind), cell: (event) => el("span", { class: KINDS[event.kind] }, words(event.kind)) },
      { title: "Workload or hardware", fixed: true, kind: "wide", value: (event) => event.about, cell: about },
      { title: "Code", fixed: true, value: (event) => event.code },
      { title: "Description", fixed: true, kind: "long", value: (event) => event.text },
      { title: "Plan", fixed: true, value: (event) => event.planId, cell: (event) => (event.planId ? link(short(event.planId), "why", event.planId) : "") },
      { title: "Planning latency", fixed: true, kind: "number", value: (event) => event.answeredMs, cell: (event) => whole(event.answeredMs) },
      { title: "Number", fixed: true, kind: "number", value: (event) => event.number },
    ],
  });
  const summary = el("p", { class: "soft" });
  const showEvents = () => {
    if (!paused) table.set(state.events.filter((event) => !kind || event.kind === kind));
  };
  const showSummary = () => {
    const now = state.statistics;
    summary.textContent = now
      ? `The planner lags ${now.lag === null ? "an unknown number of" : number(now.lag)} records behind; ${number(now.planning)} workloads are pending. ` +
        (now.answers
          ? `Planning latency, from the write of a change to the write of its plan: median ${whole(now.medianMs)}, p99 ${whole(now.p99Ms)}, over the latest ${number(now.answers)} plans.`
          : "No change was planned since this server started.")
      : "";
  };
  const select = el("select", { onchange: (event) => { kind = event.target.value; showEvents(); } },
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
  showEvents();
  showSummary();
  let timer = null;
  return {
    title: "Events",
    node: el("div", {}, el("h1", {}, "Events"), summary, el("div", { class: "tools" }, labelled("Kind", select), pause), table.node),
    update(what) {
      if (what === "statistics") showSummary();
      if ((what === "event" || what === "connected") && !timer) {
        timer = setTimeout(() => { timer = null; showEvents(); }, REDRAW_MS);
      }
    },
    close: () => clearTimeout(timer),
  };
}

function about(event) {
  if (!event.about) return "";
  return event.kind === "MODEL" ? link(event.about, "learning") : link(event.about, "workload", event.about);
}
