// Formats numbers and times.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const count = new Intl.NumberFormat("en");

export const number = (value) => (value === null || value === undefined ? "" : count.format(value));

export function ms(value) {
  if (value === null || value === undefined) return "";
  return value >= 1000 ? count.format(Math.round(value)) + " ms" : value.toFixed(value < 1 ? 3 : 2) + " ms";
}

const rounded = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** Formats a number to three digits once it is large: "99,712", "1.24M". */
export const about = (value) => (Math.round(value) < 100000 ? count.format(Math.round(value)) : rounded.format(value));

/** Formats a forecast with its range. */
export const rangeText = ({ low, median, high }) => `${about(median)} (${about(low)} to ${about(high)})`;

/** Formats a number of things: "1 row", "2 rows". */
export const counted = (value, thing) => `${number(value)} ${thing}${value === 1 ? "" : "s"}`;

/** Formats milliseconds without decimals. */
export const whole = (value) => (value === null || value === undefined ? "" : number(Math.round(value)) + " ms");

export function percent(share, digits = 1) {
  return share === null || share === undefined ? "" : (100 * share).toFixed(digits) + " %";
}

export function bytes(value) {
  if (value === null || value === undefined) return "";
  let unit = 0;
  let size = value;
  while (size >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  return (unit === 0 ? size : size.toFixed(1)) + " " + UNITS[unit];
}

/** Formats how long ago a time was. */
export function ago(time) {
  if (!time) return "";
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
  if (seconds < 60) return seconds + " s ago";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min ago";
  if (seconds < 172800) return Math.floor(seconds / 3600) + " h ago";
  return Math.floor(seconds / 86400) + " days ago";
}

export function clock(time) {
  if (!time) return "";
  const at = new Date(time);
  const two = (n) => String(n).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ` +
    `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export const day = (time) => clock(time).slice(0, 10);

/** Returns the first characters of an id. */
export const short = (id) => (id ? id.slice(0, 12) : "");

/** Formats a code as words: DOES_NOT_FIT is "does not fit". */
export const words = (code) => code.toLowerCase().replaceAll("_", " ");

/** Formats the relative change from one value to another. */
export const change = (before, after) => (before ? (after > before ? "+" : "") + percent(after / before - 1) : "");

/** Formats the predicted step of a workload's latest plan, and says if it comes from a simulator. */
export const predictedStep = (row) => ms(row.predictedMs) + (row.simulated ? " (simulated)" : "");

/** Formats predicted samples a second, and says if they come from a simulator. */
export const rate = (value, simulated) =>
  value === null || value === undefined ? "" : number(Number(value.toPrecision(4))) + "/s" + (simulated ? " (simulated)" : "");

/** Formats the predicted step of a plan, with one standard deviation if the model says it. */
export const stepOf = (plan) => ms(plan.predictedMs) + (plan.insight.uncertaintyMs > 0 ? ` ± ${ms(plan.insight.uncertaintyMs)}` : "");

/** Describes a slow device of a plan. */
export const slowText = (speed) =>
  `device ${speed.device} ${speed.part === "COMPUTATION" ? "computes" : "communicates"} ${speed.slowdown.toFixed(1)} times slower since ${clock(speed.since)}`;
