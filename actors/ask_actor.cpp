#include "actors/ask_actor.hpp"

#include "core/jobs/value_text.hpp"

#include <algorithm>
#include <utility>

namespace lycosa::actors {

namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t longest_answer = std::size_t{1} << 20;
/// CAF adds time-outs to its clock in nanoseconds.
constexpr usec longest_wait = std::chrono::hours{24 * 366};

/// A run in the hands of an actor.
class held_run {
public:
  held_run(std::shared_ptr<open_runs> runs, actor_run_ptr run)
      : runs_(std::move(runs)), run_(std::move(run)) {}

  [[nodiscard]] const actor_run& operator*() const { return *run_; }
  [[nodiscard]] const actor_run* operator->() const { return run_.get(); }

  void end(jobs::run_result r) {
    // The text of another program goes into lines of a log and of a table.
    std::replace_if(
        r.error.begin(), r.error.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    runs_->end(run_, std::move(r));
  }
  void end(jobs::run_outcome how, std::string why) { end(failed_run(how, std::move(why))); }

  [[nodiscard]] bool time_is_up() const {
    return run_->deadline && steady::now() >= *run_->deadline;
  }
  void time_out(const char* during) {
    end(jobs::run_outcome::timeout, std::string("its time was up while ") + during);
  }

  /// What is left of its time, for a request.
  [[nodiscard]] caf::duration left() const {
    if (!run_->deadline) return caf::infinite;
    const auto left = std::chrono::ceil<usec>(*run_->deadline - steady::now());
    return caf::duration{std::clamp(left, usec{0}, longest_wait)};
  }

private:
  std::shared_ptr<open_runs> runs_;
  actor_run_ptr run_;
};
using held = std::shared_ptr<held_run>;

bool is_request_timeout(const caf::error& e) {
  return e == caf::sec::request_timeout;
}

/// An actor that answers with nothing at all has done what it was asked to.
bool is_empty_answer(const caf::error& e) {
  return e == caf::sec::unexpected_response && e.context().empty();
}

jobs::run_result answered(std::string text) {
  jobs::run_result r;
  if (text.size() > longest_answer)
    return failed_run(jobs::run_outcome::error, "its answer is longer than 1 MiB");
  r.value = jobs::value_text(std::move(text));
  return r;
}

jobs::run_result refused(const caf::error& e, const caf::actor_system& system) {
  if (is_empty_answer(e)) return {};
  if (e == caf::sec::unexpected_response)
    return failed_run(jobs::run_outcome::error, "it answered with something that is no text");
  if (e == caf::sec::unexpected_message)
    return failed_run(jobs::run_outcome::error,
                      "it takes no message of (job id, payload, time, attempt)");
  if (e == caf::exit_reason::remote_link_unreachable || e == caf::sec::request_receiver_down)
    return failed_run(jobs::run_outcome::error, "it is gone");
  return failed_run(jobs::run_outcome::error, text_of(e, system));
}

void ask(caf::event_based_actor* self, const held& run, const caf::actor& target) {
  self->set_down_handler([self, run](caf::down_msg& down) {
    std::string why = "it ended before it answered";
    if (down.reason == caf::exit_reason::remote_link_unreachable)
      why = "the connection was lost before it answered";
    else if (down.reason)
      why += ": " + text_of(down.reason, self->system());
    run->end(jobs::run_outcome::error, std::move(why));
    self->quit();
  });
  self->monitor(target);
  const auto& r = (*run)->request;
  const auto& action = std::get<jobs::actor_action>(r.action);
  const std::int64_t nominal = r.nominal.time_since_epoch().count();
  self->request(target, run->left(), r.job_id, action.payload, nominal, r.attempt)
      .then(
          [self, run](std::string& text) {
            run->end(answered(std::move(text)));
            self->quit();
          },
          [self, run](caf::error& e) {
            if (is_request_timeout(e) && run->time_is_up())
              run->time_out("it was waited for");
            else
              run->end(refused(e, self->system()));
            self->quit();
          });
}

void find(caf::event_based_actor* self, const held& run, const caf::actor& finder) {
  self->request(finder, run->left(), caf::get_atom_v, caf::atom_from_string((*run)->to.name))
      .then(
          [self, run](caf::strong_actor_ptr& found) {
            if (found) return ask(self, run, caf::actor_cast<caf::actor>(found));
            const auto& to = (*run)->to;
            run->end(jobs::run_outcome::error,
                     "no actor is named " + to.name + " at " + to.endpoint());
            self->quit();
          },
          [self, run](caf::error& e) {
            if (is_request_timeout(e) && run->time_is_up())
              run->time_out("it was looked for");
            else
              run->end(jobs::run_outcome::error, text_of(e, self->system()));
            self->quit();
          });
}

void worker_of(caf::event_based_actor* self, const held& run, const caf::actor& finder,
               const caf::actor& target) {
  ignore_strangers(self);
  // Whatever ends this actor, the run does not stay open.
  self->attach_functor([run] { run->end(jobs::run_outcome::error, "it was given up"); });
  if (target)
    ask(self, run, target);
  else
    find(self, run, finder);
}

} // namespace

void ignore_strangers(caf::event_based_actor* self) {
  self->set_default_handler(caf::drop);
  self->set_exit_handler([](caf::exit_msg&) {}); // `kill` does not come here
  self->set_error_handler([](caf::error&) {});
  self->set_down_handler([](caf::down_msg&) {});
}

std::string text_of(const caf::error& e, const caf::actor_system& system) {
  if (!e || !e.context().match_elements<std::string>()) return system.render(e);
  const auto& text = e.context().get_as<std::string>(0);
  if (text.empty()) return system.render(e);
  if (e == caf::sec::runtime_error || e == caf::sec::cannot_connect_to_node) return text;
  return text + " (" + system.render({e.code(), e.category()}) + ")";
}

void spawn_run(caf::event_based_actor* parent, const std::shared_ptr<open_runs>& runs,
               const actor_run_ptr& run, const caf::actor& finder, const caf::actor& target) {
  const auto inside = std::make_shared<held_run>(runs, run);
  const auto worker = parent->spawn(worker_of, inside, finder, target);
  if (!runs->assign(run, worker)) caf::anon_send_exit(worker, caf::exit_reason::kill);
}

} // namespace lycosa::actors
