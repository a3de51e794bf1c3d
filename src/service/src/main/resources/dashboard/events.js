// The latest events: changes, plans, rejections, statuses, alarms and models.

import { button, el, labelled, link } from "./dom.js";
import { state } from "./live.js";
import { col, name, num, planColumn, sentence, Table, when } from "./table.js";
import { reasonOf, whole, words } from "./text.js";

const KINDS = { CHANGE: "", PLAN: "", REJECTED: "bad", INFEASIBLE: "bad", STATUS: "", ALARM: "warn", MODEL: "good" };
const REDRAW_MS = 200;

const aboutLink = (id, event) => (!id ? "" : event.kind === "MODEL" ? link(id, "learning") : link(id, "workload", id));

export function events() {
  let paused = false;
  let timer = null;
  const table = new Table({
    caption: "The latest 500 events, the latest first",
    name: "Events",
    filter: "Filter",
    key: (event) => event.number,
    largest: "Number",
    columns: [
      when("Time", "at"),
      col("Kind", (event) => words(event.kind), (text, event) => el("span", { class: KINDS[event.kind] }, text)),
      name("Workload or hardware", "about", aboutLink), col("Code", "code"), sentence("Description", (event) => reasonOf(event.text)),
      planColumn("Plan", "planId"), num("Planning latency", "answeredMs", whole), num("Number", "number"),
    ],
  });
  const select = el("select", { onchange: () => showEvents() },
    el("option", { value: "" }, "all"),
    Object.keys(KINDS).map((code) => el("option", { value: code }, words(code))));
  const pause = button("Pause", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    showEvents();
  }, { "aria-pressed": "false" });
  function showEvents() {
    timer = null;
    if (!paused) table.set(state.events.filter((event) => !select.value || event.kind === select.value));
  }
  showEvents();
  return {
    title: "Events",
    node: el("div", {}, el("h1", {}, "Events"), el("div", { class: "tools" }, labelled("Kind", select), pause), table.node),
    update(what) {
      if (what === "event" || what === "connected") timer ??= setTimeout(showEvents, REDRAW_MS);
    },
  };
}
