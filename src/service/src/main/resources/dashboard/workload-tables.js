// The tables of the view of a workload.

import { charted } from "./chart.js";
import { el, link, route, svg } from "./dom.js";
import { PARTS, fillOption, fillText, fills } from "./plots.js";
import { shardingText } from "./shards.js";
import { col, name, num, Table, when } from "./table.js";
import { about, bytes, clock, ms, number, percent, rangeText, short, whole, words } from "./text.js";

/** Returns the chart of a plan, with the details of a device beside it, and a table of the costs of its devices. */
export const chartOfDevices = (id, detail) => charted(`plan of ${id}`, "Devices as a table", {
  caption: "Predicted cost and memory of the devices",
  name: `Devices of ${id}`,
  key: (cost) => cost.device,
  columns: [
    num("Device", "device"),
    ...[...PARTS, ["total", "step"]].map(([key, title]) => num(title[0].toUpperCase() + title.slice(1), key, ms)),
    num("Memory", "memory", bytes), col("Bottleneck", (cost) => (cost.isBottleneck ? "yes" : "")),
  ],
}, (chart) => el("div", { class: "pair" }, chart, detail));

const fate = (line) => (line.fate ? words(line.fate.kind) + (line.fate.reason ? ": " + line.fate.reason : "") : "no status yet");

/** Returns a table of plans; chosen() is the id of the plan to mark, reasonOf(line) the text of its reason. */
export function tableOfPlans(id, chosen, reasonOf) {
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
  const links = (planId) => el("span", {},
    link(short(planId), "workload", id, "plan", planId), " ",
    el("a", { href: route("why", planId), "aria-label": `Why plan ${short(planId)}` }, "why?"));
  const table = new Table({
    caption: "Plans, the latest first",
    name: `Plans of ${id}`,
    key: (line) => line.planId,
    sort: 1,
    descending: true,
    rowClass: (line) => (line.planId === chosen() ? "marked" : ""),
    columns: [
      { title: "Compare", fixed: true, cell: (line) => box(line) },
      when("Created", "createdAt"), num("Generation", "generation"), col("Plan", "planId", links), name("Reason", reasonOf),
      num("Step before", "beforeMs", ms), num("Step after", "predictedMs", ms), col("Search", (line) => words(line.effort)),
      num("Moves", "moves"), num("Moved", "movedBytes", bytes), name("Trainer", fate),
      num("Planning latency", "answeredMs", whole),
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

/** Returns a table of embedding tables; draw(name) shows how one is cut. */
export const tableOfTables = (draw) => new Table({
  caption: "Tables of the current generation",
  name: "Tables",
  filter: "Filter",
  key: (table) => table.name,
  sort: 8,
  descending: true,
  columns: [
    name("Table", "name"), num("Rows", "rows"), num("Columns", "columns"),
    num("Pooling factor", "poolingFactor"), num("Size", "bytes", bytes),
    col("Sharding", ({ shards }) => (shards.length ? shardingText(shards) : "")),
    num("Shards", (table) => table.shards.length, (count, table) => count === 0 ? "" :
      el("button", { type: "button", "aria-label": `Draw the ${count} shards of ${table.name}`, onclick: () => draw(table.name) }, number(count))),
    num("Predicted alone", "aloneMs", ms), num("Share of cost", "share", (share) => percent(share)),
  ],
});

const share = (row) => row.ids / row.slots;
const isFull = (row) => row.daysUntilFull?.median === 0;

/** Draws which share of a table's slots is taken. */
const fillBar = (row) =>
  svg("svg", { class: "fill", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { width: 100, height: 10 }),
    svg("rect", { class: isFull(row) ? "held all" : "held", width: 100 * Math.min(1, share(row)), height: 10 }));

const idsIn = (title, key) => num(title, (row) => row[key].median, (ids, row) => rangeText(row[key]));
const idsAt = (title, key) => num(title, key, (ids) => (ids === undefined ? "" : about(ids)));
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
      num("Fill", share, (of, row) => el("span", {}, fillBar(row), percent(of))), idsIn("In a day", "inDay"),
      idsIn("In 7 days", "inWeek"), idsIn("In 28 days", "inFourWeeks"),
      col("Full in", (row) => row.daysUntilFull?.median ?? null, (days, row) => row.daysUntilFull?.text ?? "not expected"),
      num("Resized to", (row) => (row.slotsGiven === row.slots ? null : row.slotsGiven)),
    ],
  });
  function idsButton(ids, row) {
    const onclick = () => {
      chosen = row.name;
      draw();
      table.refresh();
      picture.scrollIntoView({ block: "nearest" });
    };
    return el("button", { type: "button", "aria-label": `Draw the ${number(ids)} ids of ${row.name} over time`, onclick }, number(ids));
  }
  const title = el("h3", { "aria-live": "polite" });
  const over = charted(`ids of ${id}`, "Ids over time as a table", {
    caption: "Ids over time, reported and forecast",
    name: `Ids of ${id}`,
    key: (point) => point.at,
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
    over.chart.show(fillOption(row, shown.measuredAt), { label: fillText(row, shown.measuredAt), height: 340 });
    const { past, forecast } = fills(row, shown.measuredAt);
    over.table.set([...past, ...forecast.slice(1)]);
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
    close: () => over.chart.close(),
  };
}
