// Saves charts and tables as files.

import { el } from "./dom.js";

function save(blob, name) {
  const url = URL.createObjectURL(blob);
  const anchor = el("a", { href: url, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const fileName = (name) => name.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 80);

function savePng({ text, width, height }, name) {
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = el("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
    URL.revokeObjectURL(url);
    canvas.toBlob((blob) => save(blob, fileName(name) + ".png"), "image/png");
  });
  image.src = url;
}

/** Returns buttons that save a chart. */
export const chartTools = (chart) =>
  el("div", { class: "tools" },
    el("span", { class: "soft" }, "Save as"),
    el("button", {
      type: "button",
      "aria-label": `Save ${chart.name} as SVG`,
      onclick: async () => save(new Blob([(await chart.svg()).text], { type: "image/svg+xml" }), fileName(chart.name) + ".svg"),
    }, "SVG"),
    el("button", {
      type: "button",
      "aria-label": `Save ${chart.name} as PNG`,
      onclick: async () => savePng(await chart.svg(), chart.name),
    }, "PNG"));

/** Quotes a cell. A text that a spreadsheet would run as a formula gets an apostrophe in front. */
export function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = String(value);
  const plain = /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\n\r]/.test(plain) ? '"' + plain.replaceAll('"', '""') + '"' : plain;
}

/** Saves rows of cells. */
export function saveCsv(rows, name) {
  const text = rows.map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
  save(new Blob([text], { type: "text/csv;charset=utf-8" }), fileName(name) + ".csv");
}
