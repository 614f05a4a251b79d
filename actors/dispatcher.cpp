#include "actors/dispatcher.hpp"

#include "actors/log.hpp"
#include "core/fairness.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lycosa::actors {

namespace {

/// A consumer's request until it is answered.
struct waiting {
  ticket_ptr request;
  std::uint32_t free = 0;   ///< credit not yet given to a project
  std::uint32_t grants = 0; ///< given out, not come back
  std::uint32_t loads = 0;  ///< bodies on their way
  std::vector<grant_ptr> got;
  std::vector<memory> buffers;
  std::size_t tasks = 0;
  mono_time deadline{};
  bool gone = false;   ///< cancelled: whatever still comes goes back
  bool queued = false; ///< stands in line

  [[nodiscard]] bool idle() const { return grants == 0 && loads == 0; }
};

class dispatcher_state {
public:
  dispatcher_state(dispatcher_actor::pointer self, clock_ptr time)
      : self_(self), time_(std::move(time)) {
    self_->set_down_handler([this](const caf::down_msg& dm) { project_down(dm.source); });
  }

  // -- consumers ---------------------------------------------------------------------------------

  void arrive(ticket_ptr t) {
    const auto id = t->id;
    auto& w = waiting_[id];
    w.free = t->request.max;
    w.deadline = time_->now().mono + t->request.wait;
    w.request = std::move(t);
    deadlines_.emplace(w.deadline, id);
    match(id, w);
    settle(id);
    if (waiting_.contains(id)) arm();
  }

  void cancel(std::uint64_t id) {
    auto found = waiting_.find(id);
    if (found == waiting_.end()) return;
    found->second.gone = true;
    leave_line(id, found->second);
    settle(id);
  }

  void wake() {
    armed_ = mono_time::max();
    const auto now = time_->now().mono;
    std::vector<std::uint64_t> due;
    for (auto i = deadlines_.begin(); i != deadlines_.end() && i->first <= now; ++i)
      due.push_back(i->second);
    deadlines_.erase(deadlines_.begin(), deadlines_.upper_bound(now));
    for (auto id : due)
      settle(id);
    arm();
  }

  // -- projects ----------------------------------------------------------------------------------

  void hungry(project_id id, project_actor who) {
    auto [p, fresh] = projects_.try_emplace(id);
    if (fresh || p->second.actor != who) {
      self_->monitor(who);
      by_address_[caf::actor_cast<caf::actor_addr>(who)] = id;
      p->second.actor = std::move(who);
    }
    if (p->second.out) return; // it says `more` when the grant comes back
    offer(id);
  }

  void granted(const grant_ptr& g) {
    auto p = projects_.find(g->project);
    if (p == projects_.end() || p->second.out != g) return; // given up for lost before
    p->second.out = nullptr;
    auto w = waiting_.find(g->ticket);
    if (w != waiting_.end()) {
      auto& wait = w->second;
      wait.grants -= 1;
      wait.loads += g->loads;
      wait.free += g->credit - static_cast<std::uint32_t>(g->tokens.size() + g->messages.size());
      wait.tasks += g->messages.size();
      if (!g->tokens.empty() || !g->messages.empty()) wait.got.push_back(g);
      // This consumer first, elsewhere; what the project has left goes to who waits longest.
      if (!wait.gone) match(g->ticket, wait);
    }
    if (g->more) offer(g->project);
    settle(g->ticket);
  }

  void loaded(load_op& op) {
    auto& g = *op.for_grant;
    auto w = waiting_.find(g.ticket);
    if (w == waiting_.end()) return;
    w->second.loads -= 1;
    w->second.buffers.push_back(std::move(op.buffer));
    for (auto p : op.positions)
      if (!g.tasks[p].lease.empty()) w->second.tasks += 1;
    if (w->second.loads == 0 && w->second.tasks == 0 && !w->second.gone) {
      // Everything chosen had vanished from the store: the credit is as good as new.
      give_back_all(w->second);
      w->second.free = w->second.request->request.max;
      match(g.ticket, w->second);
    }
    settle(g.ticket);
  }

