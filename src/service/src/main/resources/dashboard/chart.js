// Charts: Apache ECharts, rendered as SVG.

import { el, fill } from "./dom.js";
import { chartTools } from "./export.js";
import { hiddenTable } from "./table.js";
import { capitalized } from "./text.js";

/** The colours of style.css that charts have. */
const COLOURS = ["ink", "soft", "line", "panel", "compute", "backward", "forward", "idle", "memory", "alert", "band"];
const KEYS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, PageDown: 8, PageUp: -8, Home: -Infinity, End: Infinity };

/** How far outside the visible part of the page a chart is drawn already. */
const NEAR = "200px";

let library = null;

/** Loads ECharts once. A view does not wait for it: its text and tables come first. */
export const loadCharts = () => (library ??= import("./echarts.js"));

/** Returns a tooltip as an element: ECharts would parse a string as HTML. */
export const tooltip = (...lines) => el("div", {}, lines.map((line) => el("div", {}, line)));

/**
 * A chart in the page. It is drawn once it is near the visible part of the page, which the browser reports after it has
 * painted the text and tables around it. It follows the size of its node and the colour scheme. Call show() with
 * ECharts' option as a function of the colours.
 */
export class Chart {
  constructor(name) {
    this.name = name;
    this.canvas = el("div");
    this.node = el("div", { class: "chart", role: "img" }, this.canvas);
    this.visible = false;
    charts.set(this.node, this);
    new ResizeObserver(() => this.fit()).observe(this.canvas);
    new IntersectionObserver((entries) => {
      this.visible = entries.at(-1).isIntersecting;
      if (this.visible) this.update();
    }, { rootMargin: NEAR }).observe(this.node);
    loadCharts().then(
      () => this.visible && this.update(),
      (error) => { this.canvas.textContent = `The chart cannot be drawn; reload the page. ${error.message}`; });
  }

  /** Draws an option; label describes the chart to screen readers, height is in pixels. */
  show(option, { label, height }) {
    this.option = option;
    this.node.setAttribute("aria-label", label);
    this.canvas.style.height = `${height}px`;
    this.stale = true;
    if (this.visible) this.update();
  }

  fit() {
    if (!this.node.isConnected) this.instance?.dispose();
    // On a narrow screen the node scrolls, which the keyboard must be able to do, too.
    if (this.node.scrollWidth > this.node.clientWidth) this.node.tabIndex = 0;
    if (this.canvas.clientWidth) this.instance?.resize();
  }

  /** Draws the option if it has changed since it was drawn. */
  update() {
    if (!this.stale || !this.option || !globalThis.echarts || !this.canvas.clientWidth) return;
    this.stale = false;
    if (!this.instance) {
      this.instance = globalThis.echarts.init(this.canvas, null, { renderer: "svg" });
      this.instance.on("updateAxisPointer", ({ axesInfo }) => axesInfo.length && this.point(axesInfo[0].value, false));
      this.instance.getZr().on("click", () => this.items?.enter?.(this.items.at));
    }
    const style = getComputedStyle(document.documentElement);
    const colours = Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`)]));
    this.instance.setOption({
      animation: false,
      backgroundColor: colours.panel,
      textStyle: { fontFamily: "system-ui, sans-serif", color: colours.ink },
      ...this.option(colours),
    }, { replaceMerge: ["series"] });
  }

  /**
   * Lets people go through the items of the category axis with the mouse and, as on a slider, with the arrow keys.
   * text(i) describes an item to screen readers, picked(i) is called when the choice changes, and enter(i) on Enter or
   * a click. The choice begins with item at, and is kept from call to call as long as latest is the same.
   */
  choose({ count, at = 0, latest, text, picked, enter }) {
    const first = !this.items;
    const chosen = first || this.items.latest !== latest ? at : this.items.at;
    this.items = { count, at: Math.min(count - 1, chosen), latest, text, picked, enter };
    fill(this.node, { role: "slider", tabindex: 0, "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": count - 1 });
    this.describe();
    if (!first) return;
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.items.enter?.(this.items.at);
      if (!(event.key in KEYS)) return;
      event.preventDefault();
      this.point(Math.max(0, Math.min(this.items.count - 1, this.items.at + KEYS[event.key])), true);
    });
    this.node.addEventListener("focus", () => this.point(this.items.at, true));
    this.node.addEventListener("blur", () => this.instance?.dispatchAction({ type: "hideTip" }));
  }

  /** Chooses an item; mark also draws the axis pointer there, which the mouse does by itself. */
  point(index, mark) {
    if (mark) {
      this.update();
      this.instance?.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: index });
    }
    if (!this.items || this.items.at === index) return;
    this.items.at = index;
    this.describe();
    this.items.picked?.(index);
  }

  describe() {
    fill(this.node, { "aria-valuenow": this.items.at, "aria-valuetext": this.items.text(this.items.at) });
  }

  /** Returns the chart as the text of an SVG file, with its size in pixels. */
  async svg() {
    await loadCharts();
    this.update();
    return { text: this.instance.renderToSVGString(), width: this.instance.getWidth(), height: this.instance.getHeight() };
  }
}

const charts = new WeakMap();

/** Draws all charts of the page in other colours, those far below, too. */
const redraw = () => document.querySelectorAll(".chart").forEach((node) => {
  charts.get(node).stale = true;
  charts.get(node).update();
});
for (const colours of ["(prefers-color-scheme: dark)", "print"]) matchMedia(colours).addEventListener("change", redraw);

/**
 * Returns a chart with buttons that save it and, below it, its data as a table of the same name: { chart, node, show }.
 * framed(node) puts more around the chart.
 */
export function charted(name, summary, options, framed = (node) => node) {
  const chart = new Chart(name);
  const table = hiddenTable(summary, { name: capitalized(name), ...options });
  return {
    chart,
    node: el("div", {}, chartTools(chart), framed(chart.node), table.node),
    show(option, look, rows) {
      chart.show(option, look);
      table.set(rows);
    },
  };
}
