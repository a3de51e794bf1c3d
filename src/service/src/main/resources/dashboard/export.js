// Saves charts and tables as files.

import { button, el } from "./dom.js";

function save(blob, name) {
  const url = URL.createObjectURL(blob);
  const anchor = el("a", { href: url, download: name.replace(/[^\p{L}\p{N}._-]+/gu, "_") });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Returns buttons that save something under a name; of each format, a function returns the file. */
export const saveAs = (name, formats) => [
  el("span", { class: "soft" }, "Save as"),
  ...Object.entries(formats).map(([format, file]) => button(format,
    async () => save(await file(), `${name.slice(0, 80)}.${format.toLowerCase()}`), { "aria-label": `Save ${name} as ${format}` })),
];

async function png({ text, width, height }) {
  const image = new Image();
  image.src = "data:image/svg+xml," + encodeURIComponent(text);
  await image.decode();
  const canvas = new OffscreenCanvas(2 * width, 2 * height);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob();
}

/** Returns buttons that save a chart. */
export const chartTools = (chart) => el("div", { class: "tools" }, saveAs(chart.name, {
  SVG: async () => new Blob([(await chart.svg()).text], { type: "image/svg+xml" }),
  PNG: async () => png(await chart.svg()),
}));

/** Quotes a cell. A text that a spreadsheet would run as a formula gets an apostrophe in front. */
export function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = String(value);
  const plain = /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\n\r]/.test(plain) ? '"' + plain.replaceAll('"', '""') + '"' : plain;
}

/** Returns rows of cells as a file. */
export const csv = (rows) =>
  new Blob(rows.map((row) => row.map(csvCell).join(",") + "\r\n"), { type: "text/csv;charset=utf-8" });
