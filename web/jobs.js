// All jobs: when each runs next, and how it went last.

import { get, job, post } from "./api.js";
import { button, h, notify, reconcile, setText } from "./dom.js";
import { at, count, fromNow, now, seconds } from "./format.js";
import { follow, poll } from "./live.js";
import { outcomeChip, runDetail, runTime } from "./runs.js";

const pageSize = 50;

export function nextWords(j) {
  if (j.paused) return j.pause_reason ? `paused: ${j.pause_reason}` : "paused";
  if (j.finished) return "finished: no more times";
  return j.next_run_time ? at(seconds(j.next_run_time)) : "not planned";
}

function makeRow(id, again) {
  const title = h("span", { className: "group" });
  const next = h("span");
  const soon = h("span", { className: "hint" });
  const last = h("div", { className: "last" });
  const node = h("tr", null,
    h("th", { scope: "row" }, h("a", { href: `#/job/${encodeURIComponent(id)}` }, id), title),
    h("td", { className: "next" }, next, " ", soon),
    h("td", null, last),
    h("td", { className: "row-actions" }, button("Run now", async () => {
      try {
        await post(`${job(id)}/run`);
        notify(`${id} is started.`);
      } catch (error) {
        notify(error.message, { bad: true });
      }
      again();
    }, { "aria-label": `Run now: ${id}` })));
  node.dataset.job = id;
  let shown = "";
  return {
    node,
    update(j) {
      setText(title, j.name);
      setText(next, nextWords(j));
      const t = !j.paused && j.next_run_time ? seconds(j.next_run_time) : null;
      setText(soon, t ? fromNow(t) : "");
      node.classList.toggle("paused", j.paused);
    },
    ran(run) {
      const key = JSON.stringify(run ?? null);
      if (key === shown) return;
      shown = key;
      if (!run) return last.replaceChildren(h("span", { className: "hint" }, "never run"));
      return last.replaceChildren(outcomeChip(run), h("span", null, runTime(run)),
        h("span", { className: "hint" }, runDetail(run)));
    },
  };
}

/** The next day as a line with a mark for each job's next run. */
function timeLine() {
  // The table says the same: to the keyboard and screen readers these would be in the way.
  const marks = h("div", { className: "marks", "aria-hidden": "true" });
  const title = h("h2");
  const node = h("section", { className: "card timeline", "aria-label": "Next runs" }, title, marks,
    h("div", { className: "scale", "aria-hidden": "true" },
      ["now", "6 h", "12 h", "18 h", "24 h"].map((w) => h("span", null, w))));
  return {
    node,
    update(jobs, some) {
      setText(title, `The next 24 hours${some ? ", of the jobs on this page" : ""}`);
      const due = jobs.filter((j) => j.next_run_time && !j.paused)
        .map((j) => ({ j, in: seconds(j.next_run_time) - now() }))
        .filter((x) => x.in < 86400);
      marks.replaceChildren(...due.map((x) => {
        const mark = h("a", { className: "mark", href: `#/job/${encodeURIComponent(x.j.id)}`,
          title: `${x.j.id}: ${nextWords(x.j)}`, tabIndex: -1 });
        mark.style.left = `${Math.max(0, Math.min(1, x.in / 86400)) * 100}%`;
        return mark;
      }));
      node.hidden = due.length === 0;
    },
  };
}

export function show(main, _, signal) {
  const rows = new Map();
  const lasts = new Map();
  let cursors = [""];
  let next = null;
  const words = h("p", { className: "sums" });
  const line = timeLine();
  const body = h("tbody");
  const empty = h("p", { className: "empty", hidden: true }, "There is no job yet.");
  const whole = button("Pause all", async () => {
    try {
      await post(`/v1/scheduler/jobs/${whole.dataset.paused ? "resume" : "pause"}`);
    } catch (error) {
      notify(error.message, { bad: true });
    }
    polled.again();
  });
  const back = button("Previous", () => (cursors.pop(), polled.again()));
  const on = button("Next", () => (cursors.push(next), polled.again()));
  main.append(
    h("div", { className: "title-row" }, h("h1", { tabIndex: -1 }, "Jobs"), words,
      h("span", { className: "grow" }), whole,
      h("a", { className: "button primary", href: "#/jobs/new" }, "Add job")),
    line.node,
    h("div", { className: "table-box" }, h("table", { className: "jobs" },
      h("caption", { className: "hidden" }, "Jobs"),
      h("thead", null, h("tr", null, ["Job", "Next run", "Last run"].map((t) =>
        h("th", { scope: "col" }, t)), h("th", { scope: "col" },
        h("span", { className: "hidden" }, "Actions")))), body)),
    empty, h("div", { className: "pager" }, h("span", { className: "grow" }), back, on));

  async function readLast(ids) {
    const queue = [...ids];
    const work = async () => {
      for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
        try {
          const { runs } = await get(`${job(id)}/runs?limit=1`, signal);
          lasts.set(id, runs[0] ?? null);
        } catch (error) {
          if (error.status !== 404) throw error;
          lasts.set(id, null); // it has just been removed
        }
        rows.get(id)?.ran(lasts.get(id));
      }
    };
    await Promise.all([work(), work(), work(), work()]);
  }

  const polled = poll(async () => {
    const after = cursors.at(-1) ? `&after=${encodeURIComponent(cursors.at(-1))}` : "";
    const [list, sums] = await Promise.all([
      get(`/v1/jobs?limit=${pageSize}${after}`, signal),
      get("/v1/scheduler/jobs", signal)]);
    next = list.next;
    const ids = list.jobs.map((j) => j.id);
    reconcile(body, ids, rows, (id) => makeRow(id, () => polled.again()));
    for (const j of list.jobs) rows.get(j.id)?.update(j);
    line.update(list.jobs, next !== null || cursors.length > 1);
    empty.hidden = list.jobs.length > 0 || cursors.length > 1;
    setText(words, `${count(sums.jobs)} jobs, ${count(sums.running)} running, `
      + `${count(sums.jobs_paused)} paused`);
    whole.dataset.paused = sums.paused ? "yes" : "";
    setText(whole, sums.paused ? "Resume all" : "Pause all");
    back.disabled = cursors.length < 2;
    on.disabled = next === null;
    back.hidden = on.hidden = back.disabled && on.disabled;
    const unknown = ids.filter((id) => !lasts.has(id));
    if (unknown.length) await readLast(unknown);
    main.dataset.ready = "yes";
    return 5000;
  }, signal);

  // What happens to jobs is told; times that pass are seen by the poll.
  follow({}, (e) => {
    if (e.run && e.job_id && rows.has(e.job_id)) {
      const known = lasts.get(e.job_id);
      if (!known || e.run.run >= known.run) {
        lasts.set(e.job_id, e.run);
        rows.get(e.job_id).ran(e.run);
      }
    }
    if (e.type === "GAP") lasts.clear();
    if (["JOB_ADDED", "JOB_REMOVED", "JOB_MODIFIED", "JOB_EXECUTED", "JOB_FINISHED", "GAP"]
      .includes(e.type)) polled.again();
  }, signal);
}
