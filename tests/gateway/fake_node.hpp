#pragma once

#include "actors/node.hpp"
#include "tests/gateway/fake_jobs.hpp"

#include <deque>
#include <functional>
#include <map>
#include <mutex>

namespace lycosa::gateway {

/// A node that remembers what it was asked and answers at once, but for leases: those wait until
/// a test brings tasks.
class fake_node final : public actors::node {
public:
  struct kept {
    std::string project, taskid, url, fetch, process, track, extra;
    schedule sched;
  };
  struct waiting final : actors::lease_wait {
    explicit waiting(fake_node& n) : node(n) {}
    void cancel() override {
      const std::lock_guard lock(node.mutex);
      ++node.cancelled;
    }
    fake_node& node;
  };

  void put_project(std::string name, project_patch patch,
                   actors::reply<actors::put_project_answer> done) override {
    auto old = projects[name];
    old.name = name;
    auto record = apply_patch(old, patch, wall_time{usec{1'700'000'000'123'456}});
    if (!record) return done(tl::unexpected<error>(record.error()));
    const bool created = old.id == project_id{};
    record->id = project_id{1};
    projects[name] = *record;
    actors::put_project_answer a;
    a.created = created;
    a.project.record = *record;
    done(a);
  }
  void get_project(std::string name, actors::reply<actors::project_view> done) override {
    if (!projects.contains(name)) return done(fail(errc::not_found, name, "no such project"));
    if (name == down) return done(fail(errc::unavailable, name, "is restarting"));
    actors::project_view v;
    v.record = projects[name];
    v.ready = 3;
    done(v);
  }
  void list_projects(actors::reply<std::vector<actors::project_view>> done) override {
    std::vector<actors::project_view> all;
    for (auto& [_, p] : projects) {
      all.emplace_back().record = p;
      all.back().ready = 3;
    }
    done(all);
  }
  void delete_project(std::string name, actors::reply<std::uint64_t> done) override {
    done(projects.erase(name));
  }
  void start_project(std::string, actors::reply<actors::submit_answer> done) override {
    actors::submit_answer a;
    a.created = 1;
    done(a);
  }
  void submit(actors::submit_request request, actors::reply<actors::submit_answer> done) override {
    actors::submit_answer a;
    a.failure = failure;
    for (const auto& i : request.items) {
      const auto& t = i.record;
      tasks.push_back({std::string{t.project}, std::string{t.taskid}, std::string{t.url},
                       std::string{t.fetch}, std::string{t.process}, std::string{t.track},
                       std::string{t.sched.extra}, t.sched});
      if (judge)
        judge(i, a);
      else
        ++a.created;
    }
    ++submissions;
    done(std::move(a));
  }
  void send_message(actors::memory, task message, actors::reply<bool> done) override {
    sent.push_back({std::string{message.project}, std::string{message.taskid},
                    std::string{message.url}, std::string{message.fetch},
                    std::string{message.process}, std::string{message.track},
                    std::string{message.sched.extra}, message.sched});
    done(true);
  }
  std::shared_ptr<void> input_pending() override { return nullptr; }
  void counters(actors::counter_set set, counter_kind kind,
                actors::reply<std::vector<actors::counter_view>> done) override {
    asked_counters.emplace_back(set, kind);
    done(counted);
  }
  std::unique_ptr<actors::lease_wait> lease(actors::lease_request request,
                                            actors::reply<actors::lease_answer> done) override {
    {
      const std::lock_guard lock(mutex);
      asked = request;
      if (request.wait > usec::zero()) {
        waits.push_back(done);
        return std::make_unique<waiting>(*this);
      }
    }
    done(one_task());
    return nullptr;
  }
  void report(actors::report_request request, actors::reply<actors::report_answer> done) override {
    actors::report_answer a;
    for (const auto& i : request.items) {
      reports.emplace_back(i.pack.track);
      ++(i.pack.ok() ? a.done : a.retried);
    }
    done(a);
  }
  void extend(actors::leases_request request, actors::reply<actors::leases_answer> done) override {
    change(request, done);
  }
  void release(actors::leases_request request, actors::reply<actors::leases_answer> done) override {
    {
      const std::lock_guard lock(mutex);
      released += request.leases.size();
    }
    change(request, done);
  }
  void get_task(std::string project, std::string taskid,
                actors::reply<actors::task_answer> done) override {
    for (const auto& t : tasks)
      if (t.project == project && t.taskid == taskid) {
        actors::task_answer a;
        a.view.record = view(t);
        return done(a);
      }
    done(fail(errc::not_found, taskid, "no such task"));
  }
  void list_tasks(std::string, std::optional<task_status>, std::string cursor, std::size_t limit,
                  actors::reply<actors::task_page> done) override {
    actors::task_page page;
    auto at = cursor.empty() ? 0 : std::stoul(cursor);
    for (; at < tasks.size() && page.tasks.size() < limit; ++at)
      page.tasks.push_back(view(tasks[at]));
    if (at < tasks.size()) page.next = std::to_string(at);
    done(page);
  }
  void put_result(std::string, actors::stored_result entry, actors::reply<bool> done) override {
    const bool fresh = !results.contains(entry.taskid);
    results[entry.taskid] = entry;
    done(fresh);
  }
  void get_result(std::string, std::string taskid,
                  actors::reply<actors::stored_result> done) override {
    if (!results.contains(taskid)) return done(fail(errc::not_found, taskid, "no such result"));
    done(results[taskid]);
  }
  void active_tasks(std::string, std::size_t,
                    actors::reply<std::vector<actors::active_entry>> done) override {
    done(std::vector<actors::active_entry>{});
  }

  void list_results(std::string, std::string, std::size_t,
                    actors::reply<actors::result_page> done) override {
    actors::result_page page;
    for (auto& [_, r] : results)
      page.results.push_back(r);
    done(page);
  }
  void health(actors::reply<actors::health_view> done) override {
    actors::health_view h;
    h.ready = ready;
    h.why = ready ? "" : "loading";
    done(h);
  }
  actors::metrics_view metrics(std::size_t projects) override {
    asked_metrics = projects;
    return measured;
  }
  actors::job_service& jobs() override { return no_jobs; }
  actors::event_hub& events() override { return hub; }
  void stop() override {}

  static actors::lease_answer one_task() {
    actors::lease_answer a;
    auto& t = a.tasks.emplace_back();
    t.record.project = "p";
    t.record.taskid = "t";
    t.record.url = "http://a/";
    t.record.fetch = R"({"b":1.0e2,"a":[ ]})";
    t.record.sched.exetime = wall_time{usec{1'700'000'000'000'001}};
    t.lease = to_text({project_id{1}, task_key{0, 1}, 1, 0, 1});
    return a;
  }

  fake_jobs no_jobs;
  std::mutex mutex; ///< of what leases touch
  std::vector<actors::reply<actors::lease_answer>> waits;
  actors::lease_request asked;
  int cancelled = 0;
  std::size_t released = 0;

  std::map<std::string, project_record> projects;
  std::string down; ///< a project that is there, but does not answer
  std::deque<kept> tasks;
  std::deque<kept> sent; ///< messages
  std::vector<std::pair<actors::counter_set, counter_kind>> asked_counters;
  std::vector<actors::counter_view> counted;
  std::size_t asked_metrics = 0; ///< projects that may be named
  actors::metrics_view measured;
  std::vector<std::string> reports;
  std::map<std::string, actors::stored_result> results;
  actors::event_hub hub{jobs::event_names(), 1000, {8, 1U << 20U}};
  std::optional<error> failure;
  std::function<void(const actors::submit_item&, actors::submit_answer&)> judge; ///< none = all new
  std::size_t submissions = 0;
  bool ready = true;

private:
  static task view(const kept& t) {
    task v;
    v.project = t.project;
    v.taskid = t.taskid;
    v.url = t.url;
    v.fetch = t.fetch;
    v.sched = t.sched;
    v.sched.itag.reset();
    v.sched.extra = t.extra;
    return v;
  }
  static void change(const actors::leases_request& request,
                     const actors::reply<actors::leases_answer>& done) {
    actors::leases_answer a;
    for (std::uint32_t i = 0; i < request.leases.size(); ++i)
      if (request.leases[i])
        ++a.changed;
      else
        a.rejected.push_back({i, "", "stale lease"});
    done(a);
  }
};

} // namespace lycosa::gateway
