#include "cli/job_send.hpp"

#include <map>
#include <string>
#include <utility>

namespace lycosa::cli {

namespace {

constexpr std::size_t most_jobs = 1000;                  ///< a request
constexpr std::size_t most_bytes = std::size_t{1} << 20; ///< a request, unless one job has more
constexpr const char* call_name = "POST /v1/jobs";

/// One request: jobs [first, end) and their text.
struct batch {
  std::size_t first = 0, end = 0;
  std::string text;
};

/// All jobs of a list are to be replaced or none.
bool replaces(const json& job) {
  if (!job.is_object()) return false;
  const auto flag = job.find("replace_existing");
  return flag != job.end() && flag->is_boolean() && flag->get<bool>();
}

batch batch_from(const std::vector<json>& jobs, std::size_t first) {
  batch b{first, first + 1, text_for_server(jobs[first])};
  for (; b.end < jobs.size() && b.end - first < most_jobs; ++b.end) {
    if (replaces(jobs[b.end]) != replaces(jobs[first])) break;
    const auto next = text_for_server(jobs[b.end]);
    if (b.text.size() + next.size() > most_bytes) break;
    b.text += ',' + next;
  }
  return b;
}

/// Tells what a list's answer says of each of its jobs.
bool tell_all(const batch& b, json& answer, const job_told& told) {
  std::map<std::size_t, failure> rejected;
  for (const auto& r : answer.value("rejected", json::array())) {
    const auto status = r.value("status", 400);
    rejected[r.value("index", std::size_t{0})] =
        failure{status == 400 || status == 413 || status == 422 ? bad_input : failed, call_name,
                r.value("error", std::string{"not taken"})};
  }
  auto jobs = answer.value("jobs", json::array());
  for (std::size_t i = 0; i < b.end - b.first; ++i) {
    const auto bad = rejected.find(i);
    auto told_of = bad != rejected.end()
                       ? outcome<json>(tl::unexpected(bad->second))
                       : outcome<json>(i < jobs.size() ? std::move(jobs[i]) : json::object());
    if (!told(b.first + i, std::move(told_of))) return false;
  }
  return true;
}

} // namespace

std::string text_for_server(const json& job) {
  return job.dump(-1, ' ', false, json::error_handler_t::replace);
}

void send_jobs(client& server, const std::vector<json>& jobs, const job_told& told) {
  for (std::size_t at = 0; at < jobs.size();) {
    const auto b = batch_from(jobs, at);
    at = b.end;
    if (b.end - b.first == 1) {
      auto answer = server.call_json("POST", "/v1/jobs", b.text);
      const bool lost = !answer && answer.error().code == unreachable;
      if (!told(b.first, std::move(answer)) || lost) return;
      continue;
    }
    auto answer = server.call_json("POST", "/v1/jobs?jobs=true", '[' + b.text + ']');
    if (answer && answer->is_object()) {
      if (!tell_all(b, *answer, told)) return;
      continue;
    }
    const auto why =
        answer ? failure{failed, call_name, "the answer is not of this kind"} : answer.error();
    for (auto i = b.first; i < b.end; ++i)
      if (!told(i, tl::unexpected(why)) || why.code == unreachable) return;
  }
}

} // namespace lycosa::cli
