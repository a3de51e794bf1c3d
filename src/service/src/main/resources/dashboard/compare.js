// The differences between two plans of a workload.

import { Chart } from "./chart.js";
import { el, facts, link } from "./dom.js";
import { chartTools } from "./export.js";
import { get } from "./live.js";
import { diffHeight, diffOption, parts, transfers } from "./plots.js";
import { columnsText, devicesText, fromText, rowsOf, rowsText, toText } from "./shards.js";
import { hiddenTable, Table } from "./table.js";
import { bytes, change, clock, counted, ms, short } from "./text.js";

export async function compare(earlierId, laterId) {
  const [diff, earlier, later] = await Promise.all([
    get("/api/diff", { earlier: earlierId, later: laterId }),
    get("/api/plan", { id: earlierId }),
    get("/api/plan", { id: laterId }),
  ]);
  const pair = `from ${short(earlierId)} to ${short(laterId)}`;
  const chart = new Chart(`moves ${pair}`);
  chart.show(diffOption(diff, earlier, later), {
    label: `Predicted cost of each device with the earlier plan on the left and the later one on the right, and ${diff.moved.length} shards that move between them`,
    height: diffHeight(diff),
  });
  const rows = rowsOf(later.shards);
  const table = new Table({
    caption: "Shards on another device",
    name: `Moves ${pair}`,
    filter: "Filter",
    key: ({ part }) => [part.table, part.columnOffset, part.rowOffset, part.fromDevice, part.toDevice].join("\n"),
    sort: 5,
    descending: true,
    columns: [
      { title: "Table", fixed: true, kind: "wide", value: ({ part }) => part.table },
      { title: "Columns", fixed: true, value: ({ part }) => columnsText(part) },
      { title: "Rows", fixed: true, value: ({ part }) => rowsText(part, rows.get(part.table)) },
      { title: "From", fixed: true, value: ({ part }) => part.fromDevice, cell: ({ part }) => fromText(part.fromDevice) },
      { title: "To", fixed: true, value: ({ part }) => part.toDevice, cell: ({ part }) => toText(part.toDevice) },
      { title: "Size", fixed: true, kind: "number", value: (moved) => moved.bytes, cell: (moved) => bytes(moved.bytes) },
    ],
  });
  table.set(diff.moved);
  const devices = hiddenTable("Devices as a table", {
    caption: "Predicted step of each device",
    name: `Devices ${pair}`,
    key: (row) => row.device,
    columns: [
      { title: "Device", kind: "number", value: (row) => row.device },
      { title: "Earlier", kind: "number", value: (row) => row.earlier, cell: (row) => ms(row.earlier) },
      { title: "Later", kind: "number", value: (row) => row.later, cell: (row) => ms(row.later) },
    ],
  });
  const pairs = hiddenTable("Bytes between devices as a table", {
    caption: "Bytes and shards from device to device",
    name: `Bytes between devices ${pair}`,
    key: (sum) => `${sum.from} ${sum.to}`,
    sort: 3,
    descending: true,
    columns: [
      { title: "From", value: (sum) => sum.from, cell: (sum) => fromText(sum.from) },
      { title: "To", value: (sum) => sum.to, cell: (sum) => toText(sum.to) },
      { title: "Shards", kind: "number", value: (sum) => sum.count },
      { title: "Size", kind: "number", value: (sum) => sum.bytes, cell: (sum) => bytes(sum.bytes) },
    ],
  });
  pairs.set(transfers(diff.moved));
  const [before, after] = [parts(earlier.deviceCosts), parts(later.deviceCosts)];
  devices.set((before.length > after.length ? before : after).map(({ device }) => ({ device, earlier: before[device]?.total, later: after[device]?.total })));
  const names = (what, list) =>
    list.length ? el("p", {}, `${what}: ${list.slice(0, 50).join(", ")}${list.length > 50 ? `, and ${list.length - 50} more` : ""}`) : "";
  return {
    title: `Compare plans of ${later.workloadId}`,
    node: el("div", {},
      el("h1", {}, "Two plans of ", link(later.workloadId, "workload", later.workloadId)),
      facts(
        ["Earlier", el("span", {}, link(short(earlierId), "why", earlierId), ` generation ${earlier.generation}, ${clock(earlier.createdAt)}`)],
        ["Later", el("span", {}, link(short(laterId), "why", laterId), ` generation ${later.generation}, ${clock(later.createdAt)}`)],
        ["Step", `${ms(earlier.predictedMs)} → ${ms(later.predictedMs)} (${change(earlier.predictedMs, later.predictedMs)})`],
        ["Devices", `${devicesText(earlier)} → ${devicesText(later)}`],
        ["Moved", `${counted(diff.moved.length, "shard")}, ${bytes(diff.moved.reduce((sum, moved) => sum + (moved.bytes || 0), 0))}`]),
      names("New tables", diff.added),
      names("Dropped tables", diff.dropped),
      chartTools(chart), chart.node, devices.node, pairs.node, table.node),
    close: () => chart.close(),
  };
}
