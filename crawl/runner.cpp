#include "crawl/runner.hpp"

#include "core/lease.hpp"
#include "core/md5.hpp"
#include "core/messages/names.hpp"
#include "gateway/items.hpp"
#include "gateway/json_writer.hpp"
#include "gateway/task_json.hpp"

#include "crawl/exchange_json.hpp"
#include "crawl/robots_cache.hpp"
#include <spdlog/spdlog.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace lycosa::crawl {

namespace {

constexpr usec longest_wait = std::chrono::seconds{30};
constexpr usec retry_wait = std::chrono::seconds{1};
constexpr usec step_wait = std::chrono::seconds{2}; ///< for a token, or a script's first answer

constexpr std::size_t most_logged = 10'000; ///< bytes of what one task's script said

/// A task under way, with all that its views point into.
struct job {
  actors::leased_task task;
  std::shared_ptr<std::vector<actors::memory>> buffers;
  fetched page;
  script_answer answer;
  std::function<void()> ended; ///< of a single step

  [[nodiscard]] bool is_message() const { return task.lease.empty(); }
  [[nodiscard]] bool is_info() const { return task.record.taskid == get_info_id; }
};
using job_ptr = std::shared_ptr<job>;

class node_runner final : public runner {
public:
  node_runner(runner_config config, actors::node& node, bool paused)
      : config_(std::move(config)), node_(node), paused_(paused),
        fetcher_(fetcher::make(config_.fetch)), robots_(*fetcher_, config_.fetch.user_agent) {
    for (auto& script : config_.scripts) {
      projects_.push_back(script.project);
      scripts_[script.project] = processor::make(script);
    }
    thread_ = std::thread([this] { run(); });
  }

  ~node_runner() override { stop(); }

  void pause(bool paused) override {
    const std::lock_guard lock(mutex_);
    paused_ = paused;
    if (paused && waiting_) waiting_->cancel();
    changed_.notify_all();
  }

  void step(std::string project, std::function<void(bool)> done) override {
    actors::lease_request request;
    request.max = 1;
    request.wait = step_wait;
    request.consumer = "shell";
    request.projects = project.empty() ? projects_ : std::vector{std::move(project)};
    static_cast<void>(node_.lease(std::move(request), [this, done](auto answer) {
      if (!answer || answer->tasks.empty()) return done(false);
      begin(std::move(*answer), [done] { done(true); });
    }));
  }

  void reload(const std::string& project) override {
    if (const auto found = scripts_.find(project); found != scripts_.end())
      found->second->restart();
  }

  void wait_until_quiet(usec quiet) override {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto seen = activity_;
      changed_.wait_for(lock, quiet, [&] { return stopping_ || activity_ != seen; });
      if (stopping_ || (activity_ == seen && under_way_ == 0)) return;
    }
  }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      stopping_ = true;
      if (waiting_) waiting_->cancel();
      changed_.notify_all();
    }
    thread_.join();
    fetcher_->stop();
    for (auto& [_, script] : scripts_)
      script->stop();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return under_way_ == 0; });
  }

