#include "bridges/redis_intake.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace lycosa::bridges {

namespace {

constexpr std::size_t batch = 500;             ///< messages handed in at once
constexpr usec idle = std::chrono::minutes{1}; ///< then the connection is looked at

const std::string& queue_of(intake_kind kind, const queue_config& q) {
  return kind == intake_kind::newtasks ? q.newtask_queue : q.status_queue;
}

} // namespace

redis_intake::redis_intake(intake_kind kind, const redis_config& config, redis_address address,
                           actors::node& node, bridge_stats& stats, const stop_signal& stop)
    : config_(config), address_(std::move(address)), node_(node), stats_(stats), stop_(stop),
      queue_(queue_of(kind, config.queues)), moved_(queue_ + ":lycosa:" + config.node),
      reliable_(config.reliable), intake_(kind, node, config.queues, stats, stop) {}

void redis_intake::run() {
  backoff pause{reinterpret_cast<std::uintptr_t>(this)};
  while (!stop_.raised()) {
    auto link = redis_link::open(address_, stop_);
    if (link) {
      const steady_run lasted{pause};
      if (pause.failures() > 0) spdlog::info("redis: {}: connected again", queue_);
      if (auto served = serve(**link);
          !served && !stop_.raised() && pause.failures() < loud_failures)
        spdlog::warn("redis: {}: {}", queue_, served.error().text());
    } else if (!stop_.raised() && pause.failures() == 0) {
      spdlog::warn("redis: {}: {}: {}; trying again", address_.display(), queue_,
                   link.error().text());
    }
    if (stop_.raised()) break;
    stats_.reconnects += 1;
    static_cast<void>(stop_.wait(pause.next()));
  }
  put_back(held_);
}

result<void> redis_intake::serve(redis_link& link) {
  if (!held_.empty()) { // the connection went while they were being handed in
    if (!intake_.hand_in(held_)) return {};
    held_.clear();
  }
  if (reliable_)
    if (auto ok = recover(link); !ok) return ok;
  while (!stop_.raised()) {
    auto first = wait_for_first(link);
    if (!first) return tl::unexpected(first.error());
    if (!*first) continue;
    // From here until the queue is empty no project of the node is taken for finished.
    const auto pending = node_.input_pending();
    std::vector<std::string> messages{std::move(**first)};
    for (;;) {
      auto rest = more(link, batch - messages.size());
      if (rest) std::move(rest->begin(), rest->end(), std::back_inserter(messages));
      if (!reliable_) held_ = messages;
      if (!rest) return tl::unexpected(rest.error());
      if (messages.empty()) break;
      if (!intake_.hand_in(messages)) return {};
      held_.clear();
      if (auto ok = finished(link, messages.size()); !ok) return ok;
      messages.clear();
    }
  }
  return {};
}

/// What an earlier run took and did not finish.
result<void> redis_intake::recover(redis_link& link) {
  for (;;) {
    auto left = link.run({"LRANGE", moved_, "0", std::to_string(batch - 1)});
    if (!left) return tl::unexpected(left.error());
    if (left->list.empty()) return {};
    spdlog::info("redis: {}: {} messages of an earlier run are handed in again", queue_,
                 left->list.size());
    if (!intake_.hand_in(left->list)) return {};
    if (auto ok = finished(link, left->list.size()); !ok) return ok;
  }
}

/// None: none came for a while. A message may be empty, and is one all the same.
result<std::optional<std::string>> redis_intake::wait_for_first(redis_link& link) {
  const auto seconds =
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(idle).count());
  const auto longest = idle + redis_link::default_wait;
  if (reliable_) {
    auto got = link.run({"BLMOVE", queue_, moved_, "LEFT", "RIGHT", seconds}, longest);
    if (got) return std::move(got->text);
    if (got.error().code != errc::invalid_argument
        || got.error().why.find("unknown command") == std::string::npos)
      return tl::unexpected(got.error());
    spdlog::warn("redis: the server is older than 6.2: messages that are being handed in when this "
                 "process is killed are lost (redis.reliable)");
    reliable_ = false;
  }
  auto got = link.run({"BLPOP", queue_, seconds}, longest);
  if (!got) return tl::unexpected(got.error());
  if (got->list.size() == 2) return std::move(got->list[1]);
  return std::nullopt;
}

result<std::vector<std::string>> redis_intake::more(redis_link& link, std::size_t most) {
  std::vector<std::string> out;
  auto waiting = link.run({"LLEN", queue_});
  if (!waiting) return tl::unexpected(waiting.error());
  const auto n = std::min<std::size_t>(
      most, static_cast<std::size_t>(std::max<std::int64_t>(0, waiting->number())));
  if (n == 0) return out;
  const auto take = reliable_ ? redis_link::command{"LMOVE", queue_, moved_, "LEFT", "RIGHT"}
                              : redis_link::command{"LPOP", queue_};
  auto got = link.run_all(std::vector<redis_link::command>(n, take));
  if (!got) return tl::unexpected(got.error());
  for (auto& r : *got)
    if (r && r->text) out.push_back(std::move(*r->text));
  return out;
}

result<void> redis_intake::finished(redis_link& link, std::size_t n) {
  if (!reliable_) return {};
  auto trimmed = link.run({"LTRIM", moved_, std::to_string(n), "-1"});
  if (!trimmed) return tl::unexpected(trimmed.error());
  return {};
}

/// At a stop. The signal is raised, so this uses a connection that does not heed it.
void redis_intake::put_back(const std::vector<std::string>& messages) {
  const stop_signal never;
  auto link = redis_link::open(address_, never);
  if (!link) return;
  if (reliable_) {
    auto left = (*link)->run({"LLEN", moved_});
    if (!left || left->number() <= 0) return;
    static_cast<void>((*link)->run_all(std::vector<redis_link::command>(
        static_cast<std::size_t>(left->number()), {"LMOVE", moved_, queue_, "RIGHT", "LEFT"})));
  } else if (!messages.empty()) {
    redis_link::command push{"LPUSH", queue_};
    for (auto m = messages.rbegin(); m != messages.rend(); ++m)
      push.emplace_back(*m);
    static_cast<void>((*link)->run(push));
  }
}

} // namespace lycosa::bridges
