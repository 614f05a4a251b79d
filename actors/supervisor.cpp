#include "actors/supervisor.hpp"

#include "actors/counting.hpp"
#include "actors/log.hpp"
#include "actors/project_events.hpp"
#include "core/counter_line.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <variant>

namespace lycosa::actors {

namespace {

/// How long a project actor must run before its earlier failures are forgiven.
constexpr usec forgive_after = std::chrono::minutes{1};
constexpr usec survey_pause = std::chrono::minutes{1};
constexpr usec deletion_retry = std::chrono::minutes{1};

class supervisor_state {
public:
  supervisor_state(supervisor_actor::pointer self, supervisor_config config)
      : self_(self), config_(std::move(config)) {
    self_->set_down_handler([this](const caf::down_msg& dm) { down(dm); });
    config_.environment.full_bucket = config_.full_buckets;
    for (auto& record : config_.stored) {
      const bool deleting = record.deleting;
      auto& p = start(std::move(record));
      if (deleting)
        drop(p);
      else
        publish(p);
    }
    config_.environment.full_bucket = true;
    config_.stored.clear();
    config_.counters.clear();
    self_->delayed_send(self_, survey_pause, survey_atom_v);
    arm_deletion();
    if (config_.ready) config_.ready();
  }

  // -- changes, one at a time a project ---------------------------------------------------------

  void change(change_project_ptr op) {
    auto name = op->name;
    enqueue(std::move(name), std::move(op));
  }

  void remove(drop_project_ptr op) {
    auto name = op->name;
    enqueue(std::move(name), std::move(op));
  }

  void changed(change_project_ptr& op) {
    if (op->failure) {
      op->done.answer(tl::unexpected(*op->failure));
    } else if (op->created) {
      auto& p = start(op->record);
      publish(p);
      log()->info("project {}: made, {}", p.facts->name, to_string(p.facts->status));
      tell(project_event_kind::added, *p.facts);
      answer(op, p);
    } else {
      auto& p = projects_.at(op->record.id);
      p.facts = std::make_shared<const project_record>(op->record);
      mark(p);
      if (p.actor) self_->send(p.actor, p.facts);
      if (p.actor && op->patch.status) self_->send(p.actor, resume_atom_v);
      publish(p);
      tell(project_event_kind::modified, *p.facts);
      answer(op, p);
    }
    arm_deletion();
    next(op->name);
  }

  void dropped(drop_project_ptr& op) {
    if (op->finally) {
      finished(*op);
      return;
    }
    if (op->failure) {
      op->done.answer(tl::unexpected(*op->failure));
    } else {
      auto& p = projects_.at(op->record.id);
      config_.projects->erase(op->name);
      tell(project_event_kind::removed, *p.facts);
      drop(p);
      log()->info("project {}: being deleted", op->name);
      // Asked after drop_atom: the answer is what is left to delete, and nothing runs any more.
      ask(p, [op](result<project_view> view) {
        std::uint64_t left = 0;
        if (view) {
          const auto& c = view->counts;
          left = static_cast<std::uint64_t>(c.active + c.success + c.failed + c.bad);
        }
        op->done.answer(left);
      });
    }
    next(op->name);
  }

  /// All data of a deleted project is gone.
  void gone(project_id id) {
    auto p = projects_.find(id);
    if (p == projects_.end()) return;
    auto op = std::make_shared<drop_project>();
    op->name = p->second.facts->name;
    op->record = *p->second.facts;
    op->finally = true;
    self_->send(config_.catalog, std::move(op), self_);
  }

  /// The deletion rule: projects that were stopped and marked long enough ago.
  void delete_due() {
    const auto at = config_.environment.time->now();
    if (!deletion_armed_ || at.mono < *deletion_armed_) return; // of a timer that is not wanted now
    deletion_armed_.reset();
    const auto now = at.wall;
    std::vector<project_id> due;
    for (auto i = marked_.begin(); i != marked_.end() && i->first <= now; ++i)
      due.push_back(i->second);
    for (const auto id : due) {
      auto& p = projects_.at(id);
      // Again later, should this one be refused: a full disk, a change that stands before it.
      mark(p, now + deletion_retry);
      if (changes_.contains(p.facts->name)) continue;
      log()->info("project {}: stopped and marked for deletion", p.facts->name);
      auto op = std::make_shared<drop_project>();
      op->name = p.facts->name;
      remove(std::move(op));
    }
    arm_deletion();
  }

  /// The log's line about the last five minutes, each minute while there is something to say.
  void survey() {
    if (draining_) return;
    ask_counters(config_.projects->all(), counter_set::five_minutes, counter_kind::sum,
                 [](result<std::vector<counter_view>> counted) {
                   if (!counted) return;
                   std::vector<std::pair<std::string, event_values>> projects;
                   for (auto& c : *counted)
                     projects.emplace_back(std::move(c.project), c.events);
                   if (const auto line = counter_line(std::move(projects)); !line.empty())
                     log()->info("{}", line);
                 });
    self_->delayed_send(self_, survey_pause, survey_atom_v);
  }

