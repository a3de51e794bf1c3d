// The picture of a pool: its nodes, grouped by rack.

import { detail, el, facts, link } from "./dom.js";
import { state } from "./live.js";
import { clock, counted } from "./text.js";

/** Above this many nodes they are small squares without names: the number in them is that of the workload in the legend. */
const MANY = 96;

const SIGNS = { TAKEN: "", FREE: "free", LOST: "✕ lost" };
const SMALL_SIGNS = { TAKEN: "", FREE: "", LOST: "✕" };
/** Nodes, or rows of nodes, that a key goes on. */
const STEPS = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
const ROWS = { ArrowDown: 1, ArrowUp: -1 };

const rackName = (rack) => (rack ? `Rack ${rack}` : "Without a rack");

/** Links to a workload, if it is planned. */
export const workloadLink = (id) => (state.rows.has(id) ? link(id, "workload", id) : id);

function nodeText(node, devices) {
  const where = node.rack ? `, rack ${node.rack}` : "";
  if (node.state === "LOST") return `${node.name}${where}: lost${node.workloadId ? `, ${node.workloadId} had it` : ""}`;
  return `${node.name}${where}: ${node.state === "FREE" ? "free" : node.workloadId}, ${counted(devices, "device")}`;
}

/** A list box of nodes, which the arrow keys go through, and the details of the chosen one beside it. */
export class PoolPicture {
  constructor(poolId, marks) {
    this.marks = marks;
    this.nodes = [];
    this.at = 0;
    this.list = el("div", {
      class: "nodes", role: "listbox", tabindex: 0, "aria-label": `Nodes of ${poolId}`,
      onkeydown: (event) => this.key(event),
      onclick: (event) => {
        const square = event.target.closest("[role=option]");
        if (square) this.choose(this.squares.indexOf(square));
      },
    });
    this.legend = el("ul", { class: "legend" });
    this.detail = detail("The chosen node");
    this.node = el("div", { class: "pair" }, el("div", { class: "picture" }, this.list, this.legend), this.detail);
  }

  set(view) {
    const chosen = this.nodes[this.at]?.name;
    this.view = view;
    this.workloads = new Map(view.workloads.map((workload) => [workload.workloadId, workload]));
    const sorted = [...Map.groupBy(view.nodes, (node) => node.rack)].sort(([a], [b]) => (a < b ? -1 : 1));
    this.nodes = sorted.flatMap(([, nodes]) => nodes);
    const small = this.nodes.length > MANY;
    this.list.classList.toggle("small", small);
    this.squares = this.nodes.map((node, i) => this.square(node, i, small));
    let next = 0;
    this.list.replaceChildren(...sorted.map(([rack, nodes]) =>
      el("div", { class: "rack", role: "group", "aria-label": rackName(rack) },
        el("p", { "aria-hidden": "true" }, `${rackName(rack)} · ${counted(nodes.length, "node")}`),
        el("div", { class: "squares", role: "presentation" }, this.squares.slice(next, next += nodes.length)))));
    this.showLegend(small);
    this.choose(Math.max(0, this.nodes.findIndex((node) => node.name === chosen)));
  }

  square(node, i, small) {
    const taken = node.state === "TAKEN";
    const label = taken ? node.workloadId : SIGNS[node.state];
    return el("div", {
      class: `node ${node.state.toLowerCase()} ${taken ? this.marks.classes(node.workloadId) : ""}`,
      role: "option", id: `node-${i}`, "aria-selected": "false",
      "aria-label": nodeText(node, this.view.row.devicesPerNode), title: nodeText(node, this.view.row.devicesPerNode),
    }, small
      ? el("span", {}, taken ? this.marks.of(node.workloadId) + 1 : SMALL_SIGNS[node.state])
      : [el("strong", {}, node.name), el("span", {}, label)]);
  }

  showLegend(small) {
    const has = this.view.workloads.filter((workload) => workload.nodes.length);
    const entry = (classes, sign, text) => el("li", {}, el("span", { class: `node swatch ${classes}`, "aria-hidden": "true" }, sign), " ", text);
    const { freeNodes, lostNodes } = this.view.row;
    this.legend.replaceChildren(
      ...has.map((workload) => entry("taken " + this.marks.classes(workload.workloadId), small ? this.marks.of(workload.workloadId) + 1 : "",
        `${workload.workloadId}: ${counted(workload.nodes.length, "node")}`)),
      freeNodes ? entry("free", "", `free: ${counted(freeNodes, "node")}`) : "",
      lostNodes ? entry("lost", "✕", `lost: ${counted(lostNodes, "node")}`) : "");
  }

  key(event) {
    const rows = ROWS[event.key];
    const next = rows ? this.beside(rows) : this.at + STEPS[event.key];
    if (Number.isNaN(next)) return;
    event.preventDefault();
    this.choose(Math.max(0, Math.min(this.nodes.length - 1, next)));
    this.squares[this.at]?.scrollIntoView({ block: "nearest" });
  }

  /** Returns the node in the row below the chosen one, or above it, that is nearest. */
  beside(direction) {
    const boxes = this.squares.map((square) => square.getBoundingClientRect());
    const from = boxes[this.at];
    const below = ({ top }) => direction * (top - from.top);
    const distance = (box) => 1000 * below(box) + Math.abs(box.left - from.left);
    const [nearest] = boxes.filter((box) => below(box) > 1).sort((a, b) => distance(a) - distance(b));
    return nearest ? boxes.indexOf(nearest) : this.at;
  }

  choose(index) {
    if (this.nodes.length === 0) {
      this.list.removeAttribute("aria-activedescendant");
      this.detail.replaceChildren("The pool has no nodes.");
      return;
    }
    this.squares[this.at]?.setAttribute("aria-selected", "false");
    this.at = index;
    this.squares[index].setAttribute("aria-selected", "true");
    this.list.setAttribute("aria-activedescendant", `node-${index}`);
    const node = this.nodes[index];
    const workload = node.state === "TAKEN" && this.workloads.get(node.workloadId);
    const { transfer } = node;
    this.detail.replaceChildren(
      el("h3", {}, `Node ${node.name}`),
      facts(
        node.rack && ["Rack", node.rack],
        node.state === "TAKEN" && ["Workload", workloadLink(node.workloadId)],
        node.state === "FREE" && ["Workload", "none, it is free"],
        node.state === "LOST" && ["Lost", clock(node.lostAt)],
        node.state === "LOST" && node.workloadId && ["Workload before", workloadLink(node.workloadId)],
        ["Devices", this.view.row.devicesPerNode]),
      workload && workload.reason ? el("p", {}, `${workload.workloadId}: ${workload.reason}`) : "",
      transfer ? el("p", {}, `Generation ${transfer.generation} took it from ${transfer.from}` +
        `${transfer.to ? ` for ${transfer.to}` : ""}: ${transfer.reason}`) : "");
  }
}
