// A pool: its nodes, the throughput curves of the workloads that share it, and its allocations over time.

import { charted } from "./chart.js";
import { el, facts } from "./dom.js";
import { get, reloader, state } from "./live.js";
import { PoolPicture, workloadLink } from "./pool-picture.js";
import { namesHeight } from "./plots.js";
import { curvesOption, drawn, Marks, pastOption, pastText } from "./pool-plots.js";
import { col, name, num, sentence, share, Table, when } from "./table.js";
import { ago, counted, ms, named, number, percent, rate, words } from "./text.js";

/** Allocations that the chart shows; its table has all that the server keeps. */
const SHOWN_PAST = 60;

const gapText = (gap) => (gap === 0 ? "proven optimal" : `at most ${percent(gap, 2)}`);

const isSimulated = (workload) => workload.curve !== null && workload.curve.simulated;

/** Returns the nodes of a pool, and those that it lost, with who has or had them, by name. */
function nodesOf({ state: { pool }, allocation, lost, transfers }) {
  const holders = new Map((allocation?.workloads ?? []).flatMap((w) => w.nodes.map((node) => [node, w.workloadId])));
  const nodes = Object.values(pool?.nodes ?? {}).map((node) => ({ ...node, state: holders.has(node.name) ? "TAKEN" : "FREE" }));
  const gone = lost.map(({ node, at }) => ({ ...node, state: "LOST", lostAt: at }));
  return [...nodes, ...gone].sort((a, b) => (a.name < b.name ? -1 : 1)).map((node) => {
    const past = transfers[node.name];
    const transfer = past && { generation: past.generation, ...past.transfer };
    return { ...node, transfer, workloadId: holders.get(node.name) ?? (node.state === "LOST" ? transfer?.from : null) };
  });
}

/** Returns the workloads that have a claim or devices, with what they have, by id. */
function workloadsOf({ row, state: { claims }, allocation, curves, simulatedModels }) {
  const has = new Map((allocation?.workloads ?? []).map((w) => [w.workloadId, w]));
  const known = new Map(curves.map((curve) => [curve.workloadId, curve]));
  const curveOf = ({ modelId, cluster, points }) => ({
    simulated: simulatedModels.includes(modelId),
    points: points.map(({ devices, stepMs }) => ({ devices, stepMs, samplesPerSecond: stepMs && (1000 * cluster.batchSize) / stepMs })),
  });
  return [...new Set([...Object.keys(claims), ...has.keys()])].sort()
    .filter((id) => claims[id] || has.get(id).devices > 0)
    .map((id) => {
      const { nodes = [], devices = 0, samplesPerSecond, fairNodes = null, change, reason } = has.get(id) ?? {};
      return {
        workloadId: id, claim: claims[id], nodes, devices, fairNodes, change, reason,
        samplesPerSecond: samplesPerSecond || null,
        share: nodes.length / Math.max(1, nodes.length, row.nodes),
        curve: known.has(id) ? curveOf(known.get(id)) : null,
      };
    });
}

/** Returns the past allocations with the devices that the pool had then; its events may be read after an allocation. */
const historyOf = ({ history, devices }) => history.map((past) => ({
  ...past,
  poolDevices: Object.entries(devices).findLast(([generation]) => generation <= past.generation)?.[1] ?? null,
}));

const joined = (view) => ({ ...view, nodes: nodesOf(view), workloads: workloadsOf(view), history: historyOf(view) });

const tableOfWorkloads = (id) => new Table({
  caption: "Workloads that share the pool",
  name: `Workloads of ${id}`,
  filter: "Filter",
  key: (w) => w.workloadId,
  largest: "Devices",
  columns: [
    name("Workload", "workloadId", (workload) => el("span", {}, workloadLink(workload))),
    num("Devices", "devices"), num("Least devices", (w) => w.claim?.leastDevices),
    num("Most devices", (w) => w.claim?.mostDevices), num("Weight", (w) => w.claim?.weight),
    num("Priority", (w) => w.claim?.priority),
    num("Predicted samples/s", "samplesPerSecond", (samples, w) => rate(samples, isSimulated(w))),
    share("Share of pool", "share"),
    num("Fair nodes", "fairNodes", (nodes) => number(nodes && Number(nodes.toFixed(1)))),
    col("Change", (w) => (w.change ? words(w.change) : "not allocated yet")),
    sentence("Reason", (w) => (w.reason ?? "") + (w.claim ? "" : "; its claim is withdrawn")),
  ],
});

const chartOfCurves = (id) => charted(`curves of ${id}`, "Curves as a table", {
  caption: "Predicted throughput by number of devices",
  columns: [
    name("Workload", "workloadId"), num("Devices", "devices"),
    num("Predicted step", "stepMs", (step) => (step === null ? "does not fit" : ms(step))),
    num("Predicted samples/s", "samplesPerSecond", (samples, point) => rate(samples, point.simulated)),
  ],
});

