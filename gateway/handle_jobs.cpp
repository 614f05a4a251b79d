#include "core/jobs/job_json.hpp"
#include "core/triggers/json.hpp"
#include "core/triggers/preview.hpp"
#include "core/triggers/time_text.hpp"
#include "gateway/handlers.hpp"
#include "gateway/items.hpp"
#include "gateway/json_writer.hpp"
#include "gateway/numbers.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <vector>

namespace lycosa::gateway {

namespace {

wall_time now() {
  return std::chrono::time_point_cast<usec>(std::chrono::system_clock::now());
}

response show_job(const jobs::job& j, unsigned status = 200) {
  return json(jobs::to_json(j), status);
}

void answer_error(const exchange_ptr& x, const error& e) {
  const auto field = std::vector<field_error>{{0, e.what, e.why}};
  if (e.code == errc::invalid_argument) return answer_now(x, problem(400, e.text(), field));
  answer_now(x, problem(e));
}

/// Answers with the job, or with what was wrong and where.
std::function<void(result<jobs::job>)> job_answer(const exchange_ptr& x, unsigned status = 200) {
  return [x, status](result<jobs::job> j) {
    if (!j) return answer_error(x, j.error());
    answer_now(x, show_job(*j, status));
  };
}

/// A string member of an optional body; empty when there is none.
result<std::string> text_member(const request& r, std::string_view name) {
  if (r.body->text.empty()) return std::string{};
  outline body(r.body->arena, {});
  if (auto ok = read_object(r.body->text, body); !ok) return tl::unexpected(ok.error());
  const auto* m = body.find(name);
  if (m == nullptr || m->is(json_kind::null)) return std::string{};
  if (!m->is(json_kind::string))
    return fail(errc::invalid_argument, std::string{name}, "must be a string");
  return std::string{m->text};
}

result<std::size_t> count_argument(const request& r, std::string_view name, std::size_t otherwise,
                                   std::size_t most) {
  const auto* text = r.argument(name);
  if (text == nullptr) return otherwise;
  const auto n = parse_integer(*text);
  if (!n || *n < 1 || static_cast<std::size_t>(*n) > most)
    return fail(errc::invalid_argument, std::string{name},
                "must be an integer from 1 to " + std::to_string(most));
  return static_cast<std::size_t>(*n);
}

constexpr std::size_t most_jobs = 10'000; // a request, as of tasks

/// What became of a list of jobs. Which were wrong is told by their place in it.
struct added_jobs {
  std::size_t added = 0;
  std::map<std::size_t, error> rejected;
  /// The jobs as they are now, null where one was rejected; none = nobody asked.
  std::optional<std::vector<std::string>> jobs;

  void add(std::size_t index, const result<actors::job_ptr>& j) {
    if (!j) {
      rejected.emplace(index, j.error());
      return;
    }
    ++added;
    if (jobs) (*jobs)[index] = lycosa::jobs::to_json(**j);
  }

