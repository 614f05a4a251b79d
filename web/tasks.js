// What is done to tasks.

import { post } from "./api.js";
import { notify } from "./dom.js";

/** Tasks as orders: parts that are left out stay as they are stored. */
function order(task, command) {
  const { retried, cancel, exetime, ...schedule } = task.schedule ?? {};
  return {
    project: task.project, taskid: task.taskid, url: task.url,
    schedule: command === "requeue" ? { ...schedule, force_update: true }
      : { ...schedule, cancel: true, force_update: true },
  };
}

/** Requeues or cancels tasks; resolves to whether all were taken. */
export async function command(tasks, what) {
  try {
    const done = await post("/v1/tasks", tasks.map((t) => order(t, what)));
    const n = done.new + done.restarted;
    const words = what === "requeue" ? `${n} requeued` : `${done.cancelled} cancelled`;
    const why = [
      ...Object.entries(done.ignored_reasons ?? {}).map(([reason, k]) => `${k} ignored: ${reason}`),
      ...done.rejected.map((r) => `${r.taskid}: ${r.error}`),
    ];
    const good = why.length === 0;
    notify([words, ...why.slice(0, 5)].join("; "), !good);
    return good;
  } catch (error) {
    notify(error.message, true);
    return false;
  }
}

export const statusNames = { 1: "active", 2: "success", 3: "failed", 4: "bad" };
