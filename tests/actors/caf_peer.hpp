#pragma once

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lycosa::actors::test {

/// What the actors of a `caf_peer` have been sent.
class heard {
public:
  struct call {
    std::string job, payload;
    std::int64_t nominal = 0;
    std::uint32_t attempt = 0;
  };
  void add(call c) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(c));
    changed_.notify_all();
  }
  bool wait(std::size_t n) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes{1}, [&] { return calls_.size() >= n; });
  }
  call last() {
    const std::lock_guard lock(mutex_);
    return calls_.empty() ? call{} : calls_.back();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<call> calls_;
};

/// A program of somebody else: a CAF system with a port and named actors, which knows nothing of
/// Lycosa.
///   greeter  `"error"` fails, `"quit"` ends without an answer, `"hold"` never answers, `"text"` is
///            answered with text; anything else with {"hello": …}
///   mute     answers with nothing
///   number   answers with a number
///   deaf     takes other messages
class caf_peer {
public:
  explicit caf_peer(std::uint16_t port = 0, const std::string& application = {}) {
    config_.load<caf::io::middleman>();
    config_.set("scheduler.max-threads", std::size_t{1});
    config_.set("logger.verbosity", caf::atom("quiet"));
    if (!application.empty())
      config_.set("middleman.app-identifiers", std::vector<std::string>{application});
    system_ = std::make_unique<caf::actor_system>(config_);
    name(caf::atom("greeter"), system_->spawn(greeter, heard_));
    name(caf::atom("mute"), system_->spawn(mute, heard_));
    name(caf::atom("number"), system_->spawn(number, heard_));
    name(caf::atom("deaf"), system_->spawn(deaf, heard_));
    auto opened = system_->middleman().open(port, "127.0.0.1", true);
    EXPECT_TRUE(opened) << system_->render(opened.error());
    if (opened) port_ = *opened;
  }
  ~caf_peer() {
    for (auto& [name, one] : actors_) {
      system_->registry().erase(name);
      caf::anon_send_exit(one, caf::exit_reason::kill);
    }
    actors_.clear();
  }
  caf_peer(const caf_peer&) = delete;
  caf_peer& operator=(const caf_peer&) = delete;

  void name(caf::atom_value name, caf::actor one) {
    system_->registry().put(name, one);
    actors_.emplace_back(name, std::move(one));
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string at(const std::string& name) const {
    return name + "@127.0.0.1:" + std::to_string(port_);
  }
  heard& calls() { return *heard_; }

  static caf::behavior greeter(caf::event_based_actor* self, std::shared_ptr<heard> calls) {
    return {[self, calls](const std::string& job, const std::string& payload, std::int64_t nominal,
                          std::uint32_t attempt) -> caf::result<std::string> {
      if (payload == R"("quit")") self->quit(caf::exit_reason::user_shutdown);
      auto promise = self->make_response_promise<std::string>();
      if (payload == R"("error")")
        promise.deliver(caf::make_error(caf::sec::runtime_error, "no luck\ntoday"));
      else if (payload == R"("text")")
        promise.deliver(std::string{"hello there"});
      else if (payload != R"("hold")" && payload != R"("quit")")
        promise.deliver(R"({"hello":)" + payload + "}");
      calls->add({job, payload, nominal, attempt});
      return caf::delegated<std::string>{};
    }};
  }

private:
  // Each with an argument: CAF's spawn of a function without one is undefined behaviour.
  static caf::behavior mute(caf::event_based_actor*, std::shared_ptr<heard>) {
    return {[](const std::string&, const std::string&, std::int64_t, std::uint32_t) {}};
  }
  static caf::behavior number(caf::event_based_actor*, std::shared_ptr<heard>) {
    return {[](const std::string&, const std::string&, std::int64_t, std::uint32_t) { return 7; }};
  }
  static caf::behavior deaf(caf::event_based_actor* self, std::shared_ptr<heard>) {
    self->set_default_handler(caf::drop);
    return {[](int) {}};
  }

  caf::actor_system_config config_;
  std::shared_ptr<heard> heard_ = std::make_shared<heard>();
  std::unique_ptr<caf::actor_system> system_;
  std::vector<std::pair<caf::atom_value, caf::actor>> actors_;
  std::uint16_t port_ = 0;
};

} // namespace lycosa::actors::test
