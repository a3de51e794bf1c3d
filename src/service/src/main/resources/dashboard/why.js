// The explanation of a plan: the events before it, predictions, the search, moves and statuses.

import { el, facts, link, list } from "./dom.js";
import { get } from "./live.js";
import { byTable, cacheText, fromText, groupsText, kindsText, movesText, otherShards, rowsOf, shardingText, toText } from "./shards.js";
import { col, name, num, Table } from "./table.js";
import { aboveBound, bytes, clock, counted, hardwareNote, ms, number, reasonOf, short, stepChange, words } from "./text.js";
import { partColumns } from "./workload-tables.js";

const SHOWN_EVENTS = 50;
const SHOWN_CHANGES = 20;
const SHOWN_SHARED = 20;
const SHOWN_STATUSES = 100;

export async function why(planId) {
  const [plan, story] = await Promise.all([get("/api/plan", { id: planId }), get("/api/why", { plan: planId })]);
  const bottleneck = plan.insight.bottleneck;
  const bound = plan.insight.lowerBoundMs;
  const note = hardwareNote(plan.reason);
  const [outside] = plan.outOfRange;
  const { moveOverheadMs, moveGigabytesPerSecond, reshardMs, paybackSteps } = plan.settings;
  return {
    title: `Why plan ${short(planId)}`,
    node: el("div", { class: "story" },
      el("h1", {}, "Why plan ", el("code", {}, short(planId)), " of ", link(plan.workloadId, "workload", plan.workloadId)),
      facts(
        ["Plan", link(planId, "workload", plan.workloadId, "plan", planId)],
        ["Generation", plan.firstGeneration === plan.generation ? number(plan.generation) : `${plan.firstGeneration} to ${plan.generation}`],
        ["Created", clock(plan.createdAt)],
        ["Reason", reasonOf(plan.reason)],
        ["Step", story.previousMs === null ? ms(plan.predictedMs) : stepChange(story.previousMs, plan.predictedMs)],
        ["Costs", costsText(story.simulated), note && `, ${note}`],
        ["Previous plan", ...previousPlan(story, planId)],
        story.pool && ["Devices", ...poolShare(story.pool)]),
      el("h2", {}, "Events"),
      events(story, plan),
      story.infeasible.map(({ generation, shortfall: { bytesShort, message } }) => el("p", { class: "problem" },
        `Generation ${generation} does not fit${bytesShort ? `, ${bytes(bytesShort)} short` : ""}: ${message}`)),
      el("h2", {}, "Predictions"),
      el("p", {}, "Model ", el("code", {}, short(plan.modelId)), ": computation of each new or changed table, alone on a device."),
      story.tables.length ? predictions(story) : el("p", {}, "No table is new or changed."),
      plan.outOfRangeCount > 0 && el("p", { class: "problem" },
        `Extrapolating: ${counted(plan.outOfRangeCount, "input")} outside the training range, such as ${outside.subject}: ` +
        `${outside.quantity} is ${number(outside.value)}, training range ${number(outside.min)} to ${number(outside.max)}.`),
      el("h2", {}, "Search"),
      el("ul", {},
        el("li", {}, `Effort: ${words(plan.effort)}, ${number(plan.evaluations)} evaluations in ${ms(plan.searchMillis)}.`),
        el("li", {}, `Lower bound of every plan: ${ms(bound)}` + (bound > 0 ? `; this one is ${aboveBound(plan.predictedMs, bound)} above.` : ".")),
        el("li", {}, `Tables: ${kindsText(plan.shards) || "none"}.`),
        el("li", {}, `Bottleneck: device ${bottleneck.device}, ${words(bottleneck.cause)}` +
          (bottleneck.table ? `, mostly ${bottleneck.table}` + (bottleneck.gainMs > 0 ? ` (${ms(bottleneck.gainMs)} faster without it)` : "") : "") + "."),
        el("li", {}, `A move costs ${ms(moveOverheadMs)} plus its bytes at ${moveGigabytesPerSecond} GB/s, a reshard ${ms(reshardMs)}; ` +
          `together they must pay off within ${number(paybackSteps)} steps.`)),
      el("h2", {}, "Splits, kinds and moves with their gains"),
      el("p", { class: "soft" }, "A gain is what undoing this action alone would cost a step. Gains of actions that belong together do not add up."),
      plan.insight.explanations.length ? explanations(plan) : el("p", {}, "None."),
      story.shared.length > 0 && shared(story),
      el("h2", {}, "Moves"),
      el("p", {}, movesText(plan)),
      plan.moves.length > 0 && moves(plan),
      el("h2", {}, "Trainer statuses"),
      story.statuses.length ? list(story.statuses, SHOWN_STATUSES, statusText) : el("p", {}, "None.")),
  };
}

