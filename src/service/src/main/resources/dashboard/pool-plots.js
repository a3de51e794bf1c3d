// What the charts of a pool show: functions from data to ECharts' options. Throughput is in samples a second.

import { tooltip } from "./chart.js";
import {
  bars, byWorkload, category, COLOURS, decal, names, namesHeight, pointerOnly, pointTooltip, SYMBOLS, TOLD_APART, value,
} from "./plots.js";
import { about, clock, counted, number, percent, rate, sum } from "./text.js";

const LINES = ["solid", "dashed", "dotted"];
const HAS = "what it has";
const ALL = "all devices of the pool";

/** Gives each workload a number, in the order in which they come: its colour and pattern while the page is open. */
export class Marks {
  numbers = new Map();

  of(workloadId) {
    if (!this.numbers.has(workloadId)) this.numbers.set(workloadId, this.numbers.size);
    return this.numbers.get(workloadId);
  }

  /** Returns the classes of an element in the colour and the pattern of a workload. */
  classes(workloadId) {
    return `w${this.of(workloadId) % COLOURS.length} pattern${this.pattern(workloadId)}`;
  }

  colour(c, workloadId) {
    return c[COLOURS[this.of(workloadId) % COLOURS.length]];
  }

  pattern(workloadId) {
    return Math.floor(this.of(workloadId) / COLOURS.length) % LINES.length;
  }
}

/** Returns the workloads whose curves are drawn: those with the most devices. */
export const drawn = (workloads) =>
  workloads.filter((w) => w.curve).sort((a, b) => b.devices - a.devices || (a.workloadId < b.workloadId ? -1 : 1)).slice(0, TOLD_APART);

/** The predicted throughput of workloads by number of devices, with a mark at the devices that each has. */
export const curvesOption = (workloads, marks) => (c) => {
  const simulated = workloads.every((w) => w.curve.simulated);
  const title = (w) => w.workloadId + (w.curve.simulated && !simulated ? " (simulated)" : "");
  const has = workloads.filter((w) => w.devices > 0 && w.samplesPerSecond !== null);
  const shown = [...workloads.map(title), ...(has.length ? [HAS] : [])];
  return {
    legend: names(c, shown),
    tooltip: pointTooltip(c, ({ seriesIndex, dataIndex, seriesName }) => {
      if (seriesName === HAS && seriesIndex === workloads.length) {
        const w = has[dataIndex];
        return tooltip(w.workloadId, `has ${counted(w.devices, "device")}: ${rate(w.samplesPerSecond, w.curve.simulated)}`);
      }
      const w = workloads[seriesIndex];
      const point = w.curve.points[dataIndex];
      return tooltip(w.workloadId, `${counted(point.devices, "device")}: ${rate(point.samplesPerSecond, w.curve.simulated)}`);
    }),
    grid: { left: 66, right: 24, top: 16 + namesHeight(shown.length), bottom: 46 },
    xAxis: value(c, { name: "devices", nameGap: 28, min: 0, minInterval: 1 }),
    yAxis: value(c, {
      name: `predicted samples/s${simulated ? " (simulated)" : ""}`, nameGap: 46, min: 0,
      label: { formatter: about },
    }),
    series: [
      ...workloads.map((w) => ({
        type: "line", name: title(w), symbol: SYMBOLS[marks.of(w.workloadId) % SYMBOLS.length], symbolSize: 7,
        itemStyle: { color: marks.colour(c, w.workloadId) }, lineStyle: { width: 1.5, type: LINES[marks.pattern(w.workloadId)] },
        data: w.curve.points.map((point) => [point.devices, point.samplesPerSecond]),
      })),
      {
        type: "scatter", name: HAS, symbol: "circle", symbolSize: 17, z: 3,
        itemStyle: { color: "transparent", borderColor: c.ink, borderWidth: 2.5 },
        data: has.map((w) => [w.devices, w.samplesPerSecond]),
      },
    ],
  };
};

/** Returns what a past allocation gave, as a sentence. */
export function pastText(past) {
  const given = Object.entries(past.devices).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const taken = sum(given, ([, devices]) => devices);
  return `Generation ${past.generation}, ${clock(past.allocatedAt)}: ` +
    (given.map(([name, devices]) => `${name} ${number(devices)}`).join(", ") || "nobody has devices") +
    (past.poolDevices === null ? "" : `; ${number(Math.max(0, past.poolDevices - taken))} of ${counted(past.poolDevices, "device")} not used`) +
    `; fairness loss ${percent(past.quality.fairnessLoss)}`;
}

/** Returns groups of workloads with their devices in each allocation; those with few share the last one. */
function groupsOf(history, marks) {
  const shares = history.flatMap((past, i) => Object.entries(past.devices).map(([workloadId, devices]) => ({ workloadId, i, devices })));
  const mark = ({ name, others }) => (others ? Infinity : marks.of(name));
  return byWorkload(shares, (members) => sum(members, ({ devices }) => devices))
    .sort((a, b) => mark(a) - mark(b))
    .map(({ name, others, members }) => {
      const devices = history.map(() => 0);
      for (const share of members) devices[share.i] += share.devices;
      return { name, mark: others ? null : name, devices };
    });
}

/** The devices of each workload, stacked, by allocation. */
export const pastOption = (history, marks) => (c) => {
  const groups = groupsOf(history, marks);
  const shown = [...groups.map((group) => group.name), ALL];
  const patterns = [
    null,
    decal(c, { dashArrayY: [1, 4], rotation: -Math.PI / 4 }),
    { color: c.panel, symbol: "circle", symbolSize: 0.6, dashArrayX: [[4, 4], [0, 4, 4, 0]], dashArrayY: [4, 0] },
  ];
  return {
    legend: names(c, shown),
    tooltip: pointerOnly(c),
    grid: { left: 60, right: 24, top: 16 + namesHeight(shown.length), bottom: 46 },
    xAxis: category(c, { data: history.map((past) => past.generation), name: "generation of the pool", nameGap: 28 }),
    yAxis: value(c, { name: "devices", nameGap: 40, minInterval: 1 }),
    series: [
      ...groups.map(({ name, mark, devices }) => ({
        ...bars, large: false, barMaxWidth: 48, name, stack: "devices",
        itemStyle: mark === null ? { color: c.idle } : { color: marks.colour(c, mark), decal: patterns[marks.pattern(mark)] },
        data: devices,
      })),
      {
        type: "line", name: ALL, step: "middle", symbol: "rect", symbolSize: [26, 3], silent: true,
        itemStyle: { color: c.ink }, lineStyle: { color: c.ink, width: 1.5, type: "dashed" },
        data: history.map((past) => past.poolDevices),
      },
    ],
  };
};
