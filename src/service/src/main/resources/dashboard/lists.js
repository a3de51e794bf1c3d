// A row for each workload, and one for each pool of devices.

import { Chart } from "./chart.js";
import { el, link, svg } from "./dom.js";
import { get, reloader, state } from "./live.js";
import { planHeight, planOption } from "./plots.js";
import { col, name, num, share, Table } from "./table.js";
import { ago, ms, number, predictedStep, rate, words } from "./text.js";

const ORDER = ["DOES_NOT_FIT", "REFUSED", "SLOW_DEVICE", "DRIFT", "PLANNING", "GOOD"];
const SIGNS = { DOES_NOT_FIT: "✕", REFUSED: "✕", SLOW_DEVICE: "▲", DRIFT: "▲", PLANNING: "…", GOOD: "✓" };
const CLASSES = { DOES_NOT_FIT: "bad", REFUSED: "bad", SLOW_DEVICE: "warn", DRIFT: "warn", PLANNING: "soft", GOOD: "good" };

/** Returns a workload's health as text; its tooltip says what is wrong. */
export const health = (row) =>
  el("span", { class: CLASSES[row.health], title: row.problem }, `${SIGNS[row.health]} ${words(row.health)}`);

/** Up to this many workloads, the latest plan is drawn below them. */
const FEW = 3;

/** Draws the predicted steps of a workload's latest plans as a small line. */
function overTime(steps) {
  if (steps.length < 2) return "";
  const [low, high] = [Math.min(...steps), Math.max(...steps)];
  const text = `Predicted steps of the latest ${steps.length} plans: ${ms(low)} to ${ms(high)}, now ${ms(steps.at(-1))}`;
  // A change of less than a tenth is a small one.
  const y = (step) => 10 - (18 * (step - (low + high) / 2)) / Math.max(high - low, high / 10);
  const points = steps.map((step, i) => `${(100 * i) / (steps.length - 1)},${y(step)}`).join(" ");
  return svg("svg", { class: "line", viewBox: "0 0 100 20", preserveAspectRatio: "none", role: "img", "aria-label": text },
    svg("title", {}, text), svg("polyline", { points }));
}

/** Draws the latest plan of all, where there are few workloads. */
function latestPlan() {
  const chart = new Chart("latest plan");
  const title = el("h2");
  const node = el("div", { hidden: true }, title, chart.node);
  let shown = null;
  const reload = reloader(async () => {
    const rows = [...state.rows.values()].filter((row) => row.planId);
    node.hidden = rows.length === 0 || rows.length > FEW;
    if (node.hidden) return;
    const { workloadId, planId } = rows.reduce((a, b) => (a.changedAt > b.changedAt ? a : b));
    if (planId === shown) return;
    const plan = await get("/api/plan", { id: planId });
    shown = planId;
    title.replaceChildren("Latest plan of ", link(workloadId, "workload", workloadId));
    const label = `Predicted cost and memory of the ${plan.deviceCosts.length} devices of the latest plan, of ${workloadId}`;
    chart.show(planOption(plan, null), { label, height: planHeight(plan) });
  }, (error) => title.replaceChildren(error.message));
  return { node, reload };
}

const changed = num("Last change", (row) => (row.changedAt ? Date.parse(row.changedAt) : null), (at, row) => ago(row.changedAt));

/** Shows the rows that live.js keeps: all of a map, whose updates are of a kind. */
function rowsOf({ title, caption, rows, kind, key, columns, empty, below }) {
  const table = new Table({ caption, filter: "Filter", key: (row) => row[key], columns });
  const none = el("p", { class: "soft" }, empty);
  const showAll = () => {
    table.set(rows().values());
    none.hidden = rows().size > 0;
    below?.reload();
  };
  showAll();
  return {
    title,
    node: el("div", {}, el("h1", {}, title), none, table.node, below?.node),
    update(what, value) {
      if (what === "tick") table.refresh();
      if (what === "connected" || what === "deleted") showAll();
      if (what !== kind) return;
      table.put(value);
      none.hidden = true;
      below?.reload();
    },
  };
}

export const overview = () => rowsOf({
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
    col("Over time", ({ steps }) => (steps.length < 2 ? null : steps.at(-1) / steps[0] - 1), (of, row) => overTime(row.steps)),
    num("Measured step", "measuredMs", ms), share("Imbalance", "imbalance"),
    changed,
    col("Hardware", "hardware"),
  ],
  empty: ["No workload has a plan yet. Publish its cluster and its tables: ", el("code", {}, "./shardtide workload apply --help"), "."],
  below: latestPlan(),
});

export const pools = () => rowsOf({
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
    share("Fairness loss", "fairnessLoss"),
    changed,
    col("Hardware", "hardware"),
  ],
  empty: "There is no pool. With pools.enabled=true, the planner allocates the pools whose events it reads from pool-changes.",
});
