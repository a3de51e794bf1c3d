// The tables of the view of a workload.

import { Chart } from "./chart.js";
import { el, link, route, svg } from "./dom.js";
import { chartTools } from "./export.js";
import { PARTS, fillOption, fillText, fills } from "./plots.js";
import { shardingText } from "./shards.js";
import { hiddenTable, Table } from "./table.js";
import { about, bytes, clock, ms, number, percent, rangeText, short, whole, words } from "./text.js";

/** Returns a table of the costs of a plan's devices. */
export const tableOfDevices = (id) =>
  hiddenTable("Devices as a table", {
    caption: "Predicted cost and memory of the devices",
    name: `Devices of ${id}`,
    key: (cost) => cost.device,
    columns: [
      { title: "Device", fixed: true, kind: "number", value: (cost) => cost.device },
      ...[...PARTS, ["total", "step"]].map(([key, title]) =>
        ({ title: title[0].toUpperCase() + title.slice(1), kind: "number", value: (cost) => cost[key], cell: (cost) => ms(cost[key]) })),
      { title: "Memory", kind: "number", value: (cost) => cost.memory, cell: (cost) => bytes(cost.memory) },
      { title: "Bottleneck", value: (cost) => (cost.isBottleneck ? "yes" : "") },
    ],
  });

const fate = (line) => (line.fate ? words(line.fate.kind) + (line.fate.reason ? ": " + line.fate.reason : "") : "no status yet");

