// Cost models: which one predicts, how measured costs compare with predicted ones, alarms and decisions.

import { charted } from "./chart.js";
import { button, el, labelled, link } from "./dom.js";
import { get, hasToken, post, reloader, setToken } from "./live.js";
import { ratiosOption, stepsOption } from "./plots.js";
import { col, name, num, planColumn, sentence, share, Table, when } from "./table.js";
import { ms, number, percent, ratio, short, words } from "./text.js";

const RELOAD_MS = 2000;

export async function learning() {
  const sections = new Map();
  const status = el("p", { role: "status" });
  const field = el("input", { type: "password", autocomplete: "off", oninput: (event) => setToken(event.target.value) });
  const empty = el("p", { class: "soft" }, "No model is published yet.");
  const node = el("div", {},
    el("h1", {}, "Learning"),
    el("div", { class: "tools" }, labelled("Token, to promote and roll back", field)),
    status, empty);

  async function send(path, parameters) {
    try {
      status.className = "";
      status.textContent = "Sending.";
      status.textContent = await post(path, parameters);
      await load();
    } catch (error) {
      status.className = "bad";
      status.textContent = error.message + (error.status === 401 && !hasToken() ? ". Enter the token first." : "");
    }
  }

  async function load() {
    const views = await get("/api/learning");
    empty.hidden = views.length > 0;
    for (const view of views) {
      if (!sections.has(view.hardware)) {
        const created = section(view.hardware, send);
        sections.set(view.hardware, created);
        node.append(created.node);
      }
      sections.get(view.hardware).show(view);
    }
  }
  await load();
  const reload = reloader(load, (error) => { status.textContent = error.message; }, RELOAD_MS);

  return {
    title: "Learning",
    node,
    update(kind) {
      // A measurement updates a row; models and alarms are events.
      if (kind === "workload" || kind === "event" || kind === "connected") reload();
    },
  };
}

const error = (title, key) => share(title, key, 2);
const yes = (is) => (is ? "yes" : "");
const id = (title, key) => col(title, key, short);

/** Returns a table of models; buttons(model) are those that promote it. */
const tableOfModels = (hardware, promote) => new Table({
  caption: "Models, the latest first",
  name: `Models for ${hardware}`,
  key: (model) => model.modelId + model.since,
  largest: "Since",
  rowClass: (model) => (model.predicts ? "marked" : ""),
  columns: [
    id("Model", "modelId"), when("Since", "since"), col("Current", (model) => yes(model.predicts)),
    num("Samples", "computeSamples"), error("Mean error", "error"),
    col("Trained on", (model) => (model.simulated ? "simulated costs" : "measured costs")),
    num("Plans", (model) => model.plans.count, planLinks), name("Description", "description", description),
    { title: "Promote", cell: (model) => (model.predicts ? "" : promote(model)) },
  ],
});

/** Returns a model's description; its first words are shown until the user opens it. */
const description = (text) => el("details", {}, el("summary", {}, text.split(/[:,.;]/)[0].slice(0, 40)), text);

const planLinks = (count, model) =>
  el("span", {}, `${number(count)} `,
    model.plans.latest.slice(0, 3).map((plan) => [link(short(plan.planId).slice(0, 6), "why", plan.planId), " "]));

/** Adds what decisions and plans say of models: an error on recent measurements counts more than that on the card. */
const joined = ({ models, decisions, plans }) => models.map((model, i) => ({
  ...model,
  predicts: i === models.length - 1,
  plans: plans[model.modelId] ?? { count: 0, latest: [] },
  error: decisions.findLast((d) => d.published && d.challengerId === model.modelId && d.challengerRecentError !== null)
    ?.challengerRecentError ?? model.error,
}));

const tableOfDecisions = (hardware) => new Table({
  caption: "Decisions, the latest first",
  name: `Decisions for ${hardware}`,
  largest: "Time",
  columns: [
    when("Time", "decidedAt"), col("Trigger", (d) => words(d.trigger)), id("Champion", "championId"),
    id("Challenger", "challengerId"), col("Published", (d) => yes(d.published) || "no"),
    error("Champion's error", "championRecentError"), error("Challenger's error", "challengerRecentError"),
    num("Plans lose", "challengerPlanLoss", (loss, d) => (loss === null ? "" : `${percent(d.championPlanLoss)} → ${percent(loss)}`)),
    sentence("Reason", "reason"),
  ],
});

