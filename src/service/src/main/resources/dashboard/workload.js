// A workload: its latest plan or an older one, its plans over time, and its tables.

import { Chart } from "./chart.js";
import { detail, el, facts, link, list, route } from "./dom.js";
import { chartTools } from "./export.js";
import { health } from "./lists.js";
import { get, reloader, state } from "./live.js";
import { PARTS, deviceText, historyOption, historyText, parts, planHeight, planOption, usable } from "./plots.js";
import { byTable, codecsText, cutPicture, groupsText, holds, kindName, kindsText, movesText, positionOf, rowsOf, shardText } from "./shards.js";
import {
  aboveBound, ago, bytes, change, clock, counted, hardwareNote, ms, number, percent, predictedStep, reasonOf, short, slowText, stepOf, sum, words,
} from "./text.js";
import { chartOfDevices, forecasts, tableOfPlans, tableOfTables } from "./workload-tables.js";

const SHOWN_SHARDS = 200;
const SHOWN_PLANS = 60;

const shardBytes = (table, shard) =>
  shard.rows * (shard.columns * (table.bytesPerElement + table.optimizerBytesPerElement) + table.optimizerBytesPerRow);

/** Returns what devices have, those with more or less than the others apart. */
const memoryText = ({ memoryBytesPerDevice, memoryBytesByDevice: others }) =>
  bytes(memoryBytesPerDevice) + (others.length ? ` (${others.map((of) => `device ${of.device}: ${bytes(of.bytes)}`).join(", ")})` : "");

const clusterText = (cluster) =>
  `${number(cluster.devices)} devices of ${memoryText(cluster)}` +
  (cluster.reservedMemoryBytesPerDevice ? `, ${bytes(cluster.reservedMemoryBytesPerDevice)} of each reserved` : "") +
  `, batch ${number(cluster.batchSize)}, hardware ${cluster.hardware}`;

const poolText = ({ claim, allocation }) =>
  `: ${counted(allocation?.devices ?? 0, "device")}` +
  (claim ? `, claims ${number(claim.leastDevices)} to ${number(claim.mostDevices)}` : ", claim withdrawn") +
  (allocation ? `; ${allocation.reason}` : "");

/** Adds which share of the tables' costs each has, and its shards in a plan. */
function withShares(tables, plan) {
  const planned = byTable(plan ? plan.shards : []);
  const total = sum(tables, ({ aloneMs }) => aloneMs);
  const share = ({ aloneMs }) => (aloneMs === null || total === 0 ? null : aloneMs / total);
  return tables.map((table) => ({ ...table, share: share(table), shards: planned.get(table.name) || [] }));
}