  // -- failures ----------------------------------------------------------------------------------

  void down(const caf::down_msg& dm) {
    auto found = by_address_.find(dm.source);
    if (found == by_address_.end()) return;
    const auto id = found->second;
    by_address_.erase(found);
    auto p = projects_.find(id);
    if (p == projects_.end()) return;
    auto& project = p->second;
    project.actor = nullptr;
    if (draining_) {
      projects_.erase(p);
      finish_draining();
      return;
    }
    const auto now = config_.environment.time->now().mono;
    if (now - project.started > forgive_after) project.restarts = 0;
    project.restarts += 1;
    const auto reason = to_string(dm.reason);
    if (project.restarts > config_.exception_limit) {
      project.failed = "it failed " + std::to_string(project.restarts) + " times: " + reason;
      log()->error("project {}: given up: {}", project.facts->name, project.failed);
      tell(project_event_kind::given_up, *project.facts, project.failed);
    } else {
      log()->error("project {}: failed ({}), restart {} of {}", project.facts->name, reason,
                   project.restarts, config_.exception_limit);
      self_->delayed_send(self_, config_.restart_backoff * (1 << (project.restarts - 1)),
                          wake_atom_v, id);
    }
    if (!project.deleting) publish(project);
  }

  void restart(project_id id) {
    auto p = projects_.find(id);
    if (p == projects_.end() || p->second.actor || draining_) return;
    spawn(p->second);
    // What the failed one counted and had not stored yet; it is nobody else's to remember.
    self_->send(p->second.actor, save_atom_v);
    if (p->second.deleting)
      self_->send(p->second.actor, drop_atom_v);
    else
      publish(p->second);
  }

  // -- the end -----------------------------------------------------------------------------------

  /// Projects first: they end when what they sent to the shards has come back. Then the shards.
  void drain() {
    if (std::exchange(draining_, true)) return;
    config_.projects->clear();
    self_->send(config_.environment.dispatch, drain_atom_v);
    std::vector<project_id> idle;
    for (auto& [id, p] : projects_) {
      if (p.actor)
        self_->send(p.actor, drain_atom_v);
      else
        idle.push_back(id);
    }
    for (auto id : idle)
      projects_.erase(id);
    finish_draining();
  }

private:
  struct project {
    facts_ptr facts;
    project_actor actor;
    mono_time started{};
    std::uint32_t restarts = 0;
    bool deleting = false;
    std::optional<wall_time> due; ///< its place in `marked_`
    std::string failed;
    std::shared_ptr<project_counters> counters;
    std::shared_ptr<project_meter> meter = std::make_shared<project_meter>();
  };
  using queued_op = std::variant<change_project_ptr, drop_project_ptr>;

  static std::shared_ptr<spdlog::logger> log() { return log_of("scheduler"); }

  void tell(project_event_kind what, const project_record& about, std::string why = {}) {
    const auto& env = config_.environment;
    actors::tell(env.events, what, about, env.time->now().wall, std::move(why));
  }

  void enqueue(std::string name, queued_op op) {
    if (draining_) return; // its promise answers `unavailable`
    auto& line = changes_[name];
    line.push_back(std::move(op));
    if (line.size() == 1) begin(name);
  }

  void next(const std::string& name) {
    auto line = changes_.find(name);
    if (line == changes_.end()) return;
    line->second.pop_front();
    if (line->second.empty())
      changes_.erase(line);
    else
      begin(name);
  }

  void begin(const std::string& name) {
    auto op = changes_[name].front();
    const auto refusal = std::visit([this](auto& o) { return send_to_catalog(o); }, op);
    if (!refusal) return;
    std::visit([&](auto& o) { o->done.answer(tl::unexpected(*refusal)); }, op);
    next(name);
  }

  std::optional<error> send_to_catalog(const change_project_ptr& op) {
    if (auto ok = check_project_name(op->name); !ok) return ok.error();
    const auto* known = find(op->name);
    project_record base;
    if (known)
      base = *known->facts;
    else
      base.name = op->name;
    auto patched = apply_patch(std::move(base), op->patch, config_.environment.time->now().wall);
    if (!patched) return patched.error();
    op->created = known == nullptr;
    op->record = std::move(*patched);
    self_->send(config_.catalog, op, self_);
    return std::nullopt;
  }

  std::optional<error> send_to_catalog(const drop_project_ptr& op) {
    const auto* known = find(op->name);
    if (!known) return error{errc::not_found, op->name, "no such project"};
    op->record = *known->facts;
    // What is being deleted keeps its data under its id; the name is free for a new project. `~`
    // cannot be part of a project's name.
    op->record.name = "~" + std::to_string(static_cast<std::uint32_t>(op->record.id));
    self_->send(config_.catalog, op, self_);
    return std::nullopt;
  }

  project* find(std::string_view name) {
    const auto entry = config_.projects->find(name);
    if (!entry) return nullptr;
    auto p = projects_.find(entry->facts->id);
    return p == projects_.end() ? nullptr : &p->second;
  }

