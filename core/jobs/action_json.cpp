#include "core/jobs/actor_name.hpp"
#include "core/jobs/job_json.hpp"
#include "core/jobs/member_reader.hpp"

#include <algorithm>

namespace lycosa::jobs {

namespace {

using detail::dump;
using detail::json;
using detail::member_reader;

std::string at(std::string_view list, std::size_t i) {
  return std::string(list) + "[" + std::to_string(i) + "]";
}

command_action read_command(member_reader& in) {
  in.only({"type", "argv", "shell", "cwd", "env", "user", "stdin"});
  command_action a;
  if (const auto* list = in.find("argv")) {
    if (!list->is_array() || list->empty()) in.refuse("argv", "expected a list with the program");
    for (std::size_t i = 0; list->is_array() && i < list->size(); ++i) {
      if (!(*list)[i].is_string())
        in.refuse(at("argv", i), "expected a string");
      else
        a.argv.push_back((*list)[i].get<std::string>());
      if (!a.argv.empty() && a.argv.back().find('\0') != std::string::npos)
        in.refuse(at("argv", i), "holds a NUL byte");
    }
    if (!a.argv.empty() && a.argv.front().empty()) in.refuse("argv[0]", "the program is empty");
  }
  in.system_text("shell", a.shell);
  if (a.argv.empty() == a.shell.empty())
    in.refuse("argv", "exactly one of argv and shell is needed");
  in.system_text("cwd", a.cwd);
  in.system_text("user", a.user);
  in.text("stdin", a.stdin_text);
  if (const auto* env = in.find("env")) {
    if (!env->is_object()) in.refuse("env", "expected an object of strings");
    for (const auto& [key, value] : env->items()) {
      if (!env->is_object()) break;
      if (key.empty() || key.find('=') != std::string::npos)
        in.refuse("env." + key, "not a name of a variable");
      else if (!value.is_string())
        in.refuse("env." + key, "expected a string");
      else if ((key + value.get<std::string>()).find('\0') != std::string::npos)
        in.refuse("env." + key, "holds a NUL byte");
      else
        a.env[key] = value.get<std::string>();
    }
  }
  return a;
}

http_action read_http(member_reader& in) {
  in.only({"type", "method", "url", "headers", "body", "expect_status", "expect_body", "verify_tls",
           "max_redirects"});
  http_action a;
  in.text("method", a.method);
  if (a.method.empty() || a.method.find_first_of(" \r\n\t") != std::string::npos)
    in.refuse("method", "not a method");
  in.text("url", a.url);
  if (!a.url.starts_with("http://") && !a.url.starts_with("https://"))
    in.refuse("url", "expected an http or https address");
  if (std::any_of(a.url.begin(), a.url.end(),
                  [](unsigned char c) { return c <= ' ' || c == 0x7f; }))
    in.refuse("url", "holds a space or a control character; write them as %20 and the like");
  if (const auto* h = in.find("headers")) {
    if (!h->is_object()) in.refuse("headers", "expected an object of strings");
    for (const auto& [key, value] : h->items()) {
      if (!h->is_object()) break;
      if (!value.is_string()
          || (key + value.get<std::string>()).find_first_of("\r\n") != std::string::npos)
        in.refuse("headers." + key, "expected a string on one line");
      else
        a.headers.emplace_back(key, value.get<std::string>());
    }
  }
  if (const auto* b = in.find("body")) a.body = b->is_string() ? b->get<std::string>() : dump(*b);
  if (const auto* list = in.find("expect_status")) {
    const json one = list->is_array() ? *list : json::array({*list});
    for (std::size_t i = 0; i < one.size(); ++i) {
      const auto status = one[i].is_number_integer() ? one[i].get<std::int64_t>() : 0;
      if (status < 100 || status > 599)
        in.refuse(at("expect_status", i), "expected a status from 100 to 599");
      else
        a.expect_status.push_back(static_cast<int>(status));
    }
  }
  in.text("expect_body", a.expect_body);
  in.flag("verify_tls", a.verify_tls);
  in.whole("max_redirects", 0, 50, a.max_redirects);
  return a;
}

task_action read_task(member_reader& in) {
  in.only({"type", "task"});
  const auto* t = in.find("task");
  if (!t || !t->is_object()) {
    in.refuse("task", "expected a task object");
    return {};
  }
  for (const auto* name : {"project", "url"})
    if (!t->contains(name) || !(*t)[name].is_string())
      in.refuse(std::string("task.") + name, "expected a string");
  return {dump(*t)};
}

} // namespace

result<action> parse_action(std::string_view text, std::string_view path) {
  auto object = detail::parse_object(text, path);
  if (!object) return tl::unexpected(object.error());
  return detail::read_action(*object, path);
}

result<action> detail::read_action(const json& object, std::string_view path) {
  if (!object.is_object())
    return fail(errc::invalid_argument, std::string(path), "expected an object");
  member_reader in(object, std::string(path));
  std::string type;
  in.text("type", type);
  action out;
  if (type == "command") {
    out = read_command(in);
  } else if (type == "http") {
    out = read_http(in);
  } else if (type == "task") {
    out = read_task(in);
  } else if (type == "actor" || type == "function") {
    const bool actor = type == "actor";
    const std::string_view value = actor ? "payload" : "args";
    in.only({"type", "name", value});
    std::string name;
    in.text("name", name);
    if (name.empty())
      in.refuse("name", "the name is missing");
    else if (auto ok = parse_actor_name(name); actor && !ok)
      in.refuse("name", ok.error().why);
    const auto* v = in.find(value);
    const auto rest = v ? dump(*v) : std::string("null");
    if (actor)
      out = actor_action{name, rest};
    else
      out = function_action{name, rest};
  } else {
    in.refuse("type", "expected command, http, task, actor or function");
  }
  if (in.failure()) return tl::unexpected(*in.failure());
  return out;
}

} // namespace lycosa::jobs
