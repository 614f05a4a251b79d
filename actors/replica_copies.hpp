#pragma once

#include "actors/work_thread.hpp"
#include "core/cluster/messages.hpp"
#include "core/result.hpp"
#include "storage/replica_store.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

namespace lycosa::actors {

/// Reads copies of an environment on a thread of its own, so that the leader's messages do not wait
/// for it, and no faster than told.
class replica_copies {
public:
  /// Called on that thread.
  struct ports {
    std::function<void(cluster::copy_id, cluster::entry_id at, std::uint32_t chunks)> opened;
    std::function<void(cluster::copy_id, const error&)> failed;
    std::function<void(cluster::node_id, const cluster::copy_message&, std::string_view)> send;
  };

  replica_copies(storage::replica_store& store, std::size_t chunk_bytes, std::uint64_t rate,
                 ports to)
      : store_(store), chunk_bytes_(chunk_bytes), rate_(rate), to_(std::move(to)),
        thread_(std::make_unique<work_thread>()) {}

  void stop() { thread_->stop(); }

  void open(cluster::copy_id id) {
    thread_->post([this, id] {
      auto view = store_.open_copy(chunk_bytes_);
      if (!view) return to_.failed(id, view.error());
      const auto at = (*view)->at();
      const auto chunks = (*view)->chunks();
      open_[id] = std::move(*view);
      to_.opened(id, at, chunks);
    });
  }

  void close(cluster::copy_id id) {
    thread_->post([this, id] { open_.erase(id); });
  }

  void send(cluster::node_id node, cluster::copy_message m) {
    thread_->post([this, node, m = std::move(m)] {
      const auto found = open_.find(m.id);
      if (found == open_.end()) return;
      auto chunk = found->second->chunk(m.chunk);
      if (!chunk) {
        open_.erase(found);
        return to_.failed(m.id, chunk.error());
      }
      to_.send(node, m, *chunk);
      if (rate_ > 0) thread_->pause(std::chrono::microseconds{chunk->size() * 1'000'000 / rate_});
    });
  }

private:
  storage::replica_store& store_;
  std::size_t chunk_bytes_;
  std::uint64_t rate_;
  ports to_;
  std::map<cluster::copy_id, std::unique_ptr<storage::replica_store::copy>> open_; // the thread's
  std::unique_ptr<work_thread> thread_;
};

} // namespace lycosa::actors
