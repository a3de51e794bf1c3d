// Formats numbers and times.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const count = new Intl.NumberFormat("en");
const rounded = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

export const sum = (items, of) => items.reduce((total, item) => total + of(item), 0);

/** Formats a value that may be missing. */
const known = (format) => (value, ...rest) => (value === null || value === undefined ? "" : format(value, ...rest));

export const number = known((value) => count.format(value));
export const ms = known((value) => (value >= 1000 ? whole(value) : value.toFixed(value < 1 ? 3 : 2) + " ms"));
export const whole = known((value) => number(Math.round(value)) + " ms");
export const percent = known((share, digits = 1) => (100 * share).toFixed(digits) + " %");
export const ratio = known((value) => value.toFixed(3));

/** Formats a number to three digits once it is large: "99,712", "1.24M". */
export const about = known((value) => (Math.round(value) < 100000 ? number(Math.round(value)) : rounded.format(value)));

export const rangeText = ({ low, median, high }) => `${about(median)} (${about(low)} to ${about(high)})`;

/** Formats a number of things: "1 row", "2 rows". */
export const counted = (value, thing) => `${number(value)} ${thing}${value === 1 ? "" : "s"}`;

/** Formats the first of some names: "a, b and 3 more". */
export const named = (names, limit) =>
  names.slice(0, limit).join(", ") + (names.length > limit ? ` and ${names.length - limit} more` : "");

export const bytes = known((value) => {
  const unit = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(value) / 10)));
  return `${(value / 1024 ** unit).toFixed(unit && 1)} ${UNITS[unit]}`;
});

/** Times up to so many seconds, in which unit they are shown. */
const AGES = [[60, 1, "s"], [3600, 60, "min"], [172800, 3600, "h"], [Infinity, 86400, "days"]];

/** Formats how long ago a time was. */
export function ago(time) {
  if (!time) return "";
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
  const [, unit, name] = AGES.find(([below]) => seconds < below);
  return `${Math.floor(seconds / unit)} ${name} ago`;
}

/** Formats a time of the user's zone as in ISO 8601, which is Sweden's custom: "2026-11-28 09:30:00". */
export const clock = (time) => (time ? new Date(time).toLocaleString("sv") : "");
export const day = (time) => clock(time).slice(0, 10);
export const short = (id) => (id ? id.slice(0, 12) : "");

export const capitalized = (text) => text[0].toUpperCase() + text.slice(1);

/** Formats a code as words: DOES_NOT_FIT is "does not fit". */
export const words = (code) => code.toLowerCase().replaceAll("_", " ");

export const change = (before, after) => (before ? (after > before ? "+" : "") + percent(after / before - 1) : "");
export const stepChange = (before, after) => `${ms(before)} → ${ms(after)} (${change(before, after)})`;

const simulatedText = (simulated) => (simulated ? " (simulated)" : "");

/** Format a step and samples a second as predicted, and say if they come from a simulator. */
export const predictedStep = (row) => ms(row.predictedMs) + simulatedText(row.simulated);
export const rate = known((value, simulated) => number(Number(value.toPrecision(4))) + "/s" + simulatedText(simulated));

/** Formats the predicted step of a plan, with one standard deviation if the model says it. */
export const stepOf = (plan) => ms(plan.predictedMs) + (plan.insight.uncertaintyMs > 0 ? ` ± ${ms(plan.insight.uncertaintyMs)}` : "");

/** Formats how far a step is from a lower bound of all plans. */
export const aboveBound = (predictedMs, boundMs) => (boundMs > 0 ? percent(predictedMs / boundMs - 1) : "");

export const slowText = (speed) =>
  `device ${speed.device} ${speed.part === "COMPUTATION" ? "computes" : "communicates"} ${speed.slowdown.toFixed(1)} times slower since ${clock(speed.since)}`;

/** What a plan's reason says of the hardware, which holds for every plan and is said once, with the cluster. */
const OF_HARDWARE = /, (links of [^,]+ from a data sheet.*)$/;
export const hardwareNote = (reason) => reason.match(OF_HARDWARE)?.[1];

/** Returns a plan's reason without that, and without saying of a background search that the workload did not change. */
export const reasonOf = (reason) => reason.replace(OF_HARDWARE, "").replace(/: nothing changed$/, "");
