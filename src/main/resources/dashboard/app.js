// Which view is shown, and how the planner does.

import { compare } from "./compare.js";
import { el, labelled, link, route } from "./dom.js";
import { learning } from "./learning.js";
import { listen, setToken, start, state } from "./live.js";
import { overview } from "./overview.js";
import { stream } from "./stream.js";
import { whole } from "./text.js";
import { why } from "./why.js";
import { workload } from "./workload.js";

const main = document.getElementById("main");
const nav = document.getElementById("nav");
const pulse = document.getElementById("pulse");
const said = document.getElementById("said");

const VIEWS = [["", "Overview"], ["learning", "Learning"], ["stream", "The stream"]];
nav.append(el("ul", {}, VIEWS.map(([path, name]) => el("li", {}, el("a", { href: route(path), "data-path": path }, name)))));
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

let shown = null;
let wanted = 0;
let saidAt = 0;

function place() {
  try {
    return location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  } catch {
    return ["nowhere"];
  }
}

function view([name, ...rest]) {
  switch (name) {
    case "": return overview();
    case "workload": return workload(rest[0], rest[1] === "plan" ? rest[2] : null);
    case "compare": return compare(rest[0], rest[1]);
    case "why": return why(rest[0]);
    case "learning": return learning();
    case "stream": return stream();
    default: throw new Error("There is no such view; legal are those above");
  }
}

/** Shows the view of the address. Moves the focus there if a person asked for another view. */
async function show(moved) {
  const mine = ++wanted;
  const path = place();
  for (const anchor of nav.querySelectorAll("a")) {
    if (anchor.dataset.path === path[0]) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
  let next;
  try {
    if (!state.connected) throw new Error(state.problem);
    next = await view(path);
  } catch (error) {
    next = { title: "Shardtide", node: problem(error) };
  }
  if (mine !== wanted) {
    next.close?.();
    return;
  }
  shown?.close?.();
  shown = next;
  main.replaceChildren(next.node);
  document.title = `${next.title} · Shardtide`;
  if (moved) {
    main.focus();
    scrollTo(0, 0);
  }
}

function problem(error) {
  if (!state.denied) return el("div", {}, el("h1", {}, "Shardtide"), el("p", { class: "problem" }, error.message), el("p", {}, link("Overview")));
  const field = el("input", { type: "password", autocomplete: "off" });
  return el("form", {
    onsubmit: (event) => {
      event.preventDefault();
      setToken(field.value);
    },
  }, el("h1", {}, "Shardtide"), el("p", {}, "This server asks for a token, http.token.file in its settings."),
  el("div", { class: "tools" }, labelled("Token", field), el("button", {}, "Use it")));
}

function showPulse() {
  const now = state.pulse;
  pulse.replaceChildren(
    state.connected
      ? now
        ? `${state.rows.size} workloads · lag ${now.lag ?? "?"} · ` +
          (now.answers ? `answers within ${whole(now.medianMs)}, p99 ${whole(now.p99Ms)}` : "no answers yet") +
          (now.tablesAreRead ? "" : " · tables are being read")
        : ""
      : el("span", { class: "bad" }, state.problem));
}

listen((kind, value) => {
  if (kind === "pulse" || kind === "all" || kind === "lost") showPulse();
  if (kind === "all") {
    if (!shown || !shown.news) show(false);
    else shown.news(kind);
  } else if (kind === "lost") {
    if (!shown || !shown.news) show(false);
  } else if (shown) {
    const words = shown.said?.(kind, value);
    shown.news?.(kind, value);
    if (words && Date.now() - saidAt > 5000) {
      saidAt = Date.now();
      said.textContent = words;
    }
  }
});
addEventListener("hashchange", () => show(true));
show(false);
start();
