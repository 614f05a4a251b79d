#include "actors/shard_reader.hpp"

#include "actors/log.hpp"
#include "core/messages/crawl_config.hpp"
#include "storage/store.hpp"

#include <algorithm>
#include <string>

namespace lycosa::actors {

namespace {

memory keep(storage::record_batch&& batch) {
  return std::make_shared<storage::record_batch>(std::move(batch));
}

class reader_state {
public:
  reader_state(shard_reader_actor::pointer self, shard_reader_config config)
      : self_(self), config_(std::move(config)) {}

  void load(load_op_ptr& op, const project_actor& from, const dispatcher_actor& to) {
    auto& g = *op->for_grant;
    auto batch = std::make_shared<storage::record_batch>();
    const crawl_config config{g.facts->crawl_config};
    std::vector<task_key> missing;
    std::vector<task_key> keys;
    std::size_t bytes = 0;
    // Positions left empty here are given back to their project by the dispatcher.
    for (std::size_t at = 0; at < op->positions.size() && bytes < answer_bytes; at += load_chunk) {
      const auto end = std::min(op->positions.size(), at + load_chunk);
      keys.clear();
      for (auto i = at; i < end; ++i)
        keys.push_back(g.tokens[op->positions[i]].key);
      auto next = batch->items.size();
      if (auto done = store().load(keys, *batch, &missing); !done) {
        log_of("storage")->error("shard {}: cannot load tasks to hand out: {}", config_.shard,
                                 done.error().text());
        break;
      }
      // `load` keeps the order and leaves out what is missing: walk both lists together.
      for (auto i = at; i < end && next < batch->items.size(); ++i) {
        const auto position = op->positions[i];
        if (batch->items[next].key != g.tokens[position].key) continue;
        hand_over(g, position, batch->items[next].record);
        if (!config.empty()) join(config, g.tasks[position].record, *batch);
        bytes += size_of(batch->items[next].record);
        ++next;
      }
    }
    const auto now = config_.time->now().wall;
    auto lately = std::make_shared<std::vector<active_entry>>();
    const auto first = batch->items.size() - std::min(batch->items.size(), active_per_batch);
    for (auto i = first; i < batch->items.size(); ++i) {
      const auto& t = batch->items[i].record;
      lately->push_back({now, g.facts->name, std::string{t.taskid}, std::string{t.url}, t.status,
                         t.lastcrawltime, t.updatetime, std::string{t.track}});
    }
    if (!lately->empty()) self_->send(from, std::move(lately));
    if (!missing.empty())
      self_->send(from, forget_atom_v, std::make_shared<std::vector<task_key>>(missing));
    op->buffer = std::move(batch);
    self_->send(to, loaded_atom_v, std::move(op));
  }

  void scan(scan_op_ptr& op, const project_actor& from) {
    const bool first = !op->after && !op->below;
    if (first) {
      auto order = store().order_of(op->project);
      if (!order) op->failure = order.error();
      if (order) op->order = *order;
      op->heads = op->heads_will_do && op->order == order_state::complete;
    }
    auto found = op->heads ? store().queue_heads(op->project, op->below, op->limit)
                           : store().scan_active(op->project, op->after, op->limit);
    if (found) {
      take(*found, op->entries);
      if (first) {
        if (auto counts = store().counts(op->project))
          op->counts = *counts;
        else
          op->failure = counts.error();
        const storage::task_ref ref{op->project, op->watch.value_or(task_hash{})};
        if (auto known = op->watch ? store().find({&ref, 1}, {&op->watched, 1}) : result<void>{};
            !known)
          op->failure = known.error();
      }
    } else {
      op->failure = found.error();
    }
    self_->send(from, done_atom_v, std::move(op));
  }

  void read_on(window_op_ptr& op, const project_actor& from) {
    auto found = store().scan_queue(
        op->project, {op->project, op->read.from.key, op->read.from.position}, op->read.limit);
    if (found)
      take(*found, op->entries);
    else
      op->failure = found.error();
    self_->send(from, done_atom_v, std::move(op));
  }

  void find(find_op_ptr& op, const project_actor& from) {
    std::vector<storage::task_ref> refs;
    refs.reserve(op->hashes.size());
    for (const auto& h : op->hashes)
      refs.push_back({op->facts->id, h});
    op->slots.assign(refs.size(), std::nullopt);
    if (auto done = store().find(refs, op->slots); !done) op->failure = done.error();
    self_->send(from, done_atom_v, std::move(op));
  }

  void query(task_query_ptr& op, const facts_ptr& facts, const project_actor& from) {
    const storage::task_ref ref{facts->id, op->hash};
    if (auto done = store().find({&ref, 1}, {&op->slot, 1}); !done) {
      op->failure = done.error();
    } else if (op->slot) {
      storage::record_batch batch;
      if (auto loaded = store().load({&op->slot->key, 1}, batch, nullptr); !loaded) {
        op->failure = loaded.error();
      } else if (batch.items.empty()) {
        op->failure = error{errc::corrupt, "task", "its stored record cannot be read"};
      } else {
        auto buffer = std::make_shared<storage::record_batch>(std::move(batch));
        op->answer.view.record = buffer->items.front().record;
        op->answer.view.record.project = facts->name;
        op->answer.buffers = {buffer, facts};
      }
    }
    self_->send(from, done_atom_v, std::move(op));
  }

