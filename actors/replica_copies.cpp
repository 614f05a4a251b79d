#include "actors/replica_copies.hpp"

#include <algorithm>
#include <utility>

namespace lycosa::actors {

using namespace cluster;

replica_copies::replica_copies(storage::replica_store& store, config c, clock_ptr time, ports to)
    : store_(store), config_(c), time_(std::move(time)), to_(std::move(to)),
      pieces_(c.rate, c.resend_after), thread_([this] { run(); }) {}

void replica_copies::open(copy_id id) {
  {
    const std::lock_guard lock(mutex_);
    opening_.push_back(id);
  }
  woken_.notify_one();
}

void replica_copies::close(copy_id id) {
  {
    const std::lock_guard lock(mutex_);
    pieces_.close(id);
    if (std::erase(opening_, id) == 0) closing_.push_back(id);
  }
  woken_.notify_one();
}

void replica_copies::send(node_id node, copy_message m) {
  {
    const std::lock_guard lock(mutex_);
    if (!pieces_.add(node, std::move(m), time_->now().mono)) return;
  }
  woken_.notify_one();
}

void replica_copies::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void replica_copies::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!closing_.empty()) {
      const auto id = closing_.front();
      closing_.pop_front();
      lock.unlock();
      open_.erase(id);
      lock.lock();
    } else if (!opening_.empty()) {
      const auto id = opening_.front();
      opening_.pop_front();
      lock.unlock();
      open_now(id);
      lock.lock();
    } else if (const auto p = pieces_.take(time_->now().mono)) {
      lock.unlock();
      send_now(*p);
      lock.lock();
    } else if (const auto at = pieces_.next()) {
      woken_.wait_for(lock, *at - time_->now().mono);
    } else {
      woken_.wait(lock);
    }
  }
}

void replica_copies::open_now(copy_id id) {
  auto view = store_.open_copy(config_.chunk_bytes);
  if (!view) return to_.failed(id, view.error());
  const auto at = (*view)->at();
  const auto chunks = (*view)->chunks();
  open_[id] = std::move(*view);
  to_.opened(id, at, chunks);
}

void replica_copies::send_now(const copy_pieces::piece& p) {
  const auto id = p.what.id;
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  auto chunk = found->second->chunk(p.what.chunk);
  if (!chunk) {
    open_.erase(found);
    {
      const std::lock_guard lock(mutex_);
      pieces_.close(id);
    }
    return to_.failed(id, chunk.error());
  }
  to_.send(p.to, p.what, *chunk);
  const std::lock_guard lock(mutex_);
  pieces_.sent(chunk->size(), time_->now().mono);
}

} // namespace lycosa::actors
