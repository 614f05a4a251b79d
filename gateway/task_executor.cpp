#include "gateway/task_executor.hpp"

#include "gateway/items.hpp"
#include "gateway/task_json.hpp"

#include <atomic>
#include <map>
#include <variant>

namespace lycosa::gateway {

namespace {

using jobs::done_handler;

jobs::run_result failed(std::string why) {
  jobs::run_result r;
  r.outcome = jobs::run_outcome::error;
  r.error = std::move(why);
  return r;
}

/// Runs whose tasks go to one project in one request.
struct handed_over {
  std::vector<std::shared_ptr<request_body>> bodies; ///< the tasks' texts
  std::vector<done_handler> done;

  void answer(result<actors::submit_answer> got) {
    // Without an item named in it, a failure is one of the whole request.
    std::string all;
    if (!got) all = got.error().text();
    if (got && got->failure && got->rejected.empty()) all = got->failure->text();
    if (!all.empty()) {
      for (auto& d : done)
        d(failed(all));
      return;
    }
    std::vector<jobs::run_result> ends(done.size());
    for (const auto& r : got->rejected)
      if (r.index < ends.size()) ends[r.index] = failed(r.why);
    for (const auto& [index, why] : got->ignored_items)
      if (index < ends.size()) ends[index].output = "not crawled again: " + std::string{why};
    for (std::size_t i = 0; i < ends.size(); ++i)
      done[i](std::move(ends[i]));
  }
};

class node_task_executor final : public task_executor {
public:
  void attach(actors::node& node) override { node_ = &node; }

  void start(jobs::run_request request, done_handler done) override {
    std::vector<jobs::run_start> one;
    one.push_back({std::move(request), std::move(done)});
    start_all(std::move(one));
  }

  void start_all(std::vector<jobs::run_start> runs) override {
    struct bundle {
      actors::submit_request ask;
      std::shared_ptr<handed_over> runs = std::make_shared<handed_over>();
    };
    auto* node = node_.load();
    std::map<std::string, bundle, std::less<>> by_project;
    for (auto& run : runs) {
      const auto* action = std::get_if<jobs::task_action>(&run.request.action);
      if (node == nullptr || action == nullptr) {
        run.done(failed("no tasks are taken here"));
        continue;
      }
      auto body = std::make_shared<request_body>();
      body->text = action->task;
      outline item(body->arena, task_paths());
      if (auto ok = read_object(body->text, item); !ok) {
        run.done(failed(ok.error().text()));
        continue;
      }
      const auto task = read_task(item, body->arena, {});
      if (!task) {
        run.done(failed(task.error().field + ": " + task.error().reason));
        continue;
      }
      auto& b = by_project[std::string{task->project}];
      b.ask.items.push_back({*task, static_cast<std::uint32_t>(b.runs->done.size())});
      b.runs->bodies.push_back(std::move(body));
      b.runs->done.push_back(std::move(run.done));
    }
    for (auto& [project, b] : by_project) {
      b.ask.buffer = b.runs;
      node->submit(std::move(b.ask), [runs = b.runs](result<actors::submit_answer> got) {
        runs->answer(std::move(got));
      });
    }
  }

  void cancel(jobs::run_key) override {} // over before it could be asked
  void stop(usec) override {}

private:
  std::atomic<actors::node*> node_{nullptr};
};

} // namespace

std::shared_ptr<task_executor> task_executor::make() {
  return std::make_shared<node_task_executor>();
}

} // namespace lycosa::gateway
