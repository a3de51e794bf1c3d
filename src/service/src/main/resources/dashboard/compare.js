// The differences between two plans of a workload.

import { charted } from "./chart.js";
import { el, facts, link } from "./dom.js";
import { get } from "./live.js";
import { diffHeight, diffOption, parts, transfers } from "./plots.js";
import { devicesText, fromText, movesText, rowsOf, toText } from "./shards.js";
import { col, hiddenTable, num, Table } from "./table.js";
import { bytes, clock, ms, named, short, stepChange } from "./text.js";
import { partColumns } from "./workload-tables.js";

export async function compare(earlierId, laterId) {
  const [diff, earlier, later] = await Promise.all([
    get("/api/diff", { earlier: earlierId, later: laterId }),
    get("/api/plan", { id: earlierId }),
    get("/api/plan", { id: laterId }),
  ]);
  const moved = diff.moved.map(({ part, bytes: size }) => ({ ...part, bytes: size }));
  const pair = `from ${short(earlierId)} to ${short(laterId)}`;
  const devices = charted(`moves ${pair}`, "Devices as a table", {
    caption: "Predicted step of each device",
    name: `Devices ${pair}`,
    columns: [num("Device", "device"), num("Earlier", "earlier", ms), num("Later", "later", ms)],
  });
  const [before, after] = [parts(earlier.deviceCosts), parts(later.deviceCosts)];
  const longer = before.length > after.length ? before : after;
  devices.show(diffOption(moved, earlier, later), {
    label: `Predicted cost of each device with the earlier plan on the left and the later one on the right, and ${diff.moved.length} shards that move between them`,
    height: diffHeight(earlier, later),
  }, longer.map(({ device }) => ({ device, earlier: before[device]?.total, later: after[device]?.total })));
  const table = new Table({
    caption: "Shards on another device",
    name: `Moves ${pair}`,
    filter: "Filter",
    largest: "Size",
    columns: [
      ...partColumns(rowsOf(later.shards)), col("From", "fromDevice", fromText), col("To", "toDevice", toText), num("Size", "bytes", bytes),
    ],
    rows: moved,
  });
  const pairs = hiddenTable("Bytes between devices as a table", {
    caption: "Bytes and shards from device to device",
    name: `Bytes between devices ${pair}`,
    largest: "Size",
    columns: [col("From", "from", fromText), col("To", "to", toText), num("Shards", "count"), num("Size", "bytes", bytes)],
  });
  pairs.set(transfers(moved));
  const names = (what, tables) => tables.length > 0 && el("p", {}, `${what}: ${named(tables, 50)}`);
  const about = (plan) => [link(short(plan.planId), "why", plan.planId), ` generation ${plan.generation}, ${clock(plan.createdAt)}`];
  return {
    title: `Compare plans of ${later.workloadId}`,
    node: el("div", {},
      el("h1", {}, "Two plans of ", link(later.workloadId, "workload", later.workloadId)),
      facts(
        ["Earlier", ...about(earlier)],
        ["Later", ...about(later)],
        ["Step", stepChange(earlier.predictedMs, later.predictedMs)],
        ["Devices", `${devicesText(earlier)} → ${devicesText(later)}`],
        ["Moves", movesText({ ...later, moves: moved })]),
      names("New tables", diff.added),
      names("Dropped tables", diff.dropped),
      devices.node, pairs.node, table.node),
  };
}
