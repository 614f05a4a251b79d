// One project: why it does what it does, its facts, its tasks.

import { ApiError, get, place, post, project, put, remove } from "./api.js";
import { legend, progressBars } from "./bars.js";
import { chartBox, throughputChart } from "./charts.js";
import { button, confirmed, field, h, notify, setClass, setText } from "./dom.js";
import { rateEditor, statusSwitch } from "./edit.js";
import { at, count, duration } from "./format.js";
import { gateOf } from "./gate.js";
import { poll } from "./live.js";
import { activeList, taskBrowser } from "./task_lists.js";

const facts = [
  ["Group", (p) => p.group || "none"],
  ["Ready", (p) => count(p.ready)],
  ["Delayed", (p) => count(p.delayed)],
  ["In work", (p) => count(p.processing)],
  ["On disk", (p) => (p.on_disk === undefined ? null : count(p.on_disk))],
  ["Queue limit", (p) => (p.queue_limit ? `${count(p.queue_limit)}`
    + (p.refused ? `, ${count(p.refused)} refused` : "") : "none")],
  ["Retries after", (p) => (p.retry_delay ? Object.entries(p.retry_delay)
    .map(([n, s]) => (n === "" ? `else ${duration(s)}` : duration(s))).join(", ")
    : "the node's delays")],
  ["Keeps settled tasks", (p) => [p.retain_age && `for ${duration(p.retain_age)}`,
    p.retain_count && `about ${count(p.retain_count)}`].filter(Boolean).join(", ") || "for ever"],
  ["Tick", (p) => (p.min_tick ? `every ${duration(p.min_tick)}` : "none")],
  ["A crawl takes", (p) => `${duration(p.counters["5m_time"].fetch_time)} to fetch, `
    + `${duration(p.counters["5m_time"].process_time)} to process`],
  ["Changed", (p) => at(p.updatetime)],
  ["Comments", (p) => p.comments || null],
];

const editable = [
  ["group", "Group", "text"], ["rate", "Rate (tasks a second)", "number"],
  ["burst", "Burst", "number"], ["queue_limit", "Queue limit", "number", "0 = none"],
  ["queue_window", "Queue window", "number", "tasks kept in memory, the rest on disk; 0 = all"],
  ["retain_age", "Keep settled tasks (seconds)", "number", "0 = for ever"],
  ["retain_count", "Keep about so many settled tasks", "number", "0 = all"],
  ["min_tick", "Tick (seconds)", "number", "0 = none"], ["comments", "Comments", "text"],
];

function editDialog(p, done) {
  const fields = editable.filter(([key]) => p[key] !== undefined)
    .map(([key, label, kind, hint]) => ({
      key, kind, ...field(label, h("input", { value: String(p[key]), inputMode:
        kind === "number" ? "decimal" : "text" }), { hint, name: key }),
    }));
  const wrong = h("p", { className: "wrong", role: "alert" });
  const box = h("dialog", { className: "dialog wide", "aria-label": `Edit ${p.name}` },
    h("form", {
      onsubmit: async (e) => {
        e.preventDefault();
        const members = {};
        setText(wrong, "");
        for (const f of fields) {
          f.fail("");
          const text = f.input.value.trim();
          if (text === String(p[f.key])) continue;
          members[f.key] = f.kind === "number" && text !== "" ? Number(text) : text;
          if (Number.isNaN(members[f.key])) return f.fail("must be a number");
        }
        try {
          done(await put(project(p.name), members));
          box.close();
        } catch (error) {
          setText(wrong, place(error, fields));
        }
        return undefined;
      },
    }, h("h2", null, `Edit ${p.name}`),
    h("div", { className: "form-grid" }, fields.map((f) => f.node)), wrong,
    h("div", { className: "actions" }, button("Cancel", () => box.close()),
      h("button", { type: "submit", className: "primary" }, "Save"))));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

export function show(main, [name], signal) {
  let latest = null;
  const why = h("p", { className: "why-words" });
  const panel = h("section",
    { className: "why", "aria-label": "Why tasks are or are not handed out" },
    h("h2", null, "What it is doing"), why);
  const took = (p) => paint(p);
  const status = statusSwitch(name, took);
  const rate = rateEditor(name, took);
  const values = facts.map(([title, value]) => {
    const dd = h("dd");
    return { value, dd, node: h("div", null, h("dt", null, title), dd) };
  });
  const bars = progressBars();
  const box = chartBox(`Tasks of ${name} handled a second`);
  const content = h("div", { className: "stack", hidden: true });
  const missing = h("p", { className: "empty", role: "status" });
  const browser = taskBrowser(name, signal, () => polled.again());
  const active = activeList(name);

  main.append(
    h("nav", { className: "crumbs", "aria-label": "Where you are" },
      h("a", { href: "#/" }, "Projects"), " / ", name),
    h("div", { className: "title-row" }, h("h1", { tabIndex: -1 }, name), status.node, rate.node,
      h("span", { className: "grow" }),
      button("Send on_start", async () => {
        try {
          await post(`${project(name)}/start`);
          notify("on_start is queued.");
        } catch (error) {
          notify(error.message, { bad: true });
        }
        polled.again();
      }),
      button("Edit", () => latest && editDialog(latest, took)),
      button("Delete", async () => {
        const words = `All of its ${count(latest?.size ?? 0)} queued tasks, its settled tasks, `
          + "results and counters will be gone.";
        if (!await confirmed(`Delete ${name}?`, words, "Delete for good")) return;
        try {
          await remove(`${project(name)}?confirm=${encodeURIComponent(name)}`);
          location.hash = "#/";
        } catch (error) {
          notify(error.message, { bad: true });
        }
      }, { className: "danger quiet" })),
    missing, content);
  content.append(panel,
    h("div", { className: "two" },
      h("section", { className: "card" }, h("h2", null, "Facts"),
        h("dl", { className: "facts" }, values.map((v) => v.node))),
      h("section", { className: "card" }, h("h2", null, "Progress"), legend(), bars.node,
        h("h3", null, "Handled a second, last 5 minutes"), box.node)),
    browser.node, active.node);

  function paint(p) {
    latest = p;
    const gate = gateOf(p);
    setText(why, gate.words);
    setClass(panel, `why ${gate.tone}`);
    status.update(p.status);
    rate.update(p);
    bars.update(p.counters);
    for (const v of values) {
      const words = v.value(p);
      v.node.hidden = words === null;
      setText(v.dd, words ?? "");
    }
    browser.counts(p.counters);
    setText(missing, "");
    content.hidden = false;
    main.dataset.ready = "yes";
  }

  let chart = null;
  throughputChart(box.canvas, signal).then((made) => {
    chart = made;
    polled.again();
  });
  const members = "group,status,rate,burst,comments,min_tick,retry_delay,queue_limit,queue_window,"
    + "retain_age,retain_count,updatetime,deleting,paused,size,ready,delayed,processing,on_disk,"
    + "counters,refused,next_at,gate,handled";
  const polled = poll(async () => {
    const [p] = (await get(`/v1/projects?names=${encodeURIComponent(name)}&fields=${members}`,
      signal)).projects;
    if (!p) {
      setText(missing, "There is no such project.");
      content.hidden = true;
      main.dataset.ready = "yes";
      return undefined;
    }
    paint(p);
    chart?.update(p.handled);
    try {
      active.update(await get(`/v1/active?project=${encodeURIComponent(name)}&limit=20`, signal));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 0) throw error;
    }
    return 2000;
  }, signal);
}

