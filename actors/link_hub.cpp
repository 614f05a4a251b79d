#include "actors/link_hub.hpp"

#include "actors/interfaces.hpp"
#include "actors/link_handshake.hpp"
#include "actors/link_tls.hpp"
#include "actors/log.hpp"
#include "core/hmac.hpp"
#include "core/jobs/actor_name.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace lycosa::actors {

namespace {

constexpr std::size_t read_at_once = 64 * 1024;
constexpr std::size_t most_strangers = 256; ///< connections that have not shown who they are
constexpr usec least_patience = std::chrono::seconds{2};
constexpr usec first_back_off = std::chrono::milliseconds{50};

std::uint64_t number(cluster::node_id node) {
  return static_cast<std::uint64_t>(node);
}

bool split_address(const std::string& text, std::string& host, std::uint16_t& port) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return false;
  host = text.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  const auto* end = text.data() + text.size();
  const auto [at, ec] = std::from_chars(text.data() + colon + 1, end, port);
  return ec == std::errc{} && at == end;
}

/// Its socket: what CAF calls a handle is the descriptor.
int socket_of(caf::io::connection_handle handle) {
  return static_cast<int>(handle.id());
}

} // namespace

link_hub::link_hub(caf::io::broker* self, std::shared_ptr<link_board> board,
                   std::shared_ptr<stop_flag> stop)
    : self_(self), board_(std::move(board)), stop_(std::move(stop)) {}

result<std::uint16_t> link_hub::listen() {
  std::string host;
  std::uint16_t port = 0;
  if (!split_address(config().listen, host, port))
    return fail(errc::invalid_argument, "cluster.listen", "must be host:port");
  if (host == "*") host.clear();
  const auto no = [&](const caf::error& e) {
    return fail(errc::io_error, config().listen, "cannot listen: " + self_->system().render(e));
  };
  if (!config().tls_cert.empty()) {
    if (auto ok = check_tls(self_->system()); !ok) return tl::unexpected<error>(ok.error());
    auto made = tls_doorman(self_->system(), host, port);
    if (!made) return no(made.error());
    port = (*made)->port();
    self_->add_doorman(std::move(*made));
  } else {
    auto made = self_->add_tcp_doorman(port, host.empty() ? nullptr : host.c_str(), true);
    if (!made) return no(made.error());
    port = made->second;
  }
  itself_ = make_peer(config().self);
  itself_.link = std::make_shared<connection>();
  itself_.link->count = std::make_shared<link_count>();
  itself_.link->count->serial = 1;
  itself_.link->peer = config().self;
  board_->up(config().self, 1, config().max_message);
  return port;
}

link_hub::peer link_hub::make_peer(cluster::node_id node) {
  peer p;
  p.queue = std::make_shared<link_queue>(node);
  p.delivery = self_->system().spawn(
      link_delivery, p.queue, std::shared_ptr<const link_handlers>(board_->handlers),
      [weak = std::weak_ptr<link_board>(board_)](std::shared_ptr<link_count> count) {
        if (auto board = weak.lock())
          board->tell([count](link_hub& hub) { hub.tell_handled(count); });
      });
  return p;
}

