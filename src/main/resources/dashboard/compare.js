// What differs between two plans of a workload.

import { flow, onColours } from "./chart.js";
import { el, facts, link } from "./dom.js";
import { pictureTools } from "./export.js";
import { ask } from "./live.js";
import { Table } from "./table.js";
import { bytes, clock, ms, number, share, short } from "./text.js";

export async function compare(earlierId, laterId) {
  const [diff, earlier, later] = await Promise.all([
    ask("/api/diff", { earlier: earlierId, later: laterId }),
    ask("/api/plan", { id: earlierId }),
    ask("/api/plan", { id: laterId }),
  ]);
  const box = el("div", { class: "picture" });
  const draw = () => box.replaceChildren(flow(diff, earlier, later));
  draw();
  const stop = onColours(draw);
  const table = new Table({
    caption: "What moved",
    name: `Moves from ${short(earlierId)} to ${short(laterId)}`,
    filter: "Filter",
    key: ({ part }) => [part.table, part.columnOffset, part.rowOffset, part.fromDevice, part.toDevice].join("\n"),
    sort: 5,
    descending: true,
    columns: [
      { title: "Table", fixed: true, kind: "wide", value: ({ part }) => part.table },
      { title: "First column", fixed: true, kind: "number", value: ({ part }) => part.columnOffset },
      { title: "Columns", fixed: true, kind: "number", value: ({ part }) => part.columns },
      { title: "From device", fixed: true, kind: "number", value: ({ part }) => part.fromDevice },
      { title: "To device", fixed: true, kind: "number", value: ({ part }) => part.toDevice },
      { title: "Size", fixed: true, kind: "number", value: (moved) => moved.bytes, cell: (moved) => bytes(moved.bytes) },
    ],
  });
  table.set(diff.moved);
  const names = (what, list) =>
    list.length ? el("p", {}, `${what}: ${list.slice(0, 50).join(", ")}${list.length > 50 ? `, and ${list.length - 50} more` : ""}`) : "";
  return {
    title: `Compare plans of ${later.workloadId}`,
    node: el("div", {},
      el("h1", {}, "Two plans of ", link(later.workloadId, "workload", later.workloadId)),
      facts(
        ["Earlier", el("span", {}, link(short(earlierId), "why", earlierId), ` generation ${earlier.generation}, ${clock(earlier.createdAt)}`)],
        ["Later", el("span", {}, link(short(laterId), "why", laterId), ` generation ${later.generation}, ${clock(later.createdAt)}`)],
        ["A step", `${ms(earlier.predictedMs)} → ${ms(later.predictedMs)} (${share(earlier.predictedMs, later.predictedMs)})`],
        ["Devices", `${earlier.deviceCosts.length} → ${later.deviceCosts.length}`],
        ["On other devices", `${number(diff.moved.length)} parts, ${bytes(diff.moved.reduce((sum, moved) => sum + (moved.bytes || 0), 0))}`]),
      names("New tables", diff.added),
      names("Tables that are gone", diff.dropped),
      pictureTools(() => box.querySelector("svg"), `moves from ${short(earlierId)} to ${short(laterId)}`),
      box, table.node),
    close: stop,
  };
}
