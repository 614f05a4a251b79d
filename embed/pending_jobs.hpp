#pragma once

#include "actors/jobs.hpp"

#include <limits>
#include <set>

namespace lycosa::embed {

/// Jobs before the scheduler is started: changed and looked at like others, and never due. Calls
/// answer before they return. Needs outside locking.
class pending_jobs final : public actors::job_service {
public:
  explicit pending_jobs(jobs::engine_limits limits)
      : engine_(all_held(std::move(limits)), nowhere_) {
    engine_.listen(0);
  }

  void add(jobs::job job, bool replace, actors::job_reply<jobs::job> done) override;
  void add_all(std::vector<jobs::job> jobs, bool replace, bool whole,
               actors::job_reply<std::vector<result<actors::job_ptr>>> done) override;
  void get(std::string id, actors::job_reply<jobs::job> done) override;
  void list(std::string after, std::size_t limit,
            actors::job_reply<actors::job_page> done) override;
  void modify(std::string id, jobs::job_patch patch, actors::job_reply<jobs::job> done) override;
  void reschedule(std::string id, std::string trigger_json,
                  actors::job_reply<jobs::job> done) override;
  void pause(std::string id, std::string reason, actors::job_reply<jobs::job> done) override;
  void resume(std::string id, actors::resume_mode mode, actors::job_reply<jobs::job> done) override;
  void remove(std::string id, actors::job_reply<bool> done) override;
  void remove_all(actors::job_reply<std::uint64_t> done) override;
  void run_now(std::string id, actors::job_reply<jobs::run_record> done) override;
  void backfill(std::string id, wall_time from, wall_time to,
                actors::job_reply<std::uint64_t> done) override;
  void runs(std::string id, std::uint64_t before, std::size_t limit,
            actors::job_reply<actors::run_page> done) override;
  void next(std::string id, std::size_t count,
            actors::job_reply<std::vector<wall_time>> done) override;
  void why(std::string id, std::optional<wall_time> at,
           actors::job_reply<std::string> done) override;
  void pause_all(actors::job_reply<bool> done) override;
  void resume_all(actors::job_reply<bool> done) override;
  void statistics(actors::job_reply<actors::job_statistics> done) override;
  std::unique_ptr<actors::event_subscription>
  subscribe(jobs::event_mask mask, std::size_t buffer,
            std::function<void(const jobs::job_event&)> on_event) override;

  /// The jobs as they are to be added at `now`, the start.
  [[nodiscard]] std::vector<actors::first_job> take(wall_time now) const;
  [[nodiscard]] bool paused() const { return paused_; }

private:
  /// Every job is held whole: there is no store yet.
  struct no_source final : jobs::job_source {
    result<jobs::job> load(std::string_view id) override {
      return fail(errc::not_found, std::string(id), "no such job");
    }
  };
  static jobs::engine_limits all_held(jobs::engine_limits limits) {
    limits.cache = std::numeric_limits<std::size_t>::max();
    return limits;
  }

  no_source nowhere_;
  jobs::engine engine_;
  std::set<std::string> replacing_; ///< ids that may be in the store already
  bool paused_ = false;
};

} // namespace lycosa::embed
