#pragma once

#include "cli/app.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lycosa::cli::testing {

struct ran {
  int code = 0;
  std::string out;
  std::string err;
};

/// Runs a command line inside the test.
inline ran run_cli(std::vector<std::string> args, const std::string& input = "") {
  std::istringstream in{input};
  std::ostringstream out, err;
  context ctx{in, out, err};
  ran r;
  r.code = run(std::move(args), ctx);
  r.out = out.str();
  r.err = err.str();
  return r;
}

struct request {
  std::string method;
  std::string target;
  std::string body;
};

struct response {
  int status = 200;
  std::string body;
  std::string headers{}; ///< further header lines, each ending in \r\n
};

/// A stand-in for a node: answers each request with what `handle` returns, one connection at a
/// time, and remembers what it was asked.
class fake_node {
public:
  explicit fake_node(std::function<response(const request&)> handle);
  ~fake_node();
  fake_node(const fake_node&) = delete;
  fake_node& operator=(const fake_node&) = delete;

  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::vector<request> requests() const;

private:
  void serve();
  void talk(int connection);

  std::function<response(const request&)> handle_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<request> requests_;
  std::vector<std::thread> talks_;
  std::vector<int> connections_;
  std::thread thread_;
};

} // namespace lycosa::cli::testing
