#include "actors/log.hpp"
#include "actors/supervisor.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace lycosa::actors {

namespace {

constexpr std::string_view counters_space = "counters";
constexpr std::size_t counters_page = 1000;
constexpr usec shortest_pause = std::chrono::seconds{1};
constexpr int idle_share = 20; ///< writing counters takes at most a twentieth of the time

std::string blob_name(project_id id) {
  return std::to_string(static_cast<std::uint32_t>(id));
}

class catalog_state {
public:
  catalog_state(catalog_actor::pointer self, storage::catalog_store* store, clock_ptr time)
      : self_(self), store_(store), time_(std::move(time)) {}

  // -- projects: those whose changes wait together are written together -------------------------

  void change(change_project_ptr& op, const supervisor_actor& from) {
    if (changes_.empty()) self_->send(self_, commit_atom_v);
    changes_.push_back({std::move(op), from});
  }

  void commit() {
    auto changes = std::exchange(changes_, {});
    if (changes.empty()) return;
    std::vector<project_record> records;
    records.reserve(changes.size());
    for (const auto& c : changes)
      records.push_back(c.op->record);
    auto stored = store_->put_projects(std::move(records));
    for (std::size_t i = 0; i < changes.size(); ++i) {
      auto& c = changes[i];
      // One that cannot be stored must not take the others along.
      if (stored)
        c.op->record = std::move((*stored)[i]);
      else if (auto alone = store_->put_project(c.op->record))
        c.op->record = std::move(*alone);
      else
        c.op->failure = alone.error();
      self_->send(c.from, done_atom_v, std::move(c.op));
    }
  }

  void drop(drop_project_ptr& op, const supervisor_actor& from) {
    commit(); // what came before goes before
    if (op->finally) {
      batch_.erase(blob_name(op->record.id)); // written later, it would stay for ever
      auto done = store_->put_blobs(counters_space, {{blob_name(op->record.id), {}}});
      if (done) done = store_->erase_project(op->record.id);
      if (!done) op->failure = done.error();
    } else {
      op->record.deleting = true;
      if (auto stored = store_->put_project(op->record); !stored) op->failure = stored.error();
    }
    self_->send(from, done_atom_v, std::move(op));
  }

  // -- counters: told that they have changed, asked for, gathered, written --------------------

  void changed(project_actor who) {
    if (changed_.empty()) self_->delayed_send(self_, pause_, wake_atom_v);
    changed_.push_back(std::move(who));
  }

  void ask() {
    for (auto& who : std::exchange(changed_, {}))
      self_->send(who, save_atom_v);
  }

  void gather(counters_op& op) {
    if (!std::exchange(flushing_, true)) self_->send(self_, flush_atom_v);
    batch_[blob_name(op.project)] = std::move(op.bytes);
  }

  void write() {
    flushing_ = false;
    if (batch_.empty()) return;
    const auto began = time_->now().mono;
    const auto done = store_->put_blobs(counters_space, {batch_.begin(), batch_.end()});
    if (done) batch_.clear(); // else it goes along with the next
    if (!done && !failing_)
      log_of("storage")->warn("counters cannot be stored: {}", done.error().text());
    failing_ = !done;
    pause_ = std::max<usec>(shortest_pause, idle_share * (time_->now().mono - began));
  }

  void drain() {
    commit();
    write();
    self_->quit();
  }

private:
  struct asked_change {
    change_project_ptr op;
    supervisor_actor from;
  };

  catalog_actor::pointer self_;
  storage::catalog_store* store_;
  clock_ptr time_;
  std::vector<asked_change> changes_;
  std::vector<project_actor> changed_;
  std::map<std::string, std::string> batch_; ///< blobs to write, by name
  bool flushing_ = false;
  usec pause_ = shortest_pause;
  bool failing_ = false;
};

} // namespace

result<std::map<project_id, project_counters>> read_counters(storage::catalog_store& store) {
  std::map<project_id, project_counters> all;
  std::string after;
  for (;;) {
    auto page = store.scan_blobs(counters_space, after, counters_page);
    if (!page) return tl::unexpected(page.error());
    for (const auto& [name, bytes] : *page) {
      std::uint32_t id = 0;
      std::from_chars(name.data(), name.data() + name.size(), id);
      if (auto counters = project_counters::restore(bytes))
        all.emplace(project_id{id}, std::move(*counters));
      else
        log_of("storage")->warn("the counters of project number {} cannot be read", name);
    }
    if (page->size() < counters_page) return all;
    after = page->back().first;
  }
}

catalog_actor::behavior_type catalog(catalog_actor::pointer self, storage::catalog_store* store,
                                     clock_ptr time) {
  auto state = std::make_shared<catalog_state>(self, store, std::move(time));
  return {
      [state](change_project_ptr& op, const supervisor_actor& from) { state->change(op, from); },
      [state](drop_project_ptr& op, const supervisor_actor& from) { state->drop(op, from); },
      [state](commit_atom) { state->commit(); },
      [state](save_atom, project_actor& who) { state->changed(std::move(who)); },
      [state](counters_op_ptr& op) { state->gather(*op); },
      [state](wake_atom) { state->ask(); },
      [state](flush_atom) { state->write(); },
      [state](drain_atom) { state->drain(); },
  };
}

} // namespace lycosa::actors
