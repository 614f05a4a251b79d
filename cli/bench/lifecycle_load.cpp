#include "cli/bench/lifecycle_load.hpp"

#include "cli/bench/http_load.hpp"

#include <simdjson.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace lycosa::cli::bench {

namespace {

/// What the connections share.
struct shared {
  explicit shared(const lifecycle_options& o)
      : options(o), seen(std::make_unique<std::atomic<std::uint8_t>[]>(o.tasks)) {}

  const lifecycle_options& options;
  std::string run; ///< makes task ids new to a store that was used before
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> submitted{0};
  std::atomic<std::uint64_t> leased{0};
  std::atomic<std::uint64_t> settled{0};
  std::atomic<std::chrono::steady_clock::time_point> end{};
  std::atomic<std::uint64_t> twice{0};
  std::unique_ptr<std::atomic<std::uint8_t>[]> seen;
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::optional<error> failure;

  void fail_with(const error& e) {
    std::lock_guard lock(mutex);
    if (!failure) failure = e;
    stop = true;
  }
};

class worker {
public:
  explicit worker(shared& s) : s_(s), filler_(s.options.body, 'x') {}

  result<void> run() {
    auto opened = load_connection::open(s_.options.host, s_.options.port);
    if (!opened) return tl::unexpected(opened.error());
    connection_ = std::move(*opened);
    const auto total = s_.options.tasks;
    while (!s_.stop) {
      bool submitted = false;
      if (s_.next < total) {
        auto n = submit();
        if (!n) return tl::unexpected(n.error());
        submitted = *n > 0;
      }
      if (s_.options.submit_only) {
        if (!submitted) return {};
        continue;
      }
      if (s_.settled >= total) return {};
      if (auto ok = lease_and_report(submitted ? 0 : 1); !ok) return ok;
    }
    return {};
  }

private:
  result<std::uint64_t> submit() {
    const auto first = s_.next.fetch_add(s_.options.batch);
    if (first >= s_.options.tasks) return 0;
    const auto end = std::min<std::uint64_t>(first + s_.options.batch, s_.options.tasks);
    out_.clear();
    out_ += '[';
    for (auto i = first; i < end; ++i) {
      if (i > first) out_ += ',';
      const auto id = std::to_string(i);
      out_ += R"({"project":")";
      out_ += s_.options.project;
      out_ += R"(","taskid":")";
      out_ += s_.run;
      out_ += id;
      out_ += R"(","url":"http://example.com/page/)";
      out_ += id;
      out_ +=
          R"(","schedule":{"priority":1},"fetch":{"method":"GET"},"process":{"callback":"index_page","save":")";
      out_ += filler_;
      out_ += R"("}})";
    }
    out_ += ']';
    auto answer = connection_->post("/v1/tasks", out_);
    if (!answer) return tl::unexpected(answer.error());
    s_.submitted += end - first;
    return end - first;
  }

  result<void> lease_and_report(int wait) {
    out_.clear();
    out_ += R"({"max":)";
    out_ += std::to_string(s_.options.batch);
    out_ += R"(,"wait":)";
    out_ += std::to_string(wait);
    out_ += R"(,"projects":[")";
    out_ += s_.options.project;
    out_ += R"("]})";
    auto answer = connection_->post("/v1/lease", out_);
    if (!answer) return tl::unexpected(answer.error());
    text_.assign(answer->begin(), answer->end());
    text_.reserve(text_.size() + simdjson::SIMDJSON_PADDING);
    simdjson::dom::element document;
    if (parser_.parse(text_.data(), text_.size(), false).get(document))
      return fail(errc::internal, "/v1/lease", "the answer is not JSON");
    simdjson::dom::array tasks;
    if (document["tasks"].get(tasks)) return fail(errc::internal, "/v1/lease", "no tasks member");
    out_.clear();
    out_ += '[';
    std::uint64_t n = 0;
    for (auto t : tasks) {
      std::string_view id, lease;
      if (t["taskid"].get(id) || t["lease"].get(lease)) continue;
      if (!count(id)) continue;
      if (n++ > 0) out_ += ',';
      out_ += R"({"project":")";
      out_ += s_.options.project;
      out_ += R"(","taskid":")";
      out_ += id;
      out_ += R"(","lease":")";
      out_ += lease;
      out_ +=
          R"(","track":{"fetch":{"ok":true,"time":0.12,"status_code":200},"process":{"ok":true,"time":0.01}}})";
    }
    out_ += ']';
    if (n == 0) return {};
    s_.leased += n;
    auto done = connection_->post("/v1/report", out_);
    if (!done) return tl::unexpected(done.error());
    // The end is when the last task is settled, not when the others have noticed.
    if ((s_.settled += n) >= s_.options.tasks) s_.end = std::chrono::steady_clock::now();
    return {};
  }

  /// False for tasks of another run.
  bool count(std::string_view id) {
    if (id.substr(0, s_.run.size()) != s_.run) return false;
    std::uint64_t i = 0;
    const auto digits = id.substr(s_.run.size());
    if (std::from_chars(digits.data(), digits.data() + digits.size(), i).ec != std::errc{}
        || i >= s_.options.tasks)
      return false;
    if (s_.seen[i].exchange(1) != 0) ++s_.twice;
    return true;
  }

  shared& s_;
  std::string filler_;
  std::unique_ptr<load_connection> connection_;
  std::string out_;
  std::string text_;
  simdjson::dom::parser parser_;
};

} // namespace

result<lifecycle_figures> run_lifecycle(const lifecycle_options& options) {
  shared s{options};
  s.run = std::to_string(std::chrono::system_clock::now().time_since_epoch().count()) + "-";
  {
    auto connection = load_connection::open(options.host, options.port);
    if (!connection) return tl::unexpected(connection.error());
    auto made = (*connection)
                    ->put("/v1/projects/" + options.project,
                          R"({"status":"RUNNING","rate":1000000000,"burst":1000000000})");
    if (!made) return tl::unexpected(made.error());
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options.connections; ++i) {
    threads.emplace_back([&s] {
      if (auto ok = worker{s}.run(); !ok) s.fail_with(ok.error());
    });
  }
  for (auto& t : threads)
    t.join();
  if (s.failure) return tl::unexpected(*s.failure);
  lifecycle_figures f;
  const auto end = s.end.load();
  f.seconds = std::chrono::duration<double>(
                  (options.submit_only ? std::chrono::steady_clock::now() : end) - start)
                  .count();
  f.submitted = s.submitted;
  f.leased = s.leased;
  f.settled = s.settled;
  f.delivered_twice = s.twice;
  if (!options.submit_only)
    for (std::uint64_t i = 0; i < options.tasks; ++i)
      f.lost += s.seen[i] == 0 ? 1 : 0;
  return f;
}

} // namespace lycosa::cli::bench
