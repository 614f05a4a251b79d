#pragma once

#include "cli/client.hpp"
#include "cli/context.hpp"

#include <functional>
#include <optional>
#include <string>

namespace lycosa::cli {

/// The interactive mode of pyspider's OneScheduler: looks tasks up, queues them, crawls one at a
/// time. Reads lines from a terminal (with history and completion) or from a pipe.
class shell {
public:
  enum class ending { go_on, quit, failed };

  /// `step`: crawls one task of a project (empty = any) and tells whether there was one; empty when
  /// the shell is connected to a node elsewhere.
  struct actions {
    std::function<bool(const std::string& project)> step{};
  };

  shell(std::string server, std::string project, actions does, context& ctx);

  /// Until the input ends or one of the quit forms: `go_on` = leave the shell alone, `quit` = end
  /// everything. From a pipe the first failure ends it with `failed`.
  ending run();

private:
  enum class verdict { ok, bad, go_on, quit };
  verdict obey(const std::string& line);
  outcome<void> crawl(const std::string& line);
  outcome<void> show(const std::string& what);
  outcome<void> next();
  /// A task by its id or its URL, in this project or (if there is but one) in that.
  outcome<json> find(const std::string& what);
  outcome<std::string> project_for(const json& task);
  void help() const;

  client server_;
  std::string project_;
  actions does_;
  context& ctx_;
};

} // namespace lycosa::cli
