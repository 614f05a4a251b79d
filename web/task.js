// One task: what it waits for, its record.

import { get, project, task } from "./api.js";
import { button, confirmed, h, reconcile, setClass, setText } from "./dom.js";
import { at, when } from "./format.js";
import { taskState } from "./gate.js";
import { poll } from "./live.js";
import { outcome } from "./task_lists.js";
import { command, statusNames } from "./tasks.js";

const web = /^https?:\/\//i; // of nothing else a link is made

function parts(t) {
  const s = t.schedule;
  return [
    ["Url", t.url],
    ["Status", statusNames[t.status]],
    ["State in the queue", t.state.replace("_", " ") || "not queued"],
    t.due ? [t.state === "processing" ? "Lease ends" : "Due", when(t.due)] : null,
    t.consumer ? ["Consumer", t.consumer] : null,
    ["Priority", String(s.priority)],
    ["Retries", `${s.retried} of ${s.retries}`],
    ["Execution time", s.exetime ? when(s.exetime) : "as soon as possible"],
    ["Age", s.age < 0 ? "never crawled again by age" : `${s.age} s`],
    ["Itag", s.itag ?? "none"],
    ["Auto recrawl", s.auto_recrawl ? "yes" : "no"],
    ["Last crawl", t.lastcrawltime ? when(t.lastcrawltime) : "never"],
    ["Outcome", outcome(t.track) || "none yet"],
    ["Updated", t.updatetime ? at(t.updatetime) : "never"],
  ].filter(Boolean);
}

export function show(main, [name, id], signal) {
  const why = h("p", { className: "why-words" });
  const panel = h("section", { className: "why", "aria-label": "What the task waits for" },
    h("h2", null, "How it stands"), why);
  const facts = h("dl", { className: "facts" });
  const records = ["schedule", "fetch", "process", "track"].map((key) => {
    const pre = h("pre", { tabIndex: 0, "aria-label": key });
    return { key, pre, node: h("section", { className: "card" }, h("h2", null, key), pre) };
  });
  const result = h("pre", { tabIndex: 0, "aria-label": "result", hidden: true });
  let latest = null;
  const again = () => polled.again();
  const requeue = button("Requeue", async () => {
    if (latest) await command([latest], "requeue", again);
  }, { className: "primary" });
  const cancel = button("Cancel task", async () => {
    const sure = latest && await confirmed(`Cancel ${id}?`,
      "It becomes BAD and is not run until it is requeued.", "Cancel it");
    if (sure) await command([latest], "cancel", again);
  }, { className: "danger quiet" });
  const missing = h("p", { className: "empty", role: "status" });
  const content = h("div", { className: "stack", hidden: true }, panel,
    h("section", { className: "card" }, h("h2", null, "Facts"), facts),
    h("div", { className: "two" }, records.map((r) => r.node)),
    h("section", { className: "card" }, h("h2", null, "Result"),
      button("Show the result", async () => {
        result.hidden = false;
        try {
          const found = await get(`${project(name)}/results/${encodeURIComponent(id)}`, signal);
          setText(result, JSON.stringify(found, null, 2));
        } catch (error) {
          setText(result, error.status === 404 ? "There is none." : error.message);
        }
      }), result));
  main.append(
    h("nav", { className: "crumbs", "aria-label": "Where you are" },
      h("a", { href: "#/" }, "Projects"), " / ",
      h("a", { href: `#/project/${encodeURIComponent(name)}` }, name), " / task"),
    h("div", { className: "title-row" }, h("h1", { tabIndex: -1, className: "taskid" }, id),
      h("span", { className: "grow" }), requeue, cancel),
    missing, content);

  // What is there stays, with the focus and what is marked in it; only words change.
  const kept = new Map();
  function paintFacts(t) {
    const now = new Map(parts(t));
    reconcile(facts, [...now.keys()], kept, (title) => {
      const dd = h("dd");
      return { dd, node: h("div", null, h("dt", null, title), dd) };
    });
    for (const [title, words] of now) {
      const { dd } = kept.get(title);
      if (title !== "Url" || !web.test(words)) setText(dd, words);
      else if (dd.textContent !== words)
        dd.replaceChildren(h("a", { href: words, rel: "noreferrer noopener", target: "_blank" },
          words));
    }
  }

  let shown = "";
  const polled = poll(async () => {
    let t;
    try {
      t = await get(task(name, id), signal);
    } catch (error) {
      if (error.status !== 404) throw error;
      setText(missing, "There is no such task.");
      content.hidden = true;
      main.dataset.ready = "yes";
      return 10000;
    }
    const [p] = (await get(`/v1/projects?names=${encodeURIComponent(name)}`
      + "&fields=status,rate,burst,ready,delayed,processing,gate,next_at,deleting,paused", signal))
      .projects;
    latest = t;
    const state = taskState(t, p);
    setText(why, state.words);
    setClass(panel, `why ${state.tone}`);
    cancel.hidden = t.status !== 1;
    paintFacts(t);
    setText(missing, "");
    const key = JSON.stringify(t);
    if (key !== shown) for (const r of records)
      setText(r.pre, JSON.stringify(t[r.key] ?? {}, null, 2));
    shown = key;
    content.hidden = false;
    main.dataset.ready = "yes";
    return 2000;
  }, signal);
}