  void list(list_tasks_op_ptr& op) {
    const auto want = op->limit - op->page.tasks.size();
    auto found = store().list(op->facts->id, op->status, op->cursor, want);
    if (!found) {
      op->done.answer(tl::unexpected(found.error()));
      return;
    }
    auto next = std::move(found->next);
    for (auto& item : found->items.items) {
      item.record.project = op->facts->name;
      op->page.tasks.push_back(item.record);
    }
    op->page.buffers.push_back(keep(std::move(found->items)));
    if (!go_on(*op, next, op->page.tasks.size())) {
      op->page.buffers.push_back(op->facts);
      op->done.answer(std::move(op->page));
    } else {
      self_->send(config_.next, std::move(op));
    }
  }

  void list(list_results_op_ptr& op) {
    const auto want = op->limit - op->page.results.size();
    auto found = store().list_results(op->project, op->cursor, want);
    if (!found) {
      op->done.answer(tl::unexpected(found.error()));
      return;
    }
    for (auto& r : found->items)
      op->page.results.push_back({std::move(r.taskid), std::move(r.json), r.updatetime});
    if (!go_on(*op, found->next, op->page.results.size()))
      op->done.answer(std::move(op->page));
    else
      self_->send(config_.next, std::move(op));
  }

  void get_result(get_result_op_ptr& op) {
    auto found = store().get_result({op->project, op->hash});
    if (!found)
      op->done.answer(tl::unexpected(found.error()));
    else if (!*found)
      op->done.answer(fail(errc::not_found, "result", "no result is stored for this task"));
    else
      op->done.answer(stored_result{(*found)->taskid, (*found)->json, (*found)->updatetime});
  }

  void stats(stats_op_ptr& op) {
    auto s = store().stats();
    if (!s) {
      op->done.answer(tl::unexpected(s.error()));
      return;
    }
    op->view.shards.push_back({s->tasks, s->active, s->results, s->file_bytes, s->used_bytes,
                               s->map_bytes, s->last_lsn, s->low_space});
    if (config_.next)
      self_->send(config_.next, std::move(op));
    else
      op->done.answer(std::move(op->view));
  }

private:
  /// A lease answer holds about this many bytes of tasks a shard, however many were asked for.
  static constexpr std::size_t answer_bytes = std::size_t{16} << 20;
  static constexpr std::size_t load_chunk = 64;

  static void take(const std::vector<storage::active_entry>& found, std::vector<queue_entry>& to) {
    to.reserve(found.size());
    for (const auto& e : found)
      to.push_back({e.key, e.position});
  }

  static std::size_t size_of(const task& t) {
    return t.url.size() + t.fetch.size() + t.process.size() + t.track.size();
  }

  static void hand_over(grant& g, std::uint32_t position, const task& record) {
    auto& slot = g.tasks[position];
    slot.record = record;
    slot.record.project = g.facts->name;
    // The record may have been restarted since it was chosen: its generation is what counts.
    g.tokens[position].generation = record.generation;
    slot.lease = to_text(g.tokens[position]);
    slot.group = g.facts->group;
    slot.project_md5sum = g.facts->script_md5;
    slot.project_updatetime = g.facts->updatetime;
  }

  static void join(const crawl_config& config, task& t, storage::record_batch& batch) {
    std::string joined;
    const auto keep = [&] {
      auto* at = reinterpret_cast<char*>(batch.allocate(joined.size()));
      std::ranges::copy(joined, at);
      return std::string_view{at, joined.size()};
    };
    if (config.join_fetch(t.fetch, joined)) t.fetch = keep();
    if (config.join_process(t.process, joined)) t.process = keep();
  }

  storage::shard_store& store() { return *config_.store; }

  /// Sets the page's cursor, or prepares `op` for the next shard. A cursor is `shard:inner`.
  template <class Op>
  bool go_on(Op& op, const std::string& next, std::size_t have) {
    if (!next.empty()) {
      op.page.next = std::to_string(config_.shard) + ':' + next;
      return false;
    }
    if (!config_.next) return false;
    if (have >= op.limit) {
      op.page.next = std::to_string(config_.shard + 1) + ':';
      return false;
    }
    op.cursor.clear();
    return true;
  }

  shard_reader_actor::pointer self_;
  shard_reader_config config_;
};

} // namespace

shard_reader_actor::behavior_type shard_reader(shard_reader_actor::pointer self,
                                               shard_reader_config config) {
  auto state = std::make_shared<reader_state>(self, std::move(config));
  return {
      [state](load_op_ptr& op, const project_actor& from, const dispatcher_actor& to) {
        state->load(op, from, to);
      },
      [state](scan_op_ptr& op, const project_actor& from) { state->scan(op, from); },
      [state](window_op_ptr& op, const project_actor& from) { state->read_on(op, from); },
      [state](find_op_ptr& op, const project_actor& from) { state->find(op, from); },
      [state](task_query_ptr& op, const facts_ptr& facts, const project_actor& from) {
        state->query(op, facts, from);
      },
      [state](list_tasks_op_ptr& op) { state->list(op); },
      [state](list_results_op_ptr& op) { state->list(op); },
      [state](get_result_op_ptr& op) { state->get_result(op); },
      [state](stats_op_ptr& op) { state->stats(op); },
      [self](drain_atom) { self->quit(); },
  };
}

} // namespace lycosa::actors