  /// A project has ended. A grant it still had is given up: its credit is free again.
  void forget(project_id id) {
    ring_.remove(id);
    auto p = projects_.find(id);
    if (p == projects_.end()) return;
    by_address_.erase(caf::actor_cast<caf::actor_addr>(p->second.actor));
    const auto out = std::move(p->second.out);
    projects_.erase(p);
    if (!out) return;
    if (auto w = waiting_.find(out->ticket); w != waiting_.end()) {
      w->second.grants -= 1;
      w->second.free += out->credit;
      if (!w->second.gone) match(out->ticket, w->second);
      settle(out->ticket);
    }
  }

  void project_down(const caf::actor_addr& who) {
    if (auto found = by_address_.find(who); found != by_address_.end()) forget(found->second);
  }

  void drain() {
    std::vector<std::uint64_t> ids;
    for (auto& [id, w] : waiting_)
      ids.push_back(id);
    for (auto id : ids) {
      auto& w = waiting_[id];
      give_back_all(w);
      w.request->done.answer(lease_answer{});
    }
    waiting_.clear();
    self_->quit();
  }

private:
  struct known_project {
    project_actor actor;
    grant_ptr out;               ///< the grant it is working on
    std::uint64_t last_turn = 0; ///< when it was last given a grant, counted in grants
  };

  /// Gives credit of one consumer to hungry projects, in rotation.
  void match(std::uint64_t id, waiting& w) {
    if (w.request->projects.empty()) {
      while (w.free > 0) {
        const auto next = ring_.next(w.free);
        if (!next) break;
        ring_.remove(next->project);
        give(id, w, next->project, next->quantum);
      }
    } else {
      const auto& wanted = w.request->projects;
      std::vector<project_id> ready;
      for (auto p : wanted)
        if (ring_.contains(p)) ready.push_back(p);
      // Whose last turn is longest ago comes first, whoever was served in it.
      std::sort(ready.begin(), ready.end(), [this](project_id a, project_id b) {
        return projects_[a].last_turn < projects_[b].last_turn;
      });
      for (std::size_t i = 0; i < ready.size() && w.free > 0; ++i) {
        const auto share =
            std::max<std::uint32_t>(1, w.free / static_cast<std::uint32_t>(ready.size() - i));
        ring_.remove(ready[i]);
        give(id, w, ready[i], share);
      }
    }
    if (w.free > 0 && !w.gone && !w.queued) stand_in_line(id, w);
  }

  /// A project can hand out something: to the consumer that has waited longest, else it waits.
  void offer(project_id p) {
    if (const auto id = longest_waiting(p)) {
      auto& w = waiting_[*id];
      give(*id, w, p, w.free);
    } else {
      ring_.add(p);
    }
  }

  void give(std::uint64_t id, waiting& w, project_id p, std::uint32_t credit) {
    auto found = projects_.find(p);
    if (found == projects_.end()) return;
    auto g = std::make_shared<grant>();
    g->ticket = id;
    g->consumer = w.request->request.consumer;
    g->credit = credit;
    g->project = p;
    found->second.out = g;
    found->second.last_turn = ++turns_;
    w.free -= credit;
    w.grants += 1;
    if (w.free == 0) leave_line(id, w);
    // Past whatever lists of tasks and reports wait there: however many come, a consumer waits for
    // the message that the project is at and no other.
    self_->send<caf::message_priority::high>(found->second.actor, g);
  }

  // A consumer stands in line exactly while it has credit left and has not gone. Ids grow with
  // arrival, so an ordered set of them is a queue that can be left from the middle.

  void stand_in_line(std::uint64_t id, waiting& w) {
    w.queued = true;
    if (w.request->projects.empty()) line_.insert(id);
    for (auto p : w.request->projects)
      lines_[p].insert(id);
  }

  void leave_line(std::uint64_t id, waiting& w) {
    if (!std::exchange(w.queued, false)) return;
    line_.erase(id);
    for (auto p : w.request->projects) {
      auto line = lines_.find(p);
      if (line == lines_.end()) continue;
      line->second.erase(id);
      if (line->second.empty()) lines_.erase(line);
    }
  }

