#include "executors/child.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

// glibc's `clone` under the name that sanitizers leave alone: they take `clone` for a fork, and
// what they do in a forked child would here be done to the parent's memory.
extern "C" int __clone(int (*fn)(void*), void* stack, int flags, void* arg, ...);

// The child leaves its functions by exec, so what a thread sanitizer keeps of calls must not be
// touched by them.
#define LYCOSA_IN_CHILD __attribute__((no_sanitize("thread", "address")))

namespace lycosa::executors {

namespace {

enum class step { none, signals, session, files, directory, user, program };

/// Shared with the child: it runs in the parent's memory until exec (CLONE_VM), so what it writes
/// here the parent reads. No pipe for errors is needed.
struct boot {
  const launch_plan* plan; // for the parent
  const char* cwd;         // null = stay
  const credentials* as;   // null = stay
  const gid_t* groups;
  std::size_t group_count;
  const char* const* programs; // null-ended, as the next two
  char* const* argv;
  char* const* envp;
  int in;
  int out;
  step failed = step::none;
  int error = 0;
};

LYCOSA_IN_CHILD int give_up(boot& b, step s) {
  b.error = errno;
  b.failed = s;
  return 127;
}

LYCOSA_IN_CHILD bool default_signals() {
  // Zeros are the kernel's SIG_DFL without flags; its own call reaches the signals glibc reserves.
  constexpr std::size_t set_size = NSIG / 8;
  const unsigned long zeros[8] = {};
  for (int s = 1; s < NSIG; ++s)
    ::syscall(SYS_rt_sigaction, s, zeros, nullptr, set_size);
  return ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, zeros, nullptr, set_size) == 0;
}

// Raw calls: glibc's wrappers would change every thread of the process whose memory this is.
LYCOSA_IN_CHILD bool become(const boot& b) {
  return ::syscall(SYS_setgroups, b.group_count, b.groups) == 0
         && ::syscall(SYS_setresgid, b.as->gid, b.as->gid, b.as->gid) == 0
         && ::syscall(SYS_setresuid, b.as->uid, b.as->uid, b.as->uid) == 0;
}

LYCOSA_IN_CHILD bool standard_files(int in, int out) {
  // A descriptor that already is in place would keep its close-on-exec flag through dup2; the
  // executor's own are above 2 unless the node was started without standard files.
  if (in <= STDERR_FILENO && (in = ::fcntl(in, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) < 0)
    return false;
  if (out <= STDERR_FILENO && (out = ::fcntl(out, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) < 0)
    return false;
  return ::dup2(in, STDIN_FILENO) >= 0 && ::dup2(out, STDOUT_FILENO) >= 0
         && ::dup2(out, STDERR_FILENO) >= 0
         // Libraries open files without close-on-exec; the child must not see them either.
         && ::syscall(SYS_close_range, 3u, ~0u, 0u) == 0;
}

/// As execvp: a path that does not exist or may not be searched is passed over.
LYCOSA_IN_CHILD void run_program(const boot& b) {
  int refused = 0;
  for (const char* const* p = b.programs; *p != nullptr; ++p) {
    ::execve(*p, b.argv, b.envp);
    if (errno == EACCES)
      refused = EACCES;
    else if (errno != ENOENT && errno != ENOTDIR)
      return;
  }
  if (refused != 0) errno = refused;
}

// The child's whole life before exec. All signals are blocked; memory is the parent's; only system
// calls. clone without CLONE_FILES gives it its own table of descriptors, hence closing is safe.
LYCOSA_IN_CHILD int child_main(void* arg) {
  boot& b = *static_cast<boot*>(arg);
  if (::setsid() < 0) return give_up(b, step::session);
  if (!standard_files(b.in, b.out)) return give_up(b, step::files);
  if (b.as != nullptr && !become(b)) return give_up(b, step::user);
  // After the change of user: the directory must be one that the user may enter.
  if (b.cwd != nullptr && ::chdir(b.cwd) != 0) return give_up(b, step::directory);
  if (!default_signals()) return give_up(b, step::signals);
  run_program(b);
  return give_up(b, step::program);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const auto& t : texts)
    out.push_back(const_cast<char*>(t.c_str())); // execve's old signature
  out.push_back(nullptr);
  return out;
}

tl::unexpected<error> explain(const boot& b) {
  const std::string reason = std::strerror(b.error);
  switch (b.failed) {
  case step::directory:
    return fail(errc::invalid_argument, "cwd", b.plan->cwd + ": " + reason);
  case step::user:
    return fail(errc::invalid_argument, "user", "cannot take on the user: " + reason);
  case step::program: {
    const auto& name = b.plan->argv.front();
    if (b.error == ENOENT && b.plan->programs.size() == 1 && name.find('/') != std::string::npos
        && ::access(b.plan->programs.front().c_str(), F_OK) == 0)
      return fail(errc::not_found, "command", name + ": its interpreter does not exist");
    if (b.error == ENOENT || b.error == ENOTDIR)
      return fail(errc::not_found, "command", name + ": command not found");
    if (b.error == ENOEXEC)
      return fail(errc::invalid_argument, "command", name + ": not a program (no '#!' line?)");
    return fail(errc::invalid_argument, "command", name + ": " + reason);
  }
  case step::none:
  case step::signals:
  case step::session:
  case step::files:
    break;
  }
  return fail(errc::io_error, "command", "cannot prepare the process: " + reason);
}

/// Memory for the child's stack with a guard page below.
class stack {
public:
  stack() {
    base_ = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK,
                   -1, 0);
    if (base_ != MAP_FAILED) ::mprotect(base_, 4096, PROT_NONE);
  }
  ~stack() {
    if (base_ != MAP_FAILED) ::munmap(base_, size);
  }
  stack(const stack&) = delete;
  stack& operator=(const stack&) = delete;
  [[nodiscard]] bool good() const { return base_ != MAP_FAILED; }
  [[nodiscard]] void* top() const { return static_cast<char*>(base_) + size; }

private:
  static constexpr std::size_t size = 256 * 1024;
  void* base_;
};

} // namespace

result<child> launch(const launch_plan& plan, int in, int out) {
  const auto programs = pointers(plan.programs);
  const auto argv = pointers(plan.argv);
  const auto envp = pointers(plan.env);
  boot b{.plan = &plan,
         .cwd = plan.cwd.empty() ? nullptr : plan.cwd.c_str(),
         .as = plan.as ? &*plan.as : nullptr,
         .groups = plan.as ? plan.as->groups.data() : nullptr,
         .group_count = plan.as ? plan.as->groups.size() : 0,
         .programs = programs.data(),
         .argv = argv.data(),
         .envp = envp.data(),
         .in = in,
         .out = out};
  const stack memory;
  if (!memory.good()) return fail(errc::io_error, "command", "no memory for a process");

  // No handler of ours may run in the child, on our memory.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  // Not fork: copying the page tables of a node with a large map would stall it. CLONE_VFORK holds
  // this thread, and only it, until exec; CLONE_PIDFD leaves no gap in which the id could be
  // reused.
  int pidfd = -1;
  const pid_t pid =
      __clone(child_main, memory.top(), CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &b, &pidfd);
  const int why = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);

  if (pid < 0)
    return fail(errc::io_error, "command",
                std::string("cannot start a process: ") + std::strerror(why));
  child c{pid, unique_fd(pidfd)};
  if (b.failed != step::none) {
    siginfo_t info{};
    while (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED) != 0 && errno == EINTR) {
    }
    return explain(b);
  }
  return c;
}

} // namespace lycosa::executors
