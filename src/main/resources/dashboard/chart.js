// Pictures. Colours are attributes and not styles, so that a picture that is saved looks the same.
// The colours are Okabe and Ito's, which the colour-blind tell apart; each part also has a pattern.

import { svg } from "./dom.js";
import { bytes, ms } from "./text.js";

const LIGHT = {
  ink: "#1b1f23", soft: "#50575e", line: "#d3d8dc", page: "#ffffff",
  compute: "#0072b2", backward: "#e69f00", forward: "#009e73", wait: "#c9ced3",
  memory: "#cc79a7", mark: "#d55e00", band: "#e3eef6",
};
const DARK = {
  ink: "#e8eaec", soft: "#b0b8bf", line: "#3a4148", page: "#1c2024",
  compute: "#56b4e9", backward: "#f0b432", forward: "#2fc79a", wait: "#5a636b",
  memory: "#dd9fc3", mark: "#ff8a3d", band: "#26323b",
};

const dark = matchMedia("(prefers-color-scheme: dark)");

export const colours = () => (dark.matches ? DARK : LIGHT);

/** Runs something when the colours change; returns what ends that. */
export function onColours(listener) {
  dark.addEventListener("change", listener);
  return () => dark.removeEventListener("change", listener);
}

export const PARTS = [
  ["compute", "computation"],
  ["backward", "backward exchange"],
  ["wait", "waiting"],
  ["forward", "forward exchange"],
];

/** Returns the parts of each device's step, in milliseconds: an exchange ends for nobody before the last has begun. */
export function parts(costs) {
  const last = Math.max(0, ...costs.map((cost) => cost.computeMs + cost.backwardCommMs));
  return costs.map((cost) => {
    const wait = Math.min(cost.forwardCommMs, last - cost.computeMs - cost.backwardCommMs);
    return {
      compute: cost.computeMs, backward: cost.backwardCommMs, wait, forward: cost.forwardCommMs - wait,
      memory: cost.memoryBytes, total: cost.computeMs + cost.backwardCommMs + cost.forwardCommMs,
    };
  });
}

/** Returns an empty picture. */
export function canvas(width, height, label) {
  return svg("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": label,
    "font-family": "system-ui, sans-serif", "font-size": 12,
  }, svg("rect", { width, height, fill: colours().page }));
}

export const text = (x, y, content, attributes) =>
  svg("text", { x, y, fill: colours().ink, ...attributes }, content);

/** As wide as the page is on most screens, in pixels. */
const WIDE = 1320;

let patterns = 0;

/** Returns a fill for each part: a colour with a pattern of its own. */
export function fills(picture) {
  const c = colours();
  const id = `p${++patterns}`;
  const pattern = (name, size, ...children) =>
    svg("pattern", { id: id + name, width: size, height: size, patternUnits: "userSpaceOnUse" },
      svg("rect", { width: size, height: size, fill: c[name] }), children);
  picture.append(svg("defs", {},
    pattern("backward", 6, svg("path", { d: "M0 6L6 0", stroke: c.page, "stroke-width": 1.2 })),
    pattern("wait", 4, svg("rect", { width: 1, height: 1, fill: c.ink })),
    pattern("forward", 5, svg("path", { d: "M2.5 0V5", stroke: c.page, "stroke-width": 1 }))));
  return { compute: c.compute, backward: `url(#${id}backward)`, wait: `url(#${id}wait)`, forward: `url(#${id}forward)` };
}

/** Returns a key to the parts, at a place. */
export function legend(x, y, fill, names) {
  let at = x;
  return names.map(([key, name]) => {
    const entry = [
      svg("rect", { x: at, y: y - 10, width: 14, height: 11, fill: fill[key] || colours()[key] }),
      text(at + 18, y, name),
    ];
    at += 34 + 6.6 * name.length;
    return entry;
  });
}