/** Returns a table of plans; chosen() is the id of the plan to mark. */
export function tableOfPlans(id, chosen) {
  const picked = [];
  const order = new Map();
  const boxes = new Map();
  const button = el("button", {
    type: "button",
    disabled: true,
    onclick: () => {
      const [a, b] = picked;
      location.hash = route("compare", ...(order.get(a) <= order.get(b) ? [a, b] : [b, a]));
    },
  }, "Compare the two selected plans");
  const table = new Table({
    caption: "Plans, the latest first",
    name: `Plans of ${id}`,
    key: (line) => line.planId,
    sort: 1,
    descending: true,
    rowClass: (line) => (line.planId === chosen() ? "marked" : ""),
    columns: [
      { title: "Compare", fixed: true, cell: (line) => box(line) },
      { title: "Created", fixed: true, value: (line) => line.createdAt, cell: (line) => clock(line.createdAt) },
      { title: "Generation", fixed: true, kind: "number", value: (line) => line.generation },
      { title: "Plan", fixed: true, value: (line) => line.planId, cell: (line) => link(short(line.planId), "workload", id, "plan", line.planId) },
      { title: "Why", fixed: true, cell: (line) => el("a", { href: route("why", line.planId), "aria-label": `Why plan ${short(line.planId)}` }, "why?") },
      { title: "Reason", fixed: true, kind: "wide", value: (line) => line.reason },
      { title: "Step before", kind: "number", value: (line) => line.beforeMs, cell: (line) => ms(line.beforeMs) },
      { title: "Step after", fixed: true, kind: "number", value: (line) => line.predictedMs, cell: (line) => ms(line.predictedMs) },
      { title: "Search", fixed: true, value: (line) => words(line.effort) },
      { title: "Moves", fixed: true, kind: "number", value: (line) => line.moves, cell: (line) => number(line.moves) },
      { title: "Moved", fixed: true, kind: "number", value: (line) => line.movedBytes, cell: (line) => bytes(line.movedBytes) },
      { title: "Trainer", value: fate },
      { title: "Planning latency", kind: "number", value: (line) => line.answeredMs, cell: (line) => whole(line.answeredMs) },
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
    node: el("div", {}, table.node, el("div", { class: "tools" }, button)),
    set(lines) {
      order.clear();
      lines.forEach((line, i) => order.set(line.planId, i));
      for (const known of [...boxes.keys()]) if (!order.has(known)) boxes.delete(known);
      table.set(lines);
    },
  };
}

/** Returns the number of a table's shards, as a button that draws them. */
const shardsButton = (table, draw) =>
  table.shards.length
    ? el("button", { type: "button", "aria-label": `Draw the ${table.shards.length} shards of ${table.name}`, onclick: () => draw(table.name) }, number(table.shards.length))
    : "";

/** Returns a table of embedding tables; draw(name) shows how one is cut. */
export const tableOfTables = (draw) =>
  new Table({
    caption: "Tables of the current generation",
    name: "Tables",
    filter: "Filter",
    key: (table) => table.name,
    sort: 8,
    descending: true,
    columns: [
      { title: "Table", fixed: true, kind: "wide", value: (table) => table.name },
      { title: "Rows", kind: "number", value: (table) => table.rows, cell: (table) => number(table.rows) },
      { title: "Columns", kind: "number", value: (table) => table.columns },
      { title: "Pooling factor", kind: "number", value: (table) => table.poolingFactor, cell: (table) => number(table.poolingFactor) },
      { title: "Size", kind: "number", value: (table) => table.bytes, cell: (table) => bytes(table.bytes) },
      { title: "Sharding", value: (table) => (table.shards.length ? shardingText(table.shards) : "") },
      { title: "Shards", kind: "number", value: (table) => table.shards.length, cell: (table) => shardsButton(table, draw) },
      { title: "Predicted alone", kind: "number", value: (table) => table.aloneMs, cell: (table) => ms(table.aloneMs) },
      { title: "Share of cost", kind: "number", value: (table) => table.share, cell: (table) => percent(table.share) },
    ],
  });

const share = (row) => row.ids / row.slots;
const isFull = (row) => row.daysUntilFull?.median === 0;

/** Draws which share of a table's slots is taken. */
const fillBar = (row) =>
  svg("svg", { class: "fill", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { width: 100, height: 10 }),
    svg("rect", { class: isFull(row) ? "held all" : "held", width: 100 * Math.min(1, share(row)), height: 10 }));

const idsIn = (title, key) =>
  ({ title, kind: "number", value: (table) => table[key].median, cell: (table) => rangeText(table[key]) });

const resized = (row) => (row.slotsGiven === row.slots ? null : row.slotsGiven);

const daysLeft = (row) => row.daysUntilFull?.median ?? Infinity;

/** Returns the forecasts of a workload's hashed tables; set(forecasts) shows some, or nothing for null. */
export function forecasts(id) {
  let shown = null;
  let chosen = null;
  const table = new Table({
    caption: "Hash tables, as last reported",
    name: "Hash tables",
    key: (row) => row.name,
    rowClass: (row) => (row.name === chosen ? "marked" : ""),
    columns: [
      { title: "Table", fixed: true, kind: "wide", value: (row) => row.name },
      { title: "Ids", kind: "number", value: (row) => row.ids, cell: (row) => idsButton(row) },
      { title: "Slots", kind: "number", value: (row) => row.slots, cell: (row) => number(row.slots) },
      { title: "Fill", kind: "number", value: share, cell: (row) => el("span", {}, fillBar(row), percent(share(row))) },
      idsIn("In a day", "inDay"),
      idsIn("In 7 days", "inWeek"),
      idsIn("In 28 days", "inFourWeeks"),
      { title: "Full in", value: (row) => row.daysUntilFull?.median ?? null, cell: (row) => row.daysUntilFull?.text ?? "not expected" },
      { title: "Resized to", kind: "number", value: resized, cell: (row) => number(resized(row)) },
    ],
  });
  const idsButton = (row) =>
    el("button", {
      type: "button",
      "aria-label": `Draw the ${number(row.ids)} ids of ${row.name} over time`,
      onclick: () => {
        chosen = row.name;
        draw();
        table.refresh();
        picture.scrollIntoView({ block: "nearest" });
      },
    }, number(row.ids));
  const chart = new Chart(`ids of ${id}`);
  const title = el("h3", { "aria-live": "polite" });
  const points = hiddenTable("Ids over time as a table", {
    caption: "Ids over time, reported and forecast",
    name: `Ids of ${id}`,
    key: (point) => point.at,
    columns: [
      { title: "Time", fixed: true, value: (point) => point.at, cell: (point) => clock(point.at) },
      ...[["Ids", "median"], ["90% from", "low"], ["90% to", "high"]].map(([heading, key]) =>
        ({ title: heading, kind: "number", value: (point) => point[key], cell: (point) => (point[key] === undefined ? "" : about(point[key])) })),
    ],
  });
  const picture = el("div", {}, title, chartTools(chart), chart.node, points.node);

  /** Draws the chosen table, or else the one that is full first. */
  function draw() {
    const row = shown.tables.find(({ name }) => name === chosen) ??
      shown.tables.reduce((first, other) => (first && daysLeft(first) <= daysLeft(other) ? first : other), null);
    picture.hidden = row === null;
    if (row === null) return;
    chosen = row.name;
    const heading = `Ids of ${chosen} over time`;
    if (title.textContent !== heading) title.textContent = heading;
    chart.show(fillOption(row, shown.measuredAt), { label: fillText(row, shown.measuredAt), height: 340 });
    const { past, forecast } = fills(row, shown.measuredAt);
    points.set([...past, ...forecast.slice(1)]);
  }

  const notes = el("div");
  const node = el("div", {}, el("h2", {}, "Hash tables"), notes, picture, table.node);
  return {
    node,
    set(latest) {
      node.hidden = latest === null;
      if (latest === null) return;
      shown = latest;
      const end = latest.memoryEnd;
      notes.replaceChildren(
        el("p", { class: "soft" }, `Reported ${clock(latest.measuredAt)}; ranges hold in 90% of cases.`),
        end ? el("p", { class: "problem" }, `Memory holds the tables for ${end.days.text} after the report, whatever the plan; at the end of growth.warning.days, ${bytes(end.bytesShort)} are missing.`) : "");
      draw();
      table.set(latest.tables);
    },
    close: () => chart.close(),
  };
}
