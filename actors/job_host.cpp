#include "actors/job_host.hpp"

#include "actors/actor_executor.hpp"
#include "actors/local_jobs.hpp"
#include "storage/open.hpp"

#include <pthread.h>
#include <signal.h>

#include <filesystem>
#include <future>
#include <thread>

namespace lycosa::actors {

namespace {

/// Threads made meanwhile have every signal blocked: signals are for the program's own.
class signals_blocked {
public:
  signals_blocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

private:
  sigset_t before_{};
};

result<std::unique_ptr<storage::data_dir>> open_data(const job_host_config& config) {
  if (config.data.empty()) return storage::open_memory(1);
  storage::open_options options;
  options.dir = config.data;
  // Jobs are in the catalog alone: a new directory has the one shard there must be.
  std::error_code ec;
  options.shards = std::filesystem::exists(config.data + "/catalog", ec) ? 0 : 1;
  options.map_size = config.map_size;
  options.reserve_bytes = config.reserve;
  options.sync = config.sync;
  return storage::open_data_dir(options);
}

/// Has a thread that makes and ends the actor system. CAF notes in every thread that makes a system
/// or an actor which system that was, and a system ends only when it is noted nowhere else: this
/// way the host may be opened and ended anywhere.
class local_job_host final : public job_host {
public:
  explicit local_job_host(std::unique_ptr<storage::data_dir> data) : data_(std::move(data)) {}
  ~local_job_host() override {
    if (!thread_.joinable()) return;
    if (jobs_) {
      stop(usec{0});
      wait();
    }
    end_.set_value();
    thread_.join();
  }
  local_job_host(const local_job_host&) = delete;
  local_job_host& operator=(const local_job_host&) = delete;

  result<void> start(job_settings settings, std::shared_ptr<job_events> events) {
    auto told = std::make_shared<std::promise<result<void>>>();
    auto ready = told->get_future();
    settings.ready = [told](result<void> r) { told->set_value(std::move(r)); };
    std::promise<void> spawned;
    auto known = spawned.get_future();
    thread_ = std::thread([this, settings = std::move(settings), events = std::move(events),
                           spawned = std::move(spawned)]() mutable {
      run(std::move(settings), std::move(events), std::move(spawned));
    });
    try {
      known.get();
    } catch (const std::exception& e) {
      return fail(errc::unavailable, "jobs", e.what());
    }
    return ready.get();
  }

  job_service& jobs() override { return *jobs_; }
  void stop(std::optional<usec> wait) override { jobs_->stop(wait); }
  void wait() override { system_->await_all_actors_done(); }

private:
  void run(job_settings settings, std::shared_ptr<job_events> events, std::promise<void> spawned) {
    try {
      caf::actor_system_config config;
      config.add_message_types<caf::id_block::lycosa>();
      config.set("scheduler.policy", caf::atom("sharing")); // waits for work, does not poll
      config.set("scheduler.max-threads", std::size_t{1}); // the one actor has its own thread
      caf::actor_system system(config);
      system_ = &system;
      if (!settings.executors.actor) settings.executors.actor = make_actor_executor(system);
      jobs_ = std::make_unique<local_jobs>(system, *data_->catalog, make_system_clock(),
                                           std::move(settings), std::move(events));
      jobs_->watch_time();
      spawned.set_value();
      end_.get_future().wait();
      jobs_.reset();
    } catch (...) {
      spawned.set_exception(std::current_exception());
    }
  }

  std::unique_ptr<storage::data_dir> data_;
  caf::actor_system* system_ = nullptr;
  std::unique_ptr<local_jobs> jobs_;
  std::promise<void> end_;
  std::thread thread_;
};

} // namespace

result<std::unique_ptr<job_host>> job_host::open(job_host_config config) {
  if (!config.events) config.events = std::make_shared<job_events>();
  const signals_blocked here;
  auto data = open_data(config);
  if (!data) return tl::unexpected(data.error());
  auto made = std::make_unique<local_job_host>(std::move(*data));
  if (auto ok = made->start(std::move(config.jobs), std::move(config.events)); !ok)
    return tl::unexpected(ok.error());
  return made;
}

} // namespace lycosa::actors
