#include "actors/project_state.hpp"

#include <algorithm>

namespace lycosa::actors {

void project_state::hand_out(const grant_ptr& g) {
  const auto at = now();
  queue_.expire(at);
  queue_.check_due(at.wall);
  look_at_messages(at);
  g->messages = take_messages(g->credit, at);
  std::uint64_t n = 0;
  if (closed().empty()) {
    n = std::min<std::uint64_t>(g->credit - g->messages.size(), queue_.ready());
    n = bucket_.take(n, at.mono);
  }
  const auto consumer = n > 0 ? std::make_shared<const std::string>(g->consumer) : nullptr;
  g->facts = facts_;
  g->tokens.reserve(n);
  std::vector<load_op_ptr> loads(shards());
  auto earliest = at.wall;
  for (std::uint32_t i = 0; i < n; ++i) {
    // A better one is on its way from the disk.
    if (blocked(at)) break;
    const auto lease = queue_.lease(at, env_.processing_timeout, consumer);
    if (!lease) break; // cannot be: ready() said there is one
    touch(lease->key);
    earliest = std::min(earliest, lease->due);
    if (lease->key != finished_key_) drain_.selected();
    // The generation is filled in by the shard reader, from the record it hands over.
    g->tokens.push_back({facts_->id, lease->key, lease->number, 0, epoch_of(lease->key)});
    auto& load = loads[lease->key.shard()];
    if (!load) {
      load = std::make_shared<load_op>();
      load->for_grant = g;
      g->loads += 1;
    }
    load->positions.push_back(i);
  }
  if (!g->tokens.empty())
    env_.meters->lateness.add(std::chrono::duration<double>(at.wall - earliest).count(),
                              g->tokens.size());
  if (g->tokens.size() < n) bucket_.give_back(n - g->tokens.size());
  env_.meter->last_lease.store(queue_.last_lease(), std::memory_order_relaxed);
  g->tasks.resize(g->tokens.size());
  for (const auto& m : g->messages)
    g->handed_over.push_back(hand_over(m));
  g->more = can_give(at);
  hungry_ = g->more;
  // First this, then the loads: the dispatcher must know of a grant's bodies before they come.
  self_->send(env_.dispatch, granted_atom_v, g);
  for (std::size_t s = 0; s < loads.size(); ++s)
    if (loads[s])
      self_->send(env_.readers[s], std::move(loads[s]), project_actor{self_}, env_.dispatch);
  settle_down();
}

void project_state::undo(undo_op& op) {
  const auto at = now();
  for (auto m = op.messages.rbegin(); m != op.messages.rend(); ++m)
    outbox_.push_front(std::move(*m));
  for (const auto& token : op.tokens) {
    if (!queue_.holds(token, epoch_of(token.key))) continue;
    queue_.release(token.key, usec{0}, at.wall);
    bucket_.give_back(1);
  }
  settle_down();
}

/// Their records are gone or unreadable: without a record a task can never be handed out.
void project_state::forget(const std::vector<task_key>& keys) {
  for (auto key : keys)
    queue_.erase(key);
  settle_down();
}

void project_state::change_leases(leases_part& part) {
  const auto at = now();
  leases_answer answer;
  for (const auto& item : part.items) {
    const auto& token = item.token;
    bool done = token.key.shard() < shards() && queue_.holds(token, epoch_of(token.key));
    if (done) {
      done = part.extend ? queue_.extend(token.key, at, part.amount)
                         : queue_.release(token.key, part.amount, at.wall);
    }
    if (done)
      answer.changed += 1;
    else
      answer.rejected.push_back({item.index, "", "stale lease"});
  }
  settle_down();
  part.promise.answer(std::move(answer));
}

} // namespace lycosa::actors
