// What the charts show: functions from data to ECharts' options. Costs are in milliseconds.

import { tooltip } from "./chart.js";
import { positionOf } from "./shards.js";
import { about, bytes, clock, counted, day, ms, number, percent, rangeText, ratio, reasonOf, short, sum } from "./text.js";

/** The parts of a device's step in the order in which they happen. */
export const PARTS = [
  ["compute", "computation"],
  ["backward", "backward communication"],
  ["idle", "idle"],
  ["forward", "forward communication"],
];

/** Above this many devices bars are thin, have no labels of their own, and share one shape for each series. */
const MANY = 48;
export const bars = { type: "bar", barCategoryGap: "20%", cursor: "default", silent: true, emphasis: { disabled: true }, large: true, largeThreshold: MANY + 1 };

/** Widths of lines in pixels. */
const WIDTHS = [1, 2.5, 4, 6, 9];

/**
 * Returns the parts of each device's step. The forward communication begins when the slowest device is ready; the costs of
 * a plan count a device's idle time until then as forward communication.
 */
export function parts(costs) {
  const start = Math.max(0, ...costs.map((cost) => cost.computeMs + cost.backwardCommMs));
  return costs.map((cost, device) => {
    const idle = Math.max(0, Math.min(cost.forwardCommMs, start - cost.computeMs - cost.backwardCommMs));
    return {
      device, compute: cost.computeMs, backward: cost.backwardCommMs, idle, forward: cost.forwardCommMs - idle,
      total: cost.computeMs + cost.backwardCommMs + cost.forwardCommMs, memory: cost.memoryBytes,
    };
  });
}

export const decal = (c, pattern) => ({ color: c.panel, dashArrayX: [1, 0], ...pattern });

/** Returns a bar series for each part, stacked; patterns tell the parts apart without colours. */
function stack(c, costs, name, axis, extra) {
  const decals = {
    backward: decal(c, { dashArrayY: [1, 4], rotation: -Math.PI / 4 }),
    idle: { color: c.ink, symbol: "circle", symbolSize: 0.6, dashArrayX: [[4, 4], [0, 4, 4, 0]], dashArrayY: [4, 0] },
    forward: decal(c, { dashArrayY: [1, 4], rotation: Math.PI / 2 }),
  };
  return PARTS.map(([key, title]) => ({
    ...bars, name: title, stack: name, xAxisIndex: axis, yAxisIndex: axis, itemStyle: { color: c[key], decal: decals[key] },
    data: costs.map((cost) => cost[key]),
    ...extra?.(key),
  }));
}

const legend = (c, data, extra) => ({
  data, selectedMode: false, textStyle: { color: c.ink }, itemWidth: 18, itemHeight: 12, top: 0, ...extra,
});

/** A legend of names of any length and number, and the space that it takes. */
export const names = (c, data) => legend(c, data, { textStyle: { color: c.ink, width: 200, overflow: "truncate" } });
export const namesHeight = (count) => 24 * Math.ceil(count / 4);

const axis = (c, { label, ...extra }) => ({
  nameLocation: "middle", nameTextStyle: { color: c.soft }, axisLabel: { color: c.soft, ...label }, ...extra,
});

/** Labels with space between them, which ECharts only counts where there is a background. */
const APART = { hideOverlap: true, padding: [0, 6], backgroundColor: "transparent" };

/** An axis of values; label is its axisLabel. */
export const value = (c, extra) => axis(c, { type: "value", splitLine: { lineStyle: { color: c.line } }, ...extra });

/** An axis of categories; label is its axisLabel. */
export const category = (c, extra) =>
  axis(c, { type: "category", axisTick: { show: false }, axisLine: { lineStyle: { color: c.line } }, ...extra });

/** The axis of devices' steps, above many bars, so that it is visible without scrolling. */
const stepAxis = (c, few, extra) => value(c, { name: "ms per step", nameGap: 26, position: few ? "bottom" : "top", min: 0, ...extra });

/** The axis of devices, one for each row. */
const deviceAxis = (c, few, { label, ...extra }) => category(c, {
  inverse: true, label: { color: c.ink, fontSize: few ? 12 : 10, interval: few ? 0 : "auto", ...label }, ...extra,
});

/** Lines across a chart. */
const across = (data, style) => ({ silent: true, symbol: "none", data, ...style });

