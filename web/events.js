// What happens in the node, as it happens.

import { button, h, select, setText } from "./dom.js";
import { at, count } from "./format.js";
import { eventTypes, follow } from "./live.js";
import { runDetail } from "./runs.js";

const most = 500;

function words(e) {
  if (e.type === "GAP")
    return e.missing === null ? "events of an earlier run of the node are gone"
      : `${count(e.missing)} events are missing here`;
  const parts = [];
  if (e.run) parts.push(`run #${e.run.run}`, runDetail(e.run));
  if (e.reason) parts.push(e.reason);
  if (e.status) parts.push(e.status);
  if (e.alias) parts.push(e.alias);
  if (e.count) parts.push(`${count(e.count)}`);
  return parts.filter(Boolean).join(" · ");
}

function tone(type) {
  if (/ERROR|LOST|GIVEN_UP|MISSED|DROPPED|GAP/.test(type)) return "failed";
  if (/PAUSED|RETRYING|CANCELLED|MAX_INSTANCES/.test(type)) return "retry";
  if (/EXECUTED|FINISHED|RESUMED/.test(type)) return "success";
  return "bad";
}

export function show(main, _, signal) {
  let stop = null;
  let held = false;
  let got = [];
  const state = h("p", { className: "sums", role: "status" });
  const type = select([["", "All types"], ["project", "Projects"], ["job", "Jobs"],
    ...eventTypes.map((t) => [t, t])], "", { "aria-label": "Type", onchange: () => start() });
  const project = h("input", { type: "search", placeholder: "Project", "aria-label": "Project",
    onchange: () => start() });
  const job = h("input", { type: "search", placeholder: "Job", "aria-label": "Job",
    onchange: () => start() });
  const hold = button("Hold", () => {
    held = !held;
    setText(hold, held ? "Go on" : "Hold");
    if (!held) render();
  });
  const body = h("tbody");
  const empty = h("p", { className: "empty" }, "Nothing has happened yet.");
  main.append(
    h("div", { className: "title-row" }, h("h1", { tabIndex: -1 }, "Events"), state),
    h("div", { className: "tools" }, type, project, job, hold,
      button("Clear", () => ((got = []), render()), { className: "quiet" })),
    h("div", { className: "table-box" }, h("table", { className: "events" },
      h("caption", { className: "hidden" }, "Events, newest first"),
      h("thead", null, h("tr", null, ["Time", "Event", "Of", "What"].map((t) =>
        h("th", { scope: "col" }, t)))), body)), empty);

  function row(e) {
    const of = e.job_id ? h("a", { href: `#/job/${encodeURIComponent(e.job_id)}` }, e.job_id)
      : e.project ? h("a", { href: `#/project/${encodeURIComponent(e.project)}` }, e.project) : "";
    const node = h("tr", null, h("td", { className: "number" }, at(e.at)),
      h("td", null, h("span", { className: `chip ${tone(e.type)}` }, e.type)),
      h("td", { className: "of" }, of), h("td", { className: "what" }, words(e)));
    node.dataset.type = e.type;
    return node;
  }

  let waiting = [];
  function render() {
    body.replaceChildren(...got.map(row));
    waiting = [];
    empty.hidden = got.length > 0;
  }
  function flush() {
    if (held || !waiting.length) return;
    body.prepend(...waiting.reverse().map(row));
    waiting = [];
    while (body.childElementCount > most) body.lastChild.remove();
    empty.hidden = true;
  }

  function types() {
    const prefix = { project: "PROJECT_", job: "JOB_" }[type.value];
    return prefix ? eventTypes.filter((t) => t.startsWith(prefix)).join() : type.value;
  }

  function start() {
    stop?.abort();
    stop = new AbortController();
    got = [];
    render();
    let drawn = 0;
    follow({ types: types(), project: project.value.trim(), job: job.value.trim(),
      last_event_id: "0" }, (e) => {
      got.unshift(e);
      got.length = Math.min(got.length, most);
      waiting.push(e);
      if (waiting.length > most) waiting.shift();
      drawn ||= requestAnimationFrame(() => ((drawn = 0), flush()));
    }, AbortSignal.any([signal, stop.signal]), (now) => {
      setText(state, { live: "Live", lost: "Connecting again", resting: "Resting" }[now]);
      if (now === "live") main.dataset.ready = "yes";
    });
  }
  start();
}
