#pragma once

#include "actors/clock.hpp"
#include "actors/interfaces.hpp"
#include "actors/job_events.hpp"
#include "actors/time_watch.hpp"

namespace lycosa::storage {
class catalog_store;
}

namespace lycosa::actors {

/// The job scheduler of this process: carries every request to the JOBS actor.
class local_jobs final : public job_service {
public:
  /// Reads the stored jobs on the actor's thread and begins to run them. `store` outlives the
  /// system. Who subscribes to `events` before misses nothing.
  local_jobs(caf::actor_system& system, storage::catalog_store& store, clock_ptr time,
             job_settings settings,
             std::shared_ptr<job_events> events = std::make_shared<job_events>());

  void add(jobs::job job, bool replace, job_reply<jobs::job> done) override;
  void add_all(std::vector<jobs::job> jobs, bool replace, bool whole,
               job_reply<std::vector<result<job_ptr>>> done) override;
  void get(std::string id, job_reply<jobs::job> done) override;
  void list(std::string after, std::size_t limit, job_reply<job_page> done) override;
  void modify(std::string id, jobs::job_patch patch, job_reply<jobs::job> done) override;
  void reschedule(std::string id, std::string trigger_json, job_reply<jobs::job> done) override;
  void pause(std::string id, std::string reason, job_reply<jobs::job> done) override;
  void resume(std::string id, resume_mode mode, job_reply<jobs::job> done) override;
  void remove(std::string id, job_reply<bool> done) override;
  void remove_all(job_reply<std::uint64_t> done) override;
  void run_now(std::string id, job_reply<jobs::run_record> done) override;
  void backfill(std::string id, wall_time from, wall_time to,
                job_reply<std::uint64_t> done) override;
  void runs(std::string id, std::uint64_t before, std::size_t limit,
            job_reply<run_page> done) override;
  void next(std::string id, std::size_t count, job_reply<std::vector<wall_time>> done) override;
  void why(std::string id, std::optional<wall_time> at, job_reply<std::string> done) override;
  void pause_all(job_reply<bool> done) override;
  void resume_all(job_reply<bool> done) override;
  void statistics(job_reply<job_statistics> done) override;
  std::unique_ptr<event_subscription>
  subscribe(jobs::event_mask mask, std::size_t buffer,
            std::function<void(const jobs::job_event&)> on_event) override {
    return events_->subscribe(mask, buffer, std::move(on_event));
  }

  /// From now on a clock that is set and time zones that change are noticed at once. Not for a
  /// clock that is not the machine's.
  void watch_time();

  /// Starts nothing more; runs under way are awaited for `job_settings::stop_wait`, then ended.
  /// The actor quits when all is stored.
  void stop();
  /// The same with another wait; none = as long as they take. A later call may shorten it.
  void stop(std::optional<usec> wait);

private:
  std::shared_ptr<job_events> events_;
  jobs_actor actor_;
  std::unique_ptr<time_watch> watch_;
};

} // namespace lycosa::actors
