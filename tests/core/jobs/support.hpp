#pragma once

#include "core/jobs/engine.hpp"
#include "core/jobs/job_json.hpp"
#include "core/triggers/time_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lycosa::jobs::test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

inline wall_time at(std::string_view iso) {
  return trigger::parse_time_text(iso, "test")->in(trigger::zone{});
}

/// A scheduler in virtual time: jumps from one due moment to the next and keeps what was stored
/// and what happened.
class simulation : public job_source {
public:
  explicit simulation(wall_time start, engine_limits limits = resting())
      : now(start), limits_(limits), jobs(limits, *this) {}

  /// Jobs rest whenever they can, so that every test shows that resting changes nothing.
  static engine_limits resting() {
    engine_limits limits;
    limits.cache = 0;
    return limits;
  }

  job add(const std::string& members, bool replace = false) {
    auto in = parse_job(members, now);
    EXPECT_TRUE(in.has_value()) << (in ? "" : in.error().text());
    auto added = jobs.add(std::move(in->job), replace, now);
    EXPECT_TRUE(added.has_value()) << (added ? "" : added.error().text());
    settle();
    return *added;
  }

  /// Lets time pass with the scheduler awake.
  void pass(usec by) {
    const auto end = now + by;
    for (auto wake = jobs.next_wake(); wake && *wake <= end; wake = jobs.next_wake()) {
      now = std::max(now, *wake);
      jobs.advance(now);
      settle();
    }
    now = end;
  }

  /// Time passes while nobody looks, then the scheduler looks.
  void sleep(usec by) {
    now += by;
    jobs.advance(now);
    settle();
  }

  void finish(run_outcome outcome = run_outcome::success) {
    ASSERT_FALSE(running.empty());
    const auto key = running.front().key;
    running.erase(running.begin());
    run_result r;
    r.outcome = outcome;
    if (outcome != run_outcome::success) r.error = "it failed";
    jobs.finished(key, std::move(r), now);
    settle();
  }

  /// The process ends without a word and another one starts from the store.
  void crash(engine& next) {
    for (const auto& [id, stored] : stored_jobs)
      next.restore(id, stored.place);
    for (const auto& [key, r] : stored_runs)
      next.restore(r, now);
    next.started(now);
    next.advance(now);
  }

  void settle(engine* from = nullptr) {
    auto e = (from ? *from : jobs).take();
    auto& of = from ? *from : jobs;
    for (const auto& id : e.erased) {
      stored_jobs.erase(id);
      std::erase_if(stored_runs, [&](const auto& r) { return r.first.first == id; });
    }
    for (const auto& id : e.jobs)
      stored_jobs[id] = {to_members_json(*of.find(id)), place_of(*of.find(id))};
    for (const auto& id : e.places)
      stored_jobs.at(id).place = place_of(*of.find(id));
    for (const auto& [key, r] : e.runs)
      stored_runs[key] = r;
    of.rest(now);
    for (auto& s : e.starts)
      running.push_back(s), started.push_back(s);
    for (const auto key : e.cancels)
      cancelled.push_back(key);
    for (auto& ev : e.events)
      events.push_back(std::move(ev));
    if (instant)
      while (!running.empty())
        finish();
  }

  [[nodiscard]] std::vector<run_record> runs(std::string_view id) const {
    std::vector<run_record> out;
    for (const auto& [key, r] : stored_runs)
      if (key.first == id) out.push_back(r);
    return out;
  }
  /// How many nominal times a job's records in this state stand for.
  [[nodiscard]] std::uint64_t count(std::string_view id, run_state state) const {
    std::uint64_t n = 0;
    for (const auto& r : runs(id))
      if (r.state == state) n += r.count;
    return n;
  }
  [[nodiscard]] std::vector<std::string> event_names() const {
    std::vector<std::string> out;
    for (const auto& e : events)
      out.emplace_back(to_string(e.kind));
    return out;
  }

  result<job> load(std::string_view id) override {
    ++loads;
    const auto i = stored_jobs.find(std::string(id));
    if (i == stored_jobs.end()) return fail(errc::not_found, std::string(id), "not stored");
    return parse_members(i->second.members, i->second.place);
  }

  struct stored_job {
    std::string members;
    job_place place;
  };

  wall_time now;
  engine_limits limits_;
  std::map<std::string, stored_job> stored_jobs;
  std::map<std::pair<std::string, std::uint64_t>, run_record> stored_runs;
  std::size_t loads = 0;
  engine jobs;
  bool instant = false; ///< runs end at once
  std::vector<run_request> running, started;
  std::vector<run_key> cancelled;
  std::vector<job_event> events;
};

/// A job's text: every ten seconds unless `more` says otherwise.
inline std::string every_ten(const std::string& more) {
  return R"({"id":"j","trigger":{"type":"interval","seconds":10},"action":{"type":"function","name":"f"})"
         + (more.empty() ? "" : "," + more) + "}";
}

} // namespace lycosa::jobs::test