/** Returns some round values from 0 to a largest. */
export function ticks(max, most = 6) {
  if (!(max > 0)) return [0];
  const rough = max / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const all = [];
  for (let value = 0; value <= max * 1.0001; value += step) all.push(+value.toPrecision(12));
  return all;
}

/**
 * Draws a plan: a bar for each device, with its memory beside it and the bottleneck marked.
 * picked(device) is called when a device is pointed at or reached by the arrow keys.
 */
export function plan(thePlan, capacity, picked) {
  const c = colours();
  const costs = parts(thePlan.deviceCosts);
  const row = costs.length > 48 ? 13 : 22;
  const left = 74;
  const bar = 620;
  const memoryAt = left + bar + 110;
  const memory = 150;
  const width = memoryAt + memory + 150;
  const top = 52;
  const height = top + row * costs.length + 12;
  const longest = Math.max(1e-9, ...costs.map((cost) => cost.total));
  const largest = capacity || Math.max(1, ...costs.map((cost) => cost.memory));
  const picture = canvas(width, height,
    `Plan ${thePlan.planId.slice(0, 12)}: a bar for each of ${costs.length} devices. Arrow keys go from device to device.`);
  const fill = fills(picture);
  picture.append(...legend(left, 16, fill, PARTS).flat(),
    text(memoryAt, 16, capacity ? `memory, of ${bytes(capacity)}` : "memory", { fill: c.ink }));
  for (const tick of ticks(longest)) {
    const x = left + (bar * tick) / longest;
    picture.append(
      svg("line", { x1: x, x2: x, y1: top - 8, y2: height - 8, stroke: c.line }),
      text(x, top - 14, `${tick}`, { "text-anchor": "middle", fill: c.soft, "font-size": 11 }));
  }
  picture.append(text(left + bar + 8, top - 14, "ms", { fill: c.soft, "font-size": 11 }));
  const groups = costs.map((cost, device) => {
    const y = top + row * device;
    const tall = row > 14 ? row - 5 : row - 2;
    const isBottleneck = device === thePlan.insight.bottleneck.device;
    const name = `Device ${device}: ${ms(cost.total)}, computation ${ms(cost.compute)}, backward ${ms(cost.backward)}, ` +
      `waiting ${ms(cost.wait)}, forward ${ms(cost.forward)}, memory ${bytes(cost.memory)}` +
      (isBottleneck ? ", the bottleneck" : "");
    const group = svg("g", { role: "img", tabindex: device === 0 ? 0 : -1, "aria-label": name, "data-device": device },
      svg("rect", { x: 0, y: y - 1, width, height: tall + 2, fill: c.page }));
    group.append(text(left - 8, y + tall - (row > 14 ? 4 : 1), `${isBottleneck ? "▶ " : ""}${device}`,
      { "text-anchor": "end", "font-size": row > 14 ? 12 : 10, "font-weight": isBottleneck ? 700 : 400, fill: isBottleneck ? c.mark : c.ink }));
    let x = left;
    for (const [key] of PARTS) {
      const wide = (bar * cost[key]) / longest;
      if (wide > 0) group.append(svg("rect", { x, y, width: wide, height: tall, fill: fill[key] }));
      x += wide;
    }
    if (isBottleneck) group.append(svg("rect", { x: left - 1, y: y - 1, width: x - left + 2, height: tall + 2, fill: "none", stroke: c.mark, "stroke-width": 2 }));
    if (row > 14) group.append(text(x + 6, y + tall - 4, ms(cost.total), { "font-size": 11 }));
    group.append(
      svg("rect", { x: memoryAt, y, width: memory, height: tall, fill: "none", stroke: c.line }),
      svg("rect", { x: memoryAt, y, width: Math.min(memory, (memory * cost.memory) / largest), height: tall, fill: c.memory }));
    if (row > 14) group.append(text(memoryAt + memory + 6, y + tall - 4, bytes(cost.memory), { "font-size": 11 }));
    group.append(svg("title", {}, name));
    return group;
  });
  picture.append(...groups);
  walk(picture, groups, picked);
  return picture;
}