  [[nodiscard]] response show() const {
    std::string b = "{\"added\":" + std::to_string(added) + ",\"rejected\":[";
    for (const auto& [index, why] : rejected) {
      if (b.back() != '[') b += ',';
      b += "{\"index\":" + std::to_string(index);
      append_key(b, "error");
      append_string(b, why.text());
      b += ",\"status\":" + std::to_string(status_of(why.code)) + '}';
    }
    b += ']';
    if (jobs) {
      b += ",\"jobs\":[";
      for (const auto& j : *jobs) {
        if (b.back() != '[') b += ',';
        b += j;
      }
      b += ']';
    }
    return json(b + '}');
  }
};

void add_list(service& s, const request& r, const exchange_ptr& x) {
  auto inputs = jobs::parse_jobs(r.body->text, now());
  if (!inputs) return answer_error(x, inputs.error());
  if (inputs->size() > most_jobs)
    return answer_error(x, {errc::invalid_argument, "jobs",
                            "more than " + std::to_string(most_jobs) + " in one request"});
  added_jobs sum;
  if (const auto* show = r.argument("jobs"); show != nullptr && *show == "true")
    sum.jobs.emplace(inputs->size(), "null");
  std::vector<jobs::job> all;
  std::vector<std::size_t> places;
  std::optional<bool> replace;
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    auto& input = (*inputs)[i];
    if (!input) {
      sum.rejected.emplace(i, input.error());
      continue;
    }
    if (replace.value_or(input->replace_existing) != input->replace_existing)
      return answer_error(x, {errc::invalid_argument, "replace_existing",
                              "must be the same for all jobs of a list"});
    replace = input->replace_existing;
    all.push_back(std::move(input->job));
    places.push_back(i);
  }
  const bool whole = sum.jobs.has_value();
  s.node.jobs().add_all(std::move(all), replace.value_or(false), whole,
                        [x, sum = std::move(sum), places = std::move(places)](
                            result<std::vector<result<actors::job_ptr>>> done) mutable {
                          if (!done) return answer_error(x, done.error());
                          for (std::size_t i = 0; i < done->size(); ++i)
                            sum.add(places[i], (*done)[i]);
                          answer_now(x, sum.show());
                        });
}

} // namespace

void add_jobs(service& s, const request& r, const exchange_ptr& x) {
  const auto first = r.body->text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && r.body->text[first] == '[') return add_list(s, r, x);
  auto input = jobs::parse_job(r.body->text, now());
  if (!input) return answer_error(x, input.error());
  s.node.jobs().add(std::move(input->job), input->replace_existing, job_answer(x, 201));
}

void list_jobs(service& s, const request& r, const exchange_ptr& x) {
  const auto limit = read_limit(r);
  if (!limit) return answer_now(x, problem(limit.error()));
  const auto* after = r.argument("after");
  s.node.jobs().list(after == nullptr ? std::string{} : *after, *limit,
                     answering<actors::job_page>(x, [](const actors::job_page& page) {
                       std::string b = "{\"jobs\":[";
                       for (std::size_t i = 0; i < page.jobs.size(); ++i)
                         b += (i > 0 ? "," : "") + jobs::to_json(page.jobs[i]);
                       b += "],\"next\":";
                       if (page.next.empty())
                         b += "null";
                       else
                         append_string(b, page.next);
                       return json(b + '}');
                     }));
}

void get_job(service& s, const request& r, const exchange_ptr& x) {
  s.node.jobs().get(r.captured[0], job_answer(x));
}

void modify_job(service& s, const request& r, const exchange_ptr& x) {
  outline body(r.body->arena, {});
  if (auto ok = read_object(r.body->text, body); !ok) return answer_error(x, ok.error());
  s.node.jobs().modify(r.captured[0], {std::string{body.raw()}}, job_answer(x));
}

void delete_job(service& s, const request& r, const exchange_ptr& x) {
  s.node.jobs().remove(r.captured[0],
                       answering<bool>(x, [](bool) { return json(R"({"removed":true})"); }));
}

void pause_job(service& s, const request& r, const exchange_ptr& x) {
  auto reason = text_member(r, "reason");
  if (!reason) return answer_error(x, reason.error());
  s.node.jobs().pause(r.captured[0], std::move(*reason), job_answer(x));
}

void resume_job(service& s, const request& r, const exchange_ptr& x) {
  const auto missed = text_member(r, "missed");
  if (!missed) return answer_error(x, missed.error());
  if (!missed->empty() && *missed != "skip" && *missed != "catch_up")
    return answer_error(x, {errc::invalid_argument, "missed", "must be skip or catch_up"});
  s.node.jobs().resume(r.captured[0],
                       *missed == "catch_up" ? actors::resume_mode::catch_up
                                             : actors::resume_mode::skip,
                       job_answer(x));
}

void run_job(service& s, const request& r, const exchange_ptr& x) {
  s.node.jobs().run_now(r.captured[0],
                        answering<jobs::run_record>(x, [](const jobs::run_record& run) {
                          return json(jobs::to_json(run), 202);
                        }));
}

