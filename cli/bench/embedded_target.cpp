#include "actors/node.hpp"
#include "actors/wait_for.hpp"
#include "cli/bench/load_target.hpp"
#include "cli/node_settings.hpp"
#include "core/jobs/job_json.hpp"
#include "gateway/task_executor.hpp"

#include <chrono>
#include <cstring>
#include <latch>
#include <memory>
#include <mutex>

namespace lycosa::cli::bench {

namespace {

constexpr std::string_view fetch = R"({"method":"GET"})";
constexpr std::string_view track =
    R"({"fetch":{"ok":true,"time":0.12,"status_code":200},"process":{"ok":true,"time":0.01}})";

tl::unexpected<error> refused(const std::vector<actors::item_error>& items) {
  return fail(errc::internal, "task " + items.front().taskid, items.front().why);
}

/// Text that the node's views point into: as a request's body it is built first and looked at then.
class text_buffer {
public:
  explicit text_buffer(std::size_t most) { text_.reserve(most); }
  /// Precondition: what was announced is not passed; the views would dangle.
  std::string_view keep(std::string_view a, std::string_view b = {}, std::string_view c = {}) {
    const auto at = text_.size();
    text_.append(a).append(b).append(c);
    return std::string_view{text_}.substr(at);
  }

private:
  std::string text_;
};

class embedded_session final : public load_session {
public:
  embedded_session(actors::node& node, const task_names& names) : node_(node), names_(names) {}

  result<submit_counts> submit(std::span<const load_task> tasks) override {
    actors::submit_request ask;
    const auto text = std::make_shared<text_buffer>(
        tasks.size() * (names_.run.size() + names_.filler.size() + 160));
    ask.buffer = text;
    ask.items.reserve(tasks.size());
    for (const auto& t : tasks) {
      const auto digits = std::to_string(t.number);
      actors::submit_item item;
      item.index = static_cast<std::uint32_t>(ask.items.size());
      item.record.project = names_.project(t.number);
      item.record.taskid = text->keep(names_.run, digits);
      item.record.url = text->keep("http://example.com/page/", digits);
      item.record.fetch = fetch;
      item.record.process =
          text->keep(R"({"callback":"index_page","save":")", names_.filler, "\"}");
      item.record.sched.priority = 1;
      item.record.sched.exetime = wall_time{usec{t.exetime}};
      if (t.age >= 0) item.record.sched.age = std::chrono::seconds{t.age};
      if (t.itag != 0) item.record.sched.itag = text->keep(std::to_string(t.itag));
      ask.items.push_back(item);
    }
    auto answer = actors::wait_for<actors::submit_answer>(
        [&](auto done) { node_.submit(std::move(ask), std::move(done)); });
    if (!answer) return tl::unexpected(answer.error());
    if (answer->failure) return tl::unexpected(*answer->failure);
    if (!answer->rejected.empty()) return refused(answer->rejected);
    return submit_counts{answer->created, answer->restarted, answer->ignored};
  }

  result<void> lease(std::uint32_t max, unsigned wait, std::vector<leased_number>& into) override {
    into.clear();
    actors::lease_request ask;
    ask.max = max;
    ask.wait = std::chrono::seconds{wait};
    if (!names_.from_all) ask.projects = names_.projects;
    std::unique_ptr<actors::lease_wait> under_way;
    auto answer = actors::wait_for<actors::lease_answer>(
        [&](auto done) { under_way = node_.lease(std::move(ask), std::move(done)); });
    if (!answer) return tl::unexpected(answer.error());
    for (const auto& t : answer->tasks) {
      leased_number one;
      if (t.lease.size() != one.lease.size() || !read_number(names_, t.record.taskid, one.number))
        continue;
      std::memcpy(one.lease.data(), t.lease.data(), one.lease.size());
      into.push_back(one);
    }
    return {};
  }

