#pragma once

#include "core/task.hpp"

#include <map>
#include <optional>
#include <string_view>

namespace lycosa {

/// Change of a project's counters that one committed decision causes. `pending`, `success`,
/// `failed` and `retry` count events in the time windows; the state totals come from
/// `status_counts`, which the store keeps, so they cannot drift.
struct counter_delta {
  int pending = 0;
  int success = 0;
  int retry = 0;
  int failed = 0;

  counter_delta& operator+=(const counter_delta& o) {
    pending += o.pending;
    success += o.success;
    retry += o.retry;
    failed += o.failed;
    return *this;
  }
};

/// Delays before the n-th retry: `table[n]` if present, else `otherwise`.
/// pyspider: DEFAULT_RETRY_DELAY = {0: 30, 1: 3600, 2: 21600, 3: 43200, '': 86400} seconds.
struct retry_policy {
  std::map<int, usec> table{{0, std::chrono::seconds{30}},
                            {1, std::chrono::hours{1}},
                            {2, std::chrono::hours{6}},
                            {3, std::chrono::hours{12}}};
  usec otherwise = std::chrono::hours{24};

  [[nodiscard]] usec delay(int retried) const;
};

// -- a task comes in ---------------------------------------------------------------------------

enum class accept_outcome {
  created,   ///< unknown before: stored and queued
  restarted, ///< known: its record replaced, queued (again)
  ignored,   ///< known and nothing asks for another crawl; or a cancel of an unknown task
  cancelled, ///< taken out of the queue, status BAD
};

/// First half of the decision: made from the index alone, so that duplicates (the common case of
/// a crawl) never touch a record.
struct accept_verdict {
  accept_outcome outcome = accept_outcome::ignored;
  std::string_view reason; ///< why it was ignored; static text
};

/// Judges a submitted task. `old` is the index's entry (none = unknown task).
/// Rules of pyspider's `on_request` (scheduler/scheduler.py), with its faults mended:
///  - ACTIVE without force_update (nor cancel): ignored, "already queued";
///  - settled: restarted when the itag is set and differs, or age ≥ 0 and
///    lastcrawltime + age < now, or force_update; else ignored ("same itag" when an itag was
///    given and age says nothing, else "fresh");
///  - cancel of an unknown task: ignored, "unknown task"; of an ACTIVE one: cancelled, with or
///    without force_update; of a settled one: only with force_update (as pyspider), else ignored,
///    "not queued".
[[nodiscard]] accept_verdict judge_submit(const std::optional<task_slot>& old, const task& in,
                                          wall_time now);

/// What a verdict other than `ignored` does.
struct accept_decision {
  task record;             ///< what to store
  queue_position position; ///< created, restarted: where to queue it
  counter_delta delta;
};

/// Second half. `stored` is the record the task has now; required unless the verdict is `created`.
///  - created: the input, ACTIVE, retried = 0, generation 0;
///  - restarted: as pyspider's column update: the parts the input has (url, schedule, fetch,
///    process) replace the stored ones, parts it lacks stay; track and lastcrawltime stay;
///    retried = 0, generation + 1, ACTIVE;
///  - cancelled: the stored record with status BAD, generation + 1.
/// force_update and cancel are commands and are not stored. A task due now is queued with
/// due = now, so that the order survives a restart of the node.
/// Counters as pyspider's: created pending+1; restarted pending+1 unless it was ACTIVE.
[[nodiscard]] accept_decision apply_submit(accept_outcome outcome, const task* stored,
                                           const task& in, std::uint64_t arrival, wall_time now);

// -- a record is brought over from another scheduler -------------------------------------------

/// Judges a record that is taken over whole, with its status, track and times. `stored` is the
/// record the task has here (none = unknown task). Newer ones replace, so that an import can be
/// repeated: created; restarted when its updatetime is later; else ignored, "not newer".
[[nodiscard]] accept_verdict judge_import(const task* stored, const task& in);

/// What a verdict other than `ignored` stores. Nothing is counted: it did not happen here.
[[nodiscard]] accept_decision apply_import(const task* stored, const task& in,
                                           std::uint64_t arrival, wall_time now);

// -- a crawl is reported -----------------------------------------------------------------------

/// What a status pack says. Its `schedule` is an echo of what the fetcher was handed and is not
/// looked at: letting it count would bring back an auto_recrawl or age changed meanwhile.
struct report {
  std::string_view taskid;
  bool fetch_ok = false;   ///< track.fetch.ok; absent = false
  bool process_ok = false; ///< track.process.ok
  std::string_view track;  ///< JSON text to keep
  /// From the schedule sent along, if one was (pyspider's processors echo it): decides whether a
  /// crawl repeats. Not stored, and not heard when the task was restarted during the crawl: the
  /// last writer wins.
  std::optional<bool> auto_recrawl;
  std::optional<usec> age;
  // Seconds that the crawl took (track.fetch.time, track.process.time), for the counters.
  std::optional<double> fetch_time;
  std::optional<double> process_time;
  [[nodiscard]] bool ok() const { return process_ok; }
};

enum class report_outcome {
  done,       ///< SUCCESS
  recrawl,    ///< succeeded, and queued again for now + age
  retried,    ///< failed, queued again after the retry delay
  failed,     ///< FAILED: retries used up
  superseded, ///< the task was restarted while this crawl ran: result noted, task stays queued
};

struct report_decision {
  report_outcome outcome = report_outcome::done;
  task record;             ///< to store
  queue_position position; ///< recrawl, retried, superseded: where it stands now
  counter_delta delta;
};

/// Decides what a report of the crawl with `generation` does to the stored ACTIVE record. An older
/// generation than the stored one's is superseded; a reporter that names no lease passes the
/// stored one's.
/// pyspider's rules: success → SUCCESS, lastcrawltime = now, the stored schedule stays (itag
/// source); auto_recrawl with age ≥ 0 → ACTIVE, due now + age. Failure: delay from `retry`;
/// auto_recrawl with age ≥ 0 → min(delay, age), never gives up; retried ≥ retries → FAILED;
/// otherwise retried+1, and the delay is capped by age ≥ 0 (a negative age caps nothing: mended).
[[nodiscard]] report_decision decide_report(const task& stored, const queue_position& stood,
                                            const report& r, std::uint32_t generation,
                                            const retry_policy& retry, std::uint64_t arrival,
                                            wall_time now);

/// Whether a report that names no lease is one that the stored ACTIVE record has seen: its track is
/// the one kept. A queue delivers the last messages before a crash twice; without this, one failure
/// would use up two retries. Only asked of tasks that were not handed out since.
[[nodiscard]] bool already_reported(const task& stored, const report& r);

} // namespace lycosa
