// Cost models: which one predicts, how measured costs compare with predicted ones, alarms and decisions.

import { Chart } from "./chart.js";
import { el, labelled, link } from "./dom.js";
import { chartTools } from "./export.js";
import { get, hasToken, post, setToken } from "./live.js";
import { ratiosOption, stepsOption } from "./plots.js";
import { hiddenTable, Table } from "./table.js";
import { clock, ms, number, percent, short, words } from "./text.js";

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
      await reload();
    } catch (error) {
      status.className = "bad";
      status.textContent = error.message + (error.status === 401 && !hasToken() ? ". Enter the token first." : "");
    }
  }

  async function reload() {
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
  await reload();
  let timer = null;
  let again = false;
  let closed = false;

  // One request at a time: the answer of an earlier one must not replace that of a later one.
  const schedule = () => {
    timer = setTimeout(async () => {
      again = false;
      try {
        await reload();
      } catch (error) {
        status.textContent = error.message;
      }
      timer = null;
      if (again && !closed) schedule();
    }, RELOAD_MS);
  };

  return {
    title: "Learning",
    node,
    update(kind) {
      // A measurement updates a row; models and alarms are events.
      if (kind !== "workload" && kind !== "event" && kind !== "connected") return;
      if (timer) again = true;
      else schedule();
    },
    close() {
      closed = true;
      clearTimeout(timer);
      sections.forEach((created) => created.close());
    },
  };
}

