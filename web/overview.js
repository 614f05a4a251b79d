// All projects of the node.

import { ApiError, get, place, project, put } from "./api.js";
import { legend, progressBars, sparkline } from "./bars.js";
import { chartBox, throughputChart } from "./charts.js";
import { button, field, h, notify, reconcile, select, setClass, setText } from "./dom.js";
import { rateEditor, statusSwitch } from "./edit.js";
import { count, short } from "./format.js";
import { gateOf } from "./gate.js";
import { poll } from "./live.js";

const pageSize = 50;
// What sorting and filtering need, of every project; the rest of those that are on the page only.
const light = "group,status,rate,burst,paused,deleting,ready,delayed,processing,on_disk,gate,"
  + "next_at,counters.5m";
const full = `${light},counters.1h,counters.1d,counters.all,handled`;

const handled = (p) => p.counters["5m"].success + p.counters["5m"].retry + p.counters["5m"].failed;
const queued = (p) => p.ready + p.delayed + p.processing + (p.on_disk ?? 0);

const columns = [
  { key: "name", title: "Project", sort: (p) => p.name },
  { key: "status", title: "Status", sort: (p) => p.status },
  { key: "rate", title: "Rate", sort: (p) => -p.rate },
  { key: "queue", title: "Queue", sort: (p) => -queued(p) },
  { key: "failed", title: "Progress", by: "failures", sort: (p) => -p.counters["5m"].failed },
  { key: "handled", title: "Handled", sort: (p) => -handled(p) },
];

const shows = {
  any: () => true,
  running: (p) => p.status === "RUNNING" || p.status === "DEBUG",
  waiting: (p) => p.ready > 0 && p.gate !== "",
  paused: (p) => p.paused,
  failing: (p) => p.counters["5m"].failed + p.counters["5m"].retry > 0,
};

function makeRow(name, again) {
  const gate = h("span", { className: "gate" });
  const group = h("span", { className: "group" });
  const status = statusSwitch(name, again);
  const rate = rateEditor(name, again);
  const numbers = ["ready", "delayed", "processing", "on_disk"].map((key) => {
    const n = h("dd");
    return { key, n, node: h("div", { className: key }, h("dt", null, key.replace("_", " ")), n) };
  });
  const bars = progressBars();
  const spark = sparkline();
  const link = h("a", { href: `#/project/${encodeURIComponent(name)}` }, name);
  const node = h("tr", null,
    h("th", { scope: "row", className: "c-name" }, link, group, gate),
    h("td", { className: "c-status" }, status.node),
    h("td", { className: "c-rate" }, rate.node),
    h("td", { className: "c-queue" }, h("dl", { className: "queue" }, numbers.map((x) => x.node))),
    h("td", { className: "c-failed" }, bars.node),
    h("td", { className: "c-handled" }, spark.node));
  node.dataset.project = name;
  return {
    node,
    update(p) {
      const why = gateOf(p);
      setText(gate, why.brief);
      setClass(gate, `gate ${why.tone}`);
      gate.title = why.words;
      setText(group, p.group);
      status.update(p.status);
      rate.update(p);
      for (const x of numbers) {
        const v = p[x.key];
        x.node.hidden = v === undefined || (x.key === "on_disk" && v === 0);
        setText(x.n, short(v ?? 0));
        x.n.title = count(v ?? 0);
        x.node.classList.toggle("nought", !v);
      }
      if (p.counters["1h"]) bars.update(p.counters);
      spark.update(p.handled);
    },
  };
}

function tile(title) {
  const value = h("span", { className: "value" });
  const note = h("span", { className: "note" });
  return {
    node: h("div", { className: "tile" }, h("span", { className: "title" }, title), value, note),
    update(v, words = "") {
      setText(value, v);
      setText(note, words);
    },
  };
}