/** A tooltip that only moves the axis pointer; the details are shown beside the chart. */
export const pointerOnly = (c) => ({
  trigger: "axis", showContent: false,
  axisPointer: { type: "shadow", z: 0, label: { show: false }, shadowStyle: { color: c.band } },
});

export const pointTooltip = (c, formatter, trigger = "item") => ({
  trigger, confine: true, backgroundColor: c.panel, borderColor: c.line, textStyle: { color: c.ink, fontSize: 13 }, formatter,
});

/** Returns the bytes of each device of a plan that shards may use: of replica groups, the least at each position. */
export function usable(cluster, plan) {
  const own = new Map(cluster.memoryBytesByDevice.map(({ device, bytes: of }) => [device, of]));
  const least = plan.deviceCosts.map(() => Infinity);
  for (let rank = 0; rank < least.length * plan.replication.groups; rank++) {
    const position = positionOf(plan, rank);
    least[position] = Math.min(least[position], (own.get(rank) ?? cluster.memoryBytesPerDevice) - cluster.reservedMemoryBytesPerDevice);
  }
  return least;
}

/** Returns where bars begin and end. */
const inset = (few, top) => (few ? { top, bottom: 44 } : { top: top + 36, bottom: 10 });

const rowsHeight = (count) => count * (count > MANY ? 13 : 24);

export const planHeight = (plan) => 90 + rowsHeight(plan.deviceCosts.length);

/** Returns what a screen reader says of a device. */
export const deviceText = (cost, bottleneck) =>
  `Device ${cost.device}: ${ms(cost.total)}, ` + PARTS.map(([key, title]) => `${title} ${ms(cost[key])}`).join(", ") +
  `, memory ${bytes(cost.memory)}` + (cost.device === bottleneck ? ", the bottleneck" : "");

/** A plan: a bar for each device, and its memory beside it; capacities are what each device has, null if that is not known. */
export const planOption = (plan, capacities) => (c) => {
  const costs = parts(plan.deviceCosts);
  const wide = costs.length <= MANY;
  const bottleneck = plan.insight.bottleneck.device;
  const slow = new Set(plan.slow.map((speed) => positionOf(plan, speed.device)));
  const most = capacities && Math.max(...capacities);
  const unequal = capacities && Math.min(...capacities) < most;
  const memory = capacities ? `memory, of ${unequal ? `${bytes(Math.min(...capacities))} to ` : ""}${bytes(most)}` : "memory";
  const devices = (extra) => deviceAxis(c, wide, { data: costs.map((cost) => cost.device), ...extra });
  const mark = { color: c.alert, fontWeight: 700 };
  const label = (text) => ({ show: wide, position: "right", color: c.ink, fontSize: 11, formatter: text, rich: { mark } });
  return {
    legend: legend(c, [...PARTS.map(([, title]) => title), memory]),
    tooltip: pointerOnly(c),
    axisPointer: { link: [{ yAxisIndex: "all" }] },
    grid: [{ left: 60, width: "60%", ...inset(wide, 34) }, { left: "77%", right: unequal ? 150 : 80, ...inset(wide, 34) }],
    xAxis: [stepAxis(c, wide), value(c, { gridIndex: 1, max: most || null, show: false })],
    yAxis: [
      devices({
        label: {
          formatter: (device) => {
            const text = slow.has(Number(device)) ? `${device} slow` : device;
            return Number(device) === bottleneck ? `{mark|▶ ${text}}` : text;
          },
          rich: { mark },
        },
      }),
      devices({ gridIndex: 1, axisLine: { show: false }, label: { show: false } }),
    ],
    series: [
      ...stack(c, costs, "step", 0, (key) =>
        key === "forward" && { label: label(({ dataIndex: i }) => (i === bottleneck ? `{mark|${ms(costs[i].total)}}` : ms(costs[i].total))) }),
      {
        ...bars, name: memory, xAxisIndex: 1, yAxisIndex: 1, itemStyle: { color: c.memory },
        showBackground: true, backgroundStyle: { color: c.line, opacity: 0.5 },
        label: label(({ dataIndex: i }) => bytes(costs[i].memory) + (unequal ? ` of ${bytes(capacities[i])}` : "")),
        data: costs.map((cost) => cost.memory),
      },
    ],
  };
};

/** Returns what a screen reader says of a plan of the history. */
export const historyText = (line) =>
  `Generation ${line.generation}: ${line.beforeMs ? ms(line.beforeMs) + " to " : ""}${ms(line.predictedMs)}, ${reasonOf(line.reason)}`;

