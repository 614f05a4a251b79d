#pragma once

#include "core/result.hpp"
#include "core/types.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lycosa::crawl {

struct processor_config {
  std::string project;
  std::vector<std::string> command; ///< speaks docs/handlers.md on its standard input and output
  std::vector<std::string> env;     ///< NAME=value, added to the node's own
  usec time_limit = std::chrono::seconds{120}; ///< of one task; then the process is killed
};

/// A project's script in a process of its own: one JSON object a line in, one out. A process that
/// ends, hangs or says nothing sensible is started again, after a growing pause if it keeps
/// failing; the task it had fails. What it writes that is no answer goes to the log.
class processor {
public:
  static std::unique_ptr<processor> make(processor_config config);
  virtual ~processor() = default; ///< stops

  /// `request`: a JSON object's text without its `id`, which is added. `done` gets the answer's
  /// text, or why there is none. Called once, on the processor's thread.
  virtual void process(std::string request, std::function<void(result<std::string>)> done) = 0;
  /// The script has changed: the process is started afresh before the next task.
  virtual void restart() = 0;
  /// Kills the process; what waits is answered with an error.
  virtual void stop() = 0;
};

} // namespace lycosa::crawl
