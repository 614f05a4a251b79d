#include "cli/bench/child_node.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string_view>

namespace lycosa::cli::bench {

namespace {

constexpr std::string_view binary = "/proc/self/exe";

/// The line that a node prints when it takes requests; empty when it ended before.
std::string first_line(int from) {
  std::string line;
  char c = 0;
  for (;;) {
    const auto n = ::read(from, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    if (c == '\n') return line;
    line += c;
  }
}

} // namespace

result<std::unique_ptr<child_node>> child_node::start(std::string data,
                                                      std::vector<std::string> sets) {
  std::unique_ptr<child_node> made{new child_node{std::move(data), std::move(sets)}};
  if (auto ok = made->start_again(); !ok) return tl::unexpected(ok.error());
  return made;
}

child_node::~child_node() {
  stop();
}

result<void> child_node::start_again() {
  std::vector<std::string> words{
      std::string{binary}, "serve", "--data",         data_,   "--listen",
      "127.0.0.1:0",       "--set", "log.level=warn", "--set", "xmlrpc.enabled=false"};
  for (const auto& s : sets_) {
    words.emplace_back("--set");
    words.push_back(s);
  }
  std::vector<char*> arguments;
  for (auto& w : words)
    arguments.push_back(w.data());
  arguments.push_back(nullptr);

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errc::io_error, "pipe", std::strerror(errno));
  pid_ = ::fork();
  if (pid_ == 0) {
    // Only what may be called between fork and exec. A group of its own: Ctrl-C is for the bench,
    // which then stops its node.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(ends[1], STDOUT_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  output_ = ends[0];
  if (pid_ < 0) {
    ::close(output_);
    return fail(errc::io_error, "fork", std::strerror(errno));
  }
  const auto line = first_line(output_);
  constexpr std::string_view key = " http=";
  auto at = line.find(key);
  if (!line.starts_with("lycosa ready") || at == std::string::npos) {
    end(SIGKILL);
    return fail(errc::unavailable, "node on " + data_, "did not start; see above");
  }
  auto address = line.substr(at + key.size());
  address = address.substr(0, address.find(' '));
  const auto colon = address.rfind(':');
  host_ = address.substr(0, colon);
  std::from_chars(address.data() + colon + 1, address.data() + address.size(), port_);
  return {};
}

std::uint64_t child_node::anonymous_bytes() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib * 1024;
  }
  return 0;
}

void child_node::end(int signal) {
  if (pid_ <= 0) return;
  ::kill(pid_, signal);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::close(output_);
  pid_ = -1;
  output_ = -1;
}

void child_node::kill() {
  end(SIGKILL);
}

void child_node::stop() {
  end(SIGTERM);
}

} // namespace lycosa::cli::bench