/** The plans of a workload over time: the predicted cost of the plan that ran before, and of the new plan. */
export const historyOption = (lines, chosen) => (c) => {
  const kinds = {
    QUICK: ["plan", "circle", c.compute],
    DEEP: ["plan of a background search", "diamond", c.forward],
    REJECTED: ["rejected by the trainer", "path://M0 0L10 10M10 0L0 10", c.alert],
  };
  const kind = (line) => (line.fate?.kind === "REJECTED" ? "REJECTED" : line.effort);
  const at = lines.findIndex((line) => line.planId === chosen);
  const step = (extra) => ({ type: "bar", stack: "change", barWidth: 2, silent: true, ...extra });
  const before = (line) => line.beforeMs ?? line.predictedMs;
  return {
    legend: legend(c, ["plan that ran before", ...Object.values(kinds).map(([title]) => title)]),
    tooltip: pointerOnly(c),
    grid: { left: 56, right: 20, top: 34, bottom: 44 },
    xAxis: category(c, { data: lines.map((line) => line.generation), name: "generation", nameGap: 26 }),
    yAxis: value(c, { name: "ms per step", nameGap: 40, min: 0 }),
    series: [
      step({ itemStyle: { color: "transparent" }, data: lines.map((line) => Math.min(before(line), line.predictedMs)) }),
      step({ itemStyle: { color: c.soft }, data: lines.map((line) => Math.abs(before(line) - line.predictedMs)) }),
      {
        type: "scatter", name: "plan that ran before", symbolSize: 9, itemStyle: { color: c.panel, borderColor: c.soft, borderWidth: 1.5 },
        data: lines.map((line) => line.beforeMs),
        markLine: across(at < 0 ? [] : [{ xAxis: at }], { lineStyle: { color: c.ink, type: "dotted" }, label: { show: false } }),
      },
      ...Object.entries(kinds).map(([key, [title, symbol, color]]) => ({
        type: "scatter", name: title, symbol, symbolSize: 11,
        itemStyle: { color, borderColor: color, borderWidth: key === "REJECTED" ? 2.5 : 0 },
        data: lines.map((line) => (kind(line) === key ? line.predictedMs : null)),
      })),
    ],
  };
};

/** Returns the bytes and shards that go from one device to another, or to every other one, a sum for each pair. */
export const transfers = (moved) =>
  [...Map.groupBy(moved, (part) => `${part.fromDevice} ${part.toDevice}`).values()].map((parts) => ({
    from: parts[0].fromDevice, to: parts[0].toDevice, count: parts.length, bytes: sum(parts, (part) => part.bytes),
  }));

/**
 * Returns sums with a pair for each device that gets a copy. A device without a copy gets it from the first one, where
 * each device that was there has one.
 */
const spread = (sums, count) =>
  sums.flatMap((sum) => {
    const from = Math.max(0, sum.from);
    if (sum.to >= 0) return [{ ...sum, from }];
    const others = [...Array(count).keys()].filter((device) => device !== from);
    return others.map((to) => ({ ...sum, from, to, bytes: sum.bytes / others.length }));
  });

export const diffHeight = (...plans) => 110 + rowsHeight(Math.max(...plans.map((plan) => plan.deviceCosts.length)));

