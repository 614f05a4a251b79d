#include "cli/bench/delivery_check.hpp"
#include "cli/bench/http_load.hpp"
#include "cli/bench/load_target.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <future>

namespace lycosa::cli::bench {

namespace {

constexpr std::string_view track =
    R"(,"track":{"fetch":{"ok":true,"time":0.12,"status_code":200},"process":{"ok":true,"time":0.01}}})";

void append(std::string& to, std::int64_t n) {
  char digits[24];
  to.append(digits, std::to_chars(digits, digits + sizeof digits, n).ptr);
}

/// What follows `key` after `at`, and moves `at` there; npos in `at` when there is none. Several
/// times faster than reading the answer as JSON, which a load generator need not trust in.
std::string_view after(std::string_view text, std::string_view key, std::size_t& at) {
  const auto* found = static_cast<const char*>(
      ::memmem(text.data() + at, text.size() - at, key.data(), key.size()));
  if (found == nullptr) {
    at = std::string_view::npos;
    return {};
  }
  at = static_cast<std::size_t>(found - text.data()) + key.size();
  return text.substr(at);
}

/// A whole number of an answer; 0 when it is not there.
std::uint64_t count_of(std::string_view text, std::string_view key) {
  std::size_t at = 0;
  const auto rest = after(text, key, at);
  std::uint64_t n = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), n);
  return n;
}

/// The node takes all that a load sends, or the run is void.
result<void> all_taken(std::string_view path, std::string_view answer) {
  if (answer.find(R"("rejected":[])") != std::string_view::npos) return {};
  return fail(errc::internal, std::string{path},
              "the node refused items: " + std::string{answer.substr(0, 300)});
}

class http_session final : public load_session {
public:
  http_session(const task_names& names, std::unique_ptr<load_connection> connection)
      : names_(names), connection_(std::move(connection)) {
    lease_tail_ = names_.from_all ? "}" : R"(,"projects":[)";
    if (names_.from_all) return;
    for (const auto& p : names_.projects) {
      if (lease_tail_.back() == '"') lease_tail_ += ',';
      ((lease_tail_ += '"') += p) += '"';
    }
    lease_tail_ += "]}";
  }

  result<submit_counts> submit(std::span<const load_task> tasks) override {
    out_ = "[";
    for (const auto& t : tasks) {
      begin_item(t.number);
      out_ += R"(","url":"http://example.com/page/)";
      append(out_, static_cast<std::int64_t>(t.number));
      out_ += R"(","schedule":{"priority":1)";
      if (t.age >= 0) {
        out_ += R"(,"age":)";
        append(out_, t.age);
      }
      if (t.itag != 0) {
        out_ += R"(,"itag":")";
        append(out_, t.itag);
        out_ += '"';
      }
      if (t.exetime != 0) {
        out_ += R"(,"exetime":)";
        append(out_, t.exetime / 1'000'000);
        out_ += '.';
        const auto part = std::to_string(1'000'000 + t.exetime % 1'000'000);
        out_.append(part, 1);
      }
      out_ += R"(},"fetch":{"method":"GET"},"process":{"callback":"index_page","save":")";
      out_ += names_.filler;
      out_ += R"("}})";
    }
    out_ += ']';
    auto answer = connection_->send("POST", "/v1/tasks", out_);
    if (!answer) return tl::unexpected(answer.error());
    if (auto ok = all_taken("/v1/tasks", *answer); !ok) return tl::unexpected(ok.error());
    return submit_counts{count_of(*answer, R"("new":)"), count_of(*answer, R"("restarted":)"),
                         count_of(*answer, R"("ignored":)")};
  }

  result<void> lease(std::uint32_t max, unsigned wait, std::vector<leased_number>& into) override {
    into.clear();
    out_ = R"({"max":)";
    append(out_, max);
    out_ += R"(,"wait":)";
    append(out_, wait);
    out_ += lease_tail_;
    auto answer = connection_->send("POST", "/v1/lease", out_);
    if (!answer) return tl::unexpected(answer.error());
    // Each task tells its id before its lease; what it carries holds neither key.
    for (std::size_t at = 0;;) {
      const auto id = after(*answer, R"("taskid":")", at);
      if (at == std::string_view::npos) return {};
      const auto lease = after(*answer, R"("lease":")", at);
      if (at == std::string_view::npos) return {};
      leased_number one;
      if (lease.size() < one.lease.size())
        return fail(errc::internal, "/v1/lease", "the answer is cut short");
      if (!read_number(names_, id.substr(0, id.find('"')), one.number)) continue;
      std::memcpy(one.lease.data(), lease.data(), one.lease.size());
      into.push_back(one);
    }
  }

  result<std::uint64_t> report(std::span<const leased_number> done) override {
    out_ = "[";
    for (const auto& d : done) {
      begin_item(d.number);
      out_ += R"(","lease":")";
      out_.append(d.lease.data(), d.lease.size());
      out_ += '"';
      out_ += track;
    }
    out_ += ']';
    auto answer = connection_->send("POST", "/v1/report", out_);
    if (!answer) return tl::unexpected(answer.error());
    if (auto ok = all_taken("/v1/report", *answer); !ok) return tl::unexpected(ok.error());
    return count_of(*answer, R"("done":)");
  }

