#pragma once

#include "actors/node.hpp"
#include "core/jobs/executor.hpp"

#include <memory>

namespace lycosa::gateway {

/// Carries out `task` actions: puts the task into its project's queue, where it obeys the project's
/// rate like any other. Succeeds when the task is accepted: also when it is known and need not be
/// crawled again, which the run's output says.
class task_executor : public jobs::executor {
public:
  static std::shared_ptr<task_executor> make();
  /// Where to submit. Before it every run fails; the node outlives the executor's last run.
  virtual void attach(actors::node& node) = 0;
};

} // namespace lycosa::gateway