/** Two plans: the devices' costs on both sides, and between them what moves from which device to which. */
export const diffOption = (moved, before, after) => (c) => {
  const [left, right] = [parts(before.deviceCosts), parts(after.deviceCosts)];
  const count = Math.max(left.length, right.length);
  const longest = Math.max(...[...left, ...right].map((cost) => cost.total));
  const positions = moved.map((part) => ({
    ...part, fromDevice: positionOf(before, part.fromDevice), toDevice: positionOf(after, part.toDevice),
  }));
  const sums = spread(transfers(positions), right.length);
  const most = Math.max(1, ...sums.map((sum) => sum.bytes));
  const devices = [...Array(count).keys()];
  const few = count <= MANY;
  const title = (name, plan, place) => ({
    text: `${name}: generation ${plan.generation}, ${ms(plan.predictedMs)}`, textStyle: { color: c.ink, fontSize: 13 }, ...place,
  });
  const side = (gridIndex, position) => deviceAxis(c, few, { gridIndex, position, data: devices, axisLine: { show: false } });
  const time = (gridIndex, inverse) => stepAxis(c, few, { gridIndex, inverse, max: longest, label: { showMaxLabel: false } });
  const column = (place) => ({ ...place, ...inset(few, 60) });
  return {
    title: [
      title("Earlier", before, { left: 0 }),
      title("Later", after, { right: 0 }),
      {
        text: "moved shards; line width: bytes", left: "center", ...(few ? { bottom: 4 } : { top: 54 }),
        textStyle: { color: c.soft, fontSize: 12, fontWeight: 400 },
      },
    ],
    legend: legend(c, PARTS.map(([, name]) => name), { top: 26 }),
    grid: [column({ left: 16, width: "33%" }), column({ left: "38%", width: "24%" }), column({ right: 16, width: "33%" })],
    xAxis: [time(0, true), value(c, { gridIndex: 1, min: 0, max: 1, show: false }), time(2, false)],
    yAxis: [side(0, "right"), value(c, { gridIndex: 1, inverse: true, min: -0.5, max: count - 0.5, show: false }), side(2, "left")],
    series: [
      ...stack(c, left, "earlier", 0),
      ...stack(c, right, "later", 2),
      // A series has one width; a point without a value ends a line.
      ...WIDTHS.map((width, i) => ({
        type: "line", xAxisIndex: 1, yAxisIndex: 1, symbol: "none", silent: true, lineStyle: { color: c.compute, opacity: 0.55, width },
        data: sums
          .filter((sum) => Math.min(WIDTHS.length - 1, Math.floor(WIDTHS.length * Math.sqrt(sum.bytes / most))) === i)
          .flatMap((sum) => [[0, sum.from], [1, sum.to], [null, null]]),
      })),
    ],
  };
};

/** Measured against predicted steps, with the line on which both are equal. */
export const stepsOption = (steps) => (c) => {
  const groups = byWorkload(steps, (members) => members.length);
  const costs = steps.flatMap((step) => [step.predictedMs, step.measuredMs]);
  const [min, max] = range(Math.min(...costs), Math.max(...costs));
  const axisOf = (name, nameGap) => value(c, { name, nameGap, min, max, label: { showMinLabel: false, showMaxLabel: false } });
  return {
    legend: names(c, groups.map(({ name }) => name)),
    tooltip: pointTooltip(c, ({ seriesIndex, dataIndex }) => {
      const step = groups[seriesIndex].members[dataIndex];
      return tooltip(`${step.workloadId}, plan ${short(step.planId)}`, `${ms(step.predictedMs)} predicted, ${ms(step.measuredMs)} measured`);
    }),
    grid: { left: 60, right: 20, top: 16 + namesHeight(groups.length), bottom: 50 },
    xAxis: axisOf("predicted ms per step", 28),
    yAxis: axisOf("measured ms per step", 40),
    series: groups.map(({ name, members }, i) => ({
      // Of more workloads than colours, those of one colour have different symbols.
      type: "scatter", name, symbol: SYMBOLS[(i + Math.floor(i / COLOURS.length)) % SYMBOLS.length], symbolSize: 9,
      itemStyle: { color: c[COLOURS[i % COLOURS.length]], opacity: 0.7 },
      data: members.map((step) => [step.predictedMs, step.measuredMs]),
      markLine: across(i > 0 ? [] : [[{ coord: [min, min] }, { coord: [max, max] }]], {
        lineStyle: { color: c.soft, type: "dashed" },
        label: { show: true, position: "insideEndTop", formatter: "measured = predicted", color: c.soft },
      }),
    })),
  };
};

/** What tells workloads apart: their colours and symbols. */
export const COLOURS = ["compute", "alert", "forward", "memory", "backward"];
export const SYMBOLS = ["circle", "triangle", "diamond", "rect"];

/** Workloads that charts tell apart by colours, and by symbols or patterns; all others share a group. */
export const TOLD_APART = 15;

/**
 * Returns groups of items by workload, { name, members }, those with the most first; the last one may be of all others.
 * weight(members) says how much a group has.
 */
export function byWorkload(items, weight) {
  const sorted = [...Map.groupBy(items, (item) => item.workloadId)].map(([name, members]) => ({ name, members, sum: weight(members) }))
    .sort((a, b) => b.sum - a.sum || (a.name < b.name ? -1 : 1));
  const others = sorted.splice(TOLD_APART);
  if (others.length) {
    sorted.push({ name: counted(others.length, "other workload"), others: true, members: others.flatMap(({ members }) => members) });
  }
  return sorted;
}

