#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lycosa::jobs {

/// Runs a program on this node. Exactly one of `argv` and `shell` is set.
struct command_action {
  std::vector<std::string> argv; ///< program and arguments; a name without '/' is looked up in PATH
  std::string shell;             ///< text for `/bin/sh -c`
  std::string cwd;               ///< empty = the user's home if `user` is set, else the node's own
  std::map<std::string, std::string> env; ///< added to the executor's base environment
  std::string user;                       ///< empty = the node's own; another needs root
  std::string stdin_text;                 ///< empty = /dev/null

  friend bool operator==(const command_action&, const command_action&) = default;
};

/// Sends one HTTP request; http and https only.
struct http_action {
  std::string method = "GET";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::vector<int> expect_status;  ///< statuses that count as success; empty = any 2xx
  std::string expect_body;         ///< text the answer must hold; empty = anything
  bool verify_tls = true;          ///< check the server's certificate and name
  std::uint32_t max_redirects = 5; ///< 0 = a redirect is the answer

  friend bool operator==(const http_action&, const http_action&) = default;
};

/// Puts a task into its project's queue.
struct task_action {
  std::string task; ///< the task, JSON as `POST /v1/tasks` takes it

  friend bool operator==(const task_action&, const task_action&) = default;
};

/// Sends a message to a named actor, here or on another node.
struct actor_action {
  std::string name;
  std::string payload; ///< JSON

  friend bool operator==(const actor_action&, const actor_action&) = default;
};

/// Calls a function that an embedding program has registered.
struct function_action {
  std::string name;
  std::string args; ///< JSON

  friend bool operator==(const function_action&, const function_action&) = default;
};

using action =
    std::variant<command_action, http_action, task_action, actor_action, function_action>;

} // namespace lycosa::jobs
