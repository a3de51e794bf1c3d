// A workload: its plan, its plans over time, its tables.

import { onColours, plan as drawPlan, timeline } from "./chart.js";
import { el, facts, link, route } from "./dom.js";
import { pictureTools } from "./export.js";
import { ask, state } from "./live.js";
import { health } from "./overview.js";
import { Table } from "./table.js";
import { ago, bytes, clock, ms, number, percent, share, short, whole, words } from "./text.js";

const SHARDS = 200;

/** Shows a workload, and one of its plans or the latest. */
export async function workload(id, planId) {
  let view = await ask("/api/workload", { id });
  let tables = await ask("/api/tables", { workload: id });
  let plan = null;
  let closed = false;
  const chosen = () => planId || view.row.planId;

  const head = el("div");
  const timelineBox = el("div", { class: "picture" });
  const planBox = el("div", { class: "picture" });
  const planTitle = el("h2", {}, "The plan");
  const planFacts = el("div");
  const detail = el("div", { class: "detail", tabindex: 0, role: "region", "aria-label": "Shards of a device" });
  let device = -1;

  const plans = planTable(id, () => chosen());
  const tablesTable = tableOfTables();

  function drawHead() {
    const row = state.rows.get(id) || view.row;
    const cluster = view.cluster;
    head.replaceChildren(
      facts(
        ["Health", health(row)],
        ["Generation", number(row.generation)],
        ["Predicted", ms(row.predictedMs)],
        ["Measured", row.measuredMs === null ? "never" : ms(row.measuredMs) + (row.measuredPlanId === row.planId ? "" : " with an earlier plan")],
        ["Imbalance", percent(row.imbalance)],
        ["Last change", row.changedAt ? ago(row.changedAt) + " ago" : ""],
        cluster && ["Cluster", `${number(cluster.devices)} devices of ${bytes(cluster.memoryBytesPerDevice)}, batch ${number(cluster.batchSize)}, hardware ${cluster.hardware}`]),
      row.problem ? el("p", { class: "problem" }, row.problem) : "");
  }

  function drawTimeline() {
    timelineBox.replaceChildren(timeline(view.plans, chosen(), (line) => {
      location.hash = route("workload", id, "plan", line.planId);
    }));
  }

  function showDevice(to) {
    if (!plan || to === device) return;
    device = to;
    const cost = plan.deviceCosts[to];
    const shards = plan.shards.filter((shard) => shard.device === to);
    const known = new Map(tables.map((table) => [table.name, table]));
    detail.replaceChildren(
      el("h3", {}, `Device ${to}`),
      el("p", {}, `${ms(cost.computeMs)} computation, ${ms(cost.backwardCommMs)} backward, ${ms(cost.forwardCommMs)} forward with waiting, ${bytes(cost.memoryBytes)}`),
      el("ul", {}, shards.slice(0, SHARDS).map((shard) => {
        const table = known.get(shard.table);
        return el("li", {}, shard.table + (shard.kind === "TABLE_WISE" ? ", whole" : `, columns ${shard.columnOffset} to ${shard.columnOffset + shard.columns - 1}`) +
          (table ? `, ${bytes(table.bytesPerElement * shard.columns * shard.rows)}` : ""));
      })),
      shards.length > SHARDS ? el("p", {}, `and ${shards.length - SHARDS} more`) : "");
  }

  function showPlan() {
    if (!plan) {
      planBox.replaceChildren(el("p", { class: "soft" }, "There is no plan yet."));
      return;
    }
    const line = view.plans.find((l) => l.planId === plan.planId);
    const capacity = view.cluster && view.cluster.memoryBytesPerDevice;
    const latest = plan.planId === view.row.planId;
    planTitle.textContent = latest ? "The latest plan" : `The plan for generation ${plan.generation}`;
    const bottleneck = plan.insight.bottleneck;
    planFacts.replaceChildren(facts(
      ["Plan", el("span", {}, short(plan.planId), " ", link("why?", "why", plan.planId))],
      ["Made", clock(plan.createdAt)],
      ["Because", plan.reason],
      ["A step", ms(plan.predictedMs) + (line && line.beforeMs ? ` (${share(line.beforeMs, plan.predictedMs)})` : "")],
      ["Above the lower bound", percent(plan.predictedMs / plan.insight.lowerBoundMs - 1)],
      ["Bottleneck", `device ${bottleneck.device}, ${words(bottleneck.cause)}${bottleneck.table ? ", " + bottleneck.table : ""}`],
      ["Moves", `${number(plan.moves.length)}, ${bytes(plan.moves.reduce((sum, move) => sum + move.bytes, 0))}`]),
      latest || !view.row.planId ? "" : el("p", {}, link("Show the latest plan", "workload", id)));
    const focused = planBox.contains(document.activeElement) ? document.activeElement.dataset.device : null;
    const was = Math.max(0, device);
    device = -1;
    planBox.replaceChildren(drawPlan(plan, capacity, showDevice));
    showDevice(Math.min(was, plan.deviceCosts.length - 1));
    if (focused !== null) planBox.querySelector(`[data-device="${CSS.escape(focused)}"]`)?.focus();
  }

  async function load() {
    const wanted = chosen();
    if (wanted && (!plan || plan.planId !== wanted)) {
      const loaded = await ask("/api/plan", { id: wanted });
      if (closed) return;
      plan = loaded;
      showPlan();
    } else if (!wanted) {
      showPlan();
    }
    const count = new Map();
    for (const shard of plan ? plan.shards : []) count.set(shard.table, (count.get(shard.table) || 0) + 1);
    tablesTable.set(tables.map((table) => ({ ...table, shards: count.get(table.name) || 0 })));
  }

  function drawAll() {
    drawHead();
    drawTimeline();
    plans.set(view.plans);
  }

  drawAll();
  await load();
  const stopColours = onColours(() => { drawTimeline(); showPlan(); });

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
        const fresh = await ask("/api/workload", { id });
        if (closed) return;
        if (fresh.row.generation !== view.row.generation || tables.length === 0 || fresh.row.planId !== view.row.planId) {
          tables = await ask("/api/tables", { workload: id });
        }
        view = fresh;
        if (closed) return;
        drawAll();
        await load();
        await new Promise((resolve) => setTimeout(resolve, 250));
      } while (again && !closed);
    } catch (error) {
      if (!closed) head.append(el("p", { class: "problem" }, error.message));
    } finally {
      loading = false;
    }
  }

  const timer = setInterval(drawHead, 5000);
  return {
    title: id,
    node: el("div", {},
      el("h1", {}, id),
      head,
      planTitle, planFacts,
      pictureTools(() => planBox.querySelector("svg"), `plan of ${id}`),
      el("div", { class: "pair" }, planBox, detail),
      el("h2", {}, "Plans over time"),
      pictureTools(() => timelineBox.querySelector("svg"), `plans of ${id}`),
      timelineBox, plans.node, plans.compare,
      el("h2", {}, "Tables"),
      tablesTable.node),
    news(kind, value) {
      if ((kind === "row" && value.workloadId === id) || kind === "all") reload();
    },
    said: (kind, value) =>
      kind === "row" && value.workloadId === id && value.planId !== view.row.planId
        ? `A new plan for generation ${value.plannedGeneration}: ${ms(value.predictedMs)} a step.`
        : "",
    close() {
      closed = true;
      clearInterval(timer);
      stopColours();
    },
  };
}

