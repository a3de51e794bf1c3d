// Why a plan is as it is.

import { el, facts, link } from "./dom.js";
import { ask } from "./live.js";
import { Table } from "./table.js";
import { bytes, clock, ms, number, percent, share, short, words } from "./text.js";

const EVENTS = 50;
const CHANGES = 20;

export async function why(planId) {
  const [plan, story] = await Promise.all([ask("/api/plan", { id: planId }), ask("/api/why", { plan: planId })]);
  const bottleneck = plan.insight.bottleneck;
  const bound = plan.insight.lowerBoundMs;
  return {
    title: `Why plan ${short(planId)}`,
    node: el("div", { class: "story" },
      el("h1", {}, "Why plan ", el("code", {}, short(planId)), " of ", link(plan.workloadId, "workload", plan.workloadId)),
      facts(
        ["Plan", el("span", {}, link("show it", "workload", plan.workloadId, "plan", planId), " ", el("code", {}, planId))],
        ["Generation", plan.firstGeneration === plan.generation ? number(plan.generation) : `${plan.firstGeneration} to ${plan.generation}`],
        ["Made", clock(plan.createdAt)],
        ["Because", plan.reason],
        ["A step", story.previousMs === null ? ms(plan.predictedMs) : `${ms(story.previousMs)} → ${ms(plan.predictedMs)} (${share(story.previousMs, plan.predictedMs)})`],
        ["Plan that ran", story.previousPlanId ? el("span", {}, link(short(story.previousPlanId), "why", story.previousPlanId), ` generation ${story.previousGeneration}, `, link("compare", "compare", story.previousPlanId, planId)) : "none, or not on record"]),
      el("h2", {}, "What happened"),
      events(story),
      story.infeasible.map((none) => el("p", { class: "problem" }, `Generation ${none.generation} did not fit, ${bytes(none.shortfall.bytesShort)} short: ${none.shortfall.message}`)),
      el("h2", {}, "What the model predicted"),
      el("p", {}, "Model ", el("code", {}, short(plan.modelId)), ": computation of each new or different table on a device of its own."),
      story.tables.length ? predictions(story).node : el("p", {}, "No table is new or different."),
      plan.outOfRangeCount ? el("p", { class: "problem" }, `Less sure: in ${number(plan.outOfRangeCount)} places the model was not trained on what there is, such as ${plan.outOfRange[0].subject}: ${plan.outOfRange[0].quantity} ${number(plan.outOfRange[0].value)}, trained from ${number(plan.outOfRange[0].min)} to ${number(plan.outOfRange[0].max)}.`) : "",
      el("h2", {}, "What was considered"),
      el("ul", {},
        el("li", {}, `A ${words(plan.effort)} search, ${number(plan.evaluations)} evaluations in ${ms(plan.searchMillis)}.`),
        el("li", {}, `No plan costs less than ${ms(bound)}` + (bound > 0 ? `; this one is ${percent(plan.predictedMs / bound - 1)} above.` : ".")),
        el("li", {}, `Bottleneck: device ${bottleneck.device}, ${words(bottleneck.cause)}` +
          (bottleneck.table ? `, most by ${bottleneck.table}` + (bottleneck.gainMs > 0 ? ` (${ms(bottleneck.gainMs)} less without it)` : "") : "") + "."),
        el("li", {}, `Moves at ${plan.settings.moveGigabytesPerSecond} GB/s and ${plan.settings.moveOverheadMs} ms each, paid back in ${number(plan.settings.paybackSteps)} steps.`)),
      el("h2", {}, "What was cut and moved, and what it gains"),
      plan.insight.explanations.length ? explanations(plan).node : el("p", {}, "Nothing."),
      el("h2", {}, "Moves"),
      plan.moves.length ? moves(plan).node : el("p", {}, "None."),
      el("h2", {}, "What trainers said of it"),
      story.statuses.length
        ? el("ul", {}, story.statuses.map((status) => el("li", {}, `Step ${number(status.step)}: ${words(status.kind)} by ${status.source}${status.reason ? ", " + status.reason : ""}`)))
        : el("p", {}, "Nothing.")),
  };
}

function events(story) {
  if (!story.events.length) {
    return el("p", {}, "No event: another model took over, or a deeper search went on from the plan that ran.");
  }
  return el("ul", {},
    story.events.slice(0, EVENTS).map((event) =>
      el("li", {}, `Generation ${event.generation}: event ${event.eventId}` + (event.source ? ` from ${event.source}, ${clock(event.occurredAt)}` : ""),
        el("ul", {},
          event.changes.slice(0, CHANGES).map((change) => el("li", {}, change)),
          event.changes.length > CHANGES ? el("li", {}, `and ${event.changes.length - CHANGES} more`) : ""))),
    story.events.length > EVENTS ? el("li", {}, `and ${story.events.length - EVENTS} more events`) : "");
}

function predictions(story) {
  const table = new Table({
    caption: "Predictions",
    key: (row) => row.table.name,
    sort: 2,
    descending: true,
    columns: [
      { title: "Table", kind: "wide", value: (row) => row.table.name },
      { title: "Before", kind: "number", value: (row) => row.beforeMs, cell: (row) => ms(row.beforeMs) },
      { title: "Alone", kind: "number", value: (row) => row.aloneMs, cell: (row) => ms(row.aloneMs) },
    ],
  });
  table.set(story.tables);
  return table;
}

function explanations(plan) {
  const table = new Table({
    caption: "Cuts and moves, the largest gain first",
    key: (row) => row.number,
    sort: 3,
    descending: true,
    columns: [
      { title: "Table", kind: "wide", value: (row) => row.table },
      { title: "What", value: (row) => (row.kind === "SPLIT" ? "cut" : `moved ${row.fromDevice} → ${row.toDevice}`) },
      { title: "For", value: (row) => words(row.cause) },
      { title: "Saves", kind: "number", value: (row) => row.gainMs, cell: (row) => (row.gainMs > 0 ? ms(row.gainMs) : row.cause === "MEMORY" || row.cause === "DEVICE_LOST" ? "" : "only with others") },
    ],
  });
  table.set(plan.insight.explanations.map((row, number) => ({ ...row, number })));
  return table;
}

function moves(plan) {
  const stages = { DIRECT: (m) => `device ${m.fromDevice} → ${m.toDevice}`, TO_HOST: (m) => `device ${m.fromDevice} → host`, FROM_HOST: (m) => `host → device ${m.toDevice}` };
  const table = new Table({
    caption: "Moves in an order in which no device is ever too full",
    key: (row) => row.number,
    columns: [
      { title: "Step", kind: "number", value: (row) => row.number },
      { title: "Table", kind: "wide", value: (row) => row.move.table },
      { title: "Columns", value: (row) => `${row.move.columnOffset} to ${row.move.columnOffset + row.move.columns - 1}` },
      { title: "Way", value: (row) => stages[row.stage](row.move) },
      { title: "Size", kind: "number", value: (row) => row.move.bytes, cell: (row) => bytes(row.move.bytes) },
    ],
  });
  table.set(plan.moveOrder.map((step, i) => ({ number: i + 1, stage: step.stage, move: plan.moves[step.move] })));
  return table;
}
