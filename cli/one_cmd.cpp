#include "actors/wait_for.hpp"
#include "cli/commands.hpp"
#include "cli/freed_memory.hpp"
#include "cli/logging.hpp"
#include "cli/node_settings.hpp"
#include "cli/one_scripts.hpp"
#include "cli/settings_options.hpp"
#include "cli/shell.hpp"
#include "cli/signals.hpp"
#include "cli/table.hpp"
#include "gateway/server.hpp"

#include "bridges/stream.hpp"
#include "crawl/runner.hpp"
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <future>
#include <ostream>
#include <thread>

namespace lycosa::cli {

namespace {

constexpr std::chrono::seconds grace{2};
/// Of a new project; changed like any project's.
constexpr double first_rate = 10, first_burst = 30;

struct one_options : settings_options {
  std::string scripts = ".";
  std::string handler; ///< a command in place of Python scripts
  std::string data, listen;
  std::string only;
  bool start = false, exit_when_done = false, interactive = false;
};

/// Where the Python side is: beside the source tree's build, or installed.
std::string python_path() {
  std::error_code ec;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ec).parent_path();
  for (const auto* place : {"../../clients/python", "../share/lycosa/python"})
    if (std::filesystem::is_directory(self / place / "lycosa", ec))
      return std::filesystem::weakly_canonical(self / place, ec).string();
  return {};
}

crawl::processor_config processor_for(const script_file& script, const one_options& o,
                                      const conf::settings& s) {
  crawl::processor_config c;
  c.project = script.project;
  c.time_limit = s.fetcher.script_time_limit;
  if (o.handler.empty()) {
    c.command = {"python3", "-m", "lycosa.handler", script.path};
    if (const auto path = python_path(); !path.empty()) c.env.push_back("PYTHONPATH=" + path);
  } else {
    c.command = {"/bin/sh", "-c", "exec " + o.handler};
  }
  return c;
}

class one {
public:
  one(const one_options& o, const conf::settings& s, context& ctx) : o_(o), s_(s), ctx_(ctx) {}

  int run() {
    if (auto found = scripts(); !found) return ctx_.complain(found.error());
    auto front_config = to_server_config(s_);
    if (!front_config) return ctx_.complain(front_config.error());
    keep_freed_memory();
    block_signals();
    if (auto ok = start_logging(s_.log); !ok) return ctx_.complain(ok.error());
    auto node = actors::node::open(to_node_config(s_));
    if (!node) return ctx_.complain(node.error());
    node_ = std::move(*node);
    auto front = gateway::server::start(*front_config, *node_);
    if (!front) {
      node_->stop();
      return ctx_.complain(front.error());
    }
    http_ = "http://" + front_config->host + ":" + std::to_string((*front)->port());
    const int code = crawl();
    (*front)->stop(grace);
    node_->stop();
    return code;
  }

private:
  result<void> scripts() {
    if (!o_.handler.empty()) {
      const auto name = o_.only.empty() ? std::string{"one"} : o_.only;
      if (auto ok = check_project_name(name); !ok) return ok;
      scripts_.push_back({name, {}, o_.handler});
      return {};
    }
    auto found = find_scripts(o_.scripts);
    if (!found) return tl::unexpected(found.error());
    for (auto& s : *found)
      if (o_.only.empty() || s.project == o_.only) scripts_.push_back(std::move(s));
    if (scripts_.empty()) return fail(errc::invalid_argument, o_.only, "no such script");
    return {};
  }

  /// Makes or changes a script's project. True if it is new.
  result<bool> put(const script_file& s) {
    project_patch patch;
    patch.script = s.text;
    patch.status = project_status::running;
    auto known = actors::wait_for<actors::project_view>(
        [&](auto done) { node_->get_project(s.project, std::move(done)); });
    if (!known) {
      patch.rate = first_rate;
      patch.burst = first_burst;
    }
    auto stored = actors::wait_for<actors::put_project_answer>(
        [&](auto done) { node_->put_project(s.project, patch, std::move(done)); });
    if (!stored) return tl::unexpected(stored.error());
    return stored->created;
  }

  int crawl() {
    crawl::runner_config config;
    config.fetch.concurrency = s_.fetcher.concurrency;
    config.fetch.per_host = s_.fetcher.per_host;
    config.fetch.user_agent = s_.fetcher.user_agent;
    config.fetch.connect_timeout = s_.fetcher.connect_timeout;
    config.fetch.timeout = s_.fetcher.timeout;
    config.fetch.max_body = s_.fetcher.max_body.count;
    config.tell = [this](const crawl::crawled& c) { tell(c); };
    std::vector<std::string> begin;
    for (const auto& s : scripts_) {
      config.scripts.push_back(processor_for(s, o_, s_));
      auto fresh = put(s);
      if (!fresh) return ctx_.complain(fresh.error());
      if (*fresh || o_.start) begin.push_back(s.project);
    }
    auto runner = crawl::runner::start(std::move(config), *node_, o_.interactive);
    for (const auto& project : begin)
      if (auto ok = actors::wait_for<actors::submit_answer>(
              [&](auto done) { node_->start_project(project, std::move(done)); });
          !ok)
        return ctx_.complain(ok.error());
    ctx_.out << "lycosa ready http=" << http_.substr(7) << " xmlrpc=off node=" << s_.node.name
             << " data=" << (s_.node.data.empty() ? "(memory)" : s_.node.data) << std::endl;
    const script_watch watch{watched(), [&](const std::string& path) { reload(*runner, path); }};
    std::thread helper;
    if (o_.interactive)
      helper = std::thread([&] { talk(*runner); });
    else if (o_.exit_when_done)
      helper = std::thread([&] { wait_until_done(*runner); });
    wait_for_stop([] {});
    stopping_.raise();
    runner->stop();
    if (helper.joinable() && !o_.interactive) helper.join();
    if (helper.joinable()) helper.detach(); // it waits for a person
    return code_;
  }

