// A new job, or another shape for one.

import { get, job, patch, post } from "./api.js";
import { button, field, h, notify, select, setText } from "./dom.js";
import { triggerEditor } from "./triggers.js";

const area = (rows) => h("textarea", { rows, spellcheck: false });
const line = (value = "") => h("input", { value, autocomplete: "off", spellcheck: false });

const actions = {
  shell: { title: "Shell line", type: "command", fields: () => [
    ["shell", field("Command", line(), { name: "action.shell", hint: "for /bin/sh" })],
    ["cwd", field("Working folder", line(), { name: "action.cwd" })]] },
  http: { title: "HTTP request", type: "http", fields: () => [
    ["method", field("Method", line("GET"), { name: "action.method" })],
    ["url", field("Url", line(), { name: "action.url" })],
    ["body", field("Body", area(3), { name: "action.body" })]] },
  task: { title: "Crawl task", type: "task", fields: () => [
    ["task.project", field("Project", line(), { name: "action.task.project" })],
    ["task.url", field("Url", line(), { name: "action.task.url" })]] },
  json: { title: "JSON", fields: () => [
    ["json", field("Action object", area(8), { name: "action",
      hint: "any action with all of its members" })]] },
};

/** Which of the forms says all that a stored action does. */
function formOf(a) {
  const keys = Object.keys(a).filter((k) => k !== "type");
  const only = (...names) => keys.every((k) => names.includes(k));
  if (a.type === "command" && a.shell && only("shell", "cwd")) return "shell";
  if (a.type === "http" && only("method", "url", "body")) return "http";
  if (a.type === "task" && only("task")
    && Object.keys(a.task).every((k) => k === "project" || k === "url")) return "task";
  return "json";
}

export function show(main, [id], signal) {
  const fresh = id === undefined;
  const trigger = triggerEditor(signal);
  const ident = field("Id", line(), { name: "id", hint: "unique, without /" });
  const name = field("Name", line(), { name: "name" });
  const kind = field("Action", select(Object.entries(actions).map(([k, a]) => [k, a.title]),
    "shell", { onchange: () => build({}) }), { name: "action.type" });
  const actionFields = h("div", { className: "form-column" });
  const more = {
    overlap: field("While it still runs", select([["skip", "skip the time"],
      ["buffer_one", "wait, once"], ["buffer_all", "wait, each"],
      ["cancel_other", "end the other"], ["allow", "run beside it"]], "skip"), { name: "overlap" }),
    max_instances: field("Runs at a time", line("1"), { name: "max_instances" }),
    misfire_grace_time: field("Run late by at most (s)", line("60"),
      { name: "misfire_grace_time", hint: "empty: however late" }),
    timeout: field("Time-out (s)", line(), { name: "timeout", hint: "empty: none" }),
    retries: field("Retries", line("0"), { name: "retries" }),
    jitter: field("Jitter (s)", line("0"), { name: "jitter" }),
  };
  const nullable = ["misfire_grace_time", "timeout"];
  let shown = [];

  function build(values) {
    shown = actions[kind.input.value].fields();
    for (const [key, f] of shown)
      if (key === "json") f.input.value = values.json ?? "";
      else {
        const v = key.split(".").reduce((o, k) => o?.[k], values);
        if (v !== undefined) f.input.value = v;
      }
    actionFields.replaceChildren(...shown.map(([, f]) => f.node));
  }

  function action() {
    const form = actions[kind.input.value];
    if (!form.type)
      try {
        return JSON.parse(shown[0][1].input.value);
      } catch (error) {
        throw Object.assign(error, { at: "action" });
      }
    const made = { type: form.type };
    for (const [key, f] of shown) {
      if (f.input.value === "") continue;
      const steps = key.split(".");
      const last = steps.pop();
      let to = made;
      for (const s of steps) to = to[s] ??= {};
      to[last] = f.input.value;
    }
    return made;
  }

  const wrong = h("p", { className: "wrong", role: "alert" });
  const all = () => [ident, name, kind, ...Object.values(more), ...shown.map(([, f]) => f)];

  function told(error) {
    const faults = error.errors?.length ? error.errors : [{ field: "", reason: error.message }];
    let placed = null;
    const rest = [];
    for (const { field: at, reason } of faults) {
      const f = all().find((x) => x.input.dataset.field === at
        || at.startsWith(`${x.input.dataset.field}[`)
        || (x.input.dataset.field === "action" && at.startsWith("action")));
      if (f) f.fail(reason);
      else if (!trigger.fail(at, reason)
        && !trigger.fail(`trigger.${at}`, reason)) rest.push(at ? `${at}: ${reason}` : reason);
      if (f) placed ??= f.input;
    }
    setText(wrong, rest.join("; "));
    (placed ?? form.querySelector("[aria-invalid]"))?.focus();
  }

  async function save(e) {
    e.preventDefault();
    setText(wrong, "");
    for (const f of all()) f.fail("");
    trigger.clear();
    let body;
    try {
      body = { name: name.input.value.trim(), trigger: trigger.trigger(), action: action() };
    } catch (error) {
      return told({ errors: [{ field: error.at ?? "", reason: error.message }] });
    }
    const zone = trigger.timezone();
    if (zone || !fresh) body.timezone = zone;
    for (const [key, f] of Object.entries(more)) {
      const v = f.input.value.trim();
      if (key === "overlap") body[key] = v;
      else if (v === "" && nullable.includes(key)) body[key] = null;
      else if (v === "" || !Number.isFinite(Number(v))) {
        f.fail("must be a number");
        return f.input.focus();
      } else body[key] = Number(v);
    }
    try {
      const made = fresh ? await post("/v1/jobs", { id: ident.input.value.trim(), ...body })
        : await patch(job(id), body);
      notify(fresh ? `${made.id} is there.` : `${made.id} is changed.`);
      location.hash = `#/job/${encodeURIComponent(made.id)}`;
    } catch (error) {
      told(error);
    }
    return undefined;
  }

  const form = h("form", { className: "stack job-form", noValidate: true, onsubmit: save },
    h("fieldset", { className: "card" }, h("legend", null, "Job"),
      h("div", { className: "form-grid" }, ident.node, name.node)),
    trigger.node,
    h("fieldset", { className: "card" }, h("legend", null, "Action"), kind.node, actionFields),
    h("details", { className: "card" }, h("summary", null, "Overlap, lateness, retries"),
      h("div", { className: "form-grid" }, Object.values(more).map((f) => f.node))),
    wrong,
    h("div", { className: "actions" },
      button("Cancel", () => {
        location.hash = fresh ? "#/jobs" : `#/job/${encodeURIComponent(id)}`;
      }),
      h("button", { type: "submit", className: "primary" }, fresh ? "Add job" : "Save")));
  main.append(
    h("nav", { className: "crumbs", "aria-label": "Where you are" },
      h("a", { href: "#/jobs" }, "Jobs"), fresh ? " / new" : ` / ${id}`),
    h("h1", { tabIndex: -1 }, fresh ? "New job" : `Edit ${id}`), form);
  build({});
  if (fresh) {
    main.dataset.ready = "yes";
    return;
  }
  get(job(id), signal).then((j) => {
    ident.input.value = j.id;
    ident.input.disabled = true;
    name.input.value = j.name;
    kind.input.value = formOf(j.action);
    build(kind.input.value === "json" ? { json: JSON.stringify(j.action, null, 2) } : j.action);
    trigger.set(j.trigger, j.timezone);
    for (const [key, f] of Object.entries(more)) f.input.value = j[key] ?? "";
    main.dataset.ready = "yes";
  }).catch((error) => signal.aborted || setText(wrong, error.message));
}

