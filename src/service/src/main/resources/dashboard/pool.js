// A pool: its nodes, the throughput curves of the workloads that share it, and its allocations over time.

import { Chart } from "./chart.js";
import { el, facts } from "./dom.js";
import { chartTools } from "./export.js";
import { get, state } from "./live.js";
import { PoolPicture, workloadLink } from "./pool-picture.js";
import { curvesOption, drawn, Marks, pastOption, pastText } from "./pool-plots.js";
import { hiddenTable, Table } from "./table.js";
import { ago, clock, counted, ms, number, percent, rate, words } from "./text.js";

/** Allocations that the chart shows; its table has all that the server keeps. */
const SHOWN_PAST = 60;

const REDRAW_MS = 250;

const isSimulated = (workload) => workload.curve !== null && workload.curve.simulated;

const tableOfWorkloads = (id) =>
  new Table({
    caption: "Workloads that share the pool",
    name: `Workloads of ${id}`,
    filter: "Filter",
    key: (w) => w.workloadId,
    sort: 1,
    descending: true,
    columns: [
      { title: "Workload", kind: "wide", value: (w) => w.workloadId, cell: (w) => el("span", {}, workloadLink(w.workloadId)) },
      { title: "Devices", kind: "number", value: (w) => w.devices, cell: (w) => number(w.devices) },
      { title: "Least devices", kind: "number", value: (w) => w.claim?.leastDevices, cell: (w) => number(w.claim?.leastDevices) },
      { title: "Most devices", kind: "number", value: (w) => w.claim?.mostDevices, cell: (w) => number(w.claim?.mostDevices) },
      { title: "Weight", kind: "number", value: (w) => w.claim?.weight, cell: (w) => number(w.claim?.weight) },
      { title: "Priority", kind: "number", value: (w) => w.claim?.priority, cell: (w) => number(w.claim?.priority) },
      { title: "Predicted samples/s", kind: "number", value: (w) => w.samplesPerSecond, cell: (w) => rate(w.samplesPerSecond, isSimulated(w)) },
      { title: "Share of pool", kind: "number", value: (w) => w.share, cell: (w) => percent(w.share) },
      { title: "Fair nodes", kind: "number", value: (w) => w.fairNodes, cell: (w) => (w.fairNodes === null ? "" : number(Number(w.fairNodes.toFixed(1)))) },
      { title: "Change", value: (w) => (w.change ? words(w.change) : "not allocated yet") },
      { title: "Reason", kind: "long", value: (w) => (w.reason ?? "") + (w.claim ? "" : "; its claim is withdrawn") },
    ],
  });

const tableOfPoints = (id) =>
  hiddenTable("Curves as a table", {
    caption: "Predicted throughput by number of devices",
    name: `Curves of ${id}`,
    key: (point) => `${point.devices} ${point.workloadId}`,
    columns: [
      { title: "Workload", kind: "wide", value: (point) => point.workloadId },
      { title: "Devices", kind: "number", value: (point) => point.devices },
      { title: "Predicted step", kind: "number", value: (point) => point.stepMs, cell: (point) => (point.stepMs === null ? "does not fit" : ms(point.stepMs)) },
      { title: "Predicted samples/s", kind: "number", value: (point) => point.samplesPerSecond, cell: (point) => rate(point.samplesPerSecond, point.simulated) },
    ],
  });

const tableOfPast = (id) =>
  hiddenTable("Allocations as a table", {
    caption: "The latest allocations",
    name: `Allocations of ${id}`,
    key: (past) => past.allocationId,
    sort: 1,
    descending: true,
    columns: [
      { title: "Generation", kind: "number", value: (past) => past.generation },
      { title: "Allocated", value: (past) => past.allocatedAt, cell: (past) => clock(past.allocatedAt) },
      { title: "Devices", kind: "long", value: (past) => Object.entries(past.devices).map(([name, devices]) => `${name}: ${number(devices)}`).join(", ") },
      { title: "Weighted throughput", kind: "number", value: (past) => past.quality.weightedThroughput, cell: (past) => rate(past.quality.weightedThroughput) },
      { title: "Fairness loss", kind: "number", value: (past) => past.quality.fairnessLoss, cell: (past) => percent(past.quality.fairnessLoss) },
      { title: "From the optimum", kind: "number", value: (past) => past.quality.gap, cell: (past) => gapText(past.quality.gap) },
      { title: "Adjusted", kind: "number", value: (past) => past.quality.adjusted },
    ],
  });

const gapText = (gap) => (gap === 0 ? "proven optimal" : `at most ${percent(gap, 2)}`);

