#include "actors/links.hpp"

#include "actors/interfaces.hpp"
#include "actors/link_hub.hpp"
#include "actors/log.hpp"

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <caf/openssl/all.hpp>
#include <pthread.h>
#include <signal.h>

#include <future>
#include <mutex>

namespace lycosa::actors {

namespace {

/// Signals are for the program's own threads: those made while this lives get none.
class no_signals {
public:
  no_signals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~no_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  no_signals(const no_signals&) = delete;
  no_signals& operator=(const no_signals&) = delete;

private:
  sigset_t before_{};
};

result<void> check(const link_config& c) {
  const auto no = [](const char* what, const char* why) {
    return fail(errc::invalid_argument, what, why);
  };
  if (c.self == cluster::node_id::none) return no("self", "a node needs a number");
  if (c.cluster.empty()) return no("cluster", "a cluster needs a name");
  if (c.oldest_wire_version > c.wire_version) return no("oldest_wire_version", "is the newer one");
  if (c.heartbeat <= usec::zero()) return no("heartbeat", "must be positive");
  const bool some = !c.tls_cert.empty() || !c.tls_key.empty() || !c.tls_ca.empty();
  const bool all = !c.tls_cert.empty() && !c.tls_key.empty() && !c.tls_ca.empty();
  if (some && !all) return no("tls", "needs a certificate, its key and the authority");
  return {};
}

} // namespace

struct links::inside {
  explicit inside(const link_config& c) : board(std::make_shared<link_board>(c)) {}

  std::shared_ptr<link_board> board;
  std::shared_ptr<stop_flag> stop = std::make_shared<stop_flag>();
  std::uint16_t port = 0;
  caf::actor hub;
  std::mutex stopping; ///< guards the rest
  std::unique_ptr<caf::actor_system_config> config;
  std::unique_ptr<caf::actor_system> system;
};

result<std::unique_ptr<links>> links::start(const link_config& config) {
  if (auto ok = check(config); !ok) return tl::unexpected<error>(ok.error());
  auto in = std::make_unique<inside>(config);
  const no_signals quiet;
  try {
    in->config = std::make_unique<caf::actor_system_config>();
    auto& c = *in->config;
    c.add_message_types<caf::id_block::lycosa>();
    c.load<caf::io::middleman>();
    if (!config.tls_cert.empty()) {
      c.openssl_certificate = config.tls_cert;
      c.openssl_key = config.tls_key;
      c.openssl_cafile = config.tls_ca;
      c.load<caf::openssl::manager>();
    }
    c.set("scheduler.policy", caf::atom("sharing")); // waits for work, does not poll
    c.set("scheduler.max-threads", std::size_t{2});
    c.set("middleman.app-identifiers", std::vector<std::string>{"lycosa-links"});
    c.set("logger.verbosity", caf::atom("quiet"));
    in->system = std::make_unique<caf::actor_system>(c);
  } catch (const std::exception& e) {
    return fail(errc::io_error, "cluster", e.what());
  }
  std::promise<result<std::uint16_t>> started;
  in->hub = in->system->middleman().spawn_broker(
      link_broker, in->board, in->stop,
      [&started](result<std::uint16_t> port) { started.set_value(std::move(port)); });
  auto port = started.get_future().get();
  if (!port) {
    in->hub = nullptr;
    return tl::unexpected<error>(port.error());
  }
  in->port = *port;
  return std::unique_ptr<links>(new links(std::move(in)));
}

links::links(std::unique_ptr<inside> in) : inside_(std::move(in)) {}

links::~links() {
  stop();
}

void links::handle(std::uint16_t channel, message_handler handler) {
  inside_->board->handlers->channels[channel] = std::move(handler);
}

void links::on_change(change_handler handler) {
  inside_->board->handlers->change = std::move(handler);
}

void links::members(std::map<cluster::node_id, std::string> all) {
  inside_->board->tell([all = std::move(all)](link_hub& hub) { hub.set_members(all); });
}

bool links::send(cluster::node_id to, std::uint16_t channel, bytes_ptr body) {
  return inside_->board->send(to, channel, body) == link_board::sent::yes;
}

bool links::is_up(cluster::node_id node) const {
  return inside_->board->is_up(node);
}

std::string links::trouble(cluster::node_id node) const {
  return inside_->board->trouble(node);
}

std::uint16_t links::port() const {
  return inside_->port;
}

void links::stop() {
  const std::lock_guard lock(inside_->stopping);
  if (!inside_->system) return;
  inside_->stop->raise();
  inside_->board->close();
  {
    // The system does not wait for brokers, and one that is left keeps what was sent to it for ever.
    const caf::scoped_actor waits{*inside_->system};
    waits->send(inside_->hub, drain_atom_v);
    waits->wait_for(inside_->hub);
  }
  inside_->hub = nullptr;
  inside_->system = nullptr; // waits for every actor
  inside_->config = nullptr;
}

} // namespace lycosa::actors
