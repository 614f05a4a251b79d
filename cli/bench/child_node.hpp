#pragma once

#include "core/result.hpp"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lycosa::cli::bench {

/// `lycosa serve` as a child of this process: the same binary, on a directory, on a free port of
/// loopback. Ends with this process.
class child_node {
public:
  /// Returns when it takes requests. `sets`: further settings, `section.key=value`.
  static result<std::unique_ptr<child_node>> start(std::string data, std::vector<std::string> sets);
  ~child_node(); ///< as `stop`
  child_node(const child_node&) = delete;
  child_node& operator=(const child_node&) = delete;

  [[nodiscard]] const std::string& host() const noexcept { return host_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// Bytes of memory it holds itself, without cached pages of its files.
  [[nodiscard]] std::uint64_t anonymous_bytes() const;

  void kill(); ///< as a power cut for the process
  void stop(); ///< as an operator does; waits for the end
  /// Starts it again on the same directory, after `kill` or `stop`.
  result<void> start_again();

private:
  child_node(std::string data, std::vector<std::string> sets)
      : data_(std::move(data)), sets_(std::move(sets)) {}
  void end(int signal);

  std::string data_;
  std::vector<std::string> sets_;
  std::string host_;
  std::uint16_t port_ = 0;
  ::pid_t pid_ = -1;
  int output_ = -1;
};

} // namespace lycosa::cli::bench
