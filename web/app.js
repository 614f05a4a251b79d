// The frame: which page is shown, and what belongs to all of them.

import { h, setText } from "./dom.js";
import * as events from "./events.js";
import * as job from "./job.js";
import * as jobForm from "./job_form.js";
import * as jobs from "./jobs.js";
import * as overview from "./overview.js";
import * as project from "./project.js";
import * as task from "./task.js";

const pages = [
  [/^\/?$/, overview, "overview", () => "Projects"],
  [/^\/project\/([^/]+)$/, project, "overview", (p) => p],
  [/^\/project\/([^/]+)\/task\/([^/]+)$/, task, "overview", (p, id) => id],
  [/^\/jobs$/, jobs, "jobs", () => "Jobs"],
  [/^\/jobs\/new$/, jobForm, "jobs", () => "New job"],
  [/^\/job\/([^/]+)$/, job, "jobs", (id) => id],
  [/^\/job\/([^/]+)\/edit$/, jobForm, "jobs", (id) => `Edit ${id}`],
  [/^\/events$/, events, "events", () => "Events"],
];

let leaving = new AbortController();
let first = true;

function go() {
  const place = location.hash.replace(/^#/, "").split("?")[0];
  leaving.abort();
  for (const box of document.querySelectorAll("dialog[open]")) box.close("");
  leaving = new AbortController();
  const main = document.getElementById("main");
  main.replaceChildren();
  delete main.dataset.ready;
  for (const [pattern, page, section, title] of pages) {
    const found = pattern.exec(place);
    if (!found) continue;
    let parts;
    try {
      parts = found.slice(1).map(decodeURIComponent);
    } catch {
      break;
    }
    for (const link of document.querySelectorAll("nav a"))
      if (link.dataset.page === section) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    document.title = `${title(...parts)} – Lycosa`;
    page.show(main, parts, leaving.signal);
    if (!first) main.querySelector("h1")?.focus({ preventScroll: true });
    if (!first) scrollTo(0, 0);
    first = false;
    return;
  }
  const head = h("h1", { tabIndex: -1 });
  setText(head, "There is no such page");
  main.append(head, h("p", null, h("a", { href: "#/" }, "All projects")));
}

document.querySelector(".skip").addEventListener("click", (e) => {
  e.preventDefault(); // the address says which page is shown
  document.getElementById("main").focus();
});
addEventListener("hashchange", go);
go();
