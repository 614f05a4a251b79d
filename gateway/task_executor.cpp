#include "gateway/task_executor.hpp"

#include "gateway/items.hpp"
#include "gateway/task_json.hpp"

#include <atomic>
#include <variant>

namespace lycosa::gateway {

namespace {

jobs::run_result failed(std::string why) {
  jobs::run_result r;
  r.outcome = jobs::run_outcome::error;
  r.error = std::move(why);
  return r;
}

class node_task_executor final : public task_executor {
public:
  void attach(actors::node& node) override { node_ = &node; }

  void start(jobs::run_request request, done_handler done) override {
    auto* node = node_.load();
    const auto* action = std::get_if<jobs::task_action>(&request.action);
    if (node == nullptr || action == nullptr) return done(failed("no tasks are taken here"));
    auto body = std::make_shared<request_body>();
    body->text = action->task;
    outline item(body->arena, task_paths());
    if (auto ok = read_object(body->text, item); !ok) return done(failed(ok.error().text()));
    auto task = read_task(item, body->arena, {});
    if (!task) return done(failed(task.error().field + ": " + task.error().reason));
    actors::submit_request ask;
    ask.buffer = body;
    ask.items.push_back({*task, 0});
    node->submit(std::move(ask), [done = std::move(done)](result<actors::submit_answer> got) {
      if (!got) return done(failed(got.error().text()));
      if (got->failure) return done(failed(got->failure->text()));
      if (!got->rejected.empty()) return done(failed(got->rejected.front().why));
      jobs::run_result r;
      if (got->ignored > 0)
        r.output = "not crawled again: " + std::string{got->ignored_reasons.begin()->first};
      done(std::move(r));
    });
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
