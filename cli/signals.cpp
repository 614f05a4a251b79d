#include "cli/signals.hpp"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace lycosa::cli {

namespace {

sigset_t steering() {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    ::sigaddset(&set, signal);
  return set;
}

/// The next SIGINT or SIGTERM.
void wait_for_end(const std::function<void()>& on_hangup) {
  auto set = steering();
  int signal = 0;
  while (::sigwait(&set, &signal) != 0 || signal == SIGHUP)
    if (signal == SIGHUP && on_hangup) on_hangup();
}

} // namespace

void block_signals() {
  auto set = steering();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void wait_for_stop(const std::function<void()>& on_hangup) {
  wait_for_end(on_hangup);
  // Acknowledged writes are on disk already, so leaving without ceremony loses nothing.
  std::thread([] {
    wait_for_end({});
    ::_exit(130);
  }).detach();
}

} // namespace lycosa::cli