/** Shows a workload, and one of its plans or the latest. */
export async function workload(id, planId) {
  const expected = planId || state.rows.get(id)?.planId;
  let [view, tables, plan] = await Promise.all([
    get("/api/workload", { id }),
    get("/api/tables", { workload: id }),
    // Where this fails or is not the latest plan any more, showAll() gets the plan.
    expected ? get("/api/plan", { id: expected }).catch(() => null) : null,
  ]);
  const chosen = () => planId || view.row.planId;

  const head = el("div");
  const history = new Chart(`plans of ${id}`);
  const noPlan = el("p", { class: "soft" }, "There is no plan yet.");
  const planTitle = el("h2", {}, "Plan");
  const planFacts = el("div");
  const ofDevice = detail("Shards of the chosen device");
  const { chart: bars, node: planBox, show: showDevices } = chartOfDevices(id, ofDevice);
  const plans = tableOfPlans(id, chosen);
  const historyBox = el("div", {}, el("h2", {}, "Plans over time"), chartTools(history), history.node, plans.node);
  const hashed = forecasts(id);
  const cut = el("div", { "aria-live": "polite" });
  let cutTable = null;
  const tablesTable = tableOfTables((table) => {
    cutTable = table;
    showCut();
    cut.scrollIntoView({ block: "nearest" });
  });

  function showHead() {
    const row = state.rows.get(id) || view.row;
    const { cluster } = view;
    const note = view.plans.length > 0 && hardwareNote(view.plans.at(-1).reason);
    head.replaceChildren(
      facts(
        ["Health", health(row)],
        ["Generation", number(row.generation)],
        row.predictedMs !== null && ["Predicted step", predictedStep(row)],
        ["Measured step", row.measuredMs === null ? "not measured" : ms(row.measuredMs) + (row.measuredPlanId === row.planId ? "" : " with an earlier plan")],
        row.imbalance !== null && ["Imbalance", percent(row.imbalance)],
        view.pool && ["Pool", link(view.pool.poolId, "pool", view.pool.poolId), poolText(view.pool)],
        ["Last change", ago(row.changedAt)],
        cluster && ["Cluster", clusterText(cluster), note && `, ${note}`]),
      row.problem ? el("p", { class: "problem" }, row.problem) : "");
  }

  function showHistory() {
    const lines = view.plans.slice(-SHOWN_PLANS);
    historyBox.hidden = lines.length === 0;
    if (lines.length === 0) return;
    history.show(historyOption(lines, chosen()), { label: `Predicted cost of the latest ${lines.length} plans. Enter shows a plan.`, height: 250 });
    const at = lines.findIndex((line) => line.planId === chosen());
    history.choose({
      count: lines.length,
      at: at < 0 ? lines.length - 1 : at,
      latest: lines.at(-1).planId,
      text: (i) => historyText(lines[i]),
      enter: (i) => { location.hash = route("workload", id, "plan", lines[i].planId); },
    });
  }

  function showDevice(device) {
    const cost = parts(plan.deviceCosts)[device];
    const shards = plan.shards.filter(holds(device));
    const rows = rowsOf(plan.shards);
    const known = new Map(tables.map((table) => [table.name, table]));
    ofDevice.replaceChildren(
      el("h3", {}, `Device ${device}`),
      el("p", {}, PARTS.map(([key, title]) => `${ms(cost[key])} ${title}`).join(", ") + `; ${bytes(cost.memory)} of memory`),
      list(shards, SHOWN_SHARDS, (shard) => {
        const table = known.get(shard.table);
        return [
          `${shard.table}, ${kindName(shard.kind)}: ${shardText(shard, rows.get(shard.table))}`,
          table && `, ${bytes(shardBytes(table, shard))}`,
        ];
      }));
    showCut();
  }

  /** Draws how the chosen table is cut, or else the one with the most parts. */
  function showCut() {
    const tables = byTable(plan.shards);
    if (!tables.has(cutTable)) {
      cutTable = [...tables.keys()].reduce((most, name) => (most && tables.get(most).length >= tables.get(name).length ? most : name), null);
    }
    cut.replaceChildren(cutTable === null ? "" : cutPicture(cutTable, tables.get(cutTable), bars.items.at));
  }

  function showPlan() {
    noPlan.hidden = plan !== null;
    planBox.hidden = plan === null;
    if (!plan) return;
    const line = view.plans.find((l) => l.planId === plan.planId);
    const latest = plan.planId === view.row.planId;
    const bottleneck = plan.insight.bottleneck;
    planTitle.textContent = latest ? "Latest plan" : `Plan for generation ${plan.generation}`;
    planFacts.replaceChildren(facts(
      ["Plan", short(plan.planId), " ", link("why?", "why", plan.planId)],
      ["Created", clock(plan.createdAt)],
      ["Reason", reasonOf(plan.reason)],
      ["Step", stepOf(plan) + (line && line.beforeMs ? ` (${change(line.beforeMs, plan.predictedMs)})` : "")],
      ["Above the lower bound", aboveBound(plan.predictedMs, plan.insight.lowerBoundMs)],
      ["Bottleneck", `device ${bottleneck.device}, ${words(bottleneck.cause)}${bottleneck.table ? ", " + bottleneck.table : ""}`],
      ["Tables", kindsText(plan.shards)],
      plan.replication.groups > 1 && ["Replica groups", groupsText(plan)],
      plan.codecs.length > 0 && ["Codecs", codecsText(plan)],
      ["Moves", movesText(plan)]),
    plan.slow.length ? el("p", { class: "problem" }, `Slow: ${plan.slow.map(slowText).join("; ")}.`) : "",
    latest || !view.row.planId ? "" : el("p", {}, link("Show the latest plan", "workload", id)));
    const costs = parts(plan.deviceCosts);
    const slowOf = (device) => plan.slow.filter((speed) => positionOf(plan, speed.device) === device).map(slowText);
    showDevices(planOption(plan, view.cluster ? usable(view.cluster, plan) : null), {
      label: `Predicted cost and memory of the ${costs.length} devices of plan ${short(plan.planId)}`, height: planHeight(plan),
    }, costs.map((cost) => ({ ...cost, isBottleneck: cost.device === bottleneck.device })));
    bars.choose({ count: costs.length, text: (i) => [deviceText(costs[i], bottleneck.device), ...slowOf(i)].join("; "), picked: showDevice });
    showDevice(bars.items.at);
  }

  async function showAll() {
    showHead();
    showHistory();
    plans.set(view.plans);
    hashed.set(view.forecasts);
    const wanted = chosen();
    if (wanted && plan?.planId !== wanted) plan = await get("/api/plan", { id: wanted });
    showPlan();
    tablesTable.set(withShares(tables, plan));
  }
  await showAll();

  const reload = reloader(async () => {
    const fresh = await get("/api/workload", { id });
    if (fresh.row.generation !== view.row.generation || tables.length === 0 || fresh.row.planId !== view.row.planId) {
      tables = await get("/api/tables", { workload: id });
    }
    view = fresh;
    await showAll();
  }, (error) => head.append(el("p", { class: "problem" }, error.message)));

  return {
    title: id,
    node: el("div", {},
      el("h1", {}, id), head,
      planTitle, planFacts, noPlan, planBox,
      historyBox,
      el("h2", {}, "Tables"), cut, tablesTable.node,
      hashed.node),
    update(kind, value) {
      if (kind === "tick") showHead();
      if (((kind === "workload" || kind === "deleted") && value.workloadId === id) || kind === "connected" ||
        (kind === "pool" && value.poolId === (view.pool?.poolId ?? value.poolId))) reload();
    },
    announcement: (kind, value) =>
      kind === "workload" && value.workloadId === id && value.planId !== view.row.planId
        ? `New plan for generation ${value.plannedGeneration}: ${ms(value.predictedMs)} per step.`
        : "",
  };
}
