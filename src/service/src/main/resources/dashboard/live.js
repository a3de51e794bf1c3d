// Calls the server, and follows its events. What is kept here is bounded: a row for each workload and pool, and the latest
// events.

const KEPT_EVENTS = 500;
const RETRY_MS = 1000;
const ATTEMPTS = 30;

const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));
let listener = () => {};
let token = sessionStorage.getItem("token") || "";

/** The latest state: rows by workload and by pool, the latest events, and the planner's statistics. */
export const state = { rows: new Map(), pools: new Map(), events: [], statistics: null, connected: false, denied: false, problem: "Loading." };

/** Keeps a token until the tab is closed. */
export function setToken(text) {
  token = text;
  sessionStorage.setItem("token", text);
}

export const hasToken = () => token !== "";

async function request(path, parameters, options) {
  const response = await fetch(path + (parameters ? "?" + new URLSearchParams(parameters) : ""), {
    ...options, headers: token ? { Authorization: "Bearer " + token } : {}, cache: "no-store", credentials: "omit",
  });
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  const error = new Error(body.problem || `The server returned status ${response.status}`);
  error.status = response.status;
  throw error;
}

/** Returns the JSON at a path, waiting while the server reads the log for others; fails with an error that can be shown. */
export async function get(path, parameters) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await (await request(path, parameters)).json();
    } catch (error) {
      if (error.status !== 429 || attempt === ATTEMPTS) throw error;
    }
    await sleep(RETRY_MS);
  }
}

/**
 * Returns a function that loads what a view shows. One request at a time, with a pause after each: calls meanwhile lead to
 * one more. The answer of an earlier one never replaces that of a later one.
 */
export function reloader(load, failed, pause = 250) {
  let running = false;
  let again = false;
  return async () => {
    again = true;
    if (running) return;
    running = true;
    while (again) {
      again = false;
      await load().catch(failed);
      await sleep(pause);
    }
    running = false;
  };
}

/** Sends a command; returns the server's message. */
export const post = async (path, parameters) => (await (await request(path, parameters, { method: "POST" })).json()).done;

function receive(kind, data) {
  const value = JSON.parse(data);
  if (kind === "workload") {
    state.rows.set(value.workloadId, value);
  } else if (kind === "deleted") {
    state.rows.delete(value.workloadId);
  } else if (kind === "pool") {
    state.pools.set(value.poolId, value);
  } else if (kind === "event") {
    // An event may be both in the list that was loaded and in the stream.
    const last = state.events.at(-1);
    if (last && value.number <= last.number) return;
    state.events.push(value);
    if (state.events.length > KEPT_EVENTS) state.events.shift();
  } else if (kind === "statistics") {
    state.statistics = value;
  }
  listener(kind, value);
}

async function follow() {
  // Opens the stream before it loads the state, so that no update between the two is missed.
  const stop = new AbortController();
  try {
    const response = await request("/api/stream", null, { signal: stop.signal });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const [rows, pools, events] = await Promise.all([get("/api/workloads"), get("/api/pools"), get("/api/events")]);
    Object.assign(state, {
      rows: new Map(rows.map((row) => [row.workloadId, row])), pools: new Map(pools.map((row) => [row.poolId, row])), events,
      connected: true, denied: false, problem: "",
    });
    listener("connected");
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const [event, data] = block.split("\n");
        receive(event.slice("event: ".length), data.slice("data: ".length));
      }
    }
  } finally {
    stop.abort();
  }
}

/**
 * Follows the server for as long as the page is open; connects again after a failure. Calls notify(kind, value) on each
 * update; kind is workload, deleted, pool, event, statistics, connected or disconnected.
 */
export async function start(notify) {
  listener = notify;
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
    if (changed) listener("disconnected");
    await sleep(wait);
  }
}
