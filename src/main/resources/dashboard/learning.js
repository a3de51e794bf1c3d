// What was learned from measurements, and which models predict.

import { onColours, ratios, scatter } from "./chart.js";
import { el, labelled, link } from "./dom.js";
import { pictureTools } from "./export.js";
import { ask, command, hasToken, setToken } from "./live.js";
import { Table } from "./table.js";
import { clock, ms, number, percent, short, words } from "./text.js";

const RELOAD_MS = 2000;

export async function learning() {
  const node = el("div");
  const sections = new Map();
  const said = el("p", { role: "status" });
  const field = el("input", { type: "password", autocomplete: "off", oninput: (event) => setToken(event.target.value) });
  const none = el("p", { class: "soft" });
  const boxes = el("div");
  node.append(
    el("h1", {}, "Learning"),
    el("div", { class: "tools" }, labelled("Token, to promote and roll back", field)),
    said, none, boxes);

  async function change(path, parameters) {
    try {
      said.className = "";
      said.textContent = "Asking.";
      said.textContent = await command(path, parameters);
      await reload();
    } catch (error) {
      said.className = "bad";
      said.textContent = error.message + (error.status === 401 && !hasToken() ? "; enter the token first" : "");
    }
  }

  async function reload() {
    const views = await ask("/api/learning");
    none.textContent = views.length ? "" : "No model was published yet.";
    for (const view of views) {
      if (!sections.has(view.hardware)) {
        const made = section(view, change);
        sections.set(view.hardware, made);
        boxes.append(made.node);
      }
      sections.get(view.hardware).show(view);
    }
  }
  await reload();
  let timer = null;
  const stop = onColours(() => sections.forEach((made) => made.draw()));
  return {
    title: "Learning",
    node,
    news(kind) {
      // A measurement changes a row; models and alarms are entries.
      if (!timer && (kind === "row" || kind === "entry" || kind === "all")) {
        timer = setTimeout(() => {
          timer = null;
          reload().catch((error) => { said.textContent = error.message; });
        }, RELOAD_MS);
      }
    },
    close() {
      clearTimeout(timer);
      stop();
    },
  };
}

function section(first, change) {
  let view = first;
  const name = first.hardware;
  const models = new Table({
    caption: "Models, the latest first; one predicts",
    name: `Models for ${name}`,
    key: (model) => model.modelId + model.since,
    sort: 1,
    descending: true,
    rowClass: (model) => (model.predicts ? "marked" : ""),
    columns: [
      { title: "Model", value: (model) => model.modelId, cell: (model) => short(model.modelId) },
      { title: "Since", value: (model) => model.since, cell: (model) => clock(model.since) },
      { title: "Predicts", value: (model) => (model.predicts ? "yes" : "") },
      { title: "Samples", kind: "number", value: (model) => model.computeSamples, cell: (model) => number(model.computeSamples) },
      { title: "Error", kind: "number", value: (model) => model.error, cell: (model) => percent(model.error, 2) },
      { title: "Costs", value: (model) => (model.simulated ? "simulated" : "measured") },
      { title: "Plans", kind: "number", value: (model) => model.planCount, cell: planLinks },
      { title: "From", kind: "wide", value: (model) => model.description },
      { title: "Choose", cell: (model) => (model.predicts ? "" : promote(model)) },
    ],
  });
  const promote = (model) => el("button", { type: "button", "aria-label": `Promote ${short(model.modelId)}`, onclick: () => change("/api/promote", { model: model.modelId }) }, "Promote");
  const rollback = el("button", { type: "button", onclick: () => change("/api/rollback", { hardware: name }) }, "Roll back to the model before");
  const decisions = new Table({
    caption: "Decisions, the latest first",
    name: `Decisions for ${name}`,
    key: (d) => d.decidedAt + (d.challengerId || ""),
    descending: true,
    columns: [
      { title: "When", value: (d) => d.decidedAt, cell: (d) => clock(d.decidedAt) },
      { title: "Began with", value: (d) => words(d.trigger) },
      { title: "Champion", value: (d) => short(d.championId) },
      { title: "Challenger", value: (d) => short(d.challengerId) },
      { title: "Took over", value: (d) => (d.published ? "yes" : "no") },
      { title: "Champion's error", kind: "number", value: (d) => d.championRecentError, cell: (d) => percent(d.championRecentError, 2) },
      { title: "Challenger's error", kind: "number", value: (d) => d.challengerRecentError, cell: (d) => percent(d.challengerRecentError, 2) },
      { title: "Why", kind: "wide", value: (d) => d.reason },
    ],
  });
  const alarms = new Table({
    caption: "Alarms, the latest first",
    name: `Alarms for ${name}`,
    key: (a) => [a.measuredAt, a.workloadId, a.quantity, a.device].join("\n"),
    descending: true,
    columns: [
      { title: "When", value: (a) => a.measuredAt, cell: (a) => clock(a.measuredAt) },
      { title: "What", value: (a) => (a.kind === "STRAGGLER" ? `device ${a.device} is slow` : "the model is wrong") },
      { title: "Of", value: (a) => words(a.quantity) },
      { title: "Workload", value: (a) => a.workloadId, cell: (a) => link(a.workloadId, "workload", a.workloadId) },
      { title: "Usual ratio", kind: "number", value: (a) => a.usualRatio, cell: (a) => a.usualRatio.toFixed(2) },
      { title: "Recent ratio", kind: "number", value: (a) => a.recentRatio, cell: (a) => a.recentRatio.toFixed(2) },
      { title: "Detector", value: (a) => a.detector },
    ],
  });
  const steps = el("div", { class: "picture" });
  const lines = el("div", { class: "picture" });
  const choice = el("select", { onchange: () => draw() });
  const unmeasured = el("p", { class: "soft" }, "Nothing was measured, or not since the dashboard began to read.");
  const pictures = el("div", {},
    el("h3", {}, "Measured against predicted steps"),
    pictureTools(() => steps.querySelector("svg"), `steps of ${name}`), steps,
    el("h3", {}, "Measured over predicted, over time"),
    el("div", { class: "tools" }, labelled("Workload and quantity", choice)),
    pictureTools(() => lines.querySelector("svg"), `residuals of ${name}`), lines);

  const keyOf = (line) => JSON.stringify([line.workloadId, line.quantity]);

  function draw() {
    const measured = view.steps.length > 0 || view.residuals.length > 0;
    unmeasured.hidden = measured;
    pictures.hidden = !measured;
    if (!measured) return;
    steps.replaceChildren(scatter(
      view.steps.map((s) => [s.predictedMs, s.measuredMs, `${s.workloadId}, plan ${short(s.planId)}, model ${short(s.modelId)}: ${ms(s.predictedMs)} predicted, ${ms(s.measuredMs)} measured`]),
      "predicted ms", "measured ms"));
    const line = view.residuals.find((l) => keyOf(l) === choice.value) || view.residuals[0];
    lines.replaceChildren(line
      ? ratios(line.points, view.alarms.filter((a) => a.workloadId === line.workloadId && a.quantity === line.quantity), `${line.workloadId}, ${words(line.quantity)}`)
      : el("p", { class: "soft" }, "No measurement could be compared yet."));
  }

  return {
    node: el("section", {},
      el("h2", {}, `Hardware ${name}`),
      models.node, el("div", { class: "tools" }, rollback),
      unmeasured, pictures, alarms.node, decisions.node),
    draw,
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

const planLinks = (model) =>
  el("span", {}, `${number(model.planCount)} `,
    model.plans.slice(0, 3).map((plan) => [link(short(plan.planId).slice(0, 6), "why", plan.planId), " "]));
