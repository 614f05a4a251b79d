#pragma once

#include "actors/node.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace lycosa::actors {

/// Adds what every list's answer has: the refused items, and why a part failed.
template <class Answer>
void merge_refusals(Answer& into, Answer&& part) {
  for (auto& r : part.rejected)
    into.rejected.push_back(std::move(r));
  if constexpr (requires { into.failure; })
    if (part.failure && !into.failure) into.failure = std::move(part.failure);
}

/// Adds one part's answer to the whole's.
inline void merge(submit_answer& into, submit_answer&& part) {
  into.created += part.created;
  into.restarted += part.restarted;
  into.ignored += part.ignored;
  for (const auto& [why, n] : part.ignored_reasons)
    into.ignored_reasons[why] += n;
  into.ignored_items.insert(into.ignored_items.end(), part.ignored_items.begin(),
                            part.ignored_items.end());
  into.cancelled += part.cancelled;
  merge_refusals(into, std::move(part));
}
inline void merge(report_answer& into, report_answer&& part) {
  into.done += part.done;
  into.retried += part.retried;
  into.failed += part.failed;
  merge_refusals(into, std::move(part));
}
inline void merge(leases_answer& into, leases_answer&& part) {
  into.changed += part.changed;
  merge_refusals(into, std::move(part));
}

/// One client request that was split over several actors: answers when every part has answered.
/// Parts finish on different threads.
template <class Answer>
class gather {
public:
  gather(std::size_t parts, reply<Answer> done) : remaining_(parts), done_(std::move(done)) {}

  void finish(Answer&& part) {
    {
      std::lock_guard lock(mutex_);
      merge(answer_, std::move(part));
      if (--remaining_ > 0) return;
    }
    done_(std::move(answer_));
  }

private:
  std::mutex mutex_;
  std::size_t remaining_;
  Answer answer_;
  reply<Answer> done_;
};

/// The duty to answer one part. Answered at most once; when it is dropped unanswered (its actor
/// died, its mailbox was closed), the part fails as `unavailable`, so no client waits for ever.
template <class Answer>
class part_promise {
public:
  part_promise() = default;
  explicit part_promise(std::shared_ptr<gather<Answer>> whole) : whole_(std::move(whole)) {}
  part_promise(part_promise&&) noexcept = default;
  part_promise& operator=(part_promise&&) noexcept = default;
  ~part_promise() {
    if (!whole_) return;
    Answer lost;
    if constexpr (requires { lost.failure; })
      lost.failure = error{errc::unavailable, "scheduler", "the part that would answer is gone"};
    answer(std::move(lost));
  }

  void answer(Answer&& part) {
    if (auto whole = std::exchange(whole_, nullptr)) whole->finish(std::move(part));
  }

private:
  std::shared_ptr<gather<Answer>> whole_;
};

/// The same duty for a request that has one answer and no parts.
template <class Answer>
class promise {
public:
  promise() = default;
  explicit promise(reply<Answer> done) : done_(std::move(done)) {}
  promise(promise&& other) noexcept : done_(std::exchange(other.done_, nullptr)) {}
  promise& operator=(promise&& other) noexcept {
    std::swap(done_, other.done_);
    return *this;
  }
  ~promise() {
    if (done_) answer(fail(errc::unavailable, "scheduler", "the part that would answer is gone"));
  }

  void answer(result<Answer> value) {
    if (auto done = std::exchange(done_, nullptr)) done(std::move(value));
  }

private:
  reply<Answer> done_;
};

} // namespace lycosa::actors