private:
  /// `{"project":"p","taskid":"id`, after a comma where one is due.
  void begin_item(std::uint64_t number) {
    if (out_.back() == '}') out_ += ',';
    out_ += R"({"project":")";
    out_ += names_.project(number);
    out_ += R"(","taskid":")";
    out_ += names_.run;
    append(out_, static_cast<std::int64_t>(number));
  }

  const task_names& names_;
  std::unique_ptr<load_connection> connection_;
  std::string lease_tail_;
  std::string out_;
};

class http_node final : public load_target {
public:
  http_node(std::string host, std::uint16_t port) : host_(std::move(host)), port_(port) {}

  [[nodiscard]] bool interleaves() const override { return true; }
  result<std::unique_ptr<load_session>> open(const task_names& names) override {
    auto connection = load_connection::open(host_, port_);
    if (!connection) return tl::unexpected(connection.error());
    return std::make_unique<http_session>(names, std::move(*connection));
  }

  result<void> put_projects(std::span<const std::string> projects) override {
    // Several at a time: the node commits together what comes together.
    const auto makers = std::min<std::size_t>(16, projects.size());
    std::vector<std::future<result<void>>> made;
    for (std::size_t first = 0; first < makers; ++first)
      made.push_back(std::async(std::launch::async, [this, projects, first, makers] {
        return put_some(projects, first, makers);
      }));
    result<void> all;
    for (auto& m : made)
      if (auto ok = m.get(); !ok) all = std::move(ok);
    return all;
  }

  result<void> add_jobs(const std::string& list) override {
    auto answer = call("POST", "/v1/jobs", list);
    if (!answer) return tl::unexpected(answer.error());
    return all_taken("/v1/jobs", *answer);
  }

  result<std::vector<double>> job_lateness(const std::string& id) override {
    auto answer = call("GET", "/v1/jobs/" + id + "/runs?limit=100", {});
    if (!answer) return tl::unexpected(answer.error());
    std::vector<double> late;
    const auto runs = nlohmann::json::parse(*answer, nullptr, false);
    if (runs.is_object() && runs.contains("runs"))
      for (const auto& r : runs["runs"])
        if (r.contains("late") && r["late"].is_number()) late.push_back(r["late"]);
    return late;
  }

  result<void> remove_job(const std::string& id) override {
    auto answer = call("DELETE", "/v1/jobs/" + id, {});
    if (!answer) return tl::unexpected(answer.error());
    return {};
  }

private:
  /// Makes every `step`th project from `first` on.
  result<void> put_some(std::span<const std::string> projects, std::size_t first,
                        std::size_t step) const {
    auto connection = load_connection::open(host_, port_);
    if (!connection) return tl::unexpected(connection.error());
    for (auto i = first; i < projects.size(); i += step)
      if (auto made = (*connection)
                          ->send("PUT", "/v1/projects/" + projects[i],
                                 R"({"status":"RUNNING","rate":1000000000,"burst":1000000000})");
          !made)
        return tl::unexpected(made.error());
    return {};
  }

  /// What is not measured; the answer's views hold until the next call.
  result<std::string_view> call(std::string_view method, const std::string& path,
                                std::string_view body) {
    if (!control_) {
      auto opened = load_connection::open(host_, port_);
      if (!opened) return tl::unexpected(opened.error());
      control_ = std::move(*opened);
    }
    return control_->send(method, path, body);
  }

  std::string host_;
  std::uint16_t port_;
  std::unique_ptr<load_connection> control_;
};

} // namespace

std::unique_ptr<load_target> http_target(std::string host, std::uint16_t port) {
  return std::make_unique<http_node>(std::move(host), port);
}

bool read_number(const task_names& names, std::string_view taskid, std::uint64_t& number) {
  if (!taskid.starts_with(names.run)) return false;
  const auto digits = taskid.substr(names.run.size());
  const auto* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, number);
  return read.ec == std::errc{} && read.ptr == end && number < delivery_check::limit;
}

} // namespace lycosa::cli::bench
