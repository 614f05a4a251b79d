#pragma once

#include "tests/coordination/etcd_server.hpp"

#include "coordination/store.hpp"
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>

namespace lycosa::coordination::testing {

constexpr auto patience = std::chrono::seconds{60};

/// Remembers what it is told.
class watcher final : public observer {
public:
  struct state {
    cluster::session_id session = cluster::session_id::none;
    std::vector<mono_time> until; ///< of this session
    int sessions = 0;
    int ended = 0;
    bool complete = false; ///< members have been told of
    std::map<cluster::node_id, member> members;
    std::map<std::string, cluster::shard_record, std::less<>> records;
    int told_of_records = 0;
    bool asked_to_found = false;
    std::optional<cluster_facts> facts;
    std::map<std::string, std::string, std::less<>> notes;
  };

  void session(cluster::session_id id, mono_time until) override {
    change([&](state& s) {
      if (s.session != id) {
        s.session = id;
        s.until.clear();
        ++s.sessions;
      }
      s.until.push_back(until);
    });
  }
  void session_ended() override {
    change([](state& s) {
      s.session = cluster::session_id::none;
      ++s.ended;
    });
  }
  void members(std::map<cluster::node_id, member> all) override {
    change([&](state& s) {
      s.complete = true;
      s.members = std::move(all);
    });
  }
  void record(std::string_view shard, std::optional<cluster::shard_record> is) override {
    change([&](state& s) {
      ++s.told_of_records;
      s.records.erase(std::string(shard));
      if (is) s.records.emplace(shard, *is);
    });
  }
  void facts(std::optional<cluster_facts> are) override {
    change([&](state& s) {
      s.asked_to_found = !are;
      s.facts = are;
    });
  }
  void note(std::string_view key, std::optional<std::string> value) override {
    change([&](state& s) {
      s.notes.erase(std::string(key));
      if (value) s.notes.emplace(key, *value);
    });
  }

  /// Waits until it is so.
  template <class Condition>
  [[nodiscard]] bool sees(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return condition(std::as_const(state_)); });
  }
  [[nodiscard]] state now() {
    const std::lock_guard lock(mutex_);
    return state_;
  }

private:
  template <class Change>
  void change(Change how) {
    {
      const std::lock_guard lock(mutex_);
      how(state_);
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  state state_;
};

inline config config_for(const std::string& endpoint) {
  config c;
  c.endpoints = {endpoint};
  c.cluster = "test";
  c.session_ttl = std::chrono::seconds{2};
  return c;
}

inline member node_number(std::uint64_t n) {
  member m;
  m.node = cluster::node_id{n};
  m.name = "node " + std::to_string(n);
  m.cluster_address = "10.0.0." + std::to_string(n) + ":7000";
  m.http_address = "10.0.0." + std::to_string(n) + ":7001";
  m.failure_domain = "rack";
  m.wire_version = 2;
  m.oldest_wire_version = 1;
  return m;
}

/// A node and what it sees.
struct node {
  watcher sees_;
  std::unique_ptr<store> store_;

  node(config c, std::uint64_t number) {
    auto started = start_etcd(std::move(c), node_number(number), sees_);
    if (!started) throw std::runtime_error(started.error().text());
    store_ = std::move(*started);
  }
  node(const std::string& endpoint, std::uint64_t number) : node(config_for(endpoint), number) {}

  template <class Condition>
  [[nodiscard]] bool sees(Condition condition) {
    return sees_.sees(std::move(condition));
  }
  [[nodiscard]] bool joined() {
    return sees([](const auto& s) { return s.sessions > 0 && s.complete; });
  }
};

/// Waits for one answer.
template <class T>
class answer_to {
public:
  std::function<void(result<T>)> here() {
    return [shared = shared_](result<T> r) {
      const std::lock_guard lock(shared->mutex);
      shared->answer = std::move(r);
      shared->changed.notify_all();
    };
  }
  result<T> get() {
    std::unique_lock lock(shared_->mutex);
    if (!shared_->changed.wait_for(lock, patience, [&] { return shared_->answer.has_value(); }))
      return fail(errc::internal, "test", "no answer");
    return *shared_->answer;
  }

private:
  struct shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<result<T>> answer;
  };
  std::shared_ptr<shared> shared_ = std::make_shared<shared>();
};

} // namespace lycosa::coordination::testing