/** Shows a pool. */
export async function pool(id) {
  let view = await get("/api/pool", { id });
  let closed = false;
  const marks = new Marks();
  for (const workload of view.workloads) marks.of(workload.workloadId);

  const head = el("div");
  const picture = new PoolPicture(id, marks);
  const workloads = tableOfWorkloads(id);
  const curves = new Chart(`curves of ${id}`);
  const curvesNote = el("p", { class: "soft" });
  const points = tableOfPoints(id);
  const curvesBox = el("div", {}, el("h2", {}, "Throughput by devices"), curvesNote, chartTools(curves), curves.node, points.node);
  const past = new Chart(`allocations of ${id}`);
  const pastDetail = el("p", { class: "soft" });
  const pastTable = tableOfPast(id);
  const pastBox = el("div", {}, el("h2", {}, "Allocations over time"), chartTools(past), past.node, pastDetail, pastTable.node);

  function showHead() {
    const row = state.pools.get(id) || view.row;
    const { quality, policy } = view;
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
    const known = drawn(view.workloads);
    const missing = view.workloads.filter((w) => !w.curve).map((w) => w.workloadId);
    const all = view.workloads.length - missing.length;
    curvesBox.hidden = view.workloads.length === 0;
    curves.node.hidden = known.length === 0;
    curvesNote.textContent = [
      all > known.length ? `The chart shows the ${known.length} workloads with the most devices; the table has all ${all}.` : "",
      missing.length ? `No curve is known of ${missing.slice(0, 10).join(", ")}${missing.length > 10 ? ` and ${missing.length - 10} more` : ""}.` : "",
    ].filter(Boolean).join(" ");
    points.set(view.workloads.filter((w) => w.curve).flatMap((w) =>
      w.curve.points.map((point) => ({ ...point, workloadId: w.workloadId, simulated: w.curve.simulated }))));
    if (known.length === 0) return;
    curves.show(curvesOption(known, marks), {
      label: `Predicted${known.every(isSimulated) ? ", simulated" : ""} samples a second by number of devices. ` +
        known.filter((w) => w.devices > 0).map((w) => `${w.workloadId} has ${counted(w.devices, "device")}`).join(", "),
      height: 320 + 24 * Math.ceil(known.length / 4),
    });
  }

  function showPast() {
    const shown = view.history.slice(-SHOWN_PAST);
    pastBox.hidden = shown.length === 0;
    pastTable.set(view.history);
    if (shown.length === 0) return;
    const names = new Set(shown.flatMap((allocation) => Object.keys(allocation.devices)));
    past.show(pastOption(shown, marks), {
      label: `Devices of each workload in the latest ${shown.length} allocations`, height: 270 + 24 * Math.ceil(Math.min(16, names.size + 1) / 4),
    });
    const detail = (i) => { pastDetail.textContent = pastText(shown[i]); };
    past.choose({
      count: shown.length,
      at: past.latest === shown.at(-1).allocationId ? undefined : shown.length - 1,
      text: (i) => pastText(shown[i]),
      picked: detail,
    });
    past.latest = shown.at(-1).allocationId;
    detail(past.items.at);
  }

  function showAll() {
    showHead();
    picture.set(view);
    workloads.set(view.workloads);
    showCurves();
    showPast();
  }
  showAll();

  let loading = false;
  let again = false;
  async function reload() {
    if (loading) {
      again = true;
      return;
    }
    loading = true;
    try {
      do {
        again = false;
        const fresh = await get("/api/pool", { id });
        if (closed) return;
        view = fresh;
        showAll();
        await new Promise((resolve) => setTimeout(resolve, REDRAW_MS));
      } while (again && !closed);
    } catch (error) {
      if (!closed) head.append(el("p", { class: "problem" }, error.message));
    } finally {
      loading = false;
    }
  }

  const timer = setInterval(showHead, 5000);
  return {
    title: id,
    node: el("div", {},
      el("h1", {}, `Pool ${id}`), head,
      el("h2", {}, "Nodes"), picture.node,
      el("h2", {}, "Workloads"), workloads.node,
      curvesBox, pastBox),
    update(kind, value) {
      if ((kind === "pool" && value.poolId === id) || kind === "connected") reload();
    },
    announcement: (kind, value) =>
      kind === "pool" && value.poolId === id && value.allocationId !== view.row.allocationId
        ? `New allocation of generation ${value.allocatedGeneration}.`
        : "",
    close() {
      closed = true;
      clearInterval(timer);
      curves.close();
      past.close();
    },
  };
}
