#pragma once

#include <gtest/gtest.h>
#include <lycosa/scheduler.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lycosa::embed::test {

constexpr std::chrono::seconds patience{60};

/// Far enough for nothing to happen by itself during a test.
inline schedule far() {
  return at(std::chrono::sys_days{std::chrono::year{2999} / 1 / 1});
}
inline schedule at_once() {
  return at(std::chrono::system_clock::now());
}

/// What happened, in order, to be waited for.
class log {
public:
  void add(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }
  bool wait_for(const std::string& line, std::size_t times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] {
      return static_cast<std::size_t>(std::count(lines_.begin(), lines_.end(), line)) >= times;
    });
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

/// A directory that goes with the test.
class directory {
public:
  directory() {
    path_ = ::testing::TempDir() + "lycosa-embed-XXXXXX";
    if (!::mkdtemp(path_.data())) path_.clear();
  }
  ~directory() {
    std::error_code ec;
    if (!path_.empty()) std::filesystem::remove_all(path_, ec);
  }
  directory(const directory&) = delete;
  directory& operator=(const directory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

private:
  std::string path_;
};

/// The last run of a job, once it has ended.
inline run_info ended_run(scheduler& s, const std::string& id) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < until) {
    const auto runs = s.runs(id, 1);
    if (!runs.empty() && runs.front().ended) return runs.front();
    std::this_thread::yield();
  }
  return {};
}

} // namespace lycosa::embed::test