const costsText = (simulated) =>
  simulated === null ? "of a model that is no longer in the log" : simulated ? "simulated" : "of a model trained on measured costs";

const previousPlan = ({ previousPlanId: previous, previousGeneration }, planId) =>
  previous
    ? [link(short(previous), "why", previous), ` generation ${previousGeneration}, `, link("compare", "compare", previous, planId)]
    : ["none, or no longer in the log"];

const poolShare = ({ devices, poolId, generation, reason }) => [
  `${number(devices)} of pool `, link(poolId, "pool", poolId),
  generation === null ? ", by an allocation that is not recorded" : `, generation ${generation}: ${reason}`,
];

const statusText = ({ step, kind, wave, waves, source, reason }) =>
  `Step ${number(step)}: ${words(kind)}${waves > 1 ? ` (wave ${wave} of ${waves})` : ""} by ${source}${reason ? ", " + reason : ""}`;

function events(story, plan) {
  if (story.events.length === 0) return el("p", {}, `No event: ${reasonOf(plan.reason)}.`);
  return list(story.events, SHOWN_EVENTS, ({ generation, eventId, source, occurredAt, changes }) => [
    `Generation ${generation}: event ${eventId}` + (source ? ` from ${source}, ${clock(occurredAt)}` : ""),
    list(changes, SHOWN_CHANGES, (text) => text),
  ], " events");
}

const predictions = (story) => new Table({
  caption: "Predictions",
  largest: "Predicted alone",
  columns: [
    name("Table", (row) => row.table.name), num("Previously", "beforeMs", ms), num("Predicted alone", "aloneMs", ms),
  ],
  rows: story.tables,
}).node;

function explanations(plan) {
  const tables = byTable(plan.shards);
  const shares = new Map([...tables].map(([name, shards]) => [name, otherShards(shards)[0].cacheShare]));
  const misses = new Map(plan.cacheMisses.map((of) => [of.table, of]));
  const sharding = (row) => (tables.has(row.table) ? shardingText(tables.get(row.table)) : "");
  const actions = {
    SPLIT: () => "split",
    MOVE: (row) => `move from device ${row.fromDevice} to ${row.toDevice}`,
    KIND: (row) => sharding(row) || "kind",
    CACHE: (row) => cacheText(shares.get(row.table), misses.get(row.table)) || "cache",
    HOT_ROWS: (row) => sharding(row) || "hot rows",
    GROUPS: () => groupsText(plan),
  };
  const gain = (of, row) => (of > 0 ? ms(of) : row.cause === "MEMORY" || row.cause === "DEVICE_LOST" ? "" : "only with others");
  return new Table({
    caption: "Splits, kinds, caches, hot rows, replica groups and moves, the largest gain first",
    largest: "Gain",
    columns: [
      name("Table", "table"), col("Action", (row) => actions[row.kind](row)), col("Cause", (row) => words(row.cause)),
      num("Gain", "gainMs", gain),
    ],
    rows: plan.insight.explanations,
  }).node;
}

function shared(story) {
  return el("div", {},
    el("p", {}, "Placed together by constraints, so that no split, kind or move of one is explained:"),
    list(story.shared, SHOWN_SHARED, (pair) => `${pair.table} is on the devices of ${pair.other}.`));
}

function moves(plan) {
  const routes = {
    DIRECT: (m) => `${fromText(m.fromDevice)} → ${toText(m.toDevice)}`,
    TO_HOST: (m) => `${fromText(m.fromDevice)} → host`,
    FROM_HOST: (m) => `host → ${toText(m.toDevice)}`,
  };
  return new Table({
    caption: "Moves in an order in which every device stays within its memory",
    columns: [
      num("Step", "number"), ...partColumns(rowsOf(plan.shards)), col("Route", (row) => routes[row.stage](row)), num("Size", "bytes", bytes),
    ],
    rows: plan.moveOrder.map(({ move, stage }, i) => ({ ...plan.moves[move], stage, number: i + 1 })),
  }).node;
}
