#include "actors/shard_writer.hpp"

#include "actors/commit_group.hpp"
#include "actors/log.hpp"

namespace lycosa::actors {

namespace {

class writer_state {
public:
  writer_state(shard_writer_actor::pointer self, shard_writer_config config)
      : self_(self), config_(std::move(config)), group_(*config_.store, config_.default_retry) {}

  template <class... Args>
  void gather(Args&&... op) {
    if (group_.empty()) {
      gathering_since_ = config_.time->now().mono;
      self_->send(self_, flush_atom_v);
    }
    group_.add(std::forward<Args>(op)...);
    if (group_.size() >= config_.commit_batch
        || config_.time->now().mono - gathering_since_ >= config_.commit_interval)
      flush();
  }

  /// Also called by a flush_atom whose batch was closed early: then there is nothing to do, or a
  /// younger batch is committed a little sooner than it had to be.
  void flush() {
    if (group_.empty()) return;
    const auto start = std::chrono::steady_clock::now();
    group_.commit(config_.time->now().wall);
    const bool refused = complain();
    if (config_.meter != nullptr)
      measure(*config_.meter, std::chrono::steady_clock::now() - start, refused);
    for (auto& s : group_.submits)
      self_->send(s.from, done_atom_v, std::move(s.op));
    for (auto& r : group_.reports)
      self_->send(r.from, done_atom_v, std::move(r.op));
    for (auto& e : group_.erases)
      self_->send(e.from, done_atom_v, std::move(e.op));
    for (auto& o : group_.orders)
      self_->send(o.from, done_atom_v, std::move(o.op));
    for (std::size_t i = 0; i < group_.results.size(); ++i) {
      auto& failure = group_.result_failures[i];
      group_.results[i]->done.answer(failure ? result<bool>{tl::unexpected(*failure)}
                                             : result<bool>{true});
    }
    group_.clear();
  }

private:
  void measure(shard_meter& m, std::chrono::duration<double> took, bool refused) {
    m.commit_seconds.add(took.count());
    if (group_.synced() > usec{0})
      m.sync_seconds.add(std::chrono::duration<double>(group_.synced()).count());
    m.commit_operations.add(static_cast<double>(group_.size()));
    if (refused) m.refused.fetch_add(1, std::memory_order_relaxed);
    m.waiting.store(self_->mailbox().size(), std::memory_order_relaxed);
  }

  /// Says once that writes are being refused, and once that they are taken again. Whether this time
  /// some were.
  bool complain() {
    std::optional<error> failure;
    for (auto& s : group_.submits)
      if (s.op->failure) failure = s.op->failure;
    for (auto& r : group_.reports)
      if (r.op->failure) failure = r.op->failure;
    if (failure && !failing_)
      log_of("storage")->error("shard {}: writes are refused: {}", config_.shard, failure->text());
    if (failure) failing_ = true;
    // Reports may go on while submits are refused: only a submit that got through ends the alarm.
    if (!failure && failing_ && !group_.submits.empty()) {
      log_of("storage")->info("shard {}: writes are taken again", config_.shard);
      failing_ = false;
    }
    return failure.has_value();
  }

  shard_writer_actor::pointer self_;
  shard_writer_config config_;
  commit_group group_;
  mono_time gathering_since_{};
  bool failing_ = false;
};

} // namespace

shard_writer_actor::behavior_type shard_writer(shard_writer_actor::pointer self,
                                               shard_writer_config config) {
  auto state = std::make_shared<writer_state>(self, std::move(config));
  return {
      [state](submit_op_ptr& op, project_actor& from) {
        state->gather(std::move(op), std::move(from));
      },
      [state](report_op_ptr& op, project_actor& from) {
        state->gather(std::move(op), std::move(from));
      },
      [state](result_op_ptr& op) { state->gather(std::move(op)); },
      [state](erase_op_ptr& op, project_actor& from) {
        state->gather(std::move(op), std::move(from));
      },
      [state](order_op_ptr& op, project_actor& from) {
        state->gather(std::move(op), std::move(from));
      },
      [state](flush_atom) { state->flush(); },
      [state, self](drain_atom) {
        state->flush();
        self->quit();
      },
  };
}

} // namespace lycosa::actors