/** Returns round limits of an axis that leave some space around the values. */
function range(low, high) {
  const space = 0.06 * (high - low) || 0.1 * high || 1;
  const unit = 10 ** Math.floor(Math.log10(space));
  const round = (limit, direction) => Number((direction(limit / unit) * unit).toPrecision(12));
  return [Math.max(0, round(low - space, Math.floor)), round(high + space, Math.ceil)];
}

/** Returns two series that fill what is between lows and lows + heights. */
const band = (c, name, lows, heights) => [
  { data: lows }, { data: heights, name, icon: "rect", itemStyle: { color: c.band }, areaStyle: { color: c.band, opacity: 1 } },
].map((series) => ({ type: "line", stack: "band", symbol: "none", silent: true, lineStyle: { opacity: 0 }, z: 1, ...series }));

/** The ratio of measured to predicted cost over time, with the range without an alarm, alarms, and changes of the model. */
export const ratiosOption = (points, alarms) => (c) => {
  const changes = points.flatMap((point, i) => (i > 0 && points[i - 1].modelId !== point.modelId ? [i] : []));
  const alarmed = alarms
    .map((alarm) => points.findIndex((point) => point.measuredAt >= alarm.measuredAt))
    .filter((i) => i >= 0);
  const shown = points.flatMap((point) => [point.ratio, point.low, point.high]).filter((shown) => shown > 0);
  const times = points.map((point) => clock(point.measuredAt).slice(11));
  const [low, high] = [Math.min(1, ...shown), Math.max(1, ...shown)];
  return {
    legend: legend(c, ["measured / predicted", "range without an alarm", "alarm"]),
    tooltip: pointTooltip(c, ([{ dataIndex: i }]) => tooltip(
      `${clock(points[i].measuredAt)}: ${ratio(points[i].ratio)}`,
      points[i].low ? `range without an alarm: ${ratio(points[i].low)} to ${ratio(points[i].high)}` : "the usual ratio is still being learned",
      `model ${short(points[i].modelId)}`), "axis"),
    grid: { left: 60, right: 20, top: 34, bottom: 30 },
    xAxis: category(c, {
      data: times,
      // ECharts hides the first label, too, if it overlaps the next: of two labels, both.
      label: { ...APART, showMinLabel: true, interval: (i, time) => time !== times[i - 1] },
    }),
    yAxis: value(c, {
      name: "measured / predicted", nameGap: 42, min: Math.floor(9.5 * low) / 10, max: Math.ceil(10.5 * high) / 10,
      label: { showMaxLabel: false },
    }),
    series: [
      ...band(c, "range without an alarm", points.map((point) => point.low), points.map((point) => point.low && point.high - point.low)),
      {
        type: "line", name: "measured / predicted", symbol: "none", itemStyle: { color: c.compute }, lineStyle: { width: 1.5 },
        data: points.map((point) => point.ratio),
        markLine: across([
          { yAxis: 1, label: { show: false }, lineStyle: { color: c.soft, type: "solid" } },
          ...changes.map((i) => ({ xAxis: i, label: { formatter: "new model", position: "insideEndTop", color: c.soft } })),
        ], { lineStyle: { color: c.forward, type: "dashed" } }),
      },
      {
        type: "scatter", name: "alarm", symbol: "triangle", symbolSize: 15, symbolOffset: [0, -14], itemStyle: { color: c.alert },
        data: alarmed.map((i) => [i, points[i].ratio]),
      },
    ],
  };
};

const DAY_MS = 86_400_000;

/**
 * Returns the ids of a hash table by time, { at, low, median, high }: what was reported, without a range, and what is
 * forecast from the latest report on, with it.
 */
export function fills(row, measuredAt) {
  const past = row.past.length ? row.past : [{ atMs: Date.parse(measuredAt), ids: row.ids }];
  const { atMs: now, ids } = past.at(-1);
  const ranges = [[0, { low: ids, median: ids, high: ids }], [1, row.inDay], [7, row.inWeek], [28, row.inFourWeeks]];
  return {
    past: past.map((fill) => ({ at: fill.atMs, median: fill.ids })),
    forecast: ranges.map(([days, range]) => ({ at: now + days * DAY_MS, ...range })),
  };
}

