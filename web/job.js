// One job: when and how it runs, its history.

import { get, job, post, remove } from "./api.js";
import {
  button, confirmed, field, h, notify, reconcile, select, setClass, setText,
} from "./dom.js";
import { at, duration, fromNow, seconds } from "./format.js";
import { nextWords } from "./jobs.js";
import { follow, poll } from "./live.js";
import { finished, outcomeChip, runDetail, runTime } from "./runs.js";

function facts(j) {
  return [
    ["Name", j.name || "none"],
    ["Time zone", j.timezone || "the machine's"],
    ["Executor", j.executor],
    ["While it runs", `${j.overlap.replace("_", " ")}, at most ${j.max_instances} at a time`],
    ["Overdue times", j.coalesce],
    ["Late by at most",
      j.misfire_grace_time === null ? "any time" : duration(j.misfire_grace_time)],
    ["Time-out", j.timeout === null ? "none" : duration(j.timeout)],
    ["Retries", String(j.retries)],
    ...Object.entries(j.tags).map(([k, v]) => [`Tag ${k}`, v]),
  ];
}

function runRow(first) {
  const summary = h("summary");
  const output = h("pre", { tabIndex: 0, "aria-label": `Output of run ${first.run}` });
  const node = h("li", null, h("details", null, summary, output));
  node.dataset.run = first.run;
  let shown = "";
  return {
    node,
    update(run) {
      const key = JSON.stringify(run);
      if (key === shown) return;
      shown = key;
      node.dataset.outcome = run.outcome;
      summary.replaceChildren(h("span", { className: "number" }, `#${run.run}`), outcomeChip(run),
        h("span", null, runTime(run)), h("span", { className: "hint" },
          [run.cause, runDetail(run)].filter(Boolean).join(" · ")));
      const value = run.value === undefined ? "" : JSON.stringify(run.value, null, 2);
      setText(output, [run.output, value, run.error].filter(Boolean).join("\n") || "no output");
    },
  };
}