void reschedule_job(service& s, const request& r, const exchange_ptr& x) {
  outline body(r.body->arena, {});
  if (auto ok = read_object(r.body->text, body); !ok) return answer_error(x, ok.error());
  const auto* given = body.find("trigger");
  if (given == nullptr) return answer_error(x, {errc::invalid_argument, "trigger", "required"});
  s.node.jobs().reschedule(r.captured[0], std::string{given->raw}, job_answer(x));
}

void backfill_job(service& s, const request& r, const exchange_ptr& x) {
  outline body(r.body->arena, {});
  if (auto ok = read_object(r.body->text, body); !ok) return answer_error(x, ok.error());
  std::string texts[2];
  constexpr std::string_view names[]{"from", "to"};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto* m = body.find(names[i]);
    if (m == nullptr || !m->is(json_kind::string))
      return answer_error(x, {errc::invalid_argument, std::string{names[i]},
                              "required: a time such as 2030-01-01T00:00:00"});
    texts[i] = std::string{m->text};
  }
  const auto from = trigger::parse_time_text(texts[0], "from");
  if (!from) return answer_error(x, from.error());
  const auto to = trigger::parse_time_text(texts[1], "to");
  if (!to) return answer_error(x, to.error());
  // Times without an offset are in the job's zone.
  s.node.jobs().get(
      r.captured[0], [&s, x, id = r.captured[0], from = *from, to = *to](result<jobs::job> job) {
        if (!job) return answer_error(x, job.error());
        const auto zone = job->trigger.timezone();
        s.node.jobs().backfill(id, from.in(zone), to.in(zone),
                               answering<std::uint64_t>(x, [](std::uint64_t n) {
                                 return json("{\"runs\":" + std::to_string(n) + "}", 202);
                               }));
      });
}

void delete_all_jobs(service& s, const request& r, const exchange_ptr& x) {
  const auto* confirm = r.argument("confirm");
  if (confirm == nullptr || *confirm != "all")
    return answer_error(x,
                        {errc::invalid_argument, "confirm", "must be all: this removes every job"});
  s.node.jobs().remove_all(answering<std::uint64_t>(
      x, [](std::uint64_t n) { return json("{\"removed\":" + std::to_string(n) + "}"); }));
}

void show_job_scheduler(service& s, const request&, const exchange_ptr& x) {
  s.node.jobs().statistics(
      answering<actors::job_statistics>(x, [](const actors::job_statistics& v) {
        std::string b = "{\"paused\":";
        b += v.scheduler_paused ? "true" : "false";
        const std::pair<std::string_view, std::uint64_t> numbers[]{
            {"jobs", v.jobs},           {"jobs_paused", v.paused}, {"jobs_finished", v.finished},
            {"running", v.running},     {"queued", v.queued},      {"buffered", v.buffered},
            {"succeeded", v.succeeded}, {"failed", v.failed},      {"missed", v.missed},
            {"skipped", v.skipped},     {"dropped", v.dropped}};
        for (const auto& [name, n] : numbers) {
          append_key(b, name);
          b += std::to_string(n);
        }
        append_key(b, "next_run_time");
        if (v.next_at)
          append_string(b, trigger::to_iso(*v.next_at, trigger::zone{}));
        else
          b += "null";
        append_key(b, "unreadable");
        b += '[';
        for (const auto& id : v.unreadable) {
          if (b.back() != '[') b += ',';
          append_string(b, id);
        }
        return json(b + "]}");
      }));
}

void pause_all_jobs(service& s, const request&, const exchange_ptr& x) {
  s.node.jobs().pause_all(answering<bool>(x, [](bool) { return json(R"({"paused":true})"); }));
}

void resume_all_jobs(service& s, const request&, const exchange_ptr& x) {
  s.node.jobs().resume_all(answering<bool>(x, [](bool) { return json(R"({"paused":false})"); }));
}