/** Returns on which day a hash table is full. */
function fullText({ earliest, median, latest }, now) {
  const on = (days) => (days === null ? "more than 180 days later" : day(now + days * DAY_MS));
  if (median === 0) return "full";
  return median === null ? `may be full from ${on(earliest)} on` : `full on ${on(median)} (${on(earliest)} to ${on(latest)})`;
}

/** Returns what a screen reader says of the ids of a hash table. */
export function fillText(row, measuredAt) {
  const { past, forecast: [now, ...forecast] } = fills(row, measuredAt);
  return [
    `Ids of ${row.name}: ` + [past[0], now].slice(past.length > 1 ? 0 : 1).map(({ at, median }) => `${about(median)} on ${day(at)}`).join(", "),
    `${number(row.slots)} slots`,
    "forecast: " + forecast.map((range) => `${rangeText(range)} on ${day(range.at)}`).join(", "),
    ...(row.daysUntilFull ? [fullText(row.daysUntilFull, now.at)] : []),
    ...(row.resizedAt ? [`resized to ${number(row.slotsGiven)} slots on ${day(row.resizedAt)}`] : []),
  ].join("; ");
}

/** The ids of a hash table over time, its forecast, its slots, when it is full, and the latest resize. */
export const fillOption = (row, measuredAt) => (c) => {
  const { past, forecast } = fills(row, measuredAt);
  const [now, end] = [forecast[0].at, forecast.at(-1).at];
  const full = row.daysUntilFull;
  const resize = row.resizedAt && Date.parse(row.resizedAt);
  const line = (name, color, data, style, extra) => ({
    type: "line", name, symbol: "none", itemStyle: { color }, lineStyle: { width: 1.5, ...style }, data, ...extra,
  });
  const level = (name, color, slots, type) => line(name, color, [[now, slots], [end, slots]], { type });
  const when = (days, extra) => ({ value: [now + (days ?? 180) * DAY_MS, row.fullAt], symbol: "none", ...extra });
  const shown = [
    line("ids reported", c.compute, past.map(({ at, median }) => [at, median]), { width: 2 }, {
      markLine: across(resize >= past[0].at ? [{ xAxis: resize }] : [], {
        lineStyle: { color: c.forward, type: "dashed" }, label: { formatter: `resized ${day(resize)}`, color: c.soft },
      }),
    }),
    line("forecast", c.compute, forecast.map(({ at, median }) => [at, median]), { type: "dashed" }, { symbol: "circle" }),
    ...band(c, "90% range", forecast.map(({ at, low }) => [at, low]), forecast.map(({ at, low, high }) => [at, high - low])),
    level("slots", c.ink, row.slots, "solid"),
    ...(row.slotsGiven === row.slots ? [] : [level("slots given", c.forward, row.slotsGiven, "dotted")]),
    ...(row.fullAt === null ? [] : [level(`full: ${percent(row.fullAt / row.slots, 0)} of the slots`, c.alert, row.fullAt, "dashed")]),
    ...(full === null ? [] : [line("when it is full", c.alert, [
      when(full.earliest),
      when(full.median, {
        symbol: "diamond", symbolSize: 14,
        label: {
          show: true, formatter: `full ${day(now + full.median * DAY_MS)}`, position: "bottom", align: full.median > 14 ? "right" : "left",
          color: c.ink, backgroundColor: c.panel,
        },
      }),
      when(full.latest),
    ], { width: 6, opacity: 0.5 }, { icon: "diamond" })]),
  ];
  const texts = new Map([
    ...past.map(({ at, median }) => [at, [`${about(median)} ids`]]),
    ...forecast.slice(1).map((range) => [range.at, [`${about(range.median)} ids`, `90% range: ${about(range.low)} to ${about(range.high)}`]]),
  ]);
  return {
    legend: legend(c, shown.filter(({ name }) => name).map(({ name, icon }) => ({ name, icon, itemStyle: icon ? {} : { opacity: 0 } })), {
      itemWidth: 28,
    }),
    tooltip: pointTooltip(c, ([{ value: [at] }]) => tooltip(clock(at), ...(texts.get(at) ?? [fullText(full, now)])), "axis"),
    grid: { left: 66, right: 40, top: 64, bottom: 30 },
    xAxis: category(c, {
      type: "time", min: past[0].at, max: end, label: { ...APART, formatter: (at) => day(at).slice(5) },
    }),
    yAxis: value(c, { name: "ids", nameGap: 50, min: 0, label: { formatter: about } }),
    series: shown,
  };
};
