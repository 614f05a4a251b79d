// Runs of jobs in words.

import { h } from "./dom.js";
import { at, duration } from "./format.js";

const tones = {
  success: "success", error: "failed", timeout: "failed", lost: "failed", running: "active",
  queued: "active", buffered: "active", retrying: "retry",
};

export const finished = (run) => !["running", "queued", "buffered", "retrying"]
  .includes(run.outcome);

export function outcomeChip(run) {
  return h("span", { className: `chip ${tones[run.outcome] ?? "bad"}` },
    run.outcome.replace(/_/g, " "));
}

/** How it went: exit status, what went wrong, how long it took. */
export function runDetail(run) {
  const took = run.started && run.ended ? duration(run.ended - run.started) : "";
  const code = run.exit_code !== undefined ? `exit ${run.exit_code}`
    : run.signal !== undefined ? `signal ${run.signal}`
      : run.http_status !== undefined ? `HTTP ${run.http_status}` : "";
  const said = /^exit code|^HTTP /.test(run.error ?? "") ? "" : code; // the error has it
  return [took, said, run.error, run.reason, run.count > 1 ? `${run.count} times` : ""]
    .filter(Boolean).join(" · ");
}

export const runTime = (run) => at(run.started ?? run.planned ?? run.nominal);
