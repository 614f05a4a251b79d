#pragma once

#include "actors/dial.hpp"
#include "actors/link_board.hpp"

#include "wire/link_frames.hpp"
#include <caf/io/all.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <unordered_map>

namespace lycosa::actors {

/// The connections of one node to the others: dialling, handshakes, heartbeats, bytes. All calls on
/// the thread of the middleman.
class link_hub {
public:
  link_hub(caf::io::broker* self, std::shared_ptr<link_board> board,
           std::shared_ptr<stop_flag> stop);

  /// The port that is listened on.
  result<std::uint16_t> listen();

  // -- events ------------------------------------------------------------------------------------

  void accepted(caf::io::connection_handle handle);
  void received(const caf::io::new_data_msg& msg);
  void ended(caf::io::connection_handle handle);
  void tick();
  void obey();
  void dial_due();
  /// A message was sent to itself for later; and it has come. False: the hub ends, nothing is to do.
  void timer_set() { ++timers_; }
  bool timer_fired();
  void shut_down();

  // -- commands ----------------------------------------------------------------------------------

  void set_members(std::map<cluster::node_id, std::string> all);
  void write_to(cluster::node_id to, std::uint64_t serial, const std::string& frame);
  void deliver_to_self(std::uint16_t channel, bytes_ptr body);
  void cut_peer(cluster::node_id node, std::uint64_t serial, const std::string& why);
  void tell_handled(const std::shared_ptr<link_count>& count);
  void dialled(cluster::node_id to, result<file_handle> socket);

private:
  using steady = std::chrono::steady_clock;

  /// What a connection waits for.
  enum class stage { hello, proof, up, closing };

  struct connection {
    caf::io::connection_handle handle;
    std::uint64_t serial = 0;
    stage at = stage::hello;
    cluster::node_id peer = cluster::node_id::none; ///< none = it was accepted and has said nothing
    wire::link_hello mine, theirs;
    wire::link_reader reader;
    std::shared_ptr<link_count> count;
    steady::time_point opened, heard;

    [[nodiscard]] bool was_dialled() const { return mine.to != 0; }
  };
  using connection_ptr = std::shared_ptr<connection>;

  struct peer {
    std::string host;
    std::uint16_t port = 0;
    connection_ptr link;   ///< up
    connection_ptr trying; ///< dialled, not up yet
    bool dialling = false;
    unsigned failures = 0; ///< in a row
    steady::time_point next_dial;
    std::shared_ptr<link_queue> queue;
    caf::actor delivery;
  };

  [[nodiscard]] const link_config& config() const { return board_->config; }
  connection_ptr add(caf::io::connection_handle handle, cluster::node_id dialled);
  peer make_peer(cluster::node_id node);
  void write(connection& c, const std::string& frame);
  void handle(const connection_ptr& c, wire::link_frame frame);
  void greeted(const connection_ptr& c, wire::link_hello theirs);
  void proved(const connection_ptr& c, const wire::link_proof& proof);
  void establish(const connection_ptr& c);
  void refuse(connection_ptr c, const std::string& why);
  /// `why`: for the log; empty = nothing that an operator has to know.
  void cut(connection_ptr c, const std::string& why);
  /// Takes it from its peer, who is down with it.
  void detach(connection_ptr c, const std::string& why);
  void put(peer& p, link_queue::item one);
  void trouble(cluster::node_id node, const std::string& why);
  void dial_later(peer& p);
  void wake_at(steady::time_point when);

  caf::io::broker* self_;
  std::shared_ptr<link_board> board_;
  std::shared_ptr<stop_flag> stop_;
  std::unordered_map<caf::io::connection_handle, connection_ptr> connections_;
  std::map<cluster::node_id, peer> peers_;
  peer itself_;
  std::uint64_t last_serial_ = 1; ///< 1 = the link of this node to itself
  steady::time_point last_tick_ = steady::now();
  std::string last_stranger_; ///< what was logged last of one that is no member
  std::size_t timers_ = 0; ///< messages to itself that have not come yet
  bool ending_ = false;
};

/// The actor around a hub. Answers through `started`.
caf::behavior link_broker(caf::io::broker* self, std::shared_ptr<link_board> board,
                          std::shared_ptr<stop_flag> stop,
                          std::function<void(result<std::uint16_t>)> started);

} // namespace lycosa::actors
