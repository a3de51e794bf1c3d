// Shows the view that the address names, and the planner's statistics.

import { loadCharts } from "./chart.js";
import { compare } from "./compare.js";
import { el, labelled, link, route } from "./dom.js";
import { events } from "./events.js";
import { learning } from "./learning.js";
import { overview, pools } from "./lists.js";
import { setToken, start, state } from "./live.js";
import { pool } from "./pool.js";
import { counted, number, whole } from "./text.js";
import { why } from "./why.js";
import { workload } from "./workload.js";

const ANNOUNCE_MS = 5000;
const TICK_MS = 5000;

const main = document.getElementById("main");
const nav = document.getElementById("nav");
const statistics = document.getElementById("statistics");
const announcement = document.getElementById("announcement");

const VIEWS = [["", "Overview"], ["pools", "Pools"], ["learning", "Learning"], ["events", "Events"]];
nav.append(el("ul", {}, VIEWS.map(([path, name]) =>
  el("li", { hidden: path === "pools" }, el("a", { href: route(path), "data-path": path }, name)))));
const poolsItem = nav.querySelector("[data-path=pools]").parentElement;
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

let shown = null;
let requests = 0;
let announcedAt = 0;
// Number of updates of workloads and events.
let received = 0;

function path() {
  try {
    return location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  } catch {
    return [location.hash];
  }
}

/**
 * The views by their names. Each is a title and a node, update(kind, value) which receives what live.js reports, and
 * "tick" every few seconds, and announcement(kind, value) which returns a text for screen readers.
 */
const SHOWN = {
  "": overview, compare, why, pools, pool, learning, events,
  workload: (id, what, planId) => workload(id, what === "plan" ? planId : null),
};

function view([name, ...rest]) {
  if (!Object.hasOwn(SHOWN, name)) throw new Error(`There is no view "${name}". Choose one above.`);
  return SHOWN[name](...rest);
}

/** Shows the view of the address; focus moves to it when the address has changed. */
async function show(moved) {
  const mine = ++requests;
  const parts = path();
  for (const anchor of nav.querySelectorAll("a")) {
    if (anchor.dataset.path === parts[0]) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
  let next;
  const seen = received;
  try {
    if (!state.connected) throw new Error(state.problem);
    next = await view(parts);
  } catch (error) {
    next = { title: "Shardtide", node: problem(error) };
  }
  if (mine !== requests) return;
  shown = next;
  main.replaceChildren(next.node);
  // What arrived after the view had loaded its data, and before it was shown.
  if (received !== seen) shown.update?.("connected");
  document.title = `${next.title} · Shardtide`;
  if (moved) {
    main.focus();
    scrollTo(0, 0);
  }
  // Most people open a view with charts next. If this fails, the chart reports it.
  if (state.connected) requestIdleCallback(() => loadCharts().catch(() => {}));
}

function problem(error) {
  if (!state.denied) return el("div", {}, el("h1", {}, "Shardtide"), el("p", { class: "problem" }, error.message), el("p", {}, link("Overview")));
  const field = el("input", { type: "password", autocomplete: "off" });
  return el("form", {
    onsubmit: (event) => {
      event.preventDefault();
      setToken(field.value);
    },
  }, el("h1", {}, "Shardtide"), el("p", {}, "This server requires a token. Enter the one in the file that http.token.file names in its settings."),
  el("div", { class: "tools" }, labelled("Token", field), el("button", {}, "Sign in")));
}

function showStatistics() {
  statistics.replaceChildren(state.connected ? summary(state.statistics) : el("span", { class: "bad" }, state.problem));
}

function summary(now) {
  if (!now) return "";
  return [
    counted(state.rows.size, "workload") + (now.planning > 0 ? `, ${number(now.planning)} pending` : ""),
    `lag ${now.lag === null ? "unknown" : counted(now.lag, "record")}`,
    now.answers
      ? `planning latency of ${counted(now.answers, "plan")}: median ${whole(now.medianMs)}, p99 ${whole(now.p99Ms)}`
      : "no change planned yet",
    ...(now.tablesAreRead ? [] : ["loading tables"]),
  ].join(" · ");
}

function update(kind, value) {
  poolsItem.hidden = state.pools.size === 0;
  const isConnection = kind === "connected" || kind === "disconnected";
  if (isConnection || kind === "statistics") showStatistics();
  else received++;
  const text = shown?.announcement?.(kind, value);
  if (shown?.update) shown.update(kind, value);
  else if (isConnection) show(false);
  if (text && Date.now() - announcedAt > ANNOUNCE_MS) {
    announcedAt = Date.now();
    announcement.textContent = text;
  }
}
addEventListener("hashchange", () => show(true));
setInterval(() => shown?.update?.("tick"), TICK_MS);
show(false);
start(update);
