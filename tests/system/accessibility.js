// What is wrong with the page as it is shown: a list of words. Run by test_dashboard.py.
const faults = [];
const visible = (e) => e.checkVisibility?.({ visibilityProperty: true }) && e.getClientRects().length;

const seen = new Set();
for (const e of document.querySelectorAll("[id]")) {
  if (seen.has(e.id)) faults.push(`id ${e.id} stands twice`);
  seen.add(e.id);
}
for (const e of document.querySelectorAll("[aria-describedby], [aria-labelledby], label[for]"))
  for (const name of ["aria-describedby", "aria-labelledby", "for"])
    for (const id of (e.getAttribute(name) ?? "").split(/\s+/).filter(Boolean))
      if (!document.getElementById(id)) faults.push(`${name} names ${id}, which is not there`);
for (const e of document.querySelectorAll("input, select, textarea"))
  if (visible(e) && !e.labels?.length && !e.ariaLabel) faults.push(`${e.outerHTML} has no label`);
if (document.querySelectorAll("h1").length !== 1) faults.push("there is not one h1");
let level = 0;
for (const e of document.querySelectorAll("h1, h2, h3, h4")) {
  if (!visible(e)) continue;
  const n = Number(e.tagName[1]);
  if (n > level + 1) faults.push(`heading ${e.textContent} skips a level`);
  level = n;
}
if (!document.documentElement.lang) faults.push("the page names no language");
for (const e of document.querySelectorAll("[tabindex]"))
  if (e.tabIndex > 0) faults.push(`${e.outerHTML.slice(0, 80)} has its own tab order`);
for (const e of document.querySelectorAll("th"))
  if (!e.scope) faults.push(`th ${e.textContent} has no scope`);

// Contrast: WCAG 2, 4.5 of text, 3 of large text.
const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
const pen = canvas.getContext("2d", { willReadFrequently: true });
function rgba(colour) {
  pen.clearRect(0, 0, 1, 1);
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
}
const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a)];
function behind(e) {
  const layers = [];
  for (let x = e; x; x = x.parentElement) {
    const c = rgba(getComputedStyle(x).backgroundColor);
    if (c[3] > 0) layers.push(c);
    if (c[3] === 1) break;
  }
  return layers.reverse().reduce((under, c) => over(c, under), [255, 255, 255]);
}
function light(c) {
  const [r, g, b] = c.map((v) => {
    const s = v / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
const told = new Set();
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const e = texts.currentNode.parentElement;
  const words = texts.currentNode.textContent.trim();
  if (!words || !visible(e) || e.closest(".hidden, :disabled, option")) continue;
  const style = getComputedStyle(e);
  const size = parseFloat(style.fontSize);
  if (size === 0) continue;
  const under = behind(e);
  const a = light(over(rgba(style.color), under));
  const b = light(under);
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  const key = `${e.className} ${ratio.toFixed(2)}`;
  if (ratio < (large ? 3 : 4.5) && !told.has(key)) {
    told.add(key);
    faults.push(`contrast ${ratio.toFixed(2)} of "${words.slice(0, 40)}" (.${e.className})`);
  }
}
return faults;