/** Lets one reach each of some groups by the arrow keys, and by pointing. */
export function walk(picture, groups, picked) {
  let at = 0;
  const go = (to, focus) => {
    groups[at].setAttribute("tabindex", -1);
    at = to;
    groups[at].setAttribute("tabindex", 0);
    if (focus) groups[at].focus();
    picked(at);
  };
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, PageDown: 8, PageUp: -8, Home: -groups.length, End: groups.length }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      go(Math.max(0, Math.min(groups.length - 1, at + step)), true);
    }
  });
  groups.forEach((group, i) => {
    group.addEventListener("pointerenter", () => go(i, false));
    group.addEventListener("focus", () => { if (at !== i) go(i, false); else picked(i); });
  });
}

/** Draws plans in the order of time: from the cost that ran to the cost of the plan. */
export function timeline(lines, chosen, picked) {
  const c = colours();
  const shown = lines.slice(-60);
  const width = WIDE;
  const height = 190;
  const left = 60;
  const top = 34;
  const bottom = 30;
  const most = Math.max(1e-9, ...shown.flatMap((line) => [line.predictedMs, line.beforeMs || 0]));
  const y = (value) => height - bottom - ((height - top - bottom) * value) / most;
  const step = (width - left - 30) / Math.max(1, shown.length);
  const picture = canvas(width, height, `The latest ${shown.length} plans, cost before and after. Arrow keys go from plan to plan.`);
  for (const tick of ticks(most, 4)) {
    picture.append(
      svg("line", { x1: left, x2: width - 20, y1: y(tick), y2: y(tick), stroke: c.line }),
      text(left - 6, y(tick) + 4, `${tick}`, { "text-anchor": "end", fill: c.soft, "font-size": 11 }));
  }
  picture.append(text(left, 14, "ms a step: ○ cost of the plan that ran   ● the plan   ◆ after a deeper search   ✕ refused by the trainer", { fill: c.soft }));
  const groups = shown.map((line, i) => {
    const x = left + step * (i + 0.5);
    const name = `Generation ${line.generation}: ${line.beforeMs ? ms(line.beforeMs) + " to " : ""}${ms(line.predictedMs)}, ${line.reason}`;
    const isChosen = line.planId === chosen;
    const group = svg("g", { role: "img", tabindex: i === 0 ? 0 : -1, "aria-label": name },
      svg("rect", { x: x - step / 2, y: top - 12, width: step, height: height - top, fill: isChosen ? c.band : c.page, "fill-opacity": isChosen ? 1 : 0 }));
    if (line.beforeMs) {
      group.append(
        svg("line", { x1: x, x2: x, y1: y(line.beforeMs), y2: y(line.predictedMs), stroke: c.soft }),
        svg("circle", { cx: x, cy: y(line.beforeMs), r: 4, fill: c.page, stroke: c.soft, "stroke-width": 1.5 }));
    }
    const refused = line.fate && line.fate.kind === "REJECTED";
    const py = y(line.predictedMs);
    group.append(
      refused
        ? svg("path", { d: `M${x - 5} ${py - 5}l10 10m0-10l-10 10`, stroke: c.mark, "stroke-width": 2.5 })
        : line.effort === "DEEP"
          ? svg("path", { d: `M${x} ${py - 6}l6 6l-6 6l-6-6z`, fill: c.forward })
          : svg("circle", { cx: x, cy: py, r: 5, fill: c.compute }),
      svg("title", {}, name));
    if (step > 16 || i % Math.ceil(16 / step) === 0) {
      group.append(text(x, height - 10, `${line.generation}`, { "text-anchor": "middle", fill: c.soft, "font-size": 11 }));
    }
    group.addEventListener("click", () => picked(line));
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter") picked(line);
    });
    return group;
  });
  picture.append(...groups);
  if (groups.length) walk(picture, groups, () => {});
  return picture;
}

