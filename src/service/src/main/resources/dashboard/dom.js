// Creates elements. Text from the log becomes a text node and is never parsed as HTML.

import { meaning } from "./glossary.js";

/** Gives an element attributes, functions for events, and children. */
export function fill(node, attributes, ...children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** Returns an element: el("p", {class: "soft"}, "text", otherElement). */
export const el = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** Returns a link within the dashboard, and the address of a view: link("text", "workload", id). */
export const link = (text, ...path) => el("a", { href: route(...path) }, text);
export const route = (...path) => "#/" + path.map(encodeURIComponent).join("/");

export const button = (text, onclick, attributes) => el("button", { type: "button", onclick, ...attributes }, text);
export const labelled = (text, field) => el("label", {}, text, field);

/** Returns a list of names and values, which may have several parts; a pair may be false. */
export const facts = (...pairs) =>
  el("dl", { class: "facts" },
    pairs.filter(Boolean).map(([name, ...values]) => el("div", {}, el("dt", { title: meaning(name) }, name), el("dd", {}, values))));

/** Returns a list of the first of some things, and of how many more there are. */
export const list = (things, limit, item, noun = "") =>
  el("ul", {},
    things.slice(0, limit).map((thing) => el("li", {}, item(thing))),
    things.length > limit && el("li", {}, `and ${things.length - limit} more${noun}`));

/** Returns what can scroll by itself, which the keyboard can do, too. */
export const detail = (label) => el("div", { class: "detail", tabindex: 0, role: "region", "aria-label": label });