void list_runs(service& s, const request& r, const exchange_ptr& x) {
  const auto limit = read_limit(r);
  if (!limit) return answer_now(x, problem(limit.error()));
  std::uint64_t before = 0;
  if (const auto* text = r.argument("before")) {
    const auto n = parse_integer(*text);
    if (!n || *n < 1)
      return answer_error(
          x, {errc::invalid_argument, "before", "must be the number of a run, 1 or more"});
    before = static_cast<std::uint64_t>(*n);
  }
  s.node.jobs().runs(r.captured[0], before, *limit,
                     answering<actors::run_page>(x, [](const actors::run_page& page) {
                       std::string b = "{\"runs\":[";
                       for (std::size_t i = 0; i < page.runs.size(); ++i)
                         b += (i > 0 ? "," : "") + jobs::to_json(page.runs[i]);
                       b += "],\"next\":";
                       b += page.next == 0 ? "null" : std::to_string(page.next);
                       return json(b + '}');
                     }));
}

void next_runs(service& s, const request& r, const exchange_ptr& x) {
  const auto n = count_argument(r, "n", 10, 1000);
  if (!n) return answer_error(x, n.error());
  s.node.jobs().get(r.captured[0], [&s, x, n = *n, id = r.captured[0]](result<jobs::job> job) {
    if (!job) return answer_now(x, problem(job.error()));
    const auto zone = job->trigger.timezone();
    s.node.jobs().next(id, n, answering<std::vector<wall_time>>(x, [zone](const auto& times) {
                         std::string b = "{\"times\":[";
                         for (const auto& t : times) {
                           if (b.back() != '[') b += ',';
                           append_string(b, trigger::to_iso(t, zone));
                         }
                         return json(b + "]}");
                       }));
  });
}

void why_job(service& s, const request& r, const exchange_ptr& x) {
  std::optional<wall_time> at;
  if (const auto* text = r.argument("time")) {
    const auto t = trigger::parse_time_text(*text, "time");
    if (!t) return answer_error(x, t.error());
    at = t->in(trigger::zone{});
  }
  s.node.jobs().why(r.captured[0], at, answering<std::string>(x, [](const std::string& words) {
                      std::string b = "{\"why\":";
                      append_string(b, words);
                      return json(b + '}');
                    }));
}

/// When a trigger that no job has would fire.
void preview_trigger(service&, const request& r, const exchange_ptr& x) {
  outline body(r.body->arena, {});
  if (auto ok = read_object(r.body->text, body); !ok) return answer_error(x, ok.error());
  const auto* given = body.find("trigger");
  if (given == nullptr) return answer_error(x, {errc::invalid_argument, "trigger", "required"});
  auto spec = given->is(json_kind::string) ? trigger::parse_spec_text(given->text)
                                           : trigger::parse_json(given->raw);
  if (!spec) return answer_error(x, spec.error());
  trigger::preview_request ask;
  const std::pair<std::string_view, std::optional<std::string>*> texts[]{
      {"timezone", &ask.timezone}, {"from", &ask.from}, {"previous", &ask.previous}};
  for (const auto& [name, to] : texts) {
    const auto* m = body.find(name);
    if (m == nullptr || m->is(json_kind::null)) continue;
    if (!m->is(json_kind::string))
      return answer_error(x, {errc::invalid_argument, std::string{name}, "must be a string"});
    *to = std::string{m->text};
  }
  if (const auto* m = body.find("n"); m != nullptr) {
    const auto n = m->is(json_kind::number) ? parse_integer(m->raw) : std::nullopt;
    if (!n || *n < 1 || static_cast<std::size_t>(*n) > trigger::preview_limit)
      return answer_error(
          x, {errc::invalid_argument, "n",
              "must be an integer from 1 to " + std::to_string(trigger::preview_limit)});
    ask.count = static_cast<std::size_t>(*n);
  }
  auto times = trigger::preview(*spec, ask, now());
  if (!times) return answer_error(x, times.error());
  std::string b = "{\"times\":[";
  for (const auto& t : times->times) {
    if (b.back() != '[') b += ',';
    append_string(b, t);
  }
  b += "],\"meaning\":";
  append_string(b, times->meaning);
  answer_now(x, json(b + '}'));
}

} // namespace lycosa::gateway
