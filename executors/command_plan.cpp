#include "executors/command_plan.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

extern char** environ;

namespace lycosa::executors {

namespace {

constexpr auto usual_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct account {
  credentials ids;
  std::string name;
  std::string home;
  std::string shell;
};

result<account> find_account(const std::string& user) {
  std::vector<char> text(1024);
  passwd entry{};
  passwd* found = nullptr;
  int rc = 0;
  while ((rc = ::getpwnam_r(user.c_str(), &entry, text.data(), text.size(), &found)) == ERANGE)
    text.resize(text.size() * 2);
  if (found == nullptr)
    return fail(errc::invalid_argument, "user",
                rc == 0 ? "there is no user '" + user + "'"
                        : "'" + user + "' cannot be looked up: " + std::strerror(rc));
  account a;
  a.ids.uid = entry.pw_uid;
  a.ids.gid = entry.pw_gid;
  a.name = entry.pw_name;
  a.home = entry.pw_dir;
  a.shell = entry.pw_shell;
  int count = 32;
  a.ids.groups.resize(static_cast<std::size_t>(count));
  while (::getgrouplist(entry.pw_name, entry.pw_gid, a.ids.groups.data(), &count) < 0)
    a.ids.groups.resize(static_cast<std::size_t>(count));
  a.ids.groups.resize(static_cast<std::size_t>(count));
  return a;
}

/// Programs and the environment are C strings: a NUL inside would silently cut them.
bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

result<void> check(const jobs::command_action& a) {
  if (a.argv.empty() == a.shell.empty())
    return fail(errc::invalid_argument, "action", "exactly one of argv and shell must be given");
  if (!a.argv.empty() && a.argv.front().empty())
    return fail(errc::invalid_argument, "argv", "the program's name is empty");
  for (const auto& arg : a.argv)
    if (has_nul(arg)) return fail(errc::invalid_argument, "argv", "holds a NUL byte");
  if (has_nul(a.shell)) return fail(errc::invalid_argument, "shell", "holds a NUL byte");
  if (has_nul(a.cwd)) return fail(errc::invalid_argument, "cwd", "holds a NUL byte");
  for (const auto& [name, value] : a.env)
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value))
      return fail(errc::invalid_argument, "env",
                  "'" + name + "' is no name and value of a variable");
  return {};
}

/// Where a program may be, in the order of PATH. An empty element is the working directory.
std::vector<std::string> candidates(const std::string& name, std::string_view path) {
  if (name.find('/') != std::string::npos) return {name};
  std::vector<std::string> out;
  for (;;) {
    const auto colon = path.find(':');
    const auto folder = path.substr(0, colon);
    out.push_back(folder.empty() ? "./" + name : std::string(folder) + "/" + name);
    if (colon == std::string_view::npos) return out;
    path.remove_prefix(colon + 1);
  }
}

std::string iso_utc(wall_time t) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(t);
  const std::time_t seconds = whole.time_since_epoch().count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 48> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::string out = text.data();
  if (const auto fraction = (t - whole).count(); fraction != 0) {
    std::snprintf(text.data(), text.size(), ".%06d", static_cast<int>(fraction));
    out += text.data();
  }
  return out + "Z";
}

} // namespace

std::map<std::string, std::string> base_environment() {
  std::map<std::string, std::string> out{{"PATH", usual_path}, {"SHELL", "/bin/sh"}};
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) {
    const std::string_view entry = *e;
    const auto eq = entry.find('=');
    if (eq == std::string_view::npos) continue;
    const auto name = entry.substr(0, eq);
    if (name == "PATH" || name == "HOME" || name == "USER" || name == "LOGNAME" || name == "LANG"
        || name == "TZ" || name.starts_with("LC_"))
      out[std::string(name)] = entry.substr(eq + 1);
  }
  return out;
}

result<launch_plan> plan_command(const jobs::run_request& request,
                                 const jobs::command_action& action,
                                 const std::map<std::string, std::string>& base) {
  if (auto ok = check(action); !ok) return tl::unexpected(ok.error());
  launch_plan plan;
  auto env = base;
  env["LYCOSA_JOB_ID"] = request.job_id;
  env["LYCOSA_RUN"] = std::to_string(static_cast<std::uint64_t>(request.key));
  env["LYCOSA_ATTEMPT"] = std::to_string(request.attempt);
  env["LYCOSA_NOMINAL_TIME"] = iso_utc(request.nominal);
  plan.cwd = action.cwd;

  if (!action.user.empty()) {
    auto found = find_account(action.user);
    if (!found) return tl::unexpected(found.error());
    if (::geteuid() == 0)
      plan.as = found->ids;
    else if (found->ids.uid != ::geteuid())
      return fail(errc::invalid_argument, "user",
                  "only a node that runs as root can run a command as '" + action.user + "'");
    env["HOME"] = found->home;
    env["USER"] = env["LOGNAME"] = found->name;
    env["SHELL"] = found->shell.empty() ? "/bin/sh" : found->shell;
    if (plan.cwd.empty() && ::access(found->home.c_str(), X_OK) == 0) plan.cwd = found->home;
  }
  for (const auto& [name, value] : action.env)
    env[name] = value;

  if (action.shell.empty()) {
    plan.argv = action.argv;
    const auto path = env.find("PATH");
    plan.programs = candidates(plan.argv.front(), path == env.end() ? usual_path : path->second);
  } else {
    plan.argv = {"/bin/sh", "-c", action.shell};
    plan.programs = {"/bin/sh"};
  }
  plan.env.reserve(env.size());
  for (const auto& [name, value] : env)
    plan.env.push_back(name + "=" + value);
  return plan;
}

} // namespace lycosa::executors
