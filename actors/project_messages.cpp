#include "actors/log.hpp"
#include "actors/project_events.hpp"
#include "actors/project_state.hpp"
#include "core/messages/crawl_config.hpp"
#include "core/messages/info_reply.hpp"

#include <algorithm>
#include <iterator>

namespace lycosa::actors {

namespace {

/// Messages of clients that wait for a consumer; more are refused.
constexpr std::size_t most_sent = 1000;

/// The texts of a message that is made here.
struct made_message {
  std::string fetch;
  std::string process;
};

} // namespace

// -- from clients --------------------------------------------------------------------------------

void project_state::send(send_op& op) {
  const auto waiting = std::ranges::count(outbox_, message::kind::sent, &message::what);
  if (phase_ == phase::deleting || draining_) {
    op.done.answer(fail(errc::unavailable, "send_task", std::string{closed()}));
  } else if (static_cast<std::size_t>(waiting) >= most_sent) {
    op.done.answer(fail(errc::unavailable, "send_task",
                        std::to_string(waiting) + " messages wait for a consumer already"));
  } else {
    outbox_.push_back(std::move(op.what));
    settle_down(); // before the answer: a client that then asks for a lease gets it
    op.done.answer(true);
  }
}

// -- get-info and ticks --------------------------------------------------------------------------

void project_state::note_facts(instant at) {
  retention_.set(facts_->retain, at.mono);
  const bool runs = dispatches(facts_->status);
  const bool asked = info_.pending();
  info_.set(runs && !facts_->script.empty(), facts_->script_md5, facts_->info_md5, at.mono);
  if (asked && !info_.pending())
    std::erase_if(outbox_, [](const message& m) { return m.what == message::kind::info; });
  ticks_.set(runs && !info_.blocks(at.mono), facts_->min_tick, at.wall);
  if (!runs) std::erase_if(outbox_, [](const message& m) { return m.what == message::kind::tick; });
}

void project_state::look_at_messages(instant at) {
  if (phase_ != phase::running || draining_) return;
  ticks_.set(dispatches(facts_->status) && !info_.blocks(at.mono), facts_->min_tick, at.wall);
  if (info_.ask(at.mono)) outbox_.push_back(make_message(message::kind::info, 0));
  auto due = ticks_.take(at.wall);
  for (auto second : due.seconds)
    outbox_.push_back(make_message(message::kind::tick, second));
  // Nobody may have come for them: what waits is bounded like what is made up for.
  const auto oldest =
      std::chrono::floor<std::chrono::seconds>(
          (at.wall - std::max<usec>(env_.tick_catch_up, facts_->min_tick)).time_since_epoch())
          .count();
  due.missed += std::erase_if(outbox_, [&](const message& m) {
    return m.what == message::kind::tick && m.second <= oldest;
  });
  if (due.missed > 0)
    log_of("scheduler")
        ->warn("project {}: {} ticks were missed, nobody took them in time", facts_->name,
               due.missed);
}

std::optional<mono_time> project_state::next_message(instant at) const {
  if (phase_ != phase::running || draining_) return std::nullopt;
  auto next = info_.next(at.mono);
  const auto sooner = [&](std::optional<mono_time> t) {
    if (t && (!next || *t < *next)) next = t;
  };
  if (const auto tick = ticks_.next()) sooner(look_at(*tick, at));
  if (const auto finish = drain_.next()) sooner(finish);
  // Whoever still has tasks for us does not tell when that ends.
  if (drain_.armed() && env_.inputs->load() > 0 && nothing_queued())
    sooner(at.mono + std::max<usec>(env_.finish_delay, std::chrono::milliseconds{100}));
  return next;
}

std::vector<message> project_state::take_messages(std::size_t credit, instant at) {
  std::vector<message> taken;
  if (phase_ != phase::running || draining_) return taken;
  const auto n = static_cast<std::ptrdiff_t>(std::min(credit, outbox_.size()));
  std::move(outbox_.begin(), outbox_.begin() + n, std::back_inserter(taken));
  outbox_.erase(outbox_.begin(), outbox_.begin() + n);
  for (const auto& m : taken)
    if (m.what == message::kind::info) info_.handed_out(at.mono);
  return taken;
}

message project_state::make_message(message::kind what, std::int64_t second) const {
  const bool info = what == message::kind::info;
  auto texts = std::make_shared<made_message>();
  texts->fetch =
      info ? std::string{info_attributes} : "{\"save\":{\"tick\":" + std::to_string(second) + "}}";
  texts->process = info ? R"({"callback":"_on_get_info"})" : R"({"callback":"_on_cronjob"})";
  message m;
  m.what = what;
  m.second = second;
  m.record.taskid = info ? get_info_id : tick_id;
  m.record.url = info ? "data:,_on_get_info" : "data:,_on_cronjob";
  m.record.status = task_status::success; // as pyspider's: nothing to crawl
  const crawl_config config{facts_->crawl_config};
  std::string joined;
  if (!info && config.join_fetch(texts->fetch, joined)) texts->fetch = joined;
  m.record.fetch = texts->fetch;
  m.record.process = texts->process;
  m.buffer = std::move(texts);
  return m;
}

leased_task project_state::hand_over(const message& m) const {
  leased_task t;
  t.record = m.record;
  t.record.project = facts_->name;
  t.group = facts_->group;
  t.project_md5sum = facts_->script_md5;
  t.project_updatetime = facts_->updatetime;
  return t;
}

void project_state::answered_info(report_part& part, const report_item& item) {
  auto patch = read_info_reply(item.pack.track);
  if (!patch) {
    // It stays open and is asked again: the script may be mended meanwhile.
    log_of("scheduler")
        ->warn("project {}: its answer to _on_get_info is not usable: {}", facts_->name,
               patch.error().text());
    reject(part, item, patch.error().text());
    return;
  }
  part.answer.done += 1;
  auto op = std::make_shared<change_project>();
  op->name = facts_->name;
  op->patch = std::move(*patch);
  op->patch.info_md5 = info_.pending() ? info_.script() : facts_->script_md5;
  self_->send(parent_, std::move(op));
}

// -- on_finished ---------------------------------------------------------------------------------

/// After a restart of the node: has the project run dry since the last `on_finished`? Told by the
/// store: something was settled later than it.
void project_state::remember_finished(const scan_op& op) {
  if (op.watch && op.watched) finished_key_ = op.watched->key;
  if (op.watch) finished_ = op.watched;
  last_settled_ = std::max(last_settled_, op.counts.last_settled);
  if (++scanned_shards_ < shards()) return;
  const bool queued = finished_ && finished_->status == task_status::active;
  const auto since = finished_ ? finished_->lastcrawltime : wall_time{};
  if (!queued && last_settled_ > since) drain_.selected();
}

bool project_state::drained() const {
  return at_work() && dispatches(facts_->status) && !facts_->script.empty()
         && !info_.blocks(now().mono) && nothing_queued() && incoming_ == 0 && held_reports_.empty()
         && !finishing_ && env_.inputs->load() == 0;
}

void project_state::finish_if_drained(instant at) {
  if (drain_.due(drained(), at.mono)) queue_on_finished();
}

void project_state::queue_on_finished() {
  auto part = std::make_shared<submit_part>();
  submit_item item;
  item.record.taskid = on_finished_id;
  item.record.url = "data:,on_finished";
  item.record.process = R"({"callback":"on_finished"})";
  item.record.sched.age = usec{0};
  item.record.sched.priority = 9;
  item.record.sched.force_update = true;
  part->buffer = facts_;
  item.record.project = facts_->name;
  part->items.push_back(item);
  finishing_ = part;
  submit(std::move(part));
}

void project_state::queued_on_finished(const submit_op& op) {
  finishing_.reset();
  if (op.failure || op.outcomes.empty() || !op.outcomes.front().error.empty())
    return drain_.again(); // tried again as long as the project stays dry
  finished_key_ = op.outcomes.front().key;
  tell(env_.events, project_event_kind::finished, *facts_, now().wall);
}

} // namespace lycosa::actors
