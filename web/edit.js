// Changes of a project in place: shown at once, taken back when the node refuses.

import { project, put } from "./api.js";
import { button, h, notify, select, setText } from "./dom.js";
import { amount } from "./format.js";

const statuses = ["TODO", "STOP", "CHECKING", "DEBUG", "RUNNING", "PAUSED"];

/** Sends members of a project; `undo` is called when they are not taken. */
async function change(name, members, undo) {
  try {
    return await put(project(name), members);
  } catch (error) {
    undo(error);
    return null;
  }
}

/** A switch of the status. `changed(view)` gets what the node says it is now. */
export function statusSwitch(name, changed) {
  let known = "";
  let busy = false;
  let timer = 0;
  let byKeys = false;
  async function send() {
    timer = 0;
    const wanted = node.value;
    const before = known;
    if (wanted === before) return;
    busy = true;
    const view = await change(name, { status: wanted }, (error) => {
      node.value = before;
      node.dataset.status = before;
      notify(`${name}: ${error.message}`, { bad: true });
    });
    busy = false;
    if (view) {
      known = view.status;
      notify(`${name} is ${view.status} now.`);
      changed(view);
    }
  }
  const node = select(statuses, "", {
    className: "status",
    "aria-label": `Status of ${name}`,
    onpointerdown: () => (byKeys = false),
    onkeydown: () => (byKeys = true),
    // The arrow keys pass through what lies between: only where they rest is meant.
    onchange: () => {
      node.dataset.status = node.value;
      clearTimeout(timer);
      timer = setTimeout(send, byKeys ? 700 : 0);
    },
  });
  return {
    node,
    update(status) {
      known = status;
      if (busy || timer || document.activeElement === node) return;
      node.value = status;
      node.dataset.status = status;
    },
  };
}

/** Rate and burst: a button that shows them, and becomes two inputs. */
export function rateEditor(name, changed) {
  let known = { rate: 0, burst: 0 };
  let busy = false;
  const show = (v) => {
    setText(shown, `${amount(v.rate)}/s`);
    setText(burst, `burst ${amount(v.burst)}`);
    open.setAttribute("aria-label",
      `${amount(v.rate)}/s burst ${amount(v.burst)}: change the rate of ${name}`);
  };
  const shown = h("span", { className: "rate-value" });
  const burst = h("span", { className: "burst-value" });
  const open = button(shown, () => edit(), { className: "inplace" });
  open.append(" ", burst);
  const wrong = h("p", { className: "wrong", role: "alert", hidden: true });
  const node = h("div", { className: "rate-cell" }, open, wrong);

  function fail(words) {
    wrong.hidden = !words;
    setText(wrong, words ?? "");
  }

  function edit() {
    fail("");
    const input = (label, value) => h("input", {
      type: "text", inputMode: "decimal", value: String(value), "aria-label": `${label} of ${name}`,
    });
    const rate = input("Rate", known.rate);
    const size = input("Burst", known.burst);
    const close = () => {
      form.replaceWith(open);
      open.focus();
    };
    const form = h("form", {
      className: "rate-form",
      onkeydown: (e) => e.key === "Escape" && (fail(""), close()),
      onsubmit: async (e) => {
        e.preventDefault();
        const wanted = { rate: Number(rate.value), burst: Number(size.value) };
        for (const [key, box] of [["rate", rate], ["burst", size]])
          if (box.value.trim() === "" || !Number.isFinite(wanted[key]) || wanted[key] < 0) {
            fail(`${key}: a number, 0 or more`);
            box.focus();
            return;
          }
        const before = known;
        known = wanted;
        fail("");
        show(wanted);
        close();
        busy = true;
        const view = await change(name, wanted, (error) => {
          known = before;
          show(before);
          fail(error.message);
        });
        busy = false;
        if (view) changed(view);
      },
    }, h("label", null, "rate", rate), h("label", null, "burst", size),
    h("button", { type: "submit", className: "primary" }, "Save"),
    button("Cancel", () => (fail(""), close())));
    open.replaceWith(form);
    rate.focus();
    rate.select();
  }

  return {
    node,
    update(v) {
      if (busy) return;
      if (v.rate === known.rate && v.burst === known.burst && shown.textContent) return;
      known = { rate: v.rate, burst: v.burst };
      show(known);
    },
  };
}
