#include "actors/peer.hpp"

#include "actors/ask_actor.hpp"
#include "core/jobs/actor_name.hpp"

#include <caf/io/all.hpp>
#include <caf/io/basp_broker.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace lycosa::actors {

namespace {

/// Every CAF system has it: it knows the names of the system's actors.
constexpr auto name_server = caf::atom("ConfigServ");

caf::error no_connection(std::string why) {
  return caf::make_error(caf::sec::cannot_connect_to_node, std::move(why));
}

/// Dials once, on its thread.
caf::behavior dialler(caf::event_based_actor* self, peer_config config) {
  return {
      [self, config = std::move(config)](caf::connect_atom) -> caf::result<caf::io::scribe_ptr> {
        self->quit();
        auto socket = dial(config.to, *config.stop);
        if (!socket) return no_connection(socket.error().text());
        return self->system().middleman().backend().new_scribe(socket->release());
      }};
}

class peer_state {
public:
  peer_state(caf::event_based_actor* self, peer_config config)
      : self_(self), config_(std::move(config)),
        place_(jobs::actor_name{"", config_.to.host, config_.to.port}.endpoint()),
        broker_(self->system().middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"))) {}

  void find(caf::atom_value name) {
    const auto id = ++last_;
    open_[id] = {name, self_->make_response_promise(), false};
    if (names_)
      ask(id);
    else
      connect();
  }

  /// The peer has ended, or the connection to it: what was asked is asked of who is there now,
  /// once.
  void lost(const caf::down_msg& down) {
    if (!names_ || down.source != names_.address()) return;
    names_ = nullptr;
    for (auto i = open_.begin(); i != open_.end();) {
      if (std::exchange(i->second.again, true)) {
        i->second.promise.deliver(no_connection(place_ + ": the connection was lost"));
        i = open_.erase(i);
      } else {
        ++i;
      }
    }
    if (!open_.empty()) connect();
  }

private:
  struct lookup {
    caf::atom_value name{};
    caf::response_promise promise;
    bool again = false; ///< asked a second time, over a new connection
  };

  void ask(std::uint64_t id) {
    const auto failed = [this, id](caf::error& e) {
      const auto i = open_.find(id);
      if (i == open_.end()) return;
      auto promise = std::move(i->second.promise);
      open_.erase(i);
      promise.deliver(no_connection(place_ + ": " + reason(e)));
    };
    self_->request(names_, caf::duration{config_.to.limit}, caf::get_atom_v, open_[id].name)
        .then(
            [this, id](caf::strong_actor_ptr& found) {
              const auto i = open_.find(id);
              if (i == open_.end()) return;
              auto promise = std::move(i->second.promise);
              open_.erase(i);
              promise.deliver(std::move(found));
            },
            failed);
  }

  std::string reason(const caf::error& e) const {
    if (e == caf::sec::request_timeout) return "it does not answer";
    if (e == caf::sec::incompatible_application_ids)
      return "it is a CAF system of another application (middleman.app-identifiers)";
    return text_of(e, self_->system());
  }

  void connect() {
    if (std::exchange(connecting_, true)) return;
    const auto failed = [this](caf::error& e) { no_peer(place_ + ": " + reason(e)); };
    self_
        ->request(self_->spawn<caf::detached>(dialler, config_), caf::infinite, caf::connect_atom_v)
        .then([this, failed](caf::io::scribe_ptr& socket) { shake_hands(socket, failed); },
              [this](caf::error& e) { no_peer(text_of(e, self_->system())); });
  }

  template <class Failed>
  void shake_hands(const caf::io::scribe_ptr& socket, Failed failed) {
    const caf::duration limit{config_.to.limit};
    self_->request(broker_, limit, caf::connect_atom_v, socket, config_.to.port)
        .then(
            [this, failed, limit](const caf::node_id& node, const caf::strong_actor_ptr&,
                                  const std::set<std::string>&) {
              self_
                  ->request(broker_, limit, caf::forward_atom_v, node, name_server,
                            caf::make_message(caf::get_atom_v, name_server))
                  .then([this](caf::strong_actor_ptr& names) { connected(names); }, failed);
            },
            failed);
  }

  void connected(const caf::strong_actor_ptr& names) {
    if (!names) return no_peer(place_ + ": it has no registry of names");
    connecting_ = false;
    names_ = caf::actor_cast<caf::actor>(names);
    self_->monitor(names_); // told at once if it is lost already
    for (const auto& [id, one] : open_)
      ask(id);
  }

  void no_peer(const std::string& why) {
    connecting_ = false;
    for (auto& [id, one] : std::exchange(open_, {}))
      one.promise.deliver(no_connection(why));
  }

  caf::event_based_actor* self_;
  peer_config config_;
  std::string place_;
  caf::actor broker_;
  caf::actor names_; ///< the peer's name server; none = no connection
  bool connecting_ = false;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, lookup> open_;
};

} // namespace

caf::behavior peer(caf::event_based_actor* self, peer_config config) {
  const auto state = std::make_shared<peer_state>(self, std::move(config));
  ignore_strangers(self);
  self->set_down_handler([state](caf::down_msg& down) { state->lost(down); });
  return {[state](caf::get_atom, caf::atom_value name) {
    state->find(name);
    return caf::delegated<caf::strong_actor_ptr>{};
  }};
}

} // namespace lycosa::actors
