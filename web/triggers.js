// The trigger part of the job form: fields a type, and when it would fire as one types.

import { post } from "./api.js";
import { field, h, select, setText } from "./dom.js";
import { fromNow, seconds } from "./format.js";

const zones = () => {
  try {
    return Intl.supportedValuesOf("timeZone");
  } catch {
    return [];
  }
};
export const localZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const text = (key, label, hint, value = "") => ({ key, label, hint, value });
const types = {
  crontab: { title: "Crontab line",
    fields: [text("expr", "Expression",
      "minute hour day month weekday, e.g. */5 9-17 * * 1-5, or @daily", "*/5 * * * *")] },
  interval: { title: "Every so often", numbers: true,
    fields: [text("days", "Days"), text("hours", "Hours"), text("minutes", "Minutes", null, "5"),
      text("seconds", "Seconds")] },
  cron: { title: "Calendar fields (cron)",
    fields: [text("year", "Year"), text("month", "Month"), text("day", "Day"),
      text("day_of_week", "Weekday", "mon-fri, or 0 = Monday"), text("hour", "Hour", null, "3"),
      text("minute", "Minute", null, "0"), text("second", "Second")] },
  date: { title: "Once",
    fields: [text("run_date", "Date and time", "2030-01-31T08:00:00")] },
  oncalendar: { title: "OnCalendar (systemd)",
    fields: [text("expr", "Expression", "Mon..Fri *-*-* 09:00:00", "Mon..Fri *-*-* 09:00:00")] },
  json: { title: "JSON",
    fields: [text("json", "Trigger object", "any trigger, e.g. and, or, except")] },
};

/** {node, trigger(), timezone(), set(trigger, zone), fail(field, reason) → whether it has that}. */
export function triggerEditor(signal) {
  let shown = {};
  const list = h("datalist", { id: "zones" }, zones().map((z) => h("option", { value: z })));
  const type = field("When", select(Object.entries(types).map(([k, t]) => [k, t.title]), "crontab",
    { onchange: () => build({}) }), { name: "trigger.type" });
  const zone = field("Time zone", h("input", { value: localZone, autocomplete: "off",
    oninput: () => look() }), { name: "timezone", hint: "empty: the machine's" });
  zone.input.setAttribute("list", "zones");
  const fields = h("div", { className: "trigger-fields" });
  const meaning = h("p", { className: "meaning", "aria-live": "polite" });
  const times = h("ol", { className: "times" });
  const wrong = h("p", { className: "wrong" });
  const node = h("fieldset", { className: "card trigger" }, h("legend", null, "Trigger"),
    h("div", { className: "two" },
      h("div", { className: "form-column" }, type.node, fields, zone.node, wrong, list),
      h("div", { className: "preview" }, h("h2", null, "Next times"), meaning, times)));

  function build(values) {
    const t = types[type.input.value];
    shown = {};
    fields.replaceChildren(...t.fields.map((f) => {
      const value = values[f.key] ?? (Object.keys(values).length ? "" : f.value);
      const box = f.key === "json"
        ? h("textarea", { rows: 6, spellcheck: false, oninput: () => look() })
        : h("input", { autocomplete: "off", spellcheck: false, oninput: () => look() });
      box.value = value;
      shown[f.key] = field(f.label, box, { hint: f.hint, name: `trigger.${f.key}` });
      return shown[f.key].node;
    }));
    fields.className = `trigger-fields ${type.input.value}`;
    look();
  }

  function trigger() {
    const kind = type.input.value;
    if (kind === "json")
      try {
        return JSON.parse(shown.json.input.value);
      } catch (error) {
        throw Object.assign(error, { at: "trigger.json" });
      }
    const made = { type: kind, ...kept };
    for (const [key, f] of Object.entries(shown)) {
      const value = f.input.value.trim();
      if (value === "") continue;
      if (types[kind].numbers && !Number.isFinite(Number(value)))
        throw Object.assign(new Error("must be a number"), { at: `trigger.${key}` });
      made[key] = types[kind].numbers ? Number(value) : value;
    }
    return made;
  }
  let kept = {}; // members of a stored trigger that have no field here

  function fail(name, reason) {
    const key = name.replace(/^trigger\.?/, "");
    if (name === "timezone" || key === "timezone") return zone.fail(reason), true;
    if (shown[key]) return shown[key].fail(reason), true;
    const only = Object.values(shown);
    if (name.startsWith("trigger") && only.length === 1) return only[0].fail(reason), true;
    if (name.startsWith("trigger")) return setText(wrong, `${key}: ${reason}`), true;
    return false;
  }

  function clear() {
    setText(wrong, "");
    zone.fail("");
    for (const f of Object.values(shown)) f.fail("");
  }

  let timer = 0;
  let asked = 0;
  function look() {
    clearTimeout(timer);
    timer = setTimeout(ask, 200);
  }
  async function ask() {
    const turn = ++asked;
    clear();
    try {
      const body = { trigger: trigger(), n: 10 };
      if (zone.input.value.trim()) body.timezone = zone.input.value.trim();
      const answer = await post("/v1/triggers/next", body);
      if (turn !== asked || signal.aborted) return;
      setText(meaning, answer.meaning);
      times.replaceChildren(...answer.times.map((t) => h("li", null,
        h("time", { dateTime: t }, t.replace("T", " ")), " ",
        h("span", { className: "hint" }, fromNow(seconds(t))))));
      if (!answer.times.length) times.replaceChildren(h("li", null, "never"));
      node.dataset.state = "ok";
    } catch (error) {
      if (turn !== asked || signal.aborted) return;
      setText(meaning, "");
      times.replaceChildren();
      node.dataset.state = "wrong";
      const faults = error.errors?.length ? error.errors
        : [{ field: error.at ?? "", reason: error.message }];
      for (const f of faults) {
        const key = f.field.replace(/^trigger\.?/, "");
        fail(key === "timezone" ? key : `trigger.${key}`, f.reason);
      }
    }
  }

  function set(stored, timezone) {
    zone.input.value = timezone ?? "";
    const kind = stored.type in types ? stored.type : "json";
    const known = kind === "json" ? [] : types[kind].fields.map((f) => f.key);
    const { type: _, ...rest } = stored;
    // What the fields cannot say is shown as it is.
    const plain = known.every((k) => rest[k] === undefined || typeof rest[k] !== "object");
    type.input.value = plain ? kind : "json";
    kept = {};
    if (type.input.value === "json") return build({ json: JSON.stringify(stored, null, 2) });
    for (const [k, v] of Object.entries(rest)) if (!known.includes(k)) kept[k] = v;
    return build(rest);
  }

  type.input.addEventListener("change", () => (kept = {}));
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  build({});
  return { node, trigger, timezone: () => zone.input.value.trim(), fail, clear, set };
}

