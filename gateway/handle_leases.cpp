#include "gateway/handlers.hpp"
#include "gateway/items.hpp"
#include "gateway/json_writer.hpp"
#include "gateway/numbers.hpp"
#include "gateway/task_json.hpp"

#include <algorithm>
#include <optional>

namespace lycosa::gateway {
namespace {

constexpr std::string_view empty_lease = R"({"tasks":[]})";

/// Leases that did not reach the client go back to the queue.
void give_back(actors::node& node, const actors::lease_answer& answer) {
  actors::leases_request back;
  for (const auto& t : answer.tasks)
    if (!t.lease.empty()) back.leases.push_back(parse_lease(t.lease));
  if (!back.leases.empty()) node.release(std::move(back), [](result<actors::leases_answer>) {});
}

response show_lease(const actors::lease_answer& answer, bool lines) {
  std::string b;
  b.reserve(answer.tasks.size() * 700 + 32);
  if (!lines) b = R"({"tasks":[)";
  for (const auto& t : answer.tasks) {
    if (!lines && b.back() == '}') b += ',';
    b += '{';
    append_leased(b, t);
    b += lines ? "}\n" : "}";
  }
  if (!lines) b += "]}";
  auto r = json(std::move(b));
  if (lines) r.content_type = "application/x-ndjson";
  return r;
}

result<actors::lease_request> read_lease_request(const request& r) {
  actors::lease_request ask;
  ask.max = 100;
  ask.wait = std::chrono::seconds{10};
  if (r.body->text.empty()) return ask;
  outline o(r.body->arena, {});
  if (auto ok = read_object(r.body->text, o); !ok) return tl::unexpected<error>(ok.error());
  for (const auto& m : o.members()) {
    const auto wrong = [&](const char* why) {
      return fail(errc::invalid_argument, std::string{m.key}, why);
    };
    if (m.key == "max") {
      const auto n = m.is(json_kind::number) ? parse_integer(m.raw) : std::nullopt;
      if (!n || *n < 1 || *n > 10'000) return wrong("must be an integer from 1 to 10000");
      ask.max = static_cast<std::uint32_t>(*n);
    } else if (m.key == "wait") {
      const auto t = m.is(json_kind::number) ? parse_seconds(m.raw) : std::nullopt;
      if (!t || *t < usec::zero() || *t > std::chrono::seconds{300})
        return wrong("must be a number of seconds from 0 to 300");
      ask.wait = *t;
    } else if (m.key == "consumer" && !m.is(json_kind::null)) {
      if (!m.is(json_kind::string) || m.text.size() > 256 || !is_utf8(m.text))
        return wrong("must be a string of at most 256 bytes");
      ask.consumer = m.text;
    } else if (m.key == "projects" && !m.is(json_kind::null)) {
      if (!m.is(json_kind::array)) return wrong("must be a list of names");
      outline name(r.body->arena, {});
      bool strings = true;
      auto walked = walk_items(
          m.raw, false, name, 10'000,
          [&](std::size_t, const outline& o) {
            // One string has no members: its text is the value without quotes.
            strings = strings && o.kind() == json_kind::string;
            if (strings) ask.projects.emplace_back(o.raw().substr(1, o.raw().size() - 2));
          },
          [&](std::size_t, const std::string&) { strings = false; });
      if (!walked || !strings) return wrong("must be a list of names");
      for (const auto& p : ask.projects)
        if (auto ok = check_project_name(p); !ok) return wrong(ok.error().why.c_str());
      if (ask.projects.empty()) return wrong("is empty; leave it out for all projects");
    }
  }
  return ask;
}

void change_leases(service& s, const request& r, const exchange_ptr& x, std::string_view time_key,
                   bool extend) {
  outline o(r.body->arena, {});
  const auto no = [&](error e) { answer_now(x, problem(e)); };
  if (auto ok = read_object(r.body->text, o); !ok) return no(ok.error());
  actors::leases_request ask;
  const auto* list = o.find("leases");
  if (list == nullptr || !list->is(json_kind::array))
    return no({errc::invalid_argument, "leases", "must be a list of lease texts"});
  outline one(r.body->arena, {});
  auto walked = walk_items(
      list->raw, false, one, s.limits.list,
      [&](std::size_t, const outline& v) {
        ask.leases.push_back(v.kind() == json_kind::string
                                 ? parse_lease(v.raw().substr(1, v.raw().size() - 2))
                                 : std::nullopt);
      },
      [&](std::size_t, const std::string&) { ask.leases.push_back(std::nullopt); });
  if (!walked) return no({walked.error().code, "leases", walked.error().why});
  const auto* time = o.find(time_key);
  if (time == nullptr && extend)
    return no({errc::invalid_argument, std::string{time_key}, "required"});
  if (time != nullptr) {
    const auto t = time->is(json_kind::number) ? parse_seconds(time->raw) : std::nullopt;
    if (!t || *t < usec::zero() || *t > std::chrono::hours{24 * 366})
      return no({errc::invalid_argument, std::string{time_key},
                 "must be a number of seconds, from 0 to a year"});
    ask.amount = *t;
  }
  auto done = answering<actors::leases_answer>(x, [](const actors::leases_answer& a) {
    std::string b = "{\"changed\":";
    append_unsigned(b, a.changed);
    b += ",\"rejected\":";
    append_rejected(b, a.rejected);
    b += '}';
    return json(std::move(b));
  });
  if (extend)
    s.node.extend(std::move(ask), std::move(done));
  else
    s.node.release(std::move(ask), std::move(done));
}

} // namespace

response no_tasks(const request& r) {
  auto none = json(r.wants_lines() ? "" : std::string{empty_lease});
  if (r.wants_lines()) none.content_type = "application/x-ndjson";
  return none;
}

void lease_tasks(service& s, const request& r, const exchange_ptr& x) {
  auto ask = read_lease_request(r);
  if (!ask) return answer_now(x, problem(ask.error()));
  const bool waits = ask->wait > usec::zero();
  const bool lines = r.wants_lines();
  auto* node = &s.node;
  std::shared_ptr<actors::lease_wait> wait =
      s.node.lease(std::move(*ask), [x, node, lines](result<actors::lease_answer> got) {
        auto held = std::make_shared<result<actors::lease_answer>>(std::move(got));
        x->answer([held, node, lines]() -> response {
          if (!*held) return problem(held->error());
          auto shown = show_lease(**held, lines);
          if (!(*held)->tasks.empty())
            shown.undelivered = [held, node] { give_back(*node, **held); };
          return shown;
        });
      });
  if (!waits || !wait) return;
  x->cancellable([wait] { wait->cancel(); }, no_tasks(r));
}

void extend_leases(service& s, const request& r, const exchange_ptr& x) {
  change_leases(s, r, x, "for", true);
}

void release_leases(service& s, const request& r, const exchange_ptr& x) {
  change_leases(s, r, x, "delay", false);
}

} // namespace lycosa::gateway
