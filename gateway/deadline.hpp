#pragma once

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace lycosa::gateway {

/// Ends what takes too long. One timer a connection: a deadline that moves later, as most do, only
/// moves a number.
class deadline : public std::enable_shared_from_this<deadline> {
public:
  using clock = std::chrono::steady_clock;

  deadline(boost::asio::io_context& loop, std::function<void()> expired)
      : timer_(loop), expired_(std::move(expired)) {}

  void set(clock::time_point at) {
    at_ = at;
    if (waiting_ && waits_for_ <= at) return;
    wait(at);
  }
  /// From now on.
  void set_in(std::chrono::microseconds time) { set(clock::now() + time); }
  void lift() { at_ = clock::time_point::max(); }
  /// Also lets go of the timer.
  void cancel() {
    lift();
    timer_.cancel();
  }

private:
  void wait(clock::time_point at) {
    waiting_ = true;
    waits_for_ = at;
    timer_.expires_at(at);
    timer_.async_wait([weak = weak_from_this(), at](boost::system::error_code ec) {
      auto self = weak.lock();
      if (!self || (ec && self->waits_for_ != at)) return;
      self->waiting_ = false;
      if (ec || self->at_ == clock::time_point::max()) return;
      if (clock::now() < self->at_)
        self->wait(self->at_);
      else
        self->expired_();
    });
  }

  boost::asio::steady_timer timer_;
  std::function<void()> expired_;
  clock::time_point at_ = clock::time_point::max();
  clock::time_point waits_for_ = clock::time_point::max();
  bool waiting_ = false;
};

} // namespace lycosa::gateway