function section(name, send) {
  let view = null;
  const models = new Table({
    caption: "Models, the latest first",
    name: `Models for ${name}`,
    key: (model) => model.modelId + model.since,
    sort: 1,
    descending: true,
    rowClass: (model) => (model.predicts ? "marked" : ""),
    columns: [
      { title: "Model", value: (model) => model.modelId, cell: (model) => short(model.modelId) },
      { title: "Since", value: (model) => model.since, cell: (model) => clock(model.since) },
      { title: "Current", value: (model) => (model.predicts ? "yes" : "") },
      { title: "Samples", kind: "number", value: (model) => model.computeSamples, cell: (model) => number(model.computeSamples) },
      { title: "Mean error", kind: "number", value: (model) => model.error, cell: (model) => percent(model.error, 2) },
      { title: "Trained on", value: (model) => (model.simulated ? "simulated costs" : "measured costs") },
      { title: "Plans", kind: "number", value: (model) => model.planCount, cell: planLinks },
      { title: "Description", kind: "wide", value: (model) => model.description, cell: description },
      { title: "Promote", cell: (model) => (model.predicts ? "" : promote(model)) },
    ],
  });
  const promote = (model) => el("button", { type: "button", "aria-label": `Promote ${short(model.modelId)}`, onclick: () => send("/api/promote", { model: model.modelId }) }, "Promote");
  const rollback = el("button", { type: "button", onclick: () => send("/api/rollback", { hardware: name }) }, "Roll back to the previous model");
  const decisions = new Table({
    caption: "Decisions, the latest first",
    name: `Decisions for ${name}`,
    key: (d) => d.decidedAt + (d.challengerId || ""),
    descending: true,
    columns: [
      { title: "Time", value: (d) => d.decidedAt, cell: (d) => clock(d.decidedAt) },
      { title: "Trigger", value: (d) => words(d.trigger) },
      { title: "Champion", value: (d) => short(d.championId) },
      { title: "Challenger", value: (d) => short(d.challengerId) },
      { title: "Published", value: (d) => (d.published ? "yes" : "no") },
      { title: "Champion's error", kind: "number", value: (d) => d.championRecentError, cell: (d) => percent(d.championRecentError, 2) },
      { title: "Challenger's error", kind: "number", value: (d) => d.challengerRecentError, cell: (d) => percent(d.challengerRecentError, 2) },
      { title: "Plans lose", kind: "number", value: (d) => d.challengerPlanLoss, cell: (d) => (d.challengerPlanLoss === null ? "" : `${percent(d.championPlanLoss)} → ${percent(d.challengerPlanLoss)}`) },
      { title: "Reason", kind: "long", value: (d) => d.reason },
    ],
  });
  const alarms = new Table({
    caption: "Alarms, the latest first",
    name: `Alarms for ${name}`,
    key: (a) => [a.measuredAt, a.workloadId, a.quantity, a.device].join("\n"),
    descending: true,
    columns: [
      { title: "Time", value: (a) => a.measuredAt, cell: (a) => clock(a.measuredAt) },
      { title: "Alarm", value: (a) => (a.kind === "STRAGGLER" ? `device ${a.device} is slow` : "drift from the model") },
      { title: "Quantity", value: (a) => words(a.quantity) },
      { title: "Workload", value: (a) => a.workloadId, cell: (a) => link(a.workloadId, "workload", a.workloadId) },
      { title: "Usual ratio", kind: "number", value: (a) => a.usualRatio, cell: (a) => a.usualRatio.toFixed(2) },
      { title: "Recent ratio", kind: "number", value: (a) => a.recentRatio, cell: (a) => a.recentRatio.toFixed(2) },
      { title: "Detector", value: (a) => a.detector },
    ],
  });
  const steps = new Chart(`steps of ${name}`);
  const stepsTable = hiddenTable("Steps as a table", {
    caption: "Measured steps, the latest first",
    name: `Steps of ${name}`,
    key: (s) => [s.measuredAt, s.workloadId, s.planId].join("\n"),
    descending: true,
    columns: [
      { title: "Time", value: (s) => s.measuredAt, cell: (s) => clock(s.measuredAt) },
      { title: "Workload", kind: "wide", value: (s) => s.workloadId },
      { title: "Plan", value: (s) => s.planId, cell: (s) => link(short(s.planId), "why", s.planId) },
      { title: "Model", value: (s) => s.modelId, cell: (s) => short(s.modelId) },
      { title: "Predicted", kind: "number", value: (s) => s.predictedMs, cell: (s) => ms(s.predictedMs) },
      { title: "Measured", kind: "number", value: (s) => s.measuredMs, cell: (s) => ms(s.measuredMs) },
    ],
  });
  const ratios = new Chart(`ratios of ${name}`);
  const ratiosTable = hiddenTable("Ratios as a table", {
    caption: "Measured over predicted cost, the latest first",
    name: `Ratios of ${name}`,
    key: (p) => p.number,
    descending: true,
    columns: [
      { title: "Number", kind: "number", value: (p) => p.number },
      { title: "Time", value: (p) => p.measuredAt, cell: (p) => clock(p.measuredAt) },
      { title: "Ratio", kind: "number", value: (p) => p.ratio, cell: (p) => p.ratio.toFixed(3) },
      { title: "Alarm below", kind: "number", value: (p) => p.low, cell: (p) => p.low?.toFixed(3) },
      { title: "Alarm above", kind: "number", value: (p) => p.high, cell: (p) => p.high?.toFixed(3) },
      { title: "Model", value: (p) => p.modelId, cell: (p) => short(p.modelId) },
    ],
  });
  const choice = el("select", { onchange: () => draw() });
  const unmeasured = el("p", { class: "soft" }, "No measurement was received since this server started.");
  const stepsBox = el("div", {},
    el("h3", {}, "Measured against predicted steps"),
    chartTools(steps), steps.node, stepsTable.node);
  const ratiosBox = el("div", {},
    el("h3", {}, "Ratio of measured to predicted cost"),
    el("div", { class: "tools" }, labelled("Workload and quantity", choice)),
    chartTools(ratios), ratios.node, ratiosTable.node);

  const keyOf = (line) => JSON.stringify([line.workloadId, line.quantity]);

  function draw() {
    unmeasured.hidden = view.steps.length > 0 || view.residuals.length > 0;
    stepsBox.hidden = view.steps.length === 0;
    steps.show(stepsOption(view.steps), { label: `Measured against predicted cost of ${view.steps.length} steps`, height: 420 });
    stepsTable.set(view.steps);
    const line = view.residuals.find((l) => keyOf(l) === choice.value) || view.residuals[0];
    ratiosBox.hidden = !line;
    if (!line) return;
    const alarmsOfLine = view.alarms.filter((a) => a.workloadId === line.workloadId && a.quantity === line.quantity);
    ratios.show(ratiosOption(line.points, alarmsOfLine), {
      label: `Ratio of measured to predicted cost of ${line.workloadId}, ${words(line.quantity)}: ${line.points.length} measurements, ${alarmsOfLine.length} alarms`,
      height: 280,
    });
    ratiosTable.set(line.points.map((point, i) => ({ ...point, number: i + 1 })));
  }

  return {
    node: el("section", {},
      el("h2", {}, `Hardware: ${name}`),
      models.node, el("div", { class: "tools" }, rollback),
      unmeasured, stepsBox, ratiosBox, alarms.node, decisions.node),
    close() {
      steps.close();
      ratios.close();
    },
    show(now) {
      view = now;
      models.set(now.models);
      rollback.disabled = now.models.length < 2;
      decisions.set(now.decisions);
      decisions.node.hidden = now.decisions.length === 0;
      alarms.set(now.alarms);
      alarms.node.hidden = now.alarms.length === 0;
      const keys = now.residuals.map(keyOf);
      if (keys.join() !== [...choice.options].map((o) => o.value).join()) {
        const was = choice.value;
        choice.replaceChildren(...now.residuals.map((l) => el("option", { value: keyOf(l) }, `${l.workloadId}, ${words(l.quantity)}`)));
        if (keys.includes(was)) choice.value = was;
      }
      draw();
    },
  };
}

/** Returns a model's description; its first words are shown until the user opens it. */
const description = (model) =>
  el("details", {}, el("summary", {}, model.description.split(/[:,.;]/)[0].slice(0, 40)), model.description);

const planLinks = (model) =>
  el("span", {}, `${number(model.planCount)} `,
    model.plans.slice(0, 3).map((plan) => [link(short(plan.planId).slice(0, 6), "why", plan.planId), " "]));
