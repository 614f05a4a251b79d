#include "actors/project_state.hpp"

#include <algorithm>

namespace lycosa::actors {

void project_state::describe(project_query& query) {
  const auto at = now();
  queue_.check_due(at.wall);
  project_view view;
  view.record = *facts_;
  view.paused = facts_->status == project_status::paused || pause_.paused();
  view.ready = queue_.ready();
  view.delayed = queue_.delayed();
  view.processing = queue_.processing();
  if (!window_.whole()) view.on_disk = queued() - queue_.size();
  view.counts = states();
  view.refused = refused_;
  view.counters.five_minutes_time = env_.counters->times(counter_kind::avg, at.wall);
  view.counters.five_minutes =
      env_.counters->read(counter_window::five_minutes, counter_kind::sum, at.wall);
  view.counters.hour = env_.counters->read(counter_window::hour, counter_kind::sum, at.wall);
  view.counters.day = env_.counters->read(counter_window::day, counter_kind::sum, at.wall);
  view.counters.all = totals(view.counts);
  view.counters.handled = env_.counters->handled(at.wall);
  const auto why = closed();
  if (!why.empty()) {
    view.gate = why;
    if (pause_.paused())
      if (const auto change = pause_.next_change()) {
        view.next_at = at.wall + (*change - at.mono);
        if (why == paused_by_failures) view.gate = pause_text(*view.next_at);
      }
  } else if (blocked(at)) {
    view.gate = "its next tasks are being read from disk";
  } else if (queue_.ready() > 0) {
    if (bucket_.available(at.mono) < 1) {
      view.gate = "rate";
      if (const auto token = bucket_.next_token_at(at.mono))
        view.next_at = at.wall + (*token - at.mono);
    }
  } else if (const auto due = queue_.next_due()) {
    view.gate = "delayed";
    view.next_at = *due;
  } else {
    view.gate = queue_.processing() > 0 ? "all tasks are handed out" : "nothing is queued";
  }
  query.done.answer(std::move(view));
}

void project_state::happened(std::vector<active_entry>& entries) {
  for (auto& e : entries)
    active_.push_front(std::move(e));
  while (active_.size() > env_.active_tasks)
    active_.pop_back();
}

void project_state::describe_active(active_query& query) {
  const auto n = std::min(query.limit, active_.size());
  query.done.answer(
      std::vector<active_entry>(active_.begin(), active_.begin() + static_cast<std::ptrdiff_t>(n)));
}

void project_state::describe_task(task_query_ptr query) {
  const auto shard = shard_of(query->hash, shards());
  self_->send(env_.readers[shard], std::move(query), facts_, project_actor{self_});
}

void project_state::described_task(task_query& query) {
  if (query.failure) {
    query.done.answer(tl::unexpected(*query.failure));
    return;
  }
  if (!query.slot || query.answer.view.record.taskid != query.taskid) {
    query.done.answer(fail(errc::not_found, "task", "no such task in this project"));
    return;
  }
  auto& view = query.answer.view;
  queue_.check_due(now().wall);
  if (const auto state = queue_.state_of(query.slot->key)) {
    switch (state->state) {
    case queue_state::ready:
      view.state = "ready";
      break;
    case queue_state::delayed:
      view.state = "delayed";
      view.due = state->position.due;
      break;
    case queue_state::processing:
    case queue_state::settling:
      view.state = "processing";
      view.due = state->deadline;
      view.consumer = state->consumer;
      break;
    }
  } else if (query.slot->status == task_status::active && may_be_on_disk(query.slot->key)) {
    view.state = "on_disk";
  }
  query.done.answer(std::move(query.answer));
}

} // namespace lycosa::actors