export function show(main, [id], signal) {
  let latest = null;
  let before = null;
  const runs = new Map();
  const kept = new Map();
  const why = h("p", { className: "why-words" });
  const detail = h("p", { className: "hint" });
  const panel = h("section", { className: "why", "aria-label": "When it runs" },
    h("h2", null, "When it runs"), why, detail);
  const list = h("dl", { className: "facts" });
  const meaning = h("p", { className: "meaning" });
  const times = h("ol", { className: "times" });
  const trigger = h("pre", { tabIndex: 0, "aria-label": "Trigger" });
  const action = h("pre", { tabIndex: 0, "aria-label": "Action" });
  const history = h("ul", { className: "runs" });
  const none = h("p", { className: "empty" }, "It has not run yet.");
  const older = button("Older runs", () => readRuns(before), { hidden: true });
  const pauseForm = h("form", { className: "inline", hidden: true });

  async function act(words, call) {
    try {
      await call();
      notify(words);
    } catch (error) {
      notify(error.message, { bad: true });
    }
    polled.again();
  }
  const reason = field("Reason", h("input", { autocomplete: "off" }));
  const missed = field("Times missed meanwhile", select([["skip", "skip them"],
    ["catch_up", "catch up"]], "skip"));
  pauseForm.addEventListener("submit", (e) => {
    e.preventDefault();
    pauseForm.hidden = true;
    if (latest?.paused) act(`${id} goes on.`, () => post(`${job(id)}/resume`,
      { missed: missed.input.value }));
    else act(`${id} is paused.`, () => post(`${job(id)}/pause`,
      { reason: reason.input.value.trim() }));
    pause.focus();
  });
  const pause = button("Pause", () => {
    pauseForm.hidden = !pauseForm.hidden;
    pauseForm.replaceChildren(latest?.paused ? missed.node : reason.node,
      h("button", { type: "submit", className: "primary" },
        latest?.paused ? "Resume job" : "Pause job"));
    if (!pauseForm.hidden) pauseForm.querySelector("input, select").focus();
  });
  const missing = h("p", { className: "empty", role: "status" });
  const content = h("div", { className: "stack", hidden: true }, panel,
    h("div", { className: "two" },
      h("section", { className: "card" }, h("h2", null, "Next times"), meaning, times),
      h("section", { className: "card" }, h("h2", null, "Facts"), list)),
    h("section", { className: "card" }, h("h2", null, "History"), none, history, older),
    h("div", { className: "two" },
      h("section", { className: "card" }, h("h2", null, "Trigger"), trigger),
      h("section", { className: "card" }, h("h2", null, "Action"), action)));
  main.append(
    h("nav", { className: "crumbs", "aria-label": "Where you are" },
      h("a", { href: "#/jobs" }, "Jobs"), " / ", id),
    h("div", { className: "title-row" }, h("h1", { tabIndex: -1 }, id),
      h("span", { className: "grow" }),
      button("Run now", () => act(`${id} is started.`, () => post(`${job(id)}/run`)),
        { className: "primary" }),
      pause, h("a", { className: "button", href: `#/job/${encodeURIComponent(id)}/edit` }, "Edit"),
      button("Delete", async () => {
        if (!await confirmed(`Delete ${id}?`, "The job and its history will be gone.", "Delete"))
          return;
        try {
          await remove(job(id));
          location.hash = "#/jobs";
        } catch (error) {
          notify(error.message, { bad: true });
        }
      }, { className: "danger quiet" })),
    pauseForm, missing, content);

  function paintRuns() {
    const order = [...runs.keys()].sort((a, b) => b - a);
    reconcile(history, order, kept, (n) => runRow(runs.get(n)));
    for (const n of order) kept.get(n).update(runs.get(n));
    none.hidden = order.length > 0;
  }

  async function readRuns(from) {
    const answer = await get(`${job(id)}/runs?limit=20${from ? `&before=${from}` : ""}`, signal);
    for (const r of answer.runs) runs.set(r.run, r);
    if (from || before === null) before = answer.next;
    older.hidden = before === null;
    paintRuns();
  }

  let shown = "";
  async function paint(j) {
    latest = j;
    setText(why, j.paused || j.finished || !j.next_run_time ? `It is ${nextWords(j)}.`
      : `It runs next at ${at(seconds(j.next_run_time))} (${fromNow(seconds(j.next_run_time))}).`);
    setClass(panel, `why ${j.paused ? "stop" : j.finished ? "idle" : "go"}`);
    setText(pause, j.paused ? "Resume" : "Pause");
    const key = JSON.stringify(j);
    setText(missing, "");
    content.hidden = false;
    if (key === shown) return;
    shown = key;
    list.replaceChildren(...facts(j).map(([t, v]) => h("div", null, h("dt", null, t),
      h("dd", null, v))));
    setText(trigger, JSON.stringify(j.trigger, null, 2));
    setText(action, JSON.stringify(j.action, null, 2));
    const [said, planned, reasons] = await Promise.all([
      post("/v1/triggers/next", { trigger: j.trigger, n: 1,
        ...(j.timezone ? { timezone: j.timezone } : {}) }),
      get(`${job(id)}/next?n=10`, signal), get(`${job(id)}/why`, signal)]);
    setText(meaning, said.meaning);
    setText(detail, reasons.why);
    times.replaceChildren(...planned.times.map((t) => h("li", null,
      h("time", { dateTime: t }, t.replace("T", " ")), " ",
      h("span", { className: "hint" }, fromNow(seconds(t))))));
    if (!planned.times.length) times.replaceChildren(h("li", { className: "hint" }, "none"));
  }

  const polled = poll(async () => {
    try {
      await paint(await get(job(id), signal));
    } catch (error) {
      if (error.status !== 404) throw error;
      setText(missing, "There is no such job.");
      content.hidden = true;
      main.dataset.ready = "yes";
      return 10000;
    }
    await readRuns(null);
    main.dataset.ready = "yes";
    return [...runs.values()].every(finished) ? 5000 : 1000;
  }, signal);
  follow({ job: id }, () => polled.again(), signal);
}
