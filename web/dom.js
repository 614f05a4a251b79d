// Makes elements. Whatever comes from outside goes in as text; nothing here puts markup in.

const svgSpace = "http://www.w3.org/2000/svg";

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined) continue;
    if (value === false && typeof node[name] !== "boolean") continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && !name.startsWith("aria-") && node.namespaceURI !== svgSpace)
      node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

/** h("p", {className: "note", onclick: f}, "text", node): properties, else attributes. */
export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(svgSpace, tag), attributes, children);
}

/** Sets a text when it differs, so that nothing is laid out again for nothing. */
export function setText(node, text) {
  const words = String(text);
  if (node.textContent !== words) node.textContent = words;
}

export function setClass(node, name) {
  if (node.className !== name) node.className = name;
}

/** Makes the children of `parent` those of `keys`, in order, keeping the ones that are there, and
 * the focus where it is. */
export function reconcile(parent, keys, kept, make) {
  const focused = document.activeElement;
  const gone = new Set(kept.keys());
  let next = parent.firstChild;
  for (const key of keys) {
    gone.delete(key);
    let item = kept.get(key);
    if (!item) kept.set(key, (item = make(key)));
    if (item.node === next) next = next.nextSibling;
    else parent.insertBefore(item.node, next);
  }
  for (const key of gone) {
    kept.get(key).node.remove();
    kept.delete(key);
  }
  if (focused !== document.activeElement && parent.contains(focused))
    focused.focus({ preventScroll: true });
}

let ids = 0;
/** A labelled control: {node, input, fail(reason)}. */
export function field(label, input, { hint, name } = {}) {
  const id = `f${++ids}`;
  input.id = id;
  if (name) input.dataset.field = name;
  const wrong = h("p", { className: "wrong", id: `${id}-wrong`, hidden: true });
  const help = hint ? h("p", { className: "hint", id: `${id}-hint` }, hint) : null;
  input.setAttribute("aria-describedby", [hint && `${id}-hint`, `${id}-wrong`]
    .filter(Boolean).join(" "));
  const node = h("div", { className: "field" }, h("label", { htmlFor: id }, label), input, help,
    wrong);
  return {
    node,
    input,
    fail(reason) {
      wrong.hidden = !reason;
      setText(wrong, reason ?? "");
      if (reason) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    },
  };
}

export function select(options, value, properties) {
  const node = h("select", properties, options.map((o) => {
    const [v, words] = Array.isArray(o) ? o : [o, o];
    return h("option", { value: v }, words);
  }));
  node.value = value;
  return node;
}

export function button(words, onclick, properties) {
  return h("button", { type: "button", onclick, ...properties }, words);
}

/** Tells what was done, or what went wrong, at the foot of the page and to screen readers. */
export function notify(words, { bad = false, undo = null } = {}) {
  const box = document.getElementById("notices");
  const note = h("div", { className: bad ? "notice bad" : "notice" }, h("span", null, words),
    undo && button("Undo", () => (note.remove(), undo())),
    button("Dismiss", () => note.remove(), { className: "quiet" }));
  box.append(note);
  while (box.childElementCount > 3) box.firstChild.remove();
  setTimeout(() => note.remove(), bad || undo ? 20000 : 5000);
}

/** Asks in a dialog; resolves to whether it was agreed to. */
export function confirmed(title, words, yes) {
  return new Promise((done) => {
    const box = h("dialog", { className: "dialog", "aria-label": title },
      h("h2", null, title), h("p", null, words),
      h("div", { className: "actions" },
        button("Cancel", () => box.close("")),
        button(yes, () => box.close("yes"), { className: "danger" })));
    box.addEventListener("close", () => {
      box.remove();
      done(box.returnValue === "yes");
    });
    document.body.append(box);
    box.showModal();
  });
}
