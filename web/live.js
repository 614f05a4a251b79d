// What keeps pages up to date: polls that rest while nobody looks, and the stream of events.

import { ApiError } from "./api.js";
import { setClass, setText } from "./dom.js";
import { at, now } from "./format.js";

const shortest = 250; // ms from one question to the next
let lost = null;

/** `refused`: why the node did not give what was asked for; empty = it did; null = no answer. */
function told(refused) {
  const line = document.getElementById("connection");
  if (refused === null) lost ??= now();
  else lost = null;
  setClass(line, refused === "" ? "connection ok" : "connection bad");
  setText(line, refused === "" ? "Connected"
    : refused ?? `No answer from the node since ${at(lost)}`);
}

function seen(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => {
    document.addEventListener("visibilitychange", done, { once: true });
    signal.addEventListener("abort", done, { once: true });
  });
}

function pause(ms, signal) {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });
}

/**
 * Calls `ask(signal)` now and again until `signal` ends; it may return how many ms to wait. While
 * the tab is hidden nothing is asked. `again()` of the returned object asks without waiting, but
 * not more than four times a second. What goes wrong is shown, and asked for again.
 */
export function poll(ask, signal, ms = 2000) {
  let hurry = new AbortController();
  let wanted = false;
  (async () => {
    while (!signal.aborted) {
      await seen(signal);
      if (signal.aborted) return;
      hurry = new AbortController();
      wanted = false;
      const began = performance.now();
      let wait = ms;
      try {
        wait = (await ask(signal)) ?? ms;
        told("");
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ApiError)) console.error(error);
        told(error.status === 0 ? null : error.message);
      }
      if (!wanted) await pause(wait, AbortSignal.any([signal, hurry.signal]));
      if (wanted) await pause(began + shortest - performance.now(), signal);
    }
  })();
  return {
    again() {
      wanted = true;
      hurry.abort();
    },
  };
}

export const eventTypes = [
  "SCHEDULER_STARTED", "SCHEDULER_SHUTDOWN", "SCHEDULER_PAUSED", "SCHEDULER_RESUMED",
  "EXECUTOR_ADDED", "EXECUTOR_REMOVED", "JOBSTORE_ADDED", "JOBSTORE_REMOVED", "ALL_JOBS_REMOVED",
  "JOB_ADDED", "JOB_REMOVED", "JOB_MODIFIED", "JOB_EXECUTED", "JOB_ERROR", "JOB_MISSED",
  "JOB_SUBMITTED", "JOB_MAX_INSTANCES", "JOB_STARTED", "JOB_RETRYING", "JOB_CANCELLED", "JOB_LOST",
  "JOB_COALESCED", "JOB_BUFFERED", "CATCH_UP_DROPPED", "QUEUE_DROPPED", "JOB_PAUSED",
  "JOB_RESUMED", "JOB_FINISHED", "PROJECT_ADDED", "PROJECT_MODIFIED", "PROJECT_REMOVED",
  "PROJECT_PAUSED", "PROJECT_RESUMED", "PROJECT_FINISHED", "PROJECT_GIVEN_UP", "GAP",
];

/**
 * Follows the node's events until `signal` ends: `each(event, id)`. `query`: types, project, job,
 * last_event_id. Closed while the tab is hidden; goes on after the last event seen.
 */
export function follow(query, each, signal, changed = () => {}) {
  let source = null;
  let last = query.last_event_id ?? "";
  const open = () => {
    const asked = new URLSearchParams({ ...query, last_event_id: last });
    for (const [name, value] of [...asked]) if (!value) asked.delete(name);
    source = new EventSource(`/v1/events?${asked}`);
    source.onopen = () => changed("live");
    source.onerror = () => {
      changed("lost");
      // A stream that was refused or ended is not opened again by the browser.
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(() => !signal.aborted && !document.hidden && (close(), open()), 2000);
    };
    for (const type of eventTypes)
      source.addEventListener(type, (e) => {
        last = e.lastEventId || last;
        each(JSON.parse(e.data), e.lastEventId);
      });
  };
  const close = () => {
    source?.close();
    source = null;
  };
  const look = () => {
    if (document.hidden) close(), changed("resting");
    else if (!source) open();
  };
  document.addEventListener("visibilitychange", look, { signal });
  signal.addEventListener("abort", close, { once: true });
  look();
}
