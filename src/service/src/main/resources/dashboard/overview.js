// A row for each workload.

import { el, link } from "./dom.js";
import { state } from "./live.js";
import { Table } from "./table.js";
import { ago, ms, number, percent, predictedStep, words } from "./text.js";

const ORDER = ["DOES_NOT_FIT", "REFUSED", "SLOW_DEVICE", "DRIFT", "PLANNING", "GOOD"];
const SIGNS = { DOES_NOT_FIT: "✕", REFUSED: "✕", SLOW_DEVICE: "▲", DRIFT: "▲", PLANNING: "…", GOOD: "✓" };
const CLASSES = { DOES_NOT_FIT: "bad", REFUSED: "bad", SLOW_DEVICE: "warn", DRIFT: "warn", PLANNING: "soft", GOOD: "good" };

/** Returns a workload's health as text; its tooltip says what is wrong. */
export const health = (row) =>
  el("span", { class: CLASSES[row.health], title: row.problem }, `${SIGNS[row.health]} ${words(row.health)}`);

export function overview() {
  const table = new Table({
    caption: "Workloads",
    filter: "Filter",
    key: (row) => row.workloadId,
    columns: [
      { title: "Workload", fixed: true, kind: "wide", value: (row) => row.workloadId, cell: (row) => link(row.workloadId, "workload", row.workloadId) },
      { title: "Health", value: (row) => ORDER.indexOf(row.health) + " " + words(row.health), cell: health },
      { title: "Generation", kind: "number", value: (row) => row.generation, cell: (row) => number(row.generation) },
      { title: "Tables", kind: "number", value: (row) => row.tables, cell: (row) => number(row.tables) },
      { title: "Devices", kind: "number", value: (row) => row.devices, cell: (row) => number(row.devices) },
      { title: "Predicted step", kind: "number", value: (row) => row.predictedMs, cell: predictedStep },
      { title: "Measured step", kind: "number", value: (row) => row.measuredMs, cell: (row) => ms(row.measuredMs) },
      { title: "Imbalance", kind: "number", value: (row) => row.imbalance, cell: (row) => percent(row.imbalance) },
      { title: "Last change", kind: "number", value: (row) => (row.changedAt ? Date.parse(row.changedAt) : null), cell: (row) => ago(row.changedAt) },
      { title: "Hardware", value: (row) => row.hardware },
    ],
  });
  table.set(state.rows.values());
  const empty = el("p", { class: "soft" }, "No workload has a plan yet. Publish its cluster and its tables: ", el("code", {}, "./shardtide publish --help"), ".");
  const showEmpty = () => { empty.hidden = state.rows.size > 0; };
  showEmpty();
  const timer = setInterval(() => table.refresh(), 5000);
  return {
    title: "Overview",
    node: el("div", {}, el("h1", {}, "Overview"), empty, table.node),
    update(kind, value) {
      if (kind === "workload") table.put(value);
      else if (kind === "connected" || kind === "deleted") table.set(state.rows.values());
      showEmpty();
    },
    close: () => clearInterval(timer),
  };
}