private:
  // -- demand ------------------------------------------------------------------------------------

  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      const auto room = config_.fetch.concurrency - std::min(config_.fetch.concurrency, under_way_);
      if (paused_ || room == 0) {
        changed_.wait(lock);
        continue;
      }
      bool answered = false;
      actors::lease_request request;
      request.max = static_cast<std::uint32_t>(room);
      request.wait = longest_wait;
      request.consumer = "one";
      request.projects = projects_;
      lock.unlock();
      auto wait = node_.lease(std::move(request), [this, &answered](auto answer) {
        const bool failed = !answer;
        if (answer) begin(std::move(*answer), nullptr);
        const std::lock_guard inner(mutex_);
        if (failed) failed_ = true;
        answered = true;
        changed_.notify_all();
      });
      lock.lock();
      waiting_ = std::move(wait);
      if ((stopping_ || paused_) && waiting_) waiting_->cancel();
      changed_.wait(lock, [&] { return answered; });
      waiting_.reset();
      if (std::exchange(failed_, false))
        changed_.wait_for(lock, retry_wait, [this] { return stopping_; });
    }
  }

  void begin(actors::lease_answer answer, std::function<void()> ended) {
    auto buffers = std::make_shared<std::vector<actors::memory>>(std::move(answer.buffers));
    {
      const std::lock_guard lock(mutex_);
      under_way_ += answer.tasks.size();
      activity_ += answer.tasks.size();
    }
    for (auto& t : answer.tasks) {
      auto j = std::make_shared<job>();
      j->task = std::move(t);
      j->buffers = buffers;
      j->ended = ended;
      fetch(j);
    }
  }

  void fetch(const job_ptr& j) {
    const auto go = [this, j] {
      fetcher_->start({std::string{j->task.record.url}, std::string{j->task.record.fetch},
                       std::string{j->task.record.track}},
                      [this, j](fetched page) {
                        j->page = std::move(page);
                        process(j);
                      });
    };
    const auto wish = robots_wish(j->task.record);
    if (!wish) return go();
    robots_.ask(std::string{j->task.record.url}, *wish, [this, j, go](bool allowed) {
      if (allowed) return go();
      j->page.url = j->page.orig_url = std::string{j->task.record.url};
      j->page.status = 403;
      j->page.error = "robots.txt does not allow it";
      process(j);
    });
  }

  // -- one task ----------------------------------------------------------------------------------

  void process(const job_ptr& j) {
    if (stopping()) return give_back(j);
    const auto script = scripts_.find(std::string{j->task.record.project});
    if (script == scripts_.end()) return give_back(j);
    script->second->process(to_request(j->task, j->page), [this, j](result<std::string> text) {
      if (!text && stopping()) return give_back(j);
      auto answer = text ? read_answer(*text, std::string{j->task.record.project})
                         : result<script_answer>{tl::unexpected(text.error())};
      if (answer)
        j->answer = std::move(*answer);
      else
        j->answer.exception = answer.error().text();
      if (!j->answer.logs.empty())
        spdlog::info("script {}: {}", j->task.record.project, end_of(j->answer.logs, most_logged));
      if (!j->answer.ok) complain(j);
      submit_follows(j);
    });
  }

  static void complain(const job_ptr& j) {
    spdlog::warn("script {}: {}: {}", j->task.record.project, j->task.record.url,
                 end_of(j->answer.exception, most_logged));
  }

  void submit_follows(const job_ptr& j) {
    send_messages(j);
    actors::submit_request request;
    auto body = std::make_shared<gateway::request_body>();
    for (const auto& task : j->answer.follows)
      body->text += task + "\n";
    gateway::outline item(body->arena, gateway::task_paths());
    std::string why;
    if (!body->text.empty())
      static_cast<void>(gateway::walk_items(
          body->text, true, item, j->answer.follows.size() + 1,
          [&](std::size_t, const gateway::outline& o) {
            auto task = gateway::read_task(o, body->arena, {});
            if (task)
              request.items.push_back({*task, static_cast<std::uint32_t>(request.items.size())});
            else
              why = task.error().field + ": " + task.error().reason;
          },
          [&](std::size_t, const std::string& bad) { why = bad; }));
    if (!why.empty()) {
      j->answer.ok = false;
      j->answer.exception = "a task it made is not one: " + why;
      complain(j);
    }
    if (request.items.empty()) return store_result(j);
    request.buffer = body;
    node_.submit(std::move(request), [this, j](result<actors::submit_answer> got) {
      if (!got || got->failure) return give_back(j); // its links are not kept: crawled again
      for (const auto& r : got->rejected)
        spdlog::warn("script {}: {}: {}", j->task.record.project, r.taskid, r.why);
      store_result(j);
    });
  }

  void send_messages(const job_ptr& j) {
    for (const auto& m : j->answer.messages) {
      auto texts = std::make_shared<std::vector<std::string>>();
      texts->push_back(m.project);
      texts->push_back(m.url);
      texts->push_back(md5_hex(m.url));
      texts->push_back("{\"save\":[\"" + std::string{j->task.record.project} + "\"," + m.body
                       + "]}");
      task t;
      t.project = (*texts)[0];
      t.url = (*texts)[1];
      t.taskid = (*texts)[2];
      t.fetch = (*texts)[3];
      t.process = R"({"callback":"_on_message"})";
      node_.send_message(texts, t, [to = m.project](const result<bool>& sent) {
        if (!sent) spdlog::warn("a message to {} is lost: {}", to, sent.error().text());
      });
    }
  }

  void store_result(const job_ptr& j) {
    if (j->answer.result.empty() || j->is_info()) return report(j);
    actors::stored_result entry;
    entry.taskid = std::string{j->task.record.taskid};
    const auto url = std::string{j->task.record.url};
    entry.json = "{\"url\":";
    gateway::append_string(entry.json, url);
    entry.json += ",\"result\":" + j->answer.result + "}";
    node_.put_result(std::string{j->task.record.project}, std::move(entry),
                     [this, j](const result<bool>& stored) {
                       if (!stored) return give_back(j);
                       report(j);
                     });
  }

  void report(const job_ptr& j) {
    if (j->is_message() && !j->is_info()) return end(j);
    if (j->is_info() && !j->answer.ok) return end(j); // asked again
    auto track = std::make_shared<std::string>(to_track(j->page, j->answer));
    actors::report_request request;
    request.buffer = track;
    actors::report_item item;
    item.project = j->task.record.project;
    item.pack.taskid = j->task.record.taskid;
    item.pack.fetch_ok = j->page.ok();
    item.pack.process_ok = j->answer.ok;
    item.pack.fetch_time = j->page.seconds;
    item.pack.process_time = j->answer.seconds;
    item.pack.track = *track;
    if (!j->is_info()) item.lease = parse_lease(j->task.lease);
    request.items.push_back(item);
    node_.report(std::move(request), [this, j](const result<actors::report_answer>& got) {
      if (got)
        for (const auto& r : got->rejected)
          spdlog::debug("one: {}: {}", r.taskid, r.why);
      end(j);
    });
  }

  void give_back(const job_ptr& j) {
    if (!j->is_message()) {
      actors::leases_request request;
      request.leases.push_back(parse_lease(j->task.lease));
      if (!stopping()) request.amount = retry_wait;
      node_.release(std::move(request), [](const result<actors::leases_answer>&) {});
    }
    end(j);
  }

  void end(const job_ptr& j) {
    if (config_.tell && !j->is_message()) {
      crawled c;
      c.project = j->task.record.project;
      c.taskid = j->task.record.taskid;
      c.url = j->task.record.url;
      c.status = j->page.status;
      c.ok = j->answer.ok;
      c.error = j->page.error.empty() ? j->answer.exception : j->page.error;
      c.follows = j->answer.follows.size();
      c.result = j->answer.result;
      config_.tell(c);
    }
    if (j->ended) j->ended();
    const std::lock_guard lock(mutex_);
    under_way_ -= 1;
    activity_ += 1;
    changed_.notify_all();
  }

  bool stopping() {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

  runner_config config_;
  actors::node& node_;
  std::vector<std::string> projects_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool paused_;
  bool stopping_ = false, failed_ = false;
  std::size_t under_way_ = 0;
  std::uint64_t activity_ = 0; ///< grows with whatever happens
  std::unique_ptr<actors::lease_wait> waiting_;
  std::unique_ptr<fetcher> fetcher_;
  robots_cache robots_;
  std::map<std::string, std::unique_ptr<processor>> scripts_;
  std::thread thread_;
};

} // namespace

std::unique_ptr<runner> runner::start(runner_config config, actors::node& node, bool paused) {
  return std::make_unique<node_runner>(std::move(config), node, paused);
}

} // namespace lycosa::crawl