const tableOfAlarms = (hardware) => new Table({
  caption: "Alarms, the latest first",
  name: `Alarms for ${hardware}`,
  largest: "Time",
  columns: [
    when("Time", "measuredAt"),
    col("Alarm", (a) => (a.kind === "STRAGGLER" ? `device ${a.device} is slow` : "drift from the model")),
    col("Quantity", (a) => words(a.quantity)),
    col("Workload", "workloadId", (workload) => link(workload, "workload", workload)),
    num("Usual ratio", "usualRatio", ratio), num("Recent ratio", "recentRatio", ratio), col("Detector", "detector"),
  ],
});

const chartOfSteps = (hardware) => charted(`steps of ${hardware}`, "Steps as a table", {
  caption: "Measured steps, the latest first",
  largest: "Time",
  columns: [
    when("Time", "measuredAt"), name("Workload", "workloadId"), planColumn("Plan", "planId"),
    id("Model", "modelId"), num("Predicted", "predictedMs", ms), num("Measured", "measuredMs", ms),
  ],
});

const chartOfRatios = (hardware) => charted(`ratios of ${hardware}`, "Ratios as a table", {
  caption: "Measured over predicted cost, the latest first",
  largest: "Number",
  columns: [
    num("Number", "number"), when("Time", "measuredAt"), num("Ratio", "ratio", ratio),
    num("Alarm below", "low", ratio), num("Alarm above", "high", ratio), id("Model", "modelId"),
  ],
});

function section(hardware, send) {
  let view = null;
  const models = tableOfModels(hardware, ({ modelId }) =>
    button("Promote", () => send("/api/promote", { model: modelId }), { "aria-label": `Promote ${short(modelId)}` }));
  const rollback = button("Roll back to the previous model", () => send("/api/rollback", { hardware }));
  const decisions = tableOfDecisions(hardware);
  const alarms = tableOfAlarms(hardware);
  const steps = chartOfSteps(hardware);
  const ratios = chartOfRatios(hardware);
  const choice = el("select", { onchange: () => draw() });
  const unmeasured = el("p", { class: "soft" }, "No measurement was received since this server started.");
  const stepsBox = el("div", {}, el("h3", {}, "Measured against predicted steps"), steps.node);
  const ratiosBox = el("div", {},
    el("h3", {}, "Ratio of measured to predicted cost"),
    el("div", { class: "tools" }, labelled("Workload and quantity", choice)),
    ratios.node);

  const keyOf = (line) => JSON.stringify([line.workloadId, line.quantity]);

  function draw() {
    unmeasured.hidden = view.steps.length > 0 || view.residuals.length > 0;
    stepsBox.hidden = view.steps.length === 0;
    steps.show(stepsOption(view.steps), { label: `Measured against predicted cost of ${view.steps.length} steps`, height: 420 }, view.steps);
    const line = view.residuals.find((l) => keyOf(l) === choice.value) || view.residuals[0];
    ratiosBox.hidden = !line;
    if (!line) return;
    const alarmsOfLine = view.alarms.filter((a) => a.workloadId === line.workloadId && a.quantity === line.quantity);
    ratios.show(ratiosOption(line.points, alarmsOfLine), {
      label: `Ratio of measured to predicted cost of ${line.workloadId}, ${words(line.quantity)}: ${line.points.length} measurements, ${alarmsOfLine.length} alarms`,
      height: 280,
    }, line.points.map((point, i) => ({ ...point, number: i + 1 })));
  }

  /** Offers the lines to choose from, and keeps the choice if it is one of them. */
  function offer(lines) {
    const keys = lines.map(keyOf);
    if (keys.join() === [...choice.options].map((o) => o.value).join()) return;
    const was = choice.value;
    choice.replaceChildren(...lines.map((l) => el("option", { value: keyOf(l) }, `${l.workloadId}, ${words(l.quantity)}`)));
    if (keys.includes(was)) choice.value = was;
  }

  function fill(table, rows) {
    table.set(rows);
    table.node.hidden = rows.length === 0;
  }

  return {
    node: el("section", {},
      el("h2", {}, `Hardware: ${hardware}`),
      models.node, el("div", { class: "tools" }, rollback),
      unmeasured, stepsBox, ratiosBox, alarms.node, decisions.node),
    show(now) {
      view = now;
      models.set(joined(now));
      rollback.disabled = now.models.length < 2;
      fill(decisions, now.decisions);
      fill(alarms, now.alarms);
      offer(now.residuals);
      draw();
    },
  };
}
