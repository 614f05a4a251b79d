#include "actors/local_jobs.hpp"

#include "actors/job_keeper.hpp"
#include "core/triggers/time_text.hpp"

#include <algorithm>

namespace lycosa::actors {

namespace {

void post(const jobs_actor& to, std::function<void(job_keeper&)> step) {
  auto c = std::make_shared<job_call>();
  c->run = std::move(step);
  caf::anon_send(to, std::move(c));
}

/// A read: answered at once from what is decided.
template <class T, class Step>
void ask(const jobs_actor& to, job_reply<T> done, Step step) {
  post(to, [p = std::make_shared<promise<T>>(std::move(done)),
            step = std::move(step)](job_keeper& k) { p->answer(step(k)); });
}

/// A change: answered when it is stored.
template <class T, class Step>
void change(const jobs_actor& to, job_reply<T> done, Step step) {
  post(to, [p = std::make_shared<promise<T>>(std::move(done)),
            step = std::move(step)](job_keeper& k) mutable {
    if (k.draining())
      return p->answer(fail(errc::unavailable, "jobs", "the scheduler is being stopped"));
    auto answer = step(k);
    if (!answer) return p->answer(std::move(answer));
    k.after_commit([p, answer = std::move(answer)](const std::optional<error>& failure) mutable {
      if (failure)
        p->answer(tl::unexpected<error>(*failure));
      else
        p->answer(std::move(answer));
    });
  });
}

result<job_ptr> add_one(job_keeper& k, jobs::job j, bool replace, bool whole) {
  const auto id = whole ? j.id : std::string();
  if (auto ok = k.check_free(j.id); !ok) return tl::unexpected(ok.error());
  if (auto ok = k.engine().put(std::move(j), replace, k.now()); !ok)
    return tl::unexpected(ok.error());
  return whole ? std::make_shared<const jobs::job>(*k.engine().find(id)) : nullptr;
}

result<std::vector<wall_time>> next_times(const jobs::job& j, std::size_t count) {
  std::vector<wall_time> out;
  if (j.paused) return out;
  auto fire = j.next;
  while (fire && out.size() < count) {
    out.push_back(fire->planned());
    fire = j.trigger.plan(fire->nominal, fire->nominal, jobs::seed_of(j.id));
  }
  return out;
}

/// What the history says of the run of a time.
std::string tell(const jobs::run_record& r, const trigger::zone& zone) {
  std::string text = "the run of " + trigger::to_iso(r.nominal, zone);
  if (r.count > 1)
    text = std::string(r.at_least ? "at least " : "") + std::to_string(r.count) + " times from "
           + trigger::to_iso(r.nominal, zone) + " to " + trigger::to_iso(r.last, zone);
  text += ": " + std::string(to_string(r.state));
  if (!r.reason.empty()) text += ", " + r.reason;
  if (r.started) text += ", started " + trigger::to_iso(*r.started, zone);
  if (r.ended) text += ", ended " + trigger::to_iso(*r.ended, zone);
  if (!r.result.error.empty()) text += ", " + r.result.error;
  return text;
}

result<std::string> why_at(job_keeper& k, const jobs::job& j, wall_time at) {
  const auto zone = j.trigger.timezone();
  constexpr std::size_t looked_at = 10'000;
  constexpr usec second = std::chrono::seconds{1};
  auto runs = k.runs(j.id, 0, looked_at);
  if (!runs) return tl::unexpected(runs.error());
  for (const auto& r : *runs)
    if (r.nominal < at + second && at < std::max(r.last, r.nominal) + second) return tell(r, zone);
  const auto time = trigger::to_iso(at, zone);
  const auto first = j.trigger.first_from(at);
  const auto now = k.engine().why(j.id, k.now());
  if (!first) return "its trigger has no time at or after " + time + "; " + now;
  if (*first >= at + second)
    return "its trigger has no time at " + time + ", the next one is "
           + trigger::to_iso(*first, zone) + "; " + now;
  if (at > k.now()) return time + " is still to come; " + now;
  if (at < j.created)
    return "it was added later, at " + trigger::to_iso(j.created, zone) + "; " + now;
  return "nothing is kept about " + time
         + ": its record is older than the history, or the job was paused then; " + now;
}

} // namespace

local_jobs::local_jobs(caf::actor_system& system, storage::catalog_store& store, clock_ptr time,
                       job_settings settings, std::shared_ptr<job_events> events)
    : events_(std::move(events)) {
  job_keeper_config config;
  config.store = &store;
  config.time = std::move(time);
  config.settings = std::move(settings);
  config.events = events_;
  actor_ = system.spawn<caf::detached>(job_scheduler, std::move(config));
}

void local_jobs::add(jobs::job job, bool replace, job_reply<jobs::job> done) {
  change<jobs::job>(actor_, std::move(done), [j = std::move(job), replace](job_keeper& k) mutable {
    if (auto ok = k.check_free(j.id); !ok) return result<jobs::job>(tl::unexpected(ok.error()));
    return k.engine().add(std::move(j), replace, k.now());
  });
}

void local_jobs::add_all(std::vector<jobs::job> jobs, bool replace, bool whole,
                         job_reply<std::vector<result<job_ptr>>> done) {
  using answers = std::vector<result<job_ptr>>;
  change<answers>(
      actor_, std::move(done),
      [all = std::move(jobs), replace, whole](job_keeper& k) mutable -> result<answers> {
        answers out;
        out.reserve(all.size());
        for (auto& j : all)
          out.push_back(add_one(k, std::move(j), replace, whole));
        return out;
      });
}

void local_jobs::get(std::string id, job_reply<jobs::job> done) {
  ask<jobs::job>(actor_, std::move(done), [id = std::move(id)](job_keeper& k) -> result<jobs::job> {
    if (const auto* j = k.engine().find(id)) return *j;
    return k.missing(id);
  });
}

void local_jobs::list(std::string after, std::size_t limit, job_reply<job_page> done) {
  ask<job_page>(actor_, std::move(done),
                [after = std::move(after), limit](job_keeper& k) -> result<job_page> {
                  job_page page;
                  page.jobs = k.engine().list(after, limit + 1);
                  if (page.jobs.size() > limit) {
                    page.jobs.resize(limit);
                    if (limit > 0) page.next = page.jobs.back().id;
                  }
                  return page;
                });
}

void local_jobs::modify(std::string id, jobs::job_patch patch, job_reply<jobs::job> done) {
  change<jobs::job>(actor_, std::move(done),
                    [id = std::move(id), patch = std::move(patch)](job_keeper& k) {
                      return k.engine().modify(id, patch, k.now());
                    });
}

void local_jobs::reschedule(std::string id, std::string trigger_json, job_reply<jobs::job> done) {
  change<jobs::job>(actor_, std::move(done),
                    [id = std::move(id), trigger = std::move(trigger_json)](job_keeper& k) {
                      return k.engine().reschedule(id, trigger, k.now());
                    });
}

void local_jobs::pause(std::string id, std::string reason, job_reply<jobs::job> done) {
  change<jobs::job>(actor_, std::move(done),
                    [id = std::move(id), reason = std::move(reason)](job_keeper& k) {
                      return k.engine().pause(id, reason, k.now());
                    });
}

void local_jobs::resume(std::string id, resume_mode mode, job_reply<jobs::job> done) {
  change<jobs::job>(actor_, std::move(done), [id = std::move(id), mode](job_keeper& k) {
    return k.engine().resume(id, mode == resume_mode::catch_up, k.now());
  });
}

void local_jobs::remove(std::string id, job_reply<bool> done) {
  change<bool>(actor_, std::move(done), [id = std::move(id)](job_keeper& k) -> result<bool> {
    if (auto ok = k.engine().remove(id, k.now()); !ok) return tl::unexpected(ok.error());
    return true;
  });
}

void local_jobs::remove_all(job_reply<std::uint64_t> done) {
  change<std::uint64_t>(actor_, std::move(done), [](job_keeper& k) -> result<std::uint64_t> {
    return k.engine().remove_all(k.now());
  });
}

void local_jobs::run_now(std::string id, job_reply<jobs::run_record> done) {
  change<jobs::run_record>(actor_, std::move(done), [id = std::move(id)](job_keeper& k) {
    return k.engine().run_now(id, k.now());
  });
}

void local_jobs::backfill(std::string id, wall_time from, wall_time to,
                          job_reply<std::uint64_t> done) {
  change<std::uint64_t>(actor_, std::move(done), [id = std::move(id), from, to](job_keeper& k) {
    return k.engine().backfill(id, from, to, k.now());
  });
}

void local_jobs::runs(std::string id, std::uint64_t before, std::size_t limit,
                      job_reply<run_page> done) {
  ask<run_page>(actor_, std::move(done),
                [id = std::move(id), before, limit](job_keeper& k) -> result<run_page> {
                  if (!k.engine().knows(id)) return k.missing(id);
                  auto found = k.runs(id, before, limit);
                  if (!found) return tl::unexpected(found.error());
                  run_page page;
                  page.runs = std::move(*found);
                  if (page.runs.size() == limit && limit > 0 && page.runs.back().number > 1)
                    page.next = page.runs.back().number;
                  return page;
                });
}

void local_jobs::next(std::string id, std::size_t count, job_reply<std::vector<wall_time>> done) {
  using times = std::vector<wall_time>;
  ask<times>(actor_, std::move(done), [id = std::move(id), count](job_keeper& k) -> result<times> {
    if (const auto* j = k.engine().find(id)) return next_times(*j, count);
    return k.missing(id);
  });
}

void local_jobs::why(std::string id, std::optional<wall_time> at, job_reply<std::string> done) {
  ask<std::string>(actor_, std::move(done),
                   [id = std::move(id), at](job_keeper& k) -> result<std::string> {
                     const auto* j = k.engine().find(id);
                     if (!j) return k.missing(id);
                     if (at) return why_at(k, *j, *at);
                     return k.engine().why(id, k.now());
                   });
}

void local_jobs::pause_all(job_reply<bool> done) {
  change<bool>(actor_, std::move(done), [](job_keeper& k) -> result<bool> {
    k.engine().pause_all(k.now());
    return true;
  });
}

void local_jobs::resume_all(job_reply<bool> done) {
  change<bool>(actor_, std::move(done), [](job_keeper& k) -> result<bool> {
    k.begin();
    k.engine().resume_all(k.now());
    return true;
  });
}

void local_jobs::statistics(job_reply<job_statistics> done) {
  ask<job_statistics>(actor_, std::move(done),
                      [](job_keeper& k) -> result<job_statistics> { return k.statistics(); });
}

void local_jobs::watch_time() {
  watch_ = std::make_unique<time_watch>([to = actor_](time_change what) {
    post(to, [what](job_keeper& k) { k.time_changed(what); });
  });
}

void local_jobs::stop() {
  post(actor_, [](job_keeper& k) { k.drain(k.stop_wait()); });
}

void local_jobs::stop(std::optional<usec> wait) {
  post(actor_, [wait](job_keeper& k) { k.drain(wait); });
}

} // namespace lycosa::actors