  result<std::uint64_t> report(std::span<const leased_number> done) override {
    actors::report_request ask;
    const auto text = std::make_shared<text_buffer>(done.size() * (names_.run.size() + 24));
    ask.buffer = text;
    ask.items.reserve(done.size());
    for (const auto& d : done) {
      actors::report_item item;
      item.index = static_cast<std::uint32_t>(ask.items.size());
      item.project = names_.project(d.number);
      item.lease = parse_lease({d.lease.data(), d.lease.size()});
      item.pack.taskid = text->keep(names_.run, std::to_string(d.number));
      item.pack.fetch_ok = item.pack.process_ok = true;
      item.pack.track = track;
      item.pack.fetch_time = 0.12;
      item.pack.process_time = 0.01;
      ask.items.push_back(item);
    }
    auto answer = actors::wait_for<actors::report_answer>(
        [&](auto reply) { node_.report(std::move(ask), std::move(reply)); });
    if (!answer) return tl::unexpected(answer.error());
    if (answer->failure) return tl::unexpected(*answer->failure);
    if (!answer->rejected.empty()) return refused(answer->rejected);
    return answer->done;
  }

private:
  actors::node& node_;
  const task_names& names_;
};

class embedded_node final : public load_target {
public:
  explicit embedded_node(std::unique_ptr<actors::node> node) : node_(std::move(node)) {}
  ~embedded_node() override { node_->stop(); }
  embedded_node(const embedded_node&) = delete;
  embedded_node& operator=(const embedded_node&) = delete;

  result<std::unique_ptr<load_session>> open(const task_names& names) override {
    return std::make_unique<embedded_session>(*node_, names);
  }

  result<void> put_projects(std::span<const std::string> projects) override {
    project_patch patch;
    patch.status = project_status::running;
    patch.rate = patch.burst = 1e9;
    // All at once: the node commits together what comes together.
    std::latch open{static_cast<std::ptrdiff_t>(projects.size())};
    std::mutex mutex;
    result<void> all;
    for (const auto& p : projects)
      node_->put_project(p, patch, [&](result<actors::put_project_answer> made) {
        if (!made) {
          const std::lock_guard lock(mutex);
          all = tl::unexpected(made.error());
        }
        open.count_down();
      });
    open.wait();
    return all;
  }

  result<void> add_jobs(const std::string& list) override {
    const auto now = std::chrono::time_point_cast<usec>(std::chrono::system_clock::now());
    auto read = jobs::parse_jobs(list, now);
    if (!read) return tl::unexpected(read.error());
    std::vector<jobs::job> all;
    for (auto& one : *read) {
      if (!one) return tl::unexpected(one.error());
      all.push_back(std::move(one->job));
    }
    auto added = actors::wait_for<std::vector<result<actors::job_ptr>>>(
        [&](auto done) { node_->jobs().add_all(std::move(all), false, false, std::move(done)); });
    if (!added) return tl::unexpected(added.error());
    for (const auto& one : *added)
      if (!one) return tl::unexpected(one.error());
    return {};
  }

  result<std::vector<double>> job_lateness(const std::string& id) override {
    auto page = actors::wait_for<actors::run_page>(
        [&](auto done) { node_->jobs().runs(id, 0, 100, std::move(done)); });
    if (!page) return tl::unexpected(page.error());
    std::vector<double> late;
    for (const auto& r : page->runs)
      late.push_back(std::chrono::duration<double>(r.late).count());
    return late;
  }

  result<void> remove_job(const std::string& id) override {
    auto removed =
        actors::wait_for<bool>([&](auto done) { node_->jobs().remove(id, std::move(done)); });
    if (!removed) return tl::unexpected(removed.error());
    return {};
  }

private:
  std::unique_ptr<actors::node> node_;
};

} // namespace

result<std::unique_ptr<load_target>> embedded_target(const conf::settings& settings) {
  auto config = to_node_config(settings);
  const auto tasks = gateway::task_executor::make();
  config.jobs.executors.task = tasks;
  auto node = actors::node::open(config);
  if (!node) return tl::unexpected(node.error());
  tasks->attach(**node);
  return std::make_unique<embedded_node>(std::move(*node));
}

} // namespace lycosa::cli::bench
