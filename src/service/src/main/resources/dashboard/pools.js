// A row for each pool of devices.

import { el, link } from "./dom.js";
import { state } from "./live.js";
import { Table } from "./table.js";
import { ago, number, percent, rate } from "./text.js";

export function pools() {
  const table = new Table({
    caption: "Pools",
    filter: "Filter",
    key: (row) => row.poolId,
    columns: [
      { title: "Pool", fixed: true, kind: "wide", value: (row) => row.poolId, cell: (row) => link(row.poolId, "pool", row.poolId) },
      { title: "Generation", kind: "number", value: (row) => row.generation, cell: (row) => number(row.generation) },
      { title: "Nodes", kind: "number", value: (row) => row.nodes, cell: (row) => number(row.nodes) },
      { title: "Free", kind: "number", value: (row) => row.freeNodes, cell: (row) => number(row.freeNodes) },
      { title: "Lost", kind: "number", value: (row) => row.lostNodes, cell: (row) => el("span", { class: row.lostNodes ? "warn" : null }, number(row.lostNodes)) },
      { title: "Devices", kind: "number", value: (row) => row.devices, cell: (row) => number(row.devices) },
      { title: "Workloads", kind: "number", value: (row) => row.workloads, cell: (row) => number(row.workloads) },
      { title: "Without devices", kind: "number", value: (row) => row.waiting, cell: (row) => number(row.waiting) },
      { title: "Weighted throughput", kind: "number", value: (row) => row.weightedThroughput, cell: (row) => rate(row.weightedThroughput, row.simulated) },
      { title: "Fairness loss", kind: "number", value: (row) => row.fairnessLoss, cell: (row) => percent(row.fairnessLoss) },
      { title: "Last change", kind: "number", value: (row) => (row.changedAt ? Date.parse(row.changedAt) : null), cell: (row) => ago(row.changedAt) },
      { title: "Hardware", value: (row) => row.hardware },
    ],
  });
  table.set(state.pools.values());
  const empty = el("p", { class: "soft" }, "There is no pool. With pools.enabled=true, the planner allocates the pools whose events it reads from pool-changes.");
  const showEmpty = () => { empty.hidden = state.pools.size > 0; };
  showEmpty();
  const timer = setInterval(() => table.refresh(), 5000);
  return {
    title: "Pools",
    node: el("div", {}, el("h1", {}, "Pools"), empty, table.node),
    update(kind, value) {
      if (kind === "pool") table.put(value);
      else if (kind === "connected") table.set(state.pools.values());
      showEmpty();
    },
    close: () => clearInterval(timer),
  };
}