  [[nodiscard]] std::vector<script_file> watched() const {
    return o_.handler.empty() ? scripts_ : std::vector<script_file>{};
  }

  void tell(const crawl::crawled& c) {
    if (!o_.interactive) return;
    const std::lock_guard lock(out_);
    ctx_.out << c.status << ' ' << printable(c.url) << "  " << c.follows << " follow";
    if (!c.result.empty()) ctx_.out << "  result " << printable(c.result.substr(0, 200));
    if (!c.ok) ctx_.out << "\n  failed: " << printable(c.error.substr(0, 2000));
    ctx_.out << std::endl;
  }

  void reload(crawl::runner& runner, const std::string& path) {
    for (const auto& s : scripts_) {
      if (s.path != path) continue;
      auto now = find_scripts(path);
      if (!now || now->front().text == s.text) return;
      spdlog::info("script {}: changed", s.project);
      runner.reload(s.project);
      if (auto ok = put(now->front()); !ok)
        spdlog::error("script {}: {}", s.project, ok.error().text());
      return;
    }
  }

  /// Ends the process when every project has run dry and `on_finished` is through.
  void wait_until_done(crawl::runner& runner) {
    const auto quiet = s_.scheduler.finish_delay + std::chrono::seconds{1};
    while (!stopping_.raised()) {
      runner.wait_until_quiet(quiet);
      auto all = actors::wait_for<std::vector<actors::project_view>>(
          [&](auto done) { node_->list_projects(std::move(done)); });
      std::uint64_t left = 0;
      if (all)
        for (const auto& p : *all)
          for (const auto& s : scripts_)
            if (p.record.name == s.project) left += p.size();
      if (all && left == 0) break;
    }
    ::kill(::getpid(), SIGTERM);
  }

  void talk(crawl::runner& runner) {
    shell::actions does;
    does.step = [&](const std::string& project) {
      std::promise<bool> done;
      runner.step(project, [&](bool there) { done.set_value(there); });
      return done.get_future().get();
    };
    shell s{http_, scripts_.size() == 1 ? scripts_[0].project : "", does, ctx_};
    switch (s.run()) {
    case shell::ending::go_on:
      runner.pause(false);
      if (o_.exit_when_done) wait_until_done(runner);
      return;
    case shell::ending::failed:
      code_ = failed;
      break;
    case shell::ending::quit:
      break;
    }
    ::kill(::getpid(), SIGTERM);
  }

  const one_options& o_;
  const conf::settings& s_;
  context& ctx_;
  std::unique_ptr<actors::node> node_;
  std::vector<script_file> scripts_;
  std::string http_;
  bridges::stop_signal stopping_;
  std::mutex out_;
  int code_ = done;
};

} // namespace

void add_one(CLI::App& app, context& ctx) {
  auto o = std::make_shared<one_options>();
  auto* command = app.add_subcommand("one", "Scheduler, fetcher and scripts in one process");
  command->add_option("SCRIPTS", o->scripts, "A folder of *.py files, or one file; each a project")
      ->capture_default_str();
  command
      ->add_option("--handler", o->handler,
                   "A command that speaks docs/handlers.md, in place of Python scripts")
      ->type_name("CMD");
  command->add_option("--only", o->only, "Only this project (with --handler: its name)")
      ->type_name("NAME");
  command->add_flag("--start", o->start, "Run on_start now; new projects are started anyway");
  command->add_flag("--exit-when-done", o->exit_when_done, "End when nothing is left to crawl");
  command->add_flag("--interactive", o->interactive,
                    "Crawl one task at a time, as told; see lycosa shell");
  command->add_option("--data", o->data, "Data directory (node.data)")->type_name("DIR");
  command->add_option("--listen", o->listen, "HTTP address (http.listen); port 0 = any free")
      ->type_name("HOST:PORT");
  add_settings_options(command, *o);
  command->footer(
      "A changed script is noticed and loaded again. SIGINT or SIGTERM gives leases back "
      "and ends.\n\n"
      "Examples:\n"
      "  lycosa one examples/one --data /tmp/crawl --exit-when-done\n"
      "  lycosa one --handler 'node handler.js' --only news");
  on_run(command, ctx, [o, &ctx] {
    auto all = *o;
    if (!all.data.empty()) all.sets.push_back("node.data=" + all.data);
    if (!all.listen.empty()) all.sets.push_back("http.listen=" + all.listen);
    auto config = load_settings(all, ctx);
    return config ? one{*o, config->values, ctx}.run() : int{bad_input};
  });
}

} // namespace lycosa::cli
