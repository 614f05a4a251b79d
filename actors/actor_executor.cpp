#include "actors/actor_executor.hpp"

#include "actors/ask_actor.hpp"
#include "actors/interfaces.hpp"
#include "actors/open_runs.hpp"
#include "actors/remote_actors.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>
#include <utility>

namespace lycosa::actors {

namespace {

/// Registered in every system, for CAF's own use: they would print what they do not know.
constexpr std::array<std::string_view, 3> cafs_own{"ConfigServ", "SpawnServ", "StreamServ"};

/// Hands runs to actors of its own system.
caf::behavior local_board(caf::event_based_actor* self, std::shared_ptr<open_runs> runs,
                          std::shared_ptr<run_inbox> inbox) {
  ignore_strangers(self);
  return {
      [=](wake_atom) {
        for (const auto& run : inbox->take()) {
          const auto& name = run->to.name;
          caf::strong_actor_ptr found;
          if (std::find(cafs_own.begin(), cafs_own.end(), name) == cafs_own.end())
            found = self->system().registry().get(caf::atom_from_string(name));
          if (found)
            spawn_run(self, runs, run, nullptr, caf::actor_cast<caf::actor>(found));
          else
            runs->end(run, failed_run(jobs::run_outcome::error,
                                      "no actor is named " + name + " in this process"));
        }
      },
      [=](drain_atom) { self->quit(); },
  };
}

class actor_executor final : public jobs::executor {
public:
  actor_executor(caf::actor_system& local, actor_options options)
      : options_(options), board_(local.spawn(local_board, runs_, inbox_)) {}
  ~actor_executor() override {
    runs_->stop();
    caf::anon_send(board_, drain_atom_v);
  }
  actor_executor(const actor_executor&) = delete;
  actor_executor& operator=(const actor_executor&) = delete;

  void start(jobs::run_request request, done_handler done) override {
    const auto* action = std::get_if<jobs::actor_action>(&request.action);
    auto to = action ? jobs::parse_actor_name(action->name)
                     : result<jobs::actor_name>(fail(errc::internal, "", "no actor action"));
    if (!to) return done(failed_run(jobs::run_outcome::error, to.error().text()));
    auto run = std::make_shared<actor_run>();
    if (request.timeout)
      run->deadline = std::chrono::steady_clock::now() + std::min(*request.timeout, longest);
    run->request = std::move(request);
    run->to = std::move(*to);
    run->done = std::move(done);
    if (!runs_->add(run))
      return run->done(failed_run(jobs::run_outcome::cancelled, "the executor has stopped"));
    if (run->to.remote()) return start_remote(std::move(run));
    inbox_->put(std::move(run));
    caf::anon_send(board_, wake_atom_v);
  }

  void cancel(jobs::run_key key) override { runs_->cancel(key); }
  /// There is nothing to end by force: nobody waits for whom was asked.
  void stop(usec) override { runs_->stop(); }

private:
  /// So that adding it to a clock does not overflow.
  static constexpr usec longest = std::chrono::hours{24 * 366};

  void start_remote(actor_run_ptr run) {
    std::string why;
    {
      const std::lock_guard lock(mutex_);
      try {
        if (!remote_) remote_ = std::make_unique<remote_actors>(runs_, options_.connect_limit);
        return remote_->start(std::move(run));
      } catch (const std::exception& e) {
        why = e.what();
      }
    }
    runs_->end(run, failed_run(jobs::run_outcome::error, std::move(why)));
  }

  const actor_options options_;
  const std::shared_ptr<open_runs> runs_ = std::make_shared<open_runs>();
  const std::shared_ptr<run_inbox> inbox_ = std::make_shared<run_inbox>();
  const caf::actor board_;
  std::mutex mutex_;
  std::unique_ptr<remote_actors> remote_;
};

} // namespace

std::unique_ptr<jobs::executor> make_actor_executor(caf::actor_system& local,
                                                    actor_options options) {
  return std::make_unique<actor_executor>(local, options);
}

} // namespace lycosa::actors