const fate = (line) => (line.fate ? words(line.fate.kind) + (line.fate.reason ? ": " + line.fate.reason : "") : "not adopted yet");

function planTable(id, chosen) {
  const picked = [];
  const button = el("button", {
    type: "button",
    disabled: true,
    onclick: () => {
      const [a, b] = picked;
      location.hash = route("compare", ...(order.get(a) <= order.get(b) ? [a, b] : [b, a]));
    },
  }, "Compare the two that are chosen");
  const order = new Map();
  const boxes = new Map();
  const table = new Table({
    caption: "Plans, the latest first",
    name: `Plans of ${id}`,
    key: (line) => line.planId,
    sort: 0,
    descending: true,
    rowClass: (line) => (line.planId === chosen() ? "marked" : ""),
    columns: [
      { title: "Made", fixed: true, value: (line) => line.createdAt, cell: (line) => clock(line.createdAt) },
      { title: "Generation", fixed: true, kind: "number", value: (line) => line.generation },
      { title: "Plan", fixed: true, value: (line) => line.planId, cell: (line) => link(short(line.planId), "workload", id, "plan", line.planId) },
      { title: "Because", fixed: true, kind: "wide", value: (line) => line.reason },
      { title: "Before", kind: "number", value: (line) => line.beforeMs, cell: (line) => ms(line.beforeMs) },
      { title: "After", fixed: true, kind: "number", value: (line) => line.predictedMs, cell: (line) => ms(line.predictedMs) },
      { title: "Search", fixed: true, value: (line) => words(line.effort) },
      { title: "Moves", fixed: true, kind: "number", value: (line) => line.moves, cell: (line) => number(line.moves) },
      { title: "Moved", fixed: true, kind: "number", value: (line) => line.movedBytes, cell: (line) => bytes(line.movedBytes) },
      { title: "Trainer", value: fate },
      { title: "Answered in", kind: "number", value: (line) => line.answeredMs, cell: (line) => whole(line.answeredMs) },
      { title: "Why", fixed: true, cell: (line) => el("a", { href: route("why", line.planId), "aria-label": `Why plan ${short(line.planId)}` }, "why?") },
      { title: "Compare", fixed: true, cell: (line) => box(line) },
    ],
  });
  function box(line) {
    const input = el("input", {
      type: "checkbox",
      "aria-label": `Compare plan ${short(line.planId)}`,
      onchange: () => {
        if (input.checked) picked.push(line.planId);
        else picked.splice(picked.indexOf(line.planId), 1);
        if (picked.length > 2) boxes.get(picked.shift()).checked = false;
        button.disabled = picked.length !== 2;
      },
    });
    boxes.set(line.planId, input);
    return input;
  }
  return {
    node: table.node,
    compare: el("div", { class: "tools" }, button),
    set(lines) {
      order.clear();
      lines.forEach((line, i) => order.set(line.planId, i));
      for (const known of [...boxes.keys()]) if (!order.has(known)) boxes.delete(known);
      table.set(lines);
    },
  };
}

const tableOfTables = () =>
  new Table({
    caption: "Tables as they are now",
    name: "Tables",
    filter: "Filter",
    key: (table) => table.name,
    sort: 7,
    descending: true,
    columns: [
      { title: "Table", fixed: true, kind: "wide", value: (table) => table.name },
      { title: "Rows", kind: "number", value: (table) => table.rows, cell: (table) => number(table.rows) },
      { title: "Columns", kind: "number", value: (table) => table.columns },
      { title: "Lookups a sample", kind: "number", value: (table) => table.poolingFactor, cell: (table) => number(table.poolingFactor) },
      { title: "Size", kind: "number", value: (table) => table.bytes, cell: (table) => bytes(table.bytes) },
      { title: "Shards", kind: "number", value: (table) => table.shards },
      { title: "Alone", kind: "number", value: (table) => table.aloneMs, cell: (table) => ms(table.aloneMs) },
      { title: "Share of cost", kind: "number", value: (table) => table.share, cell: (table) => percent(table.share) },
    ],
  });