/** Draws what goes from which device to which. */
export function flow(diff, before, after) {
  const c = colours();
  const count = Math.max(before.deviceCosts.length, after.deviceCosts.length);
  const row = count > 48 ? 12 : 22;
  const width = WIDE;
  const top = 36;
  const height = top + row * count + 10;
  const bar = 400;
  const names = 40;
  const x1 = bar + names;
  const x2 = width - bar - names;
  const totals = new Map();
  for (const { part, bytes: size } of diff.moved) {
    const key = `${part.fromDevice} ${part.toDevice}`;
    const sum = totals.get(key) || { from: part.fromDevice, to: part.toDevice, bytes: 0, columns: 0, count: 0 };
    sum.bytes += size || 0;
    sum.columns += part.columns;
    sum.count++;
    totals.set(key, sum);
  }
  const picture = canvas(width, height,
    `${diff.moved.length} parts of tables move between devices; the earlier plan is on the left, the later on the right.`);
  const fill = fills(picture);
  const longest = Math.max(1e-9, ...[before, after].flatMap((p) => p.deviceCosts.map((d) => d.computeMs + d.backwardCommMs + d.forwardCommMs)));
  picture.append(
    text(0, 14, `earlier: generation ${before.generation}, ${ms(before.predictedMs)}`, { "font-weight": 600 }),
    text(width, 14, `later: generation ${after.generation}, ${ms(after.predictedMs)}`, { "font-weight": 600, "text-anchor": "end" }));
  const middle = (device) => top + row * device + row / 2;
  const side = (costs, isLeft) => parts(costs).forEach((cost, device) => {
    let at = 0;
    for (const [key] of PARTS) {
      const wide = (bar * cost[key]) / longest;
      const x = isLeft ? bar - at - wide : width - bar + at;
      if (wide > 0) picture.append(svg("rect", { x, y: middle(device) - row / 2 + 1, width: wide, height: row - (row > 14 ? 5 : 2), fill: fill[key] }));
      at += wide;
    }
    picture.append(text(isLeft ? bar + 20 : width - bar - 20, middle(device) + 4, `${device}`, { "text-anchor": "middle", "font-size": row > 14 ? 12 : 10 }));
  });
  side(before.deviceCosts, true);
  side(after.deviceCosts, false);
  const most = Math.max(1, ...[...totals.values()].map((sum) => sum.bytes || sum.columns));
  for (const sum of totals.values()) {
    const thick = 1 + 9 * Math.sqrt((sum.bytes || sum.columns) / most);
    const [y1, y2] = [middle(sum.from), middle(sum.to)];
    const half = (x1 + x2) / 2;
    picture.append(svg("path", {
      d: `M${x1} ${y1}C${half} ${y1} ${half} ${y2} ${x2} ${y2}`, fill: "none", stroke: c.compute, "stroke-opacity": 0.55, "stroke-width": thick,
    }, svg("title", {}, `${sum.count} from device ${sum.from} to ${sum.to}: ${sum.bytes ? bytes(sum.bytes) : sum.columns + " columns"}`)));
  }
  return picture;
}