function newProject(again) {
  const number = (value) => h("input", { value, inputMode: "decimal", autocomplete: "off" });
  const fields = [
    { key: "project", ...field("Name", h("input", { maxLength: 64, autocomplete: "off" }),
      { hint: "letters, digits, _ . -" }) },
    { key: "group", ...field("Group", h("input", { autocomplete: "off" }),
      { hint: "may be empty" }) },
    { key: "rate", ...field("Rate (tasks a second)", number("1")) },
    { key: "burst", ...field("Burst", number("10")) },
  ];
  const wrong = h("p", { className: "wrong", role: "alert" });
  const box = h("dialog", { className: "dialog", "aria-label": "New project" },
    h("form", {
      noValidate: true,
      onsubmit: async (e) => {
        e.preventDefault();
        setText(wrong, "");
        for (const f of fields) f.fail("");
        const [name, group, rate, burst] = fields.map((f) => f.input.value.trim());
        if (!name) return (fields[0].fail("must not be empty"), fields[0].input.focus());
        try {
          // What is put where there is something changes that.
          const there = await get(`/v1/projects?fields=name&names=${encodeURIComponent(name)}`);
          if (there.projects.length) throw new ApiError(409, `project: there is a ${name} already`);
          // What is no number the node refuses, with its reason.
          const amount = (s) => (s === "" || Number.isNaN(Number(s)) ? s : Number(s));
          await put(project(name), {
            status: "RUNNING", group, rate: amount(rate), burst: amount(burst),
          });
          notify(`${name} is there.`);
          box.close();
          again();
        } catch (error) {
          setText(wrong, place(error, fields));
        }
        return undefined;
      },
    }, h("h2", null, "New project"), fields.map((f) => f.node), wrong,
    h("div", { className: "actions" }, button("Cancel", () => box.close()),
      h("button", { type: "submit", className: "primary" }, "Create"))));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

export function show(main, _, signal) {
  let all = [];
  let page = 0;
  let order = columns[0];
  let upwards = true;
  const known = new Set(); // whose counters have come
  const rows = new Map();

  const tiles = {
    projects: tile("Projects"), ready: tile("Ready"), delayed: tile("Delayed"),
    processing: tile("In work"), handled: tile("Handled"), failed: tile("Failed, 1 h"),
  };
  const box = chartBox("Tasks handled a second in the last five minutes");
  const filter = h("input", {
    type: "search", placeholder: "Filter by name or group", "aria-label": "Filter by name or group",
    oninput: () => ((page = 0), render()),
  });
  const which = select([["any", "All projects"], ["running", "Running"],
    ["waiting", "Held back"], ["paused", "Paused"], ["failing", "Failing lately"]], "any",
  { "aria-label": "Show", onchange: () => ((page = 0), render()) });
  const sorter = select(columns.map((c) => [c.key, `Sort by ${c.by ?? c.title.toLowerCase()}`]),
    "name", { "aria-label": "Sort", className: "sorter", onchange: () => sortBy(sorter.value) });
  const heads = columns.map((c) => {
    const th = h("th", { scope: "col", className: `c-${c.key}` },
      button(c.title, () => sortBy(c.key), { className: "sort" }));
    return { ...c, th };
  });
  const body = h("tbody");
  const found = h("p", { className: "found", role: "status" });
  const back = button("Previous", () => (page--, render(), detailed.again()));
  const on = button("Next", () => (page++, render(), detailed.again()));
  const pages = h("span");
  const empty = h("p", { className: "empty", hidden: true });

  main.append(
    h("div", { className: "title-row" }, h("h1", { tabIndex: -1 }, "Projects"),
      button("New project", () => newProject(() => polled.again()), { className: "primary" })),
    h("section", { className: "totals", "aria-label": "The node in numbers" },
      h("div", { className: "tiles" }, Object.values(tiles).map((t) => t.node)), box.node),
    h("div", { className: "tools" }, filter, which, sorter, legend()),
    h("div", { className: "table-box" },
      h("table", { className: "projects" }, h("caption", { className: "hidden" }, "Projects"),
        h("thead", null, h("tr", null, heads.map((x) => x.th))), body)),
    empty,
    h("div", { className: "pager" }, found, h("span", { className: "grow" }), back, pages, on));

  function sortBy(key) {
    upwards = order.key === key ? !upwards : true;
    order = columns.find((c) => c.key === key);
    sorter.value = key;
    page = 0;
    render();
  }

  function chosen() {
    const words = filter.value.trim().toLowerCase();
    const fits = shows[which.value];
    const list = all.filter((p) => fits(p)
      && (!words || p.name.toLowerCase().includes(words) || p.group.toLowerCase().includes(words)));
    const keys = new Map(list.map((p) => [p, order.sort(p)]));
    const way = upwards ? 1 : -1;
    return list.sort((a, b) => {
      const x = keys.get(a);
      const y = keys.get(b);
      return x < y ? -way : x > y ? way : a.name < b.name ? -1 : 1;
    });
  }

  function render() {
    const list = chosen();
    const last = Math.max(0, Math.ceil(list.length / pageSize) - 1);
    page = Math.min(Math.max(page, 0), last);
    const part = list.slice(page * pageSize, (page + 1) * pageSize);
    // A row that is being edited stays where it is until that is done.
    const busy = body.contains(document.activeElement)
      && document.activeElement.matches("input, select");
    const names = part.map((p) => p.name);
    if (!busy) reconcile(body, names, rows, (name) => makeRow(name, took));
    for (const p of part) rows.get(p.name)?.update(p);
    for (const x of heads)
      x.th.setAttribute("aria-sort",
        x.key === order.key ? (upwards ? "ascending" : "descending") : "none");
    setText(found, list.length === all.length ? `${count(all.length)} projects`
      : `${count(list.length)} of ${count(all.length)} projects`);
    empty.hidden = list.length > 0;
    setText(empty, all.length ? "No project fits." : "There is no project yet.");
    if (!whole && names.some((name) => !known.has(name))) detailed.again();
    back.disabled = page === 0;
    on.disabled = page === last;
    back.hidden = on.hidden = pages.hidden = last === 0;
    setText(pages, `Page ${page + 1} of ${last + 1}`);
    return names;
  }

  /** The node's answer to a change counts at once. */
  function took(view) {
    const i = all.findIndex((p) => p.name === view.name);
    if (i >= 0) all[i] = { ...all[i], ...view, handled: all[i].handled };
    render();
  }

  function sums(t) {
    const c = t.counters;
    tiles.projects.update(count(t.projects),
      t.paused ? `${count(t.running)} running, ${count(t.paused)} paused`
        : `${count(t.running)} running`);
    tiles.ready.update(short(t.ready), t.on_disk ? `and ${short(t.on_disk)} on disk` : "");
    tiles.delayed.update(short(t.delayed));
    tiles.processing.update(short(t.processing), "handed out");
    const lately = t.handled.counts.slice(-6).reduce((a, b) => a + b, 0) / (6 * t.handled.step);
    tiles.handled.update(`${short(lately)}/s`, "in the last minute");
    tiles.failed.update(short(c["1h"].failed), `${short(c["1h"].retry)} retries`);
    chart?.update(t.handled);
  }

  let chart = null;
  throughputChart(box.canvas, signal).then((made) => {
    chart = made;
    polled.again();
  });

  let few = false;
  let whole = false; // the last answer had all that is shown
  const polled = poll(async () => {
    whole = few;
    const answer = await get(`/v1/projects?totals=true&fields=${whole ? full : light}`, signal);
    all = answer.projects;
    few = all.length <= pageSize;
    render();
    sums(answer.totals);
    if (whole || !all.length) main.dataset.ready = "yes";
    else detailed.again();
    return Math.max(2000, all.length); // thousands: seldom
  }, signal);

  // Of many projects those on the page, often.
  const detailed = poll(async () => {
    if (whole || !rows.size) return 2000;
    const names = encodeURIComponent([...rows.keys()].join());
    const { projects } = await get(`/v1/projects?fields=${full}&names=${names}`, signal);
    for (const p of projects) {
      known.add(p.name);
      rows.get(p.name)?.update(p);
    }
    main.dataset.ready = "yes";
    return 2000;
  }, signal);
}
