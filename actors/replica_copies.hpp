#pragma once

#include "actors/clock.hpp"
#include "core/cluster/copy_pieces.hpp"
#include "core/cluster/messages.hpp"
#include "core/result.hpp"
#include "storage/replica_store.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

namespace lycosa::actors {

/// Reads copies of an environment on a thread of its own, so that the leader's messages do not wait
/// for it, and no faster than told. Calls from any thread; they return at once.
class replica_copies {
public:
  /// Called on its thread, which holds no lock then.
  struct ports {
    std::function<void(cluster::copy_id, cluster::entry_id at, std::uint32_t chunks)> opened;
    std::function<void(cluster::copy_id, const error&)> failed;
    std::function<void(cluster::node_id, const cluster::copy_message&, std::string_view)> send;
  };
  struct config {
    std::size_t chunk_bytes = std::size_t{1} << 20;
    std::uint64_t rate = 0;                             ///< bytes a second at most; 0 = no bound
    usec resend_after = std::chrono::milliseconds{500}; ///< see cluster::copy_pieces
  };

  replica_copies(storage::replica_store& store, config c, clock_ptr time, ports to);
  ~replica_copies() { stop(); }
  replica_copies(const replica_copies&) = delete;
  replica_copies& operator=(const replica_copies&) = delete;

  /// Answered by `opened` or `failed`, unless it is closed before.
  void open(cluster::copy_id id);
  /// Its pieces that wait are not sent, whatever the rate.
  void close(cluster::copy_id id);
  /// A piece that waits already, or has just been sent, is not sent a second time.
  void send(cluster::node_id node, cluster::copy_message m);

  /// Not from its own thread.
  void stop();

private:
  using view_ptr = std::unique_ptr<storage::replica_store::copy>;
  void run();
  void open_now(cluster::copy_id id);
  void send_now(const cluster::copy_pieces::piece& p);

  storage::replica_store& store_;
  const config config_;
  const clock_ptr time_;
  const ports to_;
  std::map<cluster::copy_id, view_ptr> open_; // the thread's

  std::mutex mutex_; ///< of what follows
  std::condition_variable woken_;
  std::deque<cluster::copy_id> opening_, closing_;
  cluster::copy_pieces pieces_;
  bool stopping_ = false;

  std::thread thread_; // last: it uses all the others
};

} // namespace lycosa::actors
