#include "actors/remote_actors.hpp"

#include "actors/ask_actor.hpp"
#include "actors/interfaces.hpp"
#include "actors/peer.hpp"

#include <caf/io/all.hpp>
#include <pthread.h>
#include <signal.h>

#include <future>
#include <map>
#include <string>
#include <thread>
#include <utility>

namespace lycosa::actors {

namespace {

struct switchboard_config {
  std::shared_ptr<open_runs> runs;
  std::shared_ptr<run_inbox> inbox;
  std::shared_ptr<stop_flag> stop;
  usec limit{};
};

/// Hands runs to the peers they are for.
caf::behavior switchboard(caf::event_based_actor* self, switchboard_config config) {
  ignore_strangers(self);
  const auto peers = std::make_shared<std::map<std::string, caf::actor>>();
  return {
      [self, peers, config](wake_atom) {
        for (const auto& run : config.inbox->take()) {
          auto& to = (*peers)[run->to.endpoint()];
          if (!to)
            to = self->spawn(peer,
                             peer_config{{run->to.host, run->to.port, config.limit}, config.stop});
          spawn_run(self, config.runs, run, to, nullptr);
        }
      },
      [self, peers](drain_atom) {
        for (const auto& [place, one] : *peers)
          caf::anon_send_exit(one, caf::exit_reason::kill);
        self->quit();
      },
  };
}

} // namespace

/// Shared with the thread, which may outlive the object.
struct remote_actors::inside {
  std::shared_ptr<open_runs> runs;
  usec limit{};
  std::shared_ptr<run_inbox> inbox = std::make_shared<run_inbox>();
  std::shared_ptr<stop_flag> stop = std::make_shared<stop_flag>();
  caf::actor board;
  std::promise<void> begun, end;
  std::thread thread;

  void run() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr); // signals are for the program's own threads
    try {
      caf::actor_system_config config;
      config.add_message_types<caf::id_block::lycosa>();
      config.load<caf::io::middleman>();
      config.set("scheduler.policy", caf::atom("sharing")); // waits for work, does not poll
      config.set("scheduler.max-threads", std::size_t{1});
      caf::actor_system system(config);
      board = system.spawn(switchboard, switchboard_config{runs, inbox, stop, limit});
      begun.set_value();
      end.get_future().wait();
      caf::anon_send(board, drain_atom_v);
      board = nullptr;
    } catch (...) {
      begun.set_exception(std::current_exception());
    }
  }
};

remote_actors::remote_actors(std::shared_ptr<open_runs> runs, usec limit)
    : inside_(std::make_shared<inside>()) {
  inside_->runs = std::move(runs);
  inside_->limit = limit;
  inside_->thread = std::thread([inside = inside_] { inside->run(); });
  try {
    inside_->begun.get_future().get();
  } catch (...) {
    inside_->thread.join();
    throw;
  }
}

remote_actors::~remote_actors() {
  inside_->stop->raise();
  inside_->end.set_value();
  if (open_runs::inside_done())
    inside_->thread.detach();
  else
    inside_->thread.join();
}

void remote_actors::start(actor_run_ptr run) {
  inside_->inbox->put(std::move(run));
  caf::anon_send(inside_->board, wake_atom_v);
}

} // namespace lycosa::actors