/** Draws points of [x, y, label] and a line where both are alike. */
export function scatter(points, xName, yName) {
  const c = colours();
  const size = 420;
  const left = 60;
  const most = Math.max(1e-9, ...points.flatMap(([x, y]) => [x, y])) * 1.05;
  const at = (value) => (value / most) * (size - 2 * left + 30);
  const picture = canvas(size, size, `${points.length} measured steps: ${yName} over ${xName}`);
  for (const tick of ticks(most, 5)) {
    picture.append(
      svg("line", { x1: left + at(tick), x2: left + at(tick), y1: 20, y2: size - left, stroke: c.line }),
      svg("line", { x1: left, x2: size - 20, y1: size - left - at(tick), y2: size - left - at(tick), stroke: c.line }),
      text(left + at(tick), size - left + 18, `${tick}`, { "text-anchor": "middle", fill: c.soft, "font-size": 11 }),
      text(left - 6, size - left - at(tick) + 4, `${tick}`, { "text-anchor": "end", fill: c.soft, "font-size": 11 }));
  }
  picture.append(
    svg("line", { x1: left, y1: size - left, x2: left + at(most), y2: size - left - at(most), stroke: c.soft, "stroke-dasharray": "5 4" }),
    text((left + size) / 2, size - 16, xName, { "text-anchor": "middle" }),
    svg("text", { transform: `translate(16 ${size / 2}) rotate(-90)`, "text-anchor": "middle", fill: c.ink }, yName));
  for (const [x, y, label] of points) {
    picture.append(svg("circle", { cx: left + at(x), cy: size - left - at(y), r: 4, fill: c.compute, "fill-opacity": 0.6 },
      svg("title", {}, label)));
  }
  return picture;
}

/** Draws ratios over time, with the band within which they are usual, and alarms. */
export function ratios(points, alarms, label) {
  const c = colours();
  const width = WIDE;
  const height = 250;
  const left = 60;
  const bottom = 30;
  const logs = points.flatMap((p) => [p.ratio, p.low, p.high]).filter((v) => v > 0).map(Math.log);
  const reach = Math.max(0.2, ...logs.map(Math.abs)) * 1.1;
  const y = (ratio) => height / 2 - 5 - (Math.log(ratio) / reach) * (height / 2 - bottom);
  const x = (i) => left + ((width - left - 20) * (i + 0.5)) / Math.max(1, points.length);
  const picture = canvas(width, height, `${label}: measured over predicted cost of ${points.length} measurements, with the usual band and ${alarms.length} alarms`);
  points.forEach((p, i) => {
    if (p.low) {
      const wide = (width - left - 20) / points.length;
      picture.append(svg("rect", { x: x(i) - wide / 2, y: y(p.high), width: wide + 0.5, height: y(p.low) - y(p.high), fill: c.band }));
    }
  });
  for (const ratio of [0.1, 0.2, 0.5, 0.8, 1, 1.25, 2, 5, 10]) {
    if (Math.abs(Math.log(ratio)) < reach) {
      picture.append(
        svg("line", { x1: left, x2: width - 20, y1: y(ratio), y2: y(ratio), stroke: ratio === 1 ? c.soft : c.line }),
        text(left - 6, y(ratio) + 4, `${ratio}`, { "text-anchor": "end", fill: c.soft, "font-size": 11 }));
    }
  }
  let model = null;
  points.forEach((p, i) => {
    if (model !== null && model !== p.modelId) {
      picture.append(
        svg("line", { x1: x(i - 0.5), x2: x(i - 0.5), y1: 22, y2: height - bottom, stroke: c.forward, "stroke-dasharray": "4 3" },
          svg("title", {}, `model ${p.modelId.slice(0, 12)} took over`)),
        text(x(i - 0.5), 16, "model", { "text-anchor": "middle", "font-size": 11, fill: c.soft }));
    }
    model = p.modelId;
  });
  picture.append(svg("polyline", { points: points.map((p, i) => `${x(i)},${y(p.ratio)}`).join(" "), fill: "none", stroke: c.compute, "stroke-width": 1.5 }));
  for (const alarm of alarms) {
    const i = points.findIndex((p) => p.measuredAt >= alarm.measuredAt);
    if (i >= 0) {
      picture.append(svg("path", { d: `M${x(i)} ${y(points[i].ratio) - 16}l8 14h-16z`, fill: c.mark },
        svg("title", {}, `alarm: ${alarm.kind.toLowerCase()}, ${alarm.recentRatio.toFixed(2)}`)));
    }
  }
  picture.append(text(left, height - 8, "measurements, the latest on the right; ▲ alarm; shaded: no shift that is worth one", { fill: c.soft, "font-size": 11 }));
  return picture;
}
