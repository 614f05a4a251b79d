#pragma once

#include "gateway/connection.hpp"

#include <boost/asio/dispatch.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace lycosa::gateway {

/// The connection's side of a request that is being answered. Touched on its thread only.
struct pending {
  std::optional<response> ready;
  std::function<void()> cancel;
  response instead;
  std::function<void()> wake; ///< the connection waits; empty = it has gone
  bool abandoned = false;     ///< nobody is there any more to take the answer
};

/// The handlers' side: brings the answer to the connection's thread.
class pending_exchange final : public exchange {
public:
  pending_exchange(loop_ptr loop, std::shared_ptr<pending> to)
      : loop_(std::move(loop)), to_(std::move(to)) {}

  /// A request that is dropped unanswered must not leave its client waiting.
  ~pending_exchange() override {
    if (!answered_.load()) deliver([] { return problem(503, "the request was dropped"); });
  }

  void answer(std::function<response()> render) override {
    if (!answered_.exchange(true)) deliver(std::move(render));
  }

  void cancellable(std::function<void()> cancel, response instead) override {
    to_->cancel = std::move(cancel);
    to_->instead = std::move(instead);
  }

private:
  void deliver(std::function<response()> render) {
    // The handler holds no loop: one that waits in a stopped loop would keep it alive for ever.
    boost::asio::dispatch(loop_->get_executor(), [to = to_, render = std::move(render)] {
      auto r = render();
      if (to->abandoned) {
        if (r.undelivered) r.undelivered();
        return;
      }
      to->ready = std::move(r);
      if (to->wake) to->wake();
    });
  }

  loop_ptr loop_;
  std::shared_ptr<pending> to_;
  std::atomic<bool> answered_{false};
};

} // namespace lycosa::gateway