const chartOfPast = (id, detail) => charted(`allocations of ${id}`, "Allocations as a table", {
  caption: "The latest allocations",
  largest: "Allocated",
  columns: [
    num("Generation", "generation"), when("Allocated", "allocatedAt"),
    sentence("Devices", (past) => Object.entries(past.devices).map(([workload, devices]) => `${workload}: ${number(devices)}`).join(", ")),
    num("Weighted throughput", (past) => past.quality.weightedThroughput, (sum) => rate(sum)),
    share("Fairness loss", (past) => past.quality.fairnessLoss),
    num("From the optimum", (past) => past.quality.gap, gapText),
    num("Adjusted", (past) => past.quality.adjusted),
  ],
}, (chart) => [chart, detail]);

/** Shows a pool. */
export async function pool(id) {
  const load = async () => joined(await get("/api/pool", { id }));
  let view = await load();
  const marks = new Marks();
  for (const workload of view.workloads) marks.of(workload.workloadId);

  const head = el("div");
  const picture = new PoolPicture(id, marks);
  const workloads = tableOfWorkloads(id);
  const curvesNote = el("p", { class: "soft" });
  const curves = chartOfCurves(id);
  const curvesBox = el("div", {}, el("h2", {}, "Throughput by devices"), curvesNote, curves.node);
  const pastDetail = el("p", { class: "soft" });
  const past = chartOfPast(id, pastDetail);
  const pastBox = el("div", {}, el("h2", {}, "Allocations over time"), past.node);

  function showHead() {
    const row = state.pools.get(id) || view.row;
    const { quality, policy } = view.allocation ?? {};
    head.replaceChildren(
      facts(
        ["Generation", number(row.generation)],
        row.hardware !== null && ["Hardware", row.hardware],
        ["Nodes", `${number(row.nodes)}: ${number(row.nodes - row.freeNodes)} taken, ${number(row.freeNodes)} free` + (row.lostNodes ? `; ${number(row.lostNodes)} lost` : "")],
        ["Devices", `${number(row.devices)}, ${number(row.devicesPerNode)} a node`],
        ["Workloads", number(row.workloads) + (row.waiting ? `, ${number(row.waiting)} without devices` : "")],
        quality && ["Weighted throughput", rate(quality.weightedThroughput, row.simulated)],
        quality && ["From the optimum", gapText(quality.gap)],
        quality && ["Fairness loss", `${percent(quality.fairnessLoss)}, bound ${percent(policy.fairnessLoss, 0)}`],
        ["Last allocation", view.allocatedAt ? ago(view.allocatedAt) : "none yet"]),
      view.row.allocatedGeneration < row.generation
        ? el("p", { class: "soft" }, `Generation ${number(row.generation)} is not allocated yet.`)
        : "");
  }

  function showCurves() {
    const shown = drawn(view.workloads);
    const missing = view.workloads.filter((w) => !w.curve).map((w) => w.workloadId);
    const known = view.workloads.filter((w) => w.curve);
    curvesBox.hidden = view.workloads.length === 0;
    curves.chart.node.hidden = known.length === 0;
    curvesNote.textContent = [
      known.length > shown.length && `The chart shows the ${shown.length} workloads with the most devices; the table has all ${known.length}.`,
      missing.length > 0 && `No curve is known of ${named(missing, 10)}.`,
    ].filter(Boolean).join(" ");
    curves.show(curvesOption(shown, marks), {
      label: `Predicted${shown.every(isSimulated) ? ", simulated" : ""} samples a second by number of devices. ` +
        shown.filter((w) => w.devices > 0).map((w) => `${w.workloadId} has ${counted(w.devices, "device")}`).join(", "),
      height: 320 + namesHeight(shown.length),
    }, known.flatMap(({ workloadId, curve }) => curve.points.map((point) => ({ ...point, workloadId, simulated: curve.simulated }))));
  }

  function showPast() {
    const shown = view.history.slice(-SHOWN_PAST);
    pastBox.hidden = shown.length === 0;
    if (shown.length === 0) return;
    const names = new Set(shown.flatMap((allocation) => Object.keys(allocation.devices)));
    past.show(pastOption(shown, marks), {
      label: `Devices of each workload in the latest ${shown.length} allocations`, height: 270 + namesHeight(Math.min(16, names.size + 1)),
    }, view.history);
    const say = (i) => { pastDetail.textContent = pastText(shown[i]); };
    past.chart.choose({
      count: shown.length, at: shown.length - 1, latest: shown.at(-1).allocationId, text: (i) => pastText(shown[i]), picked: say,
    });
    say(past.chart.items.at);
  }

  function showAll() {
    showHead();
    picture.set(view);
    workloads.set(view.workloads);
    showCurves();
    showPast();
  }
  showAll();

  const reload = reloader(async () => {
    view = await load();
    showAll();
  }, (error) => head.append(el("p", { class: "problem" }, error.message)));
  return {
    title: id,
    node: el("div", {},
      el("h1", {}, `Pool ${id}`), head,
      el("h2", {}, "Nodes"), picture.node,
      el("h2", {}, "Workloads"), workloads.node,
      curvesBox, pastBox),
    update(kind, value) {
      if (kind === "tick") showHead();
      if ((kind === "pool" && value.poolId === id) || kind === "connected") reload();
    },
    announcement: (kind, value) =>
      kind === "pool" && value.poolId === id && value.allocationId !== view.row.allocationId
        ? `New allocation of generation ${value.allocatedGeneration}.`
        : "",
  };
}
