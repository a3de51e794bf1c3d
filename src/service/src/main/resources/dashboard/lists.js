// A row for each workload, and one for each pool of devices.

import { el, link, svg } from "./dom.js";
import { state } from "./live.js";
import { col, name, num, Table } from "./table.js";
import { ago, ms, number, percent, predictedStep, rate, words } from "./text.js";

const ORDER = ["DOES_NOT_FIT", "REFUSED", "SLOW_DEVICE", "DRIFT", "PLANNING", "GOOD"];
const SIGNS = { DOES_NOT_FIT: "✕", REFUSED: "✕", SLOW_DEVICE: "▲", DRIFT: "▲", PLANNING: "…", GOOD: "✓" };
const CLASSES = { DOES_NOT_FIT: "bad", REFUSED: "bad", SLOW_DEVICE: "warn", DRIFT: "warn", PLANNING: "soft", GOOD: "good" };

/** Returns a workload's health as text; its tooltip says what is wrong. */
export const health = (row) =>
  el("span", { class: CLASSES[row.health], title: row.problem }, `${SIGNS[row.health]} ${words(row.health)}`);

const changed = num("Last change", (row) => (row.changedAt ? Date.parse(row.changedAt) : null), (at, row) => ago(row.changedAt));

/** Shows the rows that live.js keeps: all of a map, whose updates are of a kind. */
function list({ title, caption, rows, kind, key, columns, empty }) {
  const table = new Table({ caption, filter: "Filter", key: (row) => row[key], columns });
  const none = el("p", { class: "soft" }, empty);
  const showAll = () => {
    table.set(rows().values());
    none.hidden = rows().size > 0;
  };
  showAll();
  const timer = setInterval(() => table.refresh(), 5000);
  return {
    title,
    node: el("div", {}, el("h1", {}, title), none, table.node),
    update(what, value) {
      if (what === "connected" || what === "deleted") showAll();
      if (what !== kind) return;
      table.put(value);
      none.hidden = true;
    },
    close: () => clearInterval(timer),
  };
}

export const overview = () => list({
  title: "Overview",
  caption: "Workloads",
  rows: () => state.rows,
  kind: "workload",
  key: "workloadId",
  columns: [
    name("Workload", "workloadId", (id) => link(id, "workload", id)),
    col("Health", (row) => ORDER.indexOf(row.health) + " " + words(row.health), (text, row) => health(row)),
    num("Generation", "generation"), num("Tables", "tables"), num("Devices", "devices"),
    num("Predicted step", "predictedMs", (step, row) => predictedStep(row)),
    num("Measured step", "measuredMs", ms), num("Imbalance", "imbalance", (share) => percent(share)),
    changed,
    col("Hardware", "hardware"),
  ],
  empty: ["No workload has a plan yet. Publish its cluster and its tables: ", el("code", {}, "./shardtide publish --help"), "."],
});

export const pools = () => list({
  title: "Pools",
  caption: "Pools",
  rows: () => state.pools,
  kind: "pool",
  key: "poolId",
  columns: [
    name("Pool", "poolId", (id) => link(id, "pool", id)), num("Generation", "generation"),
    num("Nodes", "nodes"), num("Free", "freeNodes"),
    num("Lost", "lostNodes", (lost) => el("span", { class: lost ? "warn" : null }, number(lost))),
    num("Devices", "devices"), num("Workloads", "workloads"), num("Without devices", "waiting"),
    num("Weighted throughput", "weightedThroughput", (sum, row) => rate(sum, row.simulated)),
    num("Fairness loss", "fairnessLoss", (share) => percent(share)),
    changed,
    col("Hardware", "hardware"),
  ],
  empty: "There is no pool. With pools.enabled=true, the planner allocates the pools whose events it reads from pool-changes.",
});
