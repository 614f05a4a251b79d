#include "bridges/outlet.hpp"

#include "core/lease.hpp"

#include "bridges/queue_items.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace lycosa::bridges {

namespace {

constexpr usec longest_wait = std::chrono::seconds{30};

/// The answer to a lease request, for a thread that also waits for a stop.
struct mailbox {
  std::mutex mutex;
  std::condition_variable there;
  std::optional<result<actors::lease_answer>> answer;
};

} // namespace

outlet::outlet(actors::node& node, std::string consumer, const stop_signal& stop)
    : node_(node), consumer_(std::move(consumer)), stop_(stop) {}

const std::deque<std::string>& outlet::take(std::size_t room) {
  if (!bodies_.empty() || room == 0) return bodies_;
  actors::lease_request request;
  request.max = static_cast<std::uint32_t>(room);
  request.wait = longest_wait;
  request.consumer = consumer_;
  auto box = std::make_shared<mailbox>();
  {
    const std::lock_guard lock(mutex_);
    if (stop_.raised()) return bodies_;
    waiting_ = node_.lease(std::move(request), [box](result<actors::lease_answer> answer) {
      {
        const std::lock_guard inner(box->mutex);
        box->answer = std::move(answer);
      }
      box->there.notify_one();
    });
  }
  {
    std::unique_lock lock(box->mutex);
    box->there.wait(lock, [&] { return box->answer.has_value(); });
  }
  {
    const std::lock_guard lock(mutex_);
    waiting_.reset();
  }
  if (!*box->answer) {
    static_cast<void>(stop_.wait(std::chrono::seconds{1})); // the node cannot: it is stopping
    return bodies_;
  }
  for (const auto& t : (*box->answer)->tasks) {
    bodies_.push_back(write_task(t));
    leases_.push_back(t.lease);
  }
  return bodies_;
}

void outlet::cancel() {
  const std::lock_guard lock(mutex_);
  if (waiting_) waiting_->cancel();
}

void outlet::pushed(std::size_t n) {
  const auto count = static_cast<std::ptrdiff_t>(n);
  bodies_.erase(bodies_.begin(), bodies_.begin() + count);
  leases_.erase(leases_.begin(), leases_.begin() + count);
}

void outlet::give_back() {
  actors::leases_request request;
  std::deque<std::string> messages;
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    if (leases_[i].empty())
      messages.push_back(std::move(bodies_[i]));
    else
      request.leases.push_back(parse_lease(leases_[i]));
  }
  bodies_ = std::move(messages);
  leases_.assign(bodies_.size(), {});
  if (!request.leases.empty())
    node_.release(std::move(request), [](const result<actors::leases_answer>&) {});
}

} // namespace lycosa::bridges