  std::optional<std::uint64_t> longest_waiting(project_id p) {
    std::optional<std::uint64_t> best;
    if (!line_.empty()) best = *line_.begin();
    if (auto own = lines_.find(p); own != lines_.end())
      best = best ? std::min(*best, *own->second.begin()) : *own->second.begin();
    return best;
  }

  /// Answers a consumer if there is something to say: tasks are there and none are on their way,
  /// or its time is up, or it has gone.
  void settle(std::uint64_t id) {
    auto found = waiting_.find(id);
    if (found == waiting_.end()) return;
    auto& w = found->second;
    if (!w.idle()) return;
    if (w.gone) {
      give_back_all(w);
    } else if (w.tasks == 0 && time_->now().mono < w.deadline) {
      return;
    } else {
      answer(w);
    }
    if (auto range = deadlines_.equal_range(w.deadline); range.first != range.second) {
      for (auto i = range.first; i != range.second; ++i) {
        if (i->second == id) {
          deadlines_.erase(i);
          break;
        }
      }
    }
    leave_line(id, w);
    waiting_.erase(found);
  }

  void answer(waiting& w) {
    lease_answer all;
    all.tasks.reserve(w.tasks);
    for (auto& g : w.got) {
      for (auto& m : g->messages)
        all.buffers.push_back(std::move(m.buffer));
      for (auto& t : g->handed_over)
        all.tasks.push_back(std::move(t));
      std::vector<lease_token> empty;
      for (std::size_t i = 0; i < g->tasks.size(); ++i) {
        if (g->tasks[i].lease.empty())
          empty.push_back(g->tokens[i]);
        else
          all.tasks.push_back(std::move(g->tasks[i]));
      }
      give_back(g->project, std::move(empty), {});
      all.buffers.push_back(g->facts);
    }
    for (auto& b : w.buffers)
      all.buffers.push_back(std::move(b));
    w.request->done.answer(std::move(all));
  }

  void give_back_all(waiting& w) {
    for (auto& g : w.got)
      give_back(g->project, g->tokens, std::move(g->messages));
    w.got.clear();
  }

  void give_back(project_id p, std::vector<lease_token> tokens, std::vector<message> messages) {
    auto found = projects_.find(p);
    if ((tokens.empty() && messages.empty()) || found == projects_.end()) return;
    auto op = std::make_shared<undo_op>();
    op->tokens = std::move(tokens);
    op->messages = std::move(messages);
    self_->send(found->second.actor, undo_atom_v, std::move(op));
  }

  /// One timer, for the earliest deadline.
  void arm() {
    if (deadlines_.empty() || deadlines_.begin()->first >= armed_) return;
    armed_ = deadlines_.begin()->first;
    const auto in = std::max(armed_ - time_->now().mono, usec{0});
    self_->delayed_send(self_, in, wake_atom_v);
  }

  dispatcher_actor::pointer self_;
  clock_ptr time_;
  std::map<std::uint64_t, waiting> waiting_;
  std::multimap<mono_time, std::uint64_t> deadlines_;
  std::set<std::uint64_t> line_; ///< consumers of all projects, longest waiting first
  std::unordered_map<project_id, std::set<std::uint64_t>> lines_; ///< of particular projects
  std::unordered_map<project_id, known_project> projects_;
  std::unordered_map<caf::actor_addr, project_id> by_address_;
  fair_rotation ring_; ///< hungry projects nobody is asking right now
  std::uint64_t turns_ = 0;
  mono_time armed_ = mono_time::max();
};

} // namespace

dispatcher_actor::behavior_type dispatcher(dispatcher_actor::pointer self, clock_ptr time) {
  auto state = std::make_shared<dispatcher_state>(self, std::move(time));
  return {
      [state](ticket_ptr& t) { state->arrive(std::move(t)); },
      [state](cancel_atom, std::uint64_t id) { state->cancel(id); },
      [state](hungry_atom, project_id id, project_actor& who) {
        state->hungry(id, std::move(who));
      },
      [state](granted_atom, const grant_ptr& g) { state->granted(g); },
      [state](loaded_atom, load_op_ptr& op) { state->loaded(*op); },
      [state](forget_atom, project_id id) { state->forget(id); },
      [state](wake_atom) { state->wake(); },
      [state](drain_atom) { state->drain(); },
  };
}

} // namespace lycosa::actors
