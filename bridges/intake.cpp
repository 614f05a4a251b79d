#include "bridges/intake.hpp"

#include "actors/wait_for.hpp"

#include "bridges/queue_items.hpp"
#include <spdlog/spdlog.h>

namespace lycosa::bridges {

namespace {

constexpr int most_logged = 10; ///< refusals written to the log a minute

} // namespace

intake::intake(intake_kind kind, actors::node& node, const queue_config& queues,
               bridge_stats& stats, const stop_signal& stop)
    : kind_(kind), node_(node), queues_(queues), stats_(stats), stop_(stop),
      pause_(reinterpret_cast<std::uintptr_t>(this)) {}

bool intake::hand_in(const std::vector<std::string>& messages) {
  stats_.popped += messages.size();
  return kind_ == intake_kind::newtasks ? submit(messages) : report(messages);
}

void intake::refused(const std::string& what, const std::string& why) {
  stats_.refused += 1;
  const auto now = std::chrono::steady_clock::now();
  if (now - logged_since_ > std::chrono::minutes{1}) {
    logged_since_ = now;
    logged_ = 0;
  }
  if (++logged_ <= most_logged)
    spdlog::warn("{}: {}: not taken: {}",
                 kind_ == intake_kind::newtasks ? queues_.newtask_queue : queues_.status_queue,
                 what, why);
}

// A list that failed in part is handed in again as a whole: what was taken is then ignored.

bool intake::submit(const std::vector<std::string>& messages) {
  auto batch = read_newtasks(messages, queues_.limits);
  stats_.malformed += batch.malformed;
  for (const auto& r : batch.refused)
    refused(r.what, r.why);
  while (!batch.request.items.empty()) {
    auto answer = actors::wait_for<actors::submit_answer>(
        [&](auto done) { node_.submit(batch.request, std::move(done)); });
    if (answer && !answer->failure) {
      for (const auto& r : answer->rejected)
        refused(std::string{batch.request.items[r.index].record.project} + "/" + r.taskid, r.why);
      break;
    }
    if (stop_.wait(pause_.next())) return false;
  }
  pause_.succeeded();
  return true;
}

bool intake::report(const std::vector<std::string>& messages) {
  auto batch = read_statuses(messages, queues_.limits);
  stats_.malformed += batch.malformed;
  for (const auto& r : batch.refused)
    refused(r.what, r.why);
  while (!batch.request.items.empty()) {
    auto answer = actors::wait_for<actors::report_answer>(
        [&](auto done) { node_.report(batch.request, std::move(done)); });
    if (answer && !answer->failure) {
      for (const auto& r : answer->rejected)
        refused(std::string{batch.request.items[r.index].project} + "/" + r.taskid, r.why);
      break;
    }
    if (stop_.wait(pause_.next())) return false;
  }
  pause_.succeeded();
  return true;
}

} // namespace lycosa::bridges
