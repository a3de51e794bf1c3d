// Asks the server, and hears what changes. What is remembered here is bounded: a row for each
// workload and the latest entries.

const ENTRIES = 500;
const RETRY_MS = 1000;

const listeners = new Set();
let token = sessionStorage.getItem("token") || "";

/** What is known: rows by workload, the latest entries, and how the planner does. */
export const state = { rows: new Map(), entries: [], pulse: null, connected: false, problem: "Reading." };

/** Hears of news; returns what ends that. */
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Remembers a token until the tab is closed. */
export function setToken(text) {
  token = text;
  sessionStorage.setItem("token", text);
}

export const hasToken = () => token !== "";

function say(kind, value) {
  for (const listener of [...listeners]) listener(kind, value);
}

function request(path, options) {
  const headers = token ? { Authorization: "Bearer " + token } : {};
  return fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" });
}

async function checked(response) {
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  const error = new Error(said.problem || `The server answers ${response.status}`);
  error.status = response.status;
  throw error;
}

const query = (path, parameters) =>
  path + (parameters ? "?" + new URLSearchParams(parameters) : "");

/** Asks a question; fails with an error whose message is for people. */
export async function ask(path, parameters, signal) {
  return (await checked(await request(query(path, parameters), { signal }))).json();
}

/** Has something changed; returns what was done. */
export async function command(path, parameters) {
  return (await (await checked(await request(query(path, parameters), { method: "POST" }))).json()).done;
}

function take(event, data) {
  const value = JSON.parse(data);
  if (event === "row") {
    state.rows.set(value.workloadId, value);
  } else if (event === "entry") {
    // An entry may be in the stream and in what was asked for.
    const last = state.entries.at(-1);
    if (last && value.number <= last.number) return;
    state.entries.push(value);
    if (state.entries.length > ENTRIES) state.entries.shift();
  } else if (event === "pulse") {
    state.pulse = value;
  }
  say(event, value);
}

async function follow() {
  // Listens first and asks then, so that nothing is missed between.
  const stop = new AbortController();
  try {
    const response = await checked(await request("/api/stream", { signal: stop.signal }));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const [rows, entries] = await Promise.all([ask("/api/workloads"), ask("/api/entries")]);
    state.rows = new Map(rows.map((row) => [row.workloadId, row]));
    state.entries = entries;
    state.connected = true;
    state.problem = "";
    say("all");
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const text of events) {
        const [event, data] = text.split("\n");
        take(event.slice("event: ".length), data.slice("data: ".length));
      }
    }
  } finally {
    stop.abort();
  }
}

/** Follows for ever, and begins anew when the server was away. */
export async function start() {
  for (;;) {
    let problem = "The server closed the connection";
    let wait = RETRY_MS;
    try {
      await follow();
    } catch (error) {
      problem = error.message;
      if (error.status === 401) wait = 4 * RETRY_MS;
      state.denied = error.status === 401;
    }
    const changed = state.connected || state.problem !== problem;
    state.connected = false;
    state.problem = problem;
    if (changed) say("lost");
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
