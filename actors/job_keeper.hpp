#pragma once

#include "actors/clock.hpp"
#include "actors/interfaces.hpp"
#include "actors/job_events.hpp"
#include "actors/time_watch.hpp"
#include "core/jobs/engine.hpp"
#include "core/triggers/zone.hpp"
#include "storage/job_store.hpp"

namespace lycosa::actors {

struct job_keeper_config {
  storage::catalog_store* store = nullptr; ///< outlives the actor
  clock_ptr time;
  job_settings settings;
  std::shared_ptr<job_events> events;
  /// Reads the zone files again; true when that changed something.
  std::function<bool()> reload_zones = trigger::reload_zones;
};

/// The state of the JOBS actor. Calls of clients change the engine; one `flush` behind them stores
/// all of it in one commit, and only then are runs started, events published, clients answered.
class job_keeper {
public:
  job_keeper(jobs_actor::pointer self, job_keeper_config config);

  // -- messages
  void call(job_call& c);
  void wake();
  /// Somebody has noticed it; every job is looked at again.
  void time_changed(time_change what);
  void flush();
  /// Starts nothing more and waits for runs under way; none = for ever. Another time it may only
  /// shorten the wait.
  void drain(std::optional<usec> wait);
  /// The wait is over: runs under way are ended.
  void end_runs();

  // -- for calls
  [[nodiscard]] jobs::engine& engine() { return engine_; }
  [[nodiscard]] wall_time now() const { return config_.time->now().wall; }
  [[nodiscard]] bool draining() const { return draining_; }
  [[nodiscard]] usec stop_wait() const { return config_.settings.stop_wait; }
  /// What waits for the start, starts; the first time only.
  void begin();
  /// Runs when what was decided so far is stored, or cannot be.
  void after_commit(std::function<void(const std::optional<error>&)> then) {
    waiting_.push_back(std::move(then));
  }
  [[nodiscard]] job_statistics statistics() const;
  /// Refuses an id whose stored record cannot be read: writing it would destroy it.
  [[nodiscard]] result<void> check_free(const std::string& id) const;
  /// Why there is no job of this id: unknown, or unreadable.
  [[nodiscard]] tl::unexpected<error> missing(const std::string& id) const;
  /// Runs with numbers below `before` (0 = all), newest first, whether they have ended or not.
  [[nodiscard]] result<std::vector<jobs::run_record>> runs(const std::string& id,
                                                           std::uint64_t before, std::size_t limit);

private:
  [[nodiscard]] result<void> load();
  [[nodiscard]] result<void> add_first(wall_time t);
  void ask_flush();
  void arm();
  [[nodiscard]] bool store_pending();
  void start(std::vector<jobs::run_request> requests);
  [[nodiscard]] const std::shared_ptr<jobs::executor>& executor_of(const jobs::action& a) const;
  void check_clock();
  void sweep();
  void count(const jobs::effects& e);
  void finish();

  jobs_actor::pointer self_;
  job_keeper_config config_;
  storage::job_store store_;
  jobs::engine engine_;
  std::vector<std::function<void(const std::optional<error>&)>> waiting_;
  std::map<jobs::run_key, std::shared_ptr<jobs::executor>> running_;
  std::vector<std::string> unreadable_;
  bool sweeping_ = false; ///< the history holds more that is to be looked at
  job_statistics counted_;
  std::optional<mono_time> armed_;
  usec clock_offset_{0};   ///< wall minus monotonic, as last seen
  mono_time next_zones_{}; ///< when the zone files are looked at again
  bool begun_ = false;
  bool flushing_ = false;
  bool failing_ = false;
  bool draining_ = false;
  bool ended_ = false;
};

/// Spawn detached: commits block on the disk.
jobs_actor::behavior_type job_scheduler(jobs_actor::pointer self, job_keeper_config config);

} // namespace lycosa::actors
