// What happens, as it happens.

import { el, labelled, link } from "./dom.js";
import { state } from "./live.js";
import { Table } from "./table.js";
import { clock, short, whole, words } from "./text.js";

const CLASSES = { REJECTED: "bad", INFEASIBLE: "bad", ALARM: "warn", MODEL: "good" };

export function stream() {
  let paused = false;
  let kind = "";
  const table = new Table({
    caption: "The latest 500 entries, the latest first",
    name: "The stream",
    filter: "Filter",
    key: (entry) => entry.number,
    descending: true,
    columns: [
      { title: "Number", fixed: true, kind: "number", value: (entry) => entry.number },
      { title: "When", fixed: true, value: (entry) => entry.at, cell: (entry) => clock(entry.at) },
      { title: "What", fixed: true, value: (entry) => words(entry.kind), cell: (entry) => el("span", { class: CLASSES[entry.kind] }, words(entry.kind)) },
      { title: "About", fixed: true, kind: "wide", value: (entry) => entry.about, cell: (entry) => about(entry) },
      { title: "Code", fixed: true, value: (entry) => entry.code },
      { title: "In words", fixed: true, kind: "wide", value: (entry) => entry.text },
      { title: "Plan", fixed: true, value: (entry) => entry.planId, cell: (entry) => (entry.planId ? link(short(entry.planId), "why", entry.planId) : "") },
      { title: "Answered in", fixed: true, kind: "number", value: (entry) => entry.answeredMs, cell: (entry) => whole(entry.answeredMs) },
    ],
  });
  const facts = el("p", { class: "soft" });
  const show = () => {
    if (!paused) table.set(state.entries.filter((entry) => !kind || entry.kind === kind));
  };
  const beat = () => {
    const pulse = state.pulse;
    facts.textContent = pulse
      ? `Lag ${pulse.lag ?? "unknown"} records; ${pulse.planning} workloads wait for a plan; ` +
        (pulse.answers ? `of the latest ${pulse.answers} answers half came within ${whole(pulse.medianMs)}, 99 of 100 within ${whole(pulse.p99Ms)}` : "no change was answered since the dashboard began to read") +
        ", from the change being written to the plan being written."
      : "";
  };
  const select = el("select", { onchange: (event) => { kind = event.target.value; show(); } },
    el("option", { value: "" }, "everything"),
    ["CHANGE", "PLAN", "REJECTED", "INFEASIBLE", "STATUS", "ALARM", "MODEL"].map((k) => el("option", { value: k }, words(k))));
  const pause = el("button", {
    type: "button",
    "aria-pressed": "false",
    onclick: () => {
      paused = !paused;
      pause.setAttribute("aria-pressed", String(paused));
      show();
    },
  }, "Pause");
  show();
  beat();
  let timer = null;
  return {
    title: "The stream",
    node: el("div", {}, el("h1", {}, "The stream"), facts, el("div", { class: "tools" }, labelled("Show", select), pause), table.node),
    news(what) {
      if (what === "pulse") beat();
      if ((what === "entry" || what === "all") && !timer) {
        timer = setTimeout(() => { timer = null; show(); }, 200);
      }
    },
    close: () => clearTimeout(timer),
  };
}

function about(entry) {
  if (!entry.about) return "";
  return entry.kind === "MODEL" ? link(entry.about, "learning") : link(entry.about, "workload", entry.about);
}
