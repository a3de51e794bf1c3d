// A table that sorts, filters, and updates row by row.

import { button, el, labelled, link } from "./dom.js";
import { csv, saveAs } from "./export.js";
import { meaning } from "./glossary.js";
import { clock, counted, number, percent, short } from "./text.js";

/** Rows that are shown until the user wants all: sorting more takes a browser longer than 100 ms. */
const SHOWN_ROWS = 250;

/** A column of texts, value(row) or the row's of that name, or of what cell(text, row) shows of them. */
export function col(title, value, cell, extra) {
  const of = typeof value === "string" ? (row) => row[value] : value;
  return { title, value: of, cell: (row) => (cell ? cell(of(row), row) : of(row)), ...extra };
}

/** A column of numbers; format(value, row) returns their texts. */
export const num = (title, value, format = number) => col(title, value, format, { kind: "number" });

export const share = (title, value, digits) => num(title, value, (of) => percent(of, digits));

/** Columns of names that may be long, of sentences, of times, and of plans with links to their explanations. */
export const name = (title, value, cell) => col(title, value, cell, { kind: "wide" });
export const sentence = (title, value) => col(title, value, null, { kind: "long" });
export const when = (title, value) => col(title, value, clock);
export const planColumn = (title, value) => col(title, value, (id) => (id ? link(short(id), "why", id) : ""));

/**
 * Shows rows. A column has a title; value(row), which is sorted, filtered and exported (a column without it holds
 * controls); cell(row), the text or element that is shown; kind, "number", "wide" or "long", see above; and fixed, if a
 * row's cell is made once. Rows are sorted by the first column, or by the one named largest, the largest first. key(row)
 * tells rows apart; without it, all are replaced at once.
 */
export class Table {
  constructor({ caption, name, columns, key = (row, i) => i, largest, filter, rowClass, rows: first = [] }) {
    this.columns = columns;
    this.key = key;
    this.name = name || caption;
    this.rowClass = rowClass;
    this.rows = new Map();
    this.sortBy = Math.max(0, columns.findIndex(({ title }) => title === largest));
    this.descending = largest !== undefined;
    this.words = [];
    this.heads = columns.map((column, i) =>
      el("th", { scope: "col", class: column.kind, title: meaning(column.title) },
        column.value ? button(column.title, () => this.sortOn(i)) : column.title));
    this.blank = el("tr", {}, columns.map((column) => el("td", { class: column.kind })));
    this.body = el("tbody");
    this.count = el("span", { class: "soft" });
    this.limit = SHOWN_ROWS;
    this.all = button("Show all", () => {
      this.limit = Infinity;
      this.arrange();
    }, { hidden: true });
    const wide = el("span", { class: "soft", hidden: true }, "The table has more columns: scroll it to the side.");
    const tools = el("div", { class: "tools" },
      filter && labelled(filter, el("input", { type: "search", oninput: (event) => this.search(event.target.value) })),
      saveAs(this.name, { CSV: () => this.csv() }),
      this.count, this.all, wide);
    const shown = el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, this.heads)), this.body);
    this.box = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": this.name }, shown);
    this.node = el("div", {}, tools, this.box);
    const sizes = new ResizeObserver(() => { wide.hidden = this.box.scrollWidth <= this.box.clientWidth; });
    sizes.observe(shown);
    sizes.observe(this.box);
    this.showSort();
    this.set(first);
  }

  search(text) {
    this.words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.arrange();
  }

  sortOn(index) {
    this.descending = this.sortBy === index ? !this.descending : this.columns[index].kind === "number";
    this.sortBy = index;
    this.showSort();
    this.arrange();
  }

  showSort() {
    this.heads.forEach((head, i) => {
      if (i === this.sortBy) head.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  /** Replaces all rows. */
  set(rows) {
    const keys = new Set([...rows].map((row, i) => this.hold(row, i)));
    for (const [key, held] of this.rows) {
      if (keys.has(key)) continue;
      held.node?.remove();
      this.rows.delete(key);
    }
    this.arrange();
  }

  /** Adds or updates a row; the order follows within a second. */
  put(row) {
    const held = this.rows.get(this.hold(row));
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.arrange();
    }, held.node?.isConnected ? 1000 : 0);
  }

  /** Updates what depends on the current time. */
  refresh() {
    for (const held of this.rows.values()) if (held.node) this.fill(held);
  }

  /** Keeps a row, and returns its key; one that was never shown has no elements yet. */
  hold(row, i) {
    const key = this.key(row, i);
    const held = this.rows.get(key) ?? { node: null, texts: [] };
    this.rows.set(key, held);
    if (held.row !== row) {
      held.row = row;
      held.search = null;
      if (held.node) this.fill(held);
    }
    return key;
  }

  /** Writes a row into its elements, as far as it has changed. */
  fill(held) {
    held.node ??= this.blank.cloneNode(true);
    if (this.rowClass) held.node.className = this.rowClass(held.row) || "";
    this.columns.forEach((column, i) => {
      if (column.fixed && held.texts[i] !== undefined) return;
      const shown = (column.cell ?? column.value)(held.row);
      const text = shown instanceof Node ? shown.outerHTML : String(shown ?? "");
      if (held.texts[i] === text) return;
      held.texts[i] = text;
      if (shown instanceof Node) held.node.cells[i].replaceChildren(shown);
      else held.node.cells[i].textContent = text;
    });
  }

  matches(held) {
    held.search ??= this.columns.map((column) => (column.value ? column.value(held.row) : "")).join("\n").toLowerCase();
    return this.words.every((word) => held.search.includes(word));
  }

  /** Returns the rows that the filter finds, in the order of the sort column. */
  matching() {
    const { value } = this.columns[this.sortBy];
    const found = this.words.length ? [...this.rows.values()].filter((held) => this.matches(held)) : [...this.rows.values()];
    return found.sort((a, b) => compare(value(a.row), value(b.row), this.descending ? -1 : 1));
  }

  arrange() {
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    const matching = this.matching();
    const shown = new Set(matching.slice(0, this.limit));
    for (const held of this.rows.values()) if (!shown.has(held)) held.node?.remove();
    let at = this.body.firstChild;
    for (const held of shown) {
      if (!held.node) this.fill(held);
      if (held.node === at) at = at.nextSibling;
      else this.body.insertBefore(held.node, at);
    }
    if (focused && document.activeElement !== focused && focused.isConnected) focused.focus();
    this.count.textContent = (shown.size === this.rows.size ? "" : `${number(shown.size)} of `) + counted(this.rows.size, "row");
    this.all.hidden = shown.size === matching.length;
    // The browser lays out the rows when they come near the visible part of the page; until then this is their height.
    this.box.style.containIntrinsicHeight = `auto ${2 * (shown.size + 2)}rem`;
  }

  csv() {
    const columns = this.columns.filter((column) => column.value);
    return csv([
      columns.map((column) => column.title),
      ...this.matching().map(({ row }) => columns.map((column) => column.value(row))),
    ]);
  }
}

/** Compares numbers as numbers and everything else as text; missing values come last in either direction. */
function compare(a, b, sign) {
  const missing = (value) => value === null || value === undefined || value === "";
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return String(a) < String(b) ? -sign : String(a) > String(b) ? sign : 0;
}

/** Returns a table that is hidden until the user opens it: the data of a chart, say. */
export function hiddenTable(summary, options) {
  const table = new Table(options);
  let rows = [];
  const details = el("details", { ontoggle: () => details.open && table.set(rows) }, el("summary", {}, summary), table.node);
  return {
    node: details,
    set(now) {
      rows = now;
      if (details.open) table.set(rows);
    },
  };
}
