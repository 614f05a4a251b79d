// Why a project hands nothing out, and why a task does not run: in words, with until when.

import { amount, at, count, fromNow, when } from "./format.js";

/** {tone, brief, words}: tone is go, wait, stop or idle. */
export function gateOf(p) {
  const next = p.next_at ?? null;
  const gate = p.gate ?? "";
  if (p.deleting) return { tone: "stop", brief: "being deleted", words: "It is being deleted." };
  if (gate === "")
    return {
      tone: "go",
      brief: "handing out",
      words: "Nothing is in the way: ready tasks go to the next consumer that asks.",
    };
  if (gate === "rate" && next === null)
    return {
      tone: "stop",
      brief: "the rate is 0",
      words: "The rate is 0, so nothing goes out until it is raised.",
    };
  if (gate === "rate")
    return {
      tone: "wait",
      brief: "rate limit",
      words: `The rate limit (${amount(p.rate)} a second, bursts of ${amount(p.burst)}) is `
        + `used up. The next task may go at ${when(next)}.`,
    };
  if (gate === "delayed")
    return {
      tone: "wait",
      brief: `next ${fromNow(next)}`,
      words: `All that is queued is delayed. The next task is due at ${when(next)}.`,
    };
  if (gate === "its next tasks are being read from disk")
    return {
      tone: "wait",
      brief: "reading from disk",
      words: "Its next tasks lie past its queue_window and are being read from disk.",
    };
  if (gate === "nothing is queued")
    return { tone: "idle", brief: "nothing queued", words: "Nothing is queued." };
  if (gate === "all tasks are handed out")
    return {
      tone: "go",
      brief: "all handed out",
      words: "Every queued task is with a consumer. Its report, or the end of its lease, comes "
        + "next.",
    };
  const status = /^the project's status is (\w+)$/.exec(gate)?.[1];
  if (status)
    return {
      tone: "stop",
      brief: `status ${status}`,
      words: `Its status is ${status}: tasks are handed out when it is RUNNING or DEBUG.`,
    };
  if (gate === "the project is paused")
    return {
      tone: "stop",
      brief: "paused",
      words: "It was paused by an operator. Set the status to RUNNING to go on.",
    };
  const failures = /^paused: (\d+) crawls failed in a row/.exec(gate)?.[1];
  if (failures)
    return {
      tone: "stop",
      brief: `paused: ${failures} failures`,
      words: `It paused itself, because ${failures} crawls failed in a row. `
        + (next ? `It is tried again at ${when(next)}.` : "It is being tried again."),
    };
  if (gate.startsWith("paused"))
    return { tone: "stop", brief: "paused", words: gate + (next ? `, until ${when(next)}` : "") };
  const whole = gate[0].toUpperCase() + gate.slice(1);
  return {
    tone: gate.startsWith("waiting") ? "wait" : "stop",
    brief: gate.replace(/^the project's /, ""),
    words: next ? `${whole}, until ${when(next)}.` : `${whole}.`,
  };
}

/** What a task waits for. `p` is its project as it is now. */
export function taskState(task, p) {
  if (task.state === "processing")
    return {
      tone: "go",
      brief: "in work",
      words: `It is being worked on by ${task.consumer || "a consumer without a name"}`
        + (task.due ? `, whose lease ends at ${when(task.due)}.` : "."),
    };
  if (task.state === "delayed")
    return {
      tone: "wait",
      brief: "delayed",
      words: `It is delayed until ${task.due ? when(task.due) : "later"}`
        + (task.schedule.retried > 0
          ? `: retry ${task.schedule.retried} of ${task.schedule.retries} after a failure.` : "."),
    };
  if (task.state === "on_disk")
    return {
      tone: "wait",
      brief: "on disk",
      words: "It is queued on disk, past the project's queue_window, and is read when its turn "
        + `comes.${p ? ` ${gateOf(p).words}` : ""}`,
    };
  if (task.status === 1) {
    const gate = p ? gateOf(p) : null;
    const ahead = p && p.ready > 1 ? `One of ${count(p.ready)} tasks that are ready. ` : "";
    if (!gate) return { tone: "wait", brief: "queued", words: "It is queued." };
    return {
      tone: gate.tone === "go" ? "go" : gate.tone,
      brief: gate.tone === "go" ? "ready" : "ready, held back",
      words: `It is ready and waits for its turn. ${ahead}${gate.words}`,
    };
  }
  const n = task.schedule.retries;
  const ended = task.lastcrawltime ? ` at ${at(task.lastcrawltime)}` : "";
  if (task.status === 2)
    return {
      tone: "idle",
      brief: "success",
      words: `It was crawled with success${ended}. It runs again when it is requeued, or submitted `
        + "with another itag or past its age.",
    };
  if (task.status === 3)
    return {
      tone: "stop",
      brief: "failed",
      words: `It failed${ended}, and ${["has no retries", "its one retry is used up"][n]
        ?? `its ${n} retries are used up`}. Requeue it to have it tried again.`,
    };
  return { tone: "stop", brief: "bad", words: "It was cancelled. Requeue it to have it run." };
}