link_hub::connection_ptr link_hub::add(caf::io::connection_handle handle,
                                       cluster::node_id dialled) {
  auto c = std::make_shared<connection>();
  c->handle = handle;
  c->serial = ++last_serial_;
  c->peer = dialled;
  c->mine = hello_of(config(), dialled, fresh_nonce());
  c->opened = c->heard = steady::now();
  connections_[handle] = c;
  const int yes = 1;
  ::setsockopt(socket_of(handle), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  self_->configure_read(handle, caf::io::receive_policy::at_most(read_at_once));
  write(*c, wire::encode(c->mine));
  return c;
}

// -- events ---------------------------------------------------------------------------------------

void link_hub::accepted(caf::io::connection_handle handle) {
  const auto c = add(handle, cluster::node_id::none);
  const auto strangers = std::ranges::count_if(
      connections_, [](const auto& one) { return one.second->at != stage::up; });
  if (static_cast<std::size_t>(strangers) > most_strangers) cut(c, "");
}

void link_hub::received(const caf::io::new_data_msg& msg) {
  const auto found = connections_.find(msg.handle);
  if (found == connections_.end()) return;
  const auto c = found->second;
  c->heard = steady::now();
  if (c->at == stage::closing) return;
  const auto ok = c->reader.take({msg.buf.data(), msg.buf.size()}, [&](auto frame) {
    handle(c, std::move(frame));
    return c->at != stage::closing;
  });
  if (ok) return;
  if (c->at != stage::up) trouble(c->peer, ok.error().why);
  cut(c, ok.error().why);
}

void link_hub::ended(caf::io::connection_handle handle) {
  const auto found = connections_.find(handle);
  if (found == connections_.end()) return;
  const auto c = found->second;
  connections_.erase(found);
  if (c->at == stage::hello || c->at == stage::proof)
    trouble(c->peer, config().tls_cert.empty()
                         ? "it closed the connection before it said who it is"
                         : "it closed the connection: is TLS on there, with certificates of the "
                           "same authority?");
  if (c->at != stage::closing) detach(c, "the connection was lost");
}

void link_hub::tick() {
  const auto now = steady::now();
  // When this process itself had no time, what its peers sent lies unread: that is no silence.
  const auto late = now - last_tick_ - config().heartbeat;
  last_tick_ = now;
  const auto patience = 4 * config().heartbeat;
  std::vector<connection_ptr> all;
  for (const auto& [handle, c] : connections_)
    all.push_back(c);
  for (const auto& c : all) {
    if (late > config().heartbeat) c->heard = std::min(now, c->heard + late);
    if (c->at == stage::up) {
      if (now - c->heard > patience)
        cut(c, "it is silent");
      else
        tell_handled(c->count);
    } else if (c->at == stage::closing) {
      if (now - c->opened > config().heartbeat) ::shutdown(socket_of(c->handle), SHUT_RDWR);
    } else if (now - c->opened > std::max<usec>(patience, least_patience)) {
      trouble(c->peer, "it accepts the connection and says nothing");
      cut(c, "");
    }
  }
  if (itself_.link) tell_handled(itself_.link->count);
  dial_due();
}

void link_hub::obey() {
  for (auto& c : board_->commands())
    c(*this);
}

void link_hub::shut_down() {
  for (auto& [node, p] : peers_) {
    board_->down(node, p.link ? p.link->serial : 0);
    caf::anon_send_exit(p.delivery, caf::exit_reason::kill);
  }
  if (itself_.delivery) caf::anon_send_exit(itself_.delivery, caf::exit_reason::kill);
  // Sent or not: a broker that ends would wait for the peers to read.
  for (auto& [handle, c] : connections_)
    ::shutdown(socket_of(handle), SHUT_RDWR);
  peers_.clear();
  itself_ = {};
  connections_.clear();
  // What comes late to a broker that has ended stays for ever, and the broker with it.
  ending_ = true;
  if (timers_ == 0) self_->quit();
}

// -- connecting -----------------------------------------------------------------------------------

void link_hub::set_members(std::map<cluster::node_id, std::string> all) {
  all.erase(config().self);
  std::vector<connection_ptr> unwanted;
  for (auto& [node, p] : peers_)
    if (!all.contains(node)) {
      for (const auto& c : {p.link, p.trying})
        if (c) unwanted.push_back(c);
    }
  for (const auto& c : unwanted)
    cut(c, "it is no member any more");
  std::erase_if(peers_, [&](auto& one) {
    if (all.contains(one.first)) return false;
    caf::anon_send(one.second.delivery, drain_atom_v); // behind what it has
    board_->forget(one.first);
    return true;
  });
  for (const auto& [node, address] : all) {
    auto found = peers_.find(node);
    if (found == peers_.end()) found = peers_.emplace(node, make_peer(node)).first;
    auto& p = found->second;
    std::string host;
    std::uint16_t port = 0;
    if (!split_address(address, host, port) || host.empty() || port == 0) {
      trouble(node, "\"" + address + "\" is no address: must be host:port");
      host.clear();
    }
    if (host != p.host || port != p.port) {
      p.host = host;
      p.port = port;
      p.failures = 0;
      p.next_dial = {};
    }
  }
  dial_due();
}

bool link_hub::timer_fired() {
  --timers_;
  if (ending_ && timers_ == 0) self_->quit();
  return !ending_;
}

void link_hub::dial_due() {
  if (ending_) return;
  const auto now = steady::now();
  for (auto& [node, p] : peers_) {
    if (node < config().self || p.link || p.trying || p.dialling || p.host.empty()) continue;
    if (now < p.next_dial) continue;
    p.dialling = true;
    const auto limit = std::max<usec>(4 * config().heartbeat, least_patience);
    self_->system().spawn<caf::detached>(
        [board = board_, stop = stop_, to = node, request = dial_request{p.host, p.port, limit}] {
          auto socket = std::make_shared<result<file_handle>>(dial_any(request, *stop));
          board->tell([to, socket](link_hub& hub) { hub.dialled(to, std::move(*socket)); });
        });
  }
}

void link_hub::dial_later(peer& p) {
  const auto wait =
      std::min<usec>(first_back_off * (1U << std::min(p.failures, 10U)), config().longest_back_off);
  ++p.failures;
  p.next_dial = steady::now() + wait;
  ++timers_;
  self_->delayed_send(self_, wait + std::chrono::milliseconds{1}, more_atom_v);
}

void link_hub::dialled(cluster::node_id to, result<file_handle> socket) {
  const auto found = peers_.find(to);
  if (found == peers_.end()) return;
  auto& p = found->second;
  p.dialling = false;
  if (!socket) {
    trouble(to, socket.error().text());
    return dial_later(p);
  }
  caf::io::scribe_ptr made = config().tls_cert.empty()
                                 ? self_->parent().backend().new_scribe(socket->get())
                                 : tls_scribe(self_->system(), socket->get());
  (void)socket->release();
  if (!made) {
    trouble(to, "TLS cannot be set up");
    return dial_later(p);
  }
  const auto handle = made->hdl();
  self_->add_scribe(std::move(made));
  p.trying = add(handle, to);
}

// -- frames ---------------------------------------------------------------------------------------

void link_hub::handle(const connection_ptr& c, wire::link_frame frame) {
  if (auto* hello = std::get_if<wire::link_hello>(&frame)) return greeted(c, std::move(*hello));
  if (auto* proof = std::get_if<wire::link_proof>(&frame)) return proved(c, *proof);
  if (auto* no = std::get_if<wire::link_refused>(&frame)) {
    const auto why = "it refuses this node: " + no->why.substr(0, 512);
    trouble(c->peer, why);
    return cut(c, why);
  }
  if (c->at != stage::up) return; // of a newer version, or a stranger: counts for nothing
  if (const auto* alive = std::get_if<wire::link_alive>(&frame))
    return board_->handled(c->peer, c->serial, alive->handled);
  if (auto* e = std::get_if<wire::link_envelope>(&frame)) {
    const auto found = peers_.find(c->peer);
    if (found == peers_.end()) return;
    put(found->second,
        {e->channel, std::make_shared<const std::string>(std::move(e->body)), c->count, false});
  }
}

void link_hub::greeted(const connection_ptr& c, wire::link_hello theirs) {
  if (c->at != stage::hello) return cut(c, "it greets twice");
  c->theirs = std::move(theirs);
  const auto node = cluster::node_id{c->theirs.node};
  const auto why = refusal(c->mine, c->theirs);
  if (c->peer == cluster::node_id::none && peers_.contains(node)) c->peer = node;
  if (!why.empty()) return refuse(c, why);
  if (!peers_.contains(node)) return refuse(c, "it is no member of the cluster as known here");
  if (!c->was_dialled() && config().self < node)
    return refuse(c, "it is for this node, the one with the smaller number, to connect");
  c->at = stage::proof;
  if (c->was_dialled())
    write(*c, wire::encode(wire::link_proof{proof_of(config().secret, c->mine, c->theirs)}));
}

void link_hub::proved(const connection_ptr& c, const wire::link_proof& proof) {
  if (c->at != stage::proof) return cut(c, "it proves what it was not asked");
  if (!same_secret(proof.mac, proof_of(config().secret, c->theirs, c->mine)))
    return refuse(c, "it has another cluster secret");
  if (!c->was_dialled())
    write(*c, wire::encode(wire::link_proof{proof_of(config().secret, c->mine, c->theirs)}));
  establish(c);
}

void link_hub::establish(const connection_ptr& c) {
  auto& p = peers_[c->peer];
  // It would not have dialled again if it still had the old one.
  if (p.link) cut(p.link, "it has connected again");
  p.trying = nullptr;
  p.link = c;
  p.failures = 0;
  c->at = stage::up;
  c->reader.allow(wire::link_overhead + config().max_message);
  c->count = std::make_shared<link_count>();
  c->count->serial = c->serial;
  board_->up(c->peer, c->serial, c->theirs.max_message);
  log_of("cluster")->info("node {:016x} ({}) is connected", number(c->peer), c->theirs.name);
  put(p, {0, nullptr, nullptr, true});
}

void link_hub::refuse(connection_ptr c, const std::string& why) {
  write(*c, wire::encode(wire::link_refused{why}));
  if (c->peer != cluster::node_id::none) {
    trouble(c->peer, why);
  } else if (last_stranger_ != why) {
    last_stranger_ = why;
    log_of("cluster")->warn("a node ({}, {}) is refused: {}", c->theirs.name,
                            self_->remote_addr(c->handle), why);
  }
  c->at = stage::closing;
  c->opened = steady::now();
  // It closes when it has read that, or is cut with the next heartbeat. CAF's own close would
  // forget the connection while it is still there.
  detach(c, "");
}

void link_hub::trouble(cluster::node_id node, const std::string& why) {
  if (node == cluster::node_id::none || !peers_.contains(node)) return;
  if (board_->in_trouble(node, why))
    log_of("cluster")->warn("node {:016x} is not connected: {}", number(node), why);
}

// -- ending ---------------------------------------------------------------------------------------

void link_hub::cut(connection_ptr c, const std::string& why) {
  if (c->at == stage::closing) return;
  // Not CAF's close, which would go on writing to a peer that does not read.
  ::shutdown(socket_of(c->handle), SHUT_RDWR);
  detach(c, why);
  c->at = stage::closing;
  c->opened = steady::now();
}

void link_hub::detach(connection_ptr c, const std::string& why) {
  const auto found = peers_.find(c->peer);
  if (found == peers_.end()) return;
  auto& p = found->second;
  if (p.trying == c) {
    p.trying = nullptr;
    dial_later(p);
  }
  if (p.link != c) return;
  p.link = nullptr;
  board_->down(c->peer, c->serial);
  trouble(c->peer, why);
  put(p, {0, nullptr, nullptr, false});
  dial_later(p);
}

void link_hub::cut_peer(cluster::node_id node, std::uint64_t serial, const std::string& why) {
  const auto found = peers_.find(node);
  if (found == peers_.end() || !found->second.link || found->second.link->serial != serial) return;
  log_of("cluster")->warn("node {:016x} is cut off: {}", number(node), why);
  cut(found->second.link, why);
}

// -- moving bytes ---------------------------------------------------------------------------------

void link_hub::write(connection& c, const std::string& frame) {
  self_->write(c.handle, frame.size(), frame.data());
  self_->flush(c.handle);
}

void link_hub::write_to(cluster::node_id to, std::uint64_t serial, const std::string& frame) {
  const auto found = peers_.find(to);
  if (found == peers_.end() || !found->second.link || found->second.link->serial != serial) return;
  write(*found->second.link, frame);
}

void link_hub::deliver_to_self(std::uint16_t channel, bytes_ptr body) {
  if (itself_.link) put(itself_, {channel, std::move(body), itself_.link->count, false});
}

void link_hub::tell_handled(const std::shared_ptr<link_count>& count) {
  const auto handled = count->handled.load();
  count->acknowledged = handled;
  if (count->serial == 1) return board_->handled(config().self, 1, handled);
  for (auto& [node, p] : peers_)
    if (p.link && p.link->count == count)
      return write(*p.link, wire::encode(wire::link_alive{handled}));
}

void link_hub::put(peer& p, link_queue::item one) {
  if (p.queue->put(std::move(one))) caf::anon_send(p.delivery, wake_atom_v);
}

// -- the actor ------------------------------------------------------------------------------------

caf::behavior link_broker(caf::io::broker* self, std::shared_ptr<link_board> board,
                          std::shared_ptr<stop_flag> stop,
                          std::function<void(result<std::uint16_t>)> started) {
  const auto hub = std::make_shared<link_hub>(self, board, std::move(stop));
  auto port = hub->listen();
  const bool ok = port.has_value();
  if (ok) board->open(caf::actor_cast<caf::actor>(self));
  started(std::move(port));
  if (!ok) {
    self->quit();
    return {};
  }
  const auto beat = board->config.heartbeat;
  hub->timer_set();
  self->delayed_send(self, beat, survey_atom_v);
  return {
      [hub](const caf::io::new_connection_msg& m) { hub->accepted(m.handle); },
      [hub](const caf::io::new_data_msg& m) { hub->received(m); },
      [hub](const caf::io::connection_closed_msg& m) { hub->ended(m.handle); },
      [](const caf::io::acceptor_closed_msg&) {},
      [hub](wake_atom) { hub->obey(); },
      [hub](more_atom) {
        if (hub->timer_fired()) hub->dial_due();
      },
      [self, hub, beat](survey_atom) {
        if (!hub->timer_fired()) return;
        hub->timer_set();
        self->delayed_send(self, beat, survey_atom_v);
        hub->tick();
      },
      [hub](drain_atom) { hub->shut_down(); },
  };
}

} // namespace lycosa::actors
