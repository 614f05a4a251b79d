// pyspider's progress bars, and a line of what was handled lately.

import { h, setText, svg } from "./dom.js";
import { count, short } from "./format.js";

const kinds = ["pending", "success", "retry", "failed"];

/** A bar of four parts; `label` names its window. update({pending, success, retry, failed}). */
export function progressBar(label) {
  const parts = kinds.map((k) => h("span", { className: `part ${k}` }));
  const total = h("span", { className: "total" });
  const track = h("span", { className: "track" }, parts);
  const node = h("span", { className: "progress", role: "img" },
    h("span", { className: "window" }, label), track, total);
  let shown = "";
  return {
    node,
    update(values) {
      const key = kinds.map((k) => values?.[k] ?? 0).join();
      if (key === shown) return;
      shown = key;
      let sum = 0;
      kinds.forEach((k, i) => {
        const n = values?.[k] ?? 0;
        sum += n;
        parts[i].style.flexGrow = n;
        parts[i].hidden = n === 0;
      });
      setText(total, sum ? short(sum) : "–");
      const words = kinds.map((k) => `${count(values?.[k] ?? 0)} ${k}`).join(", ");
      node.setAttribute("aria-label", `${label}: ${words}`);
      node.title = `${label}: ${words}`;
    },
  };
}

export const windows = ["5m", "1h", "1d", "all"];

export function progressBars() {
  const bars = windows.map(progressBar);
  return {
    node: h("div", { className: "bars" }, bars.map((b) => b.node)),
    update(counters) {
      windows.forEach((w, i) => bars[i].update(counters?.[w]));
    },
  };
}

export function legend() {
  return h("ul", { className: "legend", "aria-label": "Colours of the bars" }, kinds.map((k) =>
    h("li", null, h("span", { className: `swatch ${k}` }), k)));
}

/** The last five minutes of a project. update(handled). */
export function sparkline() {
  const area = svg("path", { class: "area" });
  const line = svg("path", { class: "line" });
  const rate = h("span", { className: "rate" });
  const node = h("span", { className: "spark", role: "img" },
    svg("svg", { viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true" },
      area, line), rate);
  let shown = "";
  return {
    node,
    update(handled) {
      if (!handled) return;
      const key = `${handled.until}${handled.counts}`;
      if (key === shown) return;
      shown = key;
      const c = handled.counts;
      const top = Math.max(1, ...c);
      const points = c.map((n, i) =>
        `${((i * 100) / (c.length - 1)).toFixed(1)} ${(22 - (n / top) * 20).toFixed(1)}`);
      line.setAttribute("d", `M${points.join("L")}`);
      area.setAttribute("d", `M0 24L${points.join("L")}L100 24Z`);
      const last = c.slice(-6).reduce((a, b) => a + b, 0) / (6 * handled.step);
      setText(rate, last > 0 ? `${short(last)}/s` : "–");
      node.setAttribute("aria-label",
        `${short(last)} tasks handled a second in the last minute`);
      node.title = `Handled in the last 5 minutes, most in 10 s: ${count(top)}`;
    },
  };
}
