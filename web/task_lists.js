// The tasks of a project: by status in pages, by id, and those of which something was heard lately.

import { get, project, task } from "./api.js";
import { button, confirmed, h, reconcile, setText } from "./dom.js";
import { at, count, fromNow } from "./format.js";
import { command, commandAll, statusNames } from "./tasks.js";

const pageSize = 50;
const statuses = ["active", "success", "failed", "bad"];
const actions = { active: ["cancel", "requeue"], success: ["requeue"], failed: ["requeue"],
  bad: ["requeue"] };
const effects = {
  cancel: "They become BAD and are not run until they are requeued.",
  requeue: "They run as soon as the project may, whatever their exetime was.",
};

export const taskLink = (name, id) =>
  `#/project/${encodeURIComponent(name)}/task/${encodeURIComponent(id)}`;

/** What the last crawl came to, in a few words. */
export function outcome(track) {
  const fetched = track?.fetch;
  const processed = track?.process;
  if (!fetched && !processed) return "";
  if (processed?.ok) return "ok";
  const part = fetched && fetched.ok === false ? "fetch" : "process";
  const what = track[part] ?? {};
  const code = fetched?.status_code ? ` ${fetched.status_code}` : "";
  const words = what.error ?? what.exception ?? what.logs ?? "";
  return `${part} failed${code}${words ? `: ${words}` : ""}`.slice(0, 160);
}