  /// A timer for the first that is marked. It looks again each minute at the latest, because the
  /// wall clock may be set while it waits.
  void arm_deletion() {
    if (draining_ || marked_.empty()) return;
    const auto now = config_.environment.time->now();
    const auto in = std::clamp<usec>(marked_.begin()->first - now.wall,
                                     std::chrono::milliseconds{10}, std::chrono::minutes{1});
    if (deletion_armed_ && *deletion_armed_ <= now.mono + in) return;
    deletion_armed_ = now.mono + in;
    self_->delayed_send(self_, in, wake_atom_v);
  }

  /// Notes when the deletion rule applies to a project as it is now, `earliest` at the earliest.
  void mark(project& p, wall_time earliest = wall_time::min()) {
    unmark(p);
    p.due = deletion_due(*p.facts, config_.delete_time);
    if (!p.due) return;
    p.due = std::max(*p.due, earliest);
    marked_.emplace(*p.due, p.facts->id);
  }
  void unmark(project& p) {
    if (p.due) marked_.erase({*p.due, p.facts->id});
    p.due.reset();
  }

  project& start(project_record record) {
    const auto id = record.id;
    auto& p = projects_[id];
    p.facts = std::make_shared<const project_record>(std::move(record));
    mark(p);
    const auto counted = config_.counters.find(id);
    p.counters = counted == config_.counters.end()
                     ? std::make_shared<project_counters>()
                     : std::make_shared<project_counters>(std::move(counted->second));
    spawn(p);
    return p;
  }

  void spawn(project& p) {
    p.started = config_.environment.time->now().mono;
    auto environment = config_.environment;
    environment.counters = p.counters;
    environment.meter = p.meter;
    p.actor =
        self_->spawn(project_behavior, std::move(environment), p.facts, supervisor_actor{self_});
    self_->monitor(p.actor);
    by_address_[caf::actor_cast<caf::actor_addr>(p.actor)] = p.facts->id;
  }

  void publish(const project& p) { config_.projects->put({p.facts, p.actor, p.failed}, p.meter); }

  void drop(project& p) {
    p.deleting = true;
    unmark(p);
    self_->send(config_.environment.dispatch, forget_atom_v, p.facts->id);
    if (p.actor) self_->send(p.actor, drop_atom_v);
  }

  template <class F>
  void ask(const project& p, F&& done) {
    auto query = std::make_shared<project_query>();
    query->done = promise<project_view>{std::forward<F>(done)};
    if (p.actor) self_->send(p.actor, std::move(query));
  }

  void answer(const change_project_ptr& op, const project& p) {
    ask(p, [op](result<project_view> view) {
      if (view)
        op->done.answer(put_project_answer{std::move(*view), op->created});
      else
        op->done.answer(tl::unexpected(view.error()));
    });
  }

  void finished(const drop_project& op) {
    if (op.failure) {
      // The record stays marked as deleting: the next start of the node tries again.
      log()->error("project {}: cannot be forgotten: {}", op.name, op.failure->text());
      return;
    }
    log()->info("project {}: deleted", op.name);
    auto p = projects_.find(op.record.id);
    if (p == projects_.end()) return;
    if (p->second.actor) {
      by_address_.erase(caf::actor_cast<caf::actor_addr>(p->second.actor));
      self_->send(p->second.actor, drain_atom_v);
    }
    projects_.erase(p);
  }

  void finish_draining() {
    if (!projects_.empty()) return;
    auto& env = config_.environment;
    for (auto& w : env.writers)
      self_->send(w, drain_atom_v);
    for (auto& r : env.readers)
      self_->send(r, drain_atom_v);
    self_->send(config_.catalog, drain_atom_v);
    self_->quit();
  }

  supervisor_actor::pointer self_;
  supervisor_config config_;
  std::map<project_id, project> projects_;
  std::map<caf::actor_addr, project_id> by_address_;
  std::map<std::string, std::deque<queued_op>> changes_;
  /// When the deletion rule applies to whom, earliest first: those marked alone, so that a change
  /// of one project looks at no other.
  std::set<std::pair<wall_time, project_id>> marked_;
  std::optional<mono_time> deletion_armed_; ///< when the timer that is wanted fires
  bool draining_ = false;
};

} // namespace

supervisor_actor::behavior_type supervisor(supervisor_actor::pointer self,
                                           supervisor_config config) {
  auto state = std::make_shared<supervisor_state>(self, std::move(config));
  return {
      [state](change_project_ptr& op) { state->change(std::move(op)); },
      [state](drop_project_ptr& op) { state->remove(std::move(op)); },
      [state](done_atom, change_project_ptr& op) { state->changed(op); },
      [state](done_atom, drop_project_ptr& op) { state->dropped(op); },
      [state](forget_atom, project_id id) { state->gone(id); },
      [state](wake_atom) { state->delete_due(); },
      [state](wake_atom, project_id id) { state->restart(id); },
      [state](survey_atom) { state->survey(); },
      [state](drain_atom) { state->drain(); },
  };
}

} // namespace lycosa::actors
