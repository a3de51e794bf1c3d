// The tables of the view of a workload.

import { charted } from "./chart.js";
import { button, el, link, route, svg } from "./dom.js";
import { fillOption, fills, fillText, PARTS } from "./plots.js";
import { columnsText, rowsText, shardingText } from "./shards.js";
import { col, name, num, share, Table, when } from "./table.js";
import { about, bytes, capitalized, clock, ms, number, percent, rangeText, reasonOf, short, whole, words } from "./text.js";

/** Returns the chart of a plan, with the details of a device beside it, and a table of the costs of its devices. */
export const chartOfDevices = (id, detail) => charted(`plan of ${id}`, "Devices as a table", {
  caption: "Predicted cost and memory of the devices",
  name: `Devices of ${id}`,
  columns: [
    num("Device", "device"),
    ...[...PARTS, ["total", "step"]].map(([key, title]) => num(capitalized(title), key, ms)),
    num("Memory", "memory", bytes), col("Bottleneck", (cost) => (cost.isBottleneck ? "yes" : "")),
  ],
}, (chart) => el("div", { class: "pair" }, chart, detail));

const fate = (line) => (line.fate ? words(line.fate.kind) + (line.fate.reason ? ": " + line.fate.reason : "") : "no status yet");

/** Returns a table of plans; chosen() is the id of the plan to mark. */
export function tableOfPlans(id, chosen) {
  let picked = [];
  const compare = button("Compare the two selected plans", () => {
    const [earlier, later] = picked.map(({ line }) => line).sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
    location.hash = route("compare", earlier.planId, later.planId);
  }, { disabled: true });
  function pick(input, line) {
    picked = picked.filter((other) => other.line !== line);
    if (input.checked) picked.push({ input, line });
    if (picked.length > 2) picked.shift().input.checked = false;
    compare.disabled = picked.length !== 2;
  }
  const box = (line) => el("input", {
    type: "checkbox", "aria-label": `Compare plan ${short(line.planId)}`, onchange: ({ target }) => pick(target, line),
  });
  const links = (planId) => el("span", {},
    link(short(planId), "workload", id, "plan", planId), " ",
    el("a", { href: route("why", planId), "aria-label": `Why plan ${short(planId)}` }, "why?"));
  const table = new Table({
    caption: "Plans, the latest first",
    name: `Plans of ${id}`,
    key: (line) => line.planId,
    largest: "Created",
    rowClass: (line) => (line.planId === chosen() ? "marked" : ""),
    columns: [
      { title: "Compare", fixed: true, cell: box },
      when("Created", "createdAt"), num("Generation", "generation"), col("Plan", "planId", links), name("Reason", (line) => reasonOf(line.reason)),
      num("Step before", "beforeMs", ms), num("Step after", "predictedMs", ms), num("Moves", "moves"),
      num("Moved", "movedBytes", bytes), name("Trainer", fate), num("Planning latency", "answeredMs", whole),
    ],
  });
  return { node: el("div", {}, table.node, el("div", { class: "tools" }, compare)), set: (lines) => table.set(lines) };
}

/** Returns the columns of what a part of a table is; rowsOf has how many rows the tables have. */
export const partColumns = (rowsOf) => [
  name("Table", "table"), col("Columns", columnsText), col("Rows", (part) => rowsText(part, rowsOf.get(part.table))),
];

/** Returns a table of embedding tables; draw(name) shows how one is cut. */
export const tableOfTables = (draw) => new Table({
  caption: "Tables of the current generation",
  name: "Tables",
  filter: "Filter",
  key: (table) => table.name,
  largest: "Share of cost",
  columns: [
    name("Table", "name"), num("Rows", "rows"), num("Columns", "columns"),
    num("Pooling factor", "poolingFactor"), num("Size", "bytes", bytes),
    col("Sharding", ({ shards }) => (shards.length ? shardingText(shards) : "")),
    num("Shards", (table) => table.shards.length, (count, { name: of }) =>
      count === 0 ? "" : button(number(count), () => draw(of), { "aria-label": `Draw the ${count} shards of ${of}` })),
    num("Predicted alone", "aloneMs", ms), share("Share of cost", "share"),
  ],
});

const fill = (row) => row.ids / row.slots;
const isFull = (row) => row.daysUntilFull?.median === 0;

/** Draws which share of a table's slots is taken. */
const fillBar = (row) =>
  svg("svg", { class: "fill", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { width: 100, height: 10 }),
    svg("rect", { class: isFull(row) ? "held all" : "held", width: 100 * Math.min(1, fill(row)), height: 10 }));

const idsIn = (title, key) => num(title, (row) => row[key].median, (ids, row) => rangeText(row[key]));
const idsAt = (title, key) => num(title, key, (ids) => about(ids));
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
      name("Table", "name"), num("Ids", "ids", idsButton), num("Slots", "slots"),
      num("Fill", fill, (of, row) => el("span", {}, fillBar(row), percent(of))), idsIn("In a day", "inDay"),
      idsIn("In 7 days", "inWeek"), idsIn("In 28 days", "inFourWeeks"),
      col("Full in", (row) => row.daysUntilFull?.median ?? null, (days, row) => row.daysUntilFull?.text ?? "not expected"),
      num("Resized to", (row) => (row.slotsGiven === row.slots ? null : row.slotsGiven)),
    ],
  });
  function idsButton(ids, row) {
    return button(number(ids), () => {
      chosen = row.name;
      draw();
      table.refresh();
      picture.scrollIntoView({ block: "nearest" });
    }, { "aria-label": `Draw the ${number(ids)} ids of ${row.name} over time` });
  }
  const title = el("h3", { "aria-live": "polite" });
  const over = charted(`ids of ${id}`, "Ids over time as a table", {
    caption: "Ids over time, reported and forecast",
    columns: [when("Time", "at"), idsAt("Ids", "median"), idsAt("90% from", "low"), idsAt("90% to", "high")],
  });
  const picture = el("div", {}, title, over.node);

  /** Draws the chosen table, or else the one that is full first. */
  function draw() {
    const row = shown.tables.find((of) => of.name === chosen) ??
      shown.tables.reduce((first, other) => (first && daysLeft(first) <= daysLeft(other) ? first : other), null);
    picture.hidden = row === null;
    if (row === null) return;
    chosen = row.name;
    const heading = `Ids of ${chosen} over time`;
    if (title.textContent !== heading) title.textContent = heading;
    const { past, forecast } = fills(row, shown.measuredAt);
    const look = { label: fillText(row, shown.measuredAt), height: 340 };
    over.show(fillOption(row, shown.measuredAt), look, [...past, ...forecast.slice(1)]);
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
        end === null ? "" : el("p", { class: "problem" }, `Memory holds the tables for ${end.days.text} after the report, ` +
          `whatever the plan; at the end of growth.warning.days, ${bytes(end.bytesShort)} are missing.`));
      draw();
      table.set(latest.tables);
    },
  };
}
