#include "embed/pending_jobs.hpp"

#include <chrono>

namespace lycosa::embed {

namespace {

wall_time now() {
  return std::chrono::time_point_cast<usec>(std::chrono::system_clock::now());
}

tl::unexpected<error> not_started(const std::string& id) {
  return fail(errc::unavailable, id, "the scheduler has not been started");
}

tl::unexpected<error> no_such_job(const std::string& id) {
  return fail(errc::not_found, id, "no such job");
}

/// A pending job has no next time: it is planned from the moment of the start.
jobs::job without_times(jobs::job j) {
  j.next.reset();
  return j;
}

result<jobs::job> without_times(result<jobs::job> j) {
  if (j) j->next.reset();
  return j;
}

} // namespace

void pending_jobs::add(jobs::job job, bool replace, actors::job_reply<jobs::job> done) {
  const auto id = job.id;
  auto added = engine_.add(std::move(job), replace, now());
  (void)engine_.take();
  if (added && replace) replacing_.insert(id);
  done(without_times(std::move(added)));
}

void pending_jobs::add_all(std::vector<jobs::job> jobs, bool replace, bool whole,
                           actors::job_reply<std::vector<result<actors::job_ptr>>> done) {
  std::vector<result<actors::job_ptr>> all;
  for (auto& j : jobs)
    add(std::move(j), replace, [&](result<jobs::job> r) {
      all.push_back(r.map([&](jobs::job& added) {
        return whole ? std::make_shared<const jobs::job>(std::move(added)) : actors::job_ptr();
      }));
    });
  done(std::move(all));
}

void pending_jobs::get(std::string id, actors::job_reply<jobs::job> done) {
  const auto* j = engine_.find(id);
  if (!j) return done(no_such_job(id));
  done(without_times(*j));
}

void pending_jobs::list(std::string after, std::size_t limit,
                        actors::job_reply<actors::job_page> done) {
  actors::job_page page;
  for (auto& j : engine_.list(after, limit))
    page.jobs.push_back(without_times(std::move(j)));
  if (!page.jobs.empty() && page.jobs.size() == limit) page.next = page.jobs.back().id;
  done(std::move(page));
}

void pending_jobs::modify(std::string id, jobs::job_patch patch,
                          actors::job_reply<jobs::job> done) {
  done(without_times(engine_.modify(id, patch, now())));
}

void pending_jobs::reschedule(std::string id, std::string trigger_json,
                              actors::job_reply<jobs::job> done) {
  done(without_times(engine_.reschedule(id, std::move(trigger_json), now())));
}

void pending_jobs::pause(std::string id, std::string reason, actors::job_reply<jobs::job> done) {
  done(without_times(engine_.pause(id, std::move(reason), now())));
}

void pending_jobs::resume(std::string id, actors::resume_mode, actors::job_reply<jobs::job> done) {
  // Not the engine's: it would decide what is overdue.
  done(without_times(engine_.modify(id, {R"({"paused":false})"}, now())));
}

void pending_jobs::remove(std::string id, actors::job_reply<bool> done) {
  const auto removed = engine_.remove(id, now());
  (void)engine_.take();
  if (!removed) return done(tl::unexpected(removed.error()));
  replacing_.erase(id);
  done(true);
}

void pending_jobs::remove_all(actors::job_reply<std::uint64_t> done) {
  const auto n = engine_.remove_all(now());
  (void)engine_.take();
  replacing_.clear();
  done(n);
}

void pending_jobs::run_now(std::string id, actors::job_reply<jobs::run_record> done) {
  done(not_started(id));
}

void pending_jobs::backfill(std::string id, wall_time, wall_time,
                            actors::job_reply<std::uint64_t> done) {
  done(not_started(id));
}

void pending_jobs::runs(std::string id, std::uint64_t, std::size_t,
                        actors::job_reply<actors::run_page> done) {
  if (!engine_.find(id)) return done(no_such_job(id));
  done(actors::run_page{});
}

void pending_jobs::next(std::string id, std::size_t,
                        actors::job_reply<std::vector<wall_time>> done) {
  if (!engine_.find(id)) return done(no_such_job(id));
  done(std::vector<wall_time>{});
}

void pending_jobs::why(std::string id, std::optional<wall_time>,
                       actors::job_reply<std::string> done) {
  if (!engine_.find(id)) return done(no_such_job(id));
  done(std::string("the scheduler has not been started"));
}

void pending_jobs::pause_all(actors::job_reply<bool> done) {
  paused_ = true;
  done(true);
}

void pending_jobs::resume_all(actors::job_reply<bool> done) {
  paused_ = false;
  done(true);
}

void pending_jobs::statistics(actors::job_reply<actors::job_statistics> done) {
  actors::job_statistics s;
  s.jobs = engine_.counts().jobs;
  s.scheduler_paused = true;
  done(std::move(s));
}

std::unique_ptr<actors::event_subscription>
pending_jobs::subscribe(jobs::event_mask, std::size_t,
                        std::function<void(const jobs::job_event&)>) {
  return nullptr; // nothing happens before the start
}

std::vector<actors::first_job> pending_jobs::take(wall_time now) const {
  std::vector<actors::first_job> all;
  for (auto& j : engine_.list({}, std::numeric_limits<std::size_t>::max())) {
    const bool replace = replacing_.contains(j.id);
    j.created = now;
    j.next.reset();
    j.previous.reset();
    if (!jobs::compile_trigger(j)) continue; // it compiled before
    all.push_back({std::move(j), replace});
  }
  return all;
}

} // namespace lycosa::embed