/** Tasks by status with cursors: going back uses the cursors that led here. */
export function taskBrowser(name, signal, changed) {
  let status = "active";
  let cursors = [""];
  let next = null;
  let tasks = [];
  const chosen = new Set();

  const tabs = statuses.map((s) => {
    const n = h("span", { className: "n" });
    const input = h("input", { type: "radio", name: "status", value: s, checked: s === status,
      onchange: () => ((status = s), (cursors = [""]), chosen.clear(), load()) });
    return { s, n, node: h("label", { className: `tab ${s}` }, input, s, " ", n) };
  });
  const all = h("input", { type: "checkbox", "aria-label": "Choose all on this page",
    onchange: () => {
      for (const t of tasks) if (all.checked) chosen.add(t.taskid); else chosen.delete(t.taskid);
      render();
    } });
  const body = h("tbody");
  const words = h("p", { className: "empty" });
  const tools = h("div", { className: "tools" });
  const back = button("Previous", () => (cursors.pop(), load()));
  const on = button("Next", () => (cursors.push(next), load()));
  const id = h("input", { type: "search", placeholder: "Task id", "aria-label": "Task id",
    autocomplete: "off", spellcheck: false });
  const wrong = h("p", { className: "wrong", role: "alert" });
  const bar = h("progress", { value: 0 });
  const progress = h("span");
  const stop = button("Stop", () => halt?.abort());
  const underWay = h("div", { className: "under-way", hidden: true }, bar, progress, stop);
  let halt = null;
  let known = {}; // how many tasks there are by status
  const node = h("section", { className: "card", "aria-label": "Tasks" },
    h("div", { className: "title-row" }, h("h2", null, "Tasks"), h("span", { className: "grow" }),
      h("form", {
        className: "lookup", role: "search", "aria-label": "Look a task up by its id",
        onsubmit: async (e) => {
          e.preventDefault();
          setText(wrong, "");
          const wanted = id.value.trim();
          if (!wanted) return;
          try {
            await get(task(name, wanted), signal);
            location.hash = taskLink(name, wanted);
          } catch (error) {
            setText(wrong, error.status === 404 ? "No task has this id." : error.message);
          }
        },
      }, id, h("button", { type: "submit" }, "Look up"))), wrong,
    h("fieldset", { className: "tabs" }, h("legend", { className: "hidden" }, "Status"),
      tabs.map((t) => t.node)),
    tools, underWay,
    h("div", { className: "table-box" }, h("table", { className: "tasks" },
      h("caption", { className: "hidden" }, "Tasks of the chosen status"),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, all),
        h("th", { scope: "col" }, "Task"), h("th", { scope: "col" }, "Last crawl"),
        h("th", { scope: "col" }, "Outcome"), h("th", { scope: "col" }, "Retries"))), body)),
    words, h("div", { className: "pager" }, h("span", { className: "grow" }), back, on));

  async function run(what) {
    const list = tasks.filter((t) => chosen.has(t.taskid));
    if (what === "cancel" && !await confirmed(`Cancel ${list.length} tasks?`, effects.cancel,
      "Cancel them")) return;
    if (await command(list, what, refreshed)) chosen.clear();
    render();
  }

  function refreshed() {
    if (signal.aborted) return;
    changed();
    load();
  }

  /** All of the status that is shown, as many as there are when it is asked for. */
  async function runAll(what) {
    const of = status;
    const n = known[of] ?? 0;
    const title = what[0].toUpperCase() + what.slice(1);
    if (!await confirmed(`${title} all ${count(n)} ${of} tasks?`,
      `${effects[what]} It goes on while this page is open, and can be stopped.`, `${title} all`))
      return;
    halt = new AbortController();
    bar.max = n;
    const show = (sent) => {
      bar.value = sent;
      bar.setAttribute("aria-label", `${title} all ${of} tasks`);
      setText(progress, `${count(sent)} of ${count(n)}`);
    };
    show(0);
    underWay.hidden = false;
    render();
    await commandAll(name, of, what, n, show, AbortSignal.any([signal, halt.signal]), refreshed);
    halt = null;
    underWay.hidden = true;
    render();
  }

  function render() {
    const n = tasks.filter((t) => chosen.has(t.taskid)).length;
    tools.replaceChildren(...actions[status].map((what) =>
      button(n ? `${what} ${n} selected` : `${what} selected`, () => run(what),
        { disabled: n === 0, className: "cap" })),
    button(`${actions[status][0]} all ${status}`, () => runAll(actions[status][0]),
      { disabled: halt !== null || !known[status], className: "cap" }),
    button("Refresh", load, { className: "quiet" }));
    all.checked = n > 0 && n === tasks.length;
    all.indeterminate = n > 0 && n < tasks.length;
    body.replaceChildren(...tasks.map((t) => h("tr", null,
      h("td", null, h("input", { type: "checkbox", checked: chosen.has(t.taskid),
        "aria-label": `Choose ${t.taskid}`,
        onchange: (e) => {
          if (e.target.checked) chosen.add(t.taskid); else chosen.delete(t.taskid);
          render();
          body.querySelector(`[aria-label="${CSS.escape(e.target.ariaLabel)}"]`)?.focus();
        } })),
      h("th", { scope: "row" }, h("a", { href: taskLink(name, t.taskid), className: "taskid" },
        t.taskid), h("span", { className: "url" }, t.url)),
      h("td", null, t.lastcrawltime ? at(t.lastcrawltime) : "never"),
      h("td", { className: "outcome" }, outcome(t.track)),
      h("td", { className: "number" }, `${t.schedule.retried} of ${t.schedule.retries}`))));
    setText(words, tasks.length ? "" : `No task is ${status}.`);
    back.disabled = cursors.length < 2;
    on.disabled = next === null;
  }

  let turn = 0;
  async function load() {
    const mine = ++turn; // of two under way the later counts
    try {
      const after = cursors.at(-1);
      const answer = await get(`${project(name)}/tasks?status=${status}&limit=${pageSize}`
        + (after ? `&after=${encodeURIComponent(after)}` : ""), signal);
      if (mine !== turn) return;
      tasks = answer.tasks;
      next = answer.next;
      setText(wrong, "");
      node.dataset.status = status;
    } catch (error) {
      if (signal.aborted || mine !== turn) return;
      tasks = [];
      next = null;
      setText(wrong, error.message);
    }
    render();
  }

  let seen = "";
  return {
    node,
    /** Tells how many there are; what is shown is read again when that has changed. */
    counts(c) {
      for (const t of tabs) setText(t.n, count(c[t.s]));
      const key = statuses.map((s) => c[s]).join();
      if (!known[status] !== !c[status]) queueMicrotask(render); // whether all can be meant
      known = c;
      const still = chosen.size === 0 && cursors.length === 1
        && ![tools, body].some((part) => part.contains(document.activeElement));
      if (key === seen || (seen && !still)) return;
      seen = key;
      load();
    },
  };
}

/** The tasks of which something was heard last. update(list of /v1/active). */
export function activeList(name) {
  const body = h("ul", { className: "active-list" });
  const none = h("p", { className: "empty" }, "Nothing was heard of any task yet.");
  const kept = new Map();
  const node = h("section", { className: "card", "aria-label": "Active tasks" },
    h("h2", null, "Active tasks, newest first"), body, none);
  const entries = new Map();
  return {
    node,
    update(list) {
      none.hidden = list.length > 0;
      entries.clear();
      for (const [time, t] of list) entries.set(`${time} ${t.taskid}`, { time, t });
      reconcile(body, [...entries.keys()], kept, (key) => {
        const { t } = entries.get(key);
        const age = h("span", { className: "age" });
        return { age, node: h("li", null, age,
          h("span", { className: `chip ${statusNames[t.status]}` }, statusNames[t.status]),
          h("a", { href: taskLink(name, t.taskid), className: "taskid" }, t.taskid),
          h("span", { className: "url" }, t.url),
          h("span", { className: "outcome" }, outcome(t.track))) };
      });
      for (const [key, { time }] of entries) setText(kept.get(key).age, fromNow(time));
    },
  };
}
