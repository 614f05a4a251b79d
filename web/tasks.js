// What is done to tasks: to those chosen, or to all of a status.

import { get, post, project } from "./api.js";
import { notify } from "./dom.js";
import { count } from "./format.js";

export const statusNames = { 1: "active", 2: "success", 3: "failed", 4: "bad" };
const most = 500; // tasks a request
const remembered = 10000; // of those cancelled, to be undone

/** Tasks as orders: parts that are left out stay as they are stored. */
function order(task, what) {
  const { retried, cancel, exetime, ...schedule } = task.schedule ?? {};
  const more = { requeue: {}, cancel: { cancel: true }, restore: { exetime } }[what];
  return {
    project: task.project, taskid: task.taskid, url: task.url,
    schedule: { ...schedule, ...more, force_update: true },
  };
}

/** What became of orders: how many were taken, and for the others how many for which reason. */
class Outcome {
  taken = 0;
  why = new Map();

  add(answer, what) {
    this.taken += what === "cancel" ? answer.cancelled : answer.new + answer.restarted;
    for (const [reason, n] of Object.entries(answer.ignored_reasons ?? {}))
      this.refused(`ignored: ${reason}`, n);
    for (const r of answer.rejected) this.refused(r.error, 1);
  }

  refused(reason, n) {
    this.why.set(reason, (this.why.get(reason) ?? 0) + n);
  }

  words(what) {
    const done = { requeue: "requeued", cancel: "cancelled", restore: "queued again" }[what];
    return [`${count(this.taken)} ${done}`,
      ...[...this.why].slice(0, 5).map(([reason, n]) => `${count(n)} ${reason}`)].join("; ");
  }
}

const send = (tasks, what) => post("/v1/tasks", tasks.map((t) => order(t, what)));

/** Tells what was done; what was cancelled can be queued again. `changed()`: after an undo. */
function tell(outcome, tasks, what, changed) {
  const undo = what === "cancel" && outcome.taken > 0 && tasks.length <= remembered
    ? () => command(tasks, "restore", changed) : null;
  notify(outcome.words(what), { bad: outcome.why.size > 0, undo });
}

/** Requeues or cancels tasks; resolves to whether all were taken. */
export async function command(tasks, what, changed) {
  const outcome = new Outcome();
  try {
    for (let i = 0; i < tasks.length; i += most)
      outcome.add(await send(tasks.slice(i, i + most), what), what);
  } catch (error) {
    const done = outcome.taken ? `${outcome.words(what)}; then: ` : "";
    notify(`${done}${error.message}`, { bad: true });
    changed();
    return false;
  }
  tell(outcome, tasks, what, changed);
  changed();
  return outcome.why.size === 0;
}

/**
 * Requeues or cancels tasks of a status, page by page, no more than `limit`: those that come
 * meanwhile are not meant. `progress(n)`: so many were sent. Ends with what there is, or `signal`.
 */
export async function commandAll(name, status, what, limit, progress, signal, changed) {
  const outcome = new Outcome();
  const tasks = [];
  let sent = 0;
  try {
    for (let after = ""; after !== null && sent < limit && !signal.aborted;) {
      const page = await get(`${project(name)}/tasks?status=${status}`
        + `&limit=${Math.min(most, limit - sent)}&after=${encodeURIComponent(after)}`, signal);
      if (page.tasks.length) outcome.add(await send(page.tasks, what), what);
      sent += page.tasks.length;
      if (what === "cancel" && tasks.length <= remembered)
        for (const { project: of, taskid, url, schedule } of page.tasks)
          tasks.push({ project: of, taskid, url, schedule });
      after = page.next;
      progress(sent);
    }
    tell(outcome, tasks, what, changed);
  } catch (error) {
    if (signal.aborted) tell(outcome, tasks, what, changed);
    else notify(`${outcome.words(what)}; then: ${error.message}`, { bad: true });
  }
  changed();
}
