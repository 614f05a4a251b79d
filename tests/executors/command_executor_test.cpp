#include "executors/command_executor.hpp"
#include "tests/executors/runs.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace lycosa::executors {

using jobs::run_outcome;
using test::argv;
using test::sh;
using testing::HasSubstr;
using namespace std::chrono_literals;

namespace {

class command : public testing::Test {
protected:
  command() { remake({}); }

  void remake(command_options o) {
    auto made = make_command_executor(std::move(o));
    if (!made) throw std::runtime_error(made.error().text());
    executor = std::move(*made);
    runs = std::make_unique<test::runs>(*executor);
  }

  jobs::run_result run(jobs::action a, std::optional<usec> timeout = {}) {
    return runs->run(std::move(a), timeout);
  }

  std::unique_ptr<jobs::executor> executor;
  std::unique_ptr<test::runs> runs;
};

/// A folder that goes away with the test.
class folder {
public:
  folder() {
    std::string name = testing::TempDir() + "lycosa-XXXXXX";
    path = ::mkdtemp(name.data());
    ::chmod(path.c_str(), 0755);
  }
  ~folder() { std::filesystem::remove_all(path); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  std::filesystem::path path;
};

} // namespace

// -- how it ended ------------------------------------------------------------------------------

TEST_F(command, exit_code_0_is_success) {
  const auto r = run(argv({"true"}));
  EXPECT_EQ(r.outcome, run_outcome::success);
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.signal, std::nullopt);
  EXPECT_EQ(r.error, "");
}

TEST_F(command, another_exit_code_is_an_error_that_names_it) {
  for (const int code : {1, 2, 42, 126, 127, 255}) {
    const auto r = run(sh("exit " + std::to_string(code)));
    EXPECT_EQ(r.outcome, run_outcome::error);
    EXPECT_EQ(r.exit_code, code);
    EXPECT_EQ(r.error, "exit code " + std::to_string(code));
  }
}

TEST_F(command, a_signal_that_ended_it_is_named) {
  for (const int s : {SIGKILL, SIGTERM, SIGSEGV, SIGHUP}) {
    const auto r = run(sh("ulimit -c 0; kill -" + std::to_string(s) + " $$"));
    EXPECT_EQ(r.outcome, run_outcome::error);
    EXPECT_EQ(r.exit_code, std::nullopt);
    EXPECT_EQ(r.signal, s);
    EXPECT_THAT(r.error, HasSubstr("ended by signal " + std::to_string(s) + " ("));
  }
}

// -- output ------------------------------------------------------------------------------------

TEST_F(command, stdout_and_stderr_come_in_the_order_they_were_written) {
  EXPECT_EQ(run(sh("echo one; echo two >&2; echo three")).output, "one\ntwo\nthree\n");
}

TEST_F(command, of_long_output_the_end_is_kept) {
  remake({.output_cap = 1000});
  const auto r = run(sh("seq 1 200000"));
  EXPECT_EQ(r.outcome, run_outcome::success);
  EXPECT_TRUE(r.output_cut);
  EXPECT_EQ(r.output.size(), 1000u);
  EXPECT_TRUE(r.output.ends_with("\n199999\n200000\n"));
}

TEST_F(command, output_as_long_as_the_cap_is_whole) {
  remake({.output_cap = 1000});
  const auto r = run(sh("head -c 1000 /dev/zero | tr '\\0' x"));
  EXPECT_FALSE(r.output_cut);
  EXPECT_EQ(r.output, std::string(1000, 'x'));
}

TEST_F(command, output_of_a_run_that_failed_is_there_as_well) {
  const auto r = run(sh("echo why; exit 3"));
  EXPECT_EQ(r.exit_code, 3);
  EXPECT_EQ(r.output, "why\n");
}

TEST_F(command, what_is_in_the_pipe_at_the_end_is_read) {
  remake({.output_cap = 1 << 20});
  const auto r = run(sh("head -c 60000 /dev/zero"));
  EXPECT_EQ(r.output.size(), 60000u);
}

TEST_F(command, a_program_that_closes_its_output_runs_on) {
  const auto r = run(sh("echo before; exec >&- 2>&-; sleep 0.1; exit 7"));
  EXPECT_EQ(r.exit_code, 7);
  EXPECT_EQ(r.output, "before\n");
}

// -- what it gets ------------------------------------------------------------------------------

TEST_F(command, arguments_arrive_as_they_are) {
  EXPECT_EQ(run(argv({"printf", "[%s]", "a b", "", "$HOME", "\"'*"})).output,
            "[a b][][$HOME][\"'*]");
}

TEST_F(command, stdin_is_the_text) {
  auto a = argv({"cat"});
  a.stdin_text = "line\n";
  EXPECT_EQ(run(a).output, "line\n");
  a.stdin_text = std::string(3'000'000, 'x'); // far more than a pipe holds
  a.argv = {"wc", "-c"};
  EXPECT_EQ(run(a).output, "3000000\n");
}

TEST_F(command, stdin_that_nobody_reads_is_no_error) {
  auto a = argv({"true"});
  a.stdin_text = std::string(1'000'000, 'x');
  EXPECT_EQ(run(a).outcome, run_outcome::success);
}

TEST_F(command, without_a_text_stdin_is_empty) {
  EXPECT_EQ(run(argv({"cat"})).output, "");
}

TEST_F(command, runs_in_its_directory) {
  const folder f;
  auto a = argv({"pwd", "-P"});
  a.cwd = f.path;
  EXPECT_EQ(run(a).output, std::filesystem::canonical(f.path).string() + "\n");
}

TEST_F(command, a_relative_program_is_looked_for_in_its_directory) {
  const folder f;
  std::ofstream(f.path / "tool") << "#!/bin/sh\necho found\n";
  std::filesystem::permissions(f.path / "tool", std::filesystem::perms::owner_all);
  auto a = argv({"./tool"});
  a.cwd = f.path;
  EXPECT_EQ(run(a).output, "found\n");
}

TEST_F(command, the_environment_is_scrubbed_and_added_to) {
  ::setenv("LYCOSA_AUTH__TOKENS", "secret", 1);
  remake({});
  auto a = argv({"env"});
  a.env = {{"COLOUR", "grey = green"}, {"LANG", "xx"}};
  const auto out = "\n" + run(a).output;
  ::unsetenv("LYCOSA_AUTH__TOKENS");
  EXPECT_THAT(out, Not(HasSubstr("secret")));
  EXPECT_THAT(out, HasSubstr("\nCOLOUR=grey = green\n"));
  EXPECT_THAT(out, HasSubstr("\nLANG=xx\n"));
  EXPECT_THAT(out, HasSubstr("\nPATH="));
}

TEST_F(command, the_environment_tells_which_run_it_is) {
  jobs::run_request q;
  q.key = jobs::run_key{77};
  q.job_id = "report";
  q.attempt = 2;
  q.nominal = wall_time{std::chrono::sys_days{std::chrono::year{2024} / 2 / 29} + 90s + 5us};
  q.action = sh("echo $LYCOSA_JOB_ID $LYCOSA_RUN $LYCOSA_ATTEMPT $LYCOSA_NOMINAL_TIME");
  EXPECT_EQ(runs->start(q).wait().output, "report 77 2 2024-02-29T00:01:30.000005Z\n");
}

TEST_F(command, a_program_is_looked_for_in_the_path_it_will_see) {
  const folder f;
  std::ofstream(f.path / "own-tool") << "#!/bin/sh\necho found\n";
  std::filesystem::permissions(f.path / "own-tool", std::filesystem::perms::owner_all);
  auto a = argv({"own-tool"});
  a.env["PATH"] = "/nowhere:" + f.path.string();
  EXPECT_EQ(run(a).output, "found\n");
}

TEST_F(command, no_descriptor_is_inherited) {
  // One without close-on-exec, as libraries leave them.
  const int leaked = ::open("/dev/null", O_RDONLY);
  ASSERT_GE(leaked, 0);
  // ls itself opens one more: the folder.
  const auto r = run(sh("ls /proc/self/fd | tr '\\n' ' '"));
  ::close(leaked);
  EXPECT_EQ(r.output, "0 1 2 3 ");
  EXPECT_EQ(run(sh("readlink /proc/self/fd/0")).output, "/dev/null\n");
}

TEST_F(command, signals_are_as_after_a_login) {
  const auto old_pipe = ::signal(SIGPIPE, SIG_IGN);
  const auto old_hup = ::signal(SIGHUP, SIG_IGN);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto r = run(argv({"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::signal(SIGPIPE, old_pipe);
  ::signal(SIGHUP, old_hup);
  EXPECT_EQ(r.output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(command, leads_a_process_group_and_a_session) {
  const auto r = run(sh("set -- $(cat /proc/$$/stat); echo $(( $1 - $5 )) $(( $1 - $6 ))"));
  EXPECT_EQ(r.output, "0 0\n");
}

// -- what cannot be started --------------------------------------------------------------------

TEST_F(command, an_unknown_command_is_named) {
  auto r = run(argv({"no-such-tool", "x"}));
  EXPECT_EQ(r.outcome, run_outcome::error);
  EXPECT_EQ(r.exit_code, std::nullopt);
  EXPECT_EQ(r.error, "command: no-such-tool: command not found");
  EXPECT_EQ(run(argv({"/no/such/tool"})).error, "command: /no/such/tool: command not found");
}

TEST_F(command, what_is_no_program_is_refused_with_the_reason) {
  const folder f;
  std::ofstream(f.path / "plain") << "text";
  std::ofstream(f.path / "bare") << "text";
  std::ofstream(f.path / "orphan") << "#!/no/such/interpreter\n";
  for (const auto* name : {"bare", "orphan"})
    std::filesystem::permissions(f.path / name, std::filesystem::perms::owner_all);
  EXPECT_THAT(run(argv({f.path / "plain"})).error, HasSubstr("Permission denied"));
  EXPECT_THAT(run(argv({f.path / "bare"})).error, HasSubstr("not a program"));
  EXPECT_THAT(run(argv({f.path / "orphan"})).error, HasSubstr("interpreter does not exist"));
}

TEST_F(command, a_directory_that_is_not_there_is_named) {
  auto a = argv({"true"});
  a.cwd = "/no/such/folder";
  const auto r = run(a);
  EXPECT_EQ(r.outcome, run_outcome::error);
  EXPECT_EQ(r.error, "cwd: /no/such/folder: No such file or directory");
}

TEST_F(command, bad_actions_are_refused_by_field) {
  jobs::command_action none;
  EXPECT_THAT(run(none).error, HasSubstr("exactly one of argv and shell"));
  auto both = argv({"true"});
  both.shell = "true";
  EXPECT_THAT(run(both).error, HasSubstr("exactly one of argv and shell"));
  EXPECT_THAT(run(argv({""})).error, HasSubstr("argv: "));
  EXPECT_THAT(run(argv({"echo", std::string("a\0b", 3)})).error, HasSubstr("NUL"));
  auto env = argv({"true"});
  env.env["A=B"] = "c";
  EXPECT_THAT(run(env).error, HasSubstr("env: "));
  EXPECT_THAT(run(jobs::http_action{}).error, HasSubstr("is no command"));
}

TEST_F(command, an_unknown_user_is_named) {
  auto a = argv({"id"});
  a.user = "no-such-user-here";
  EXPECT_EQ(run(a).error, "user: there is no user 'no-such-user-here'");
}

TEST_F(command, another_user_needs_root) {
  if (::geteuid() != 0) {
    auto a = argv({"id"});
    a.user = "root";
    EXPECT_THAT(run(a).error, HasSubstr("only a node that runs as root"));
    return;
  }
  auto a = sh("id -un; id -ru; echo $USER $LOGNAME; grep ^Groups: /proc/self/status");
  a.user = "nobody";
  const auto r = run(a);
  EXPECT_EQ(r.outcome, run_outcome::success) << r.error;
  EXPECT_THAT(r.output, HasSubstr("nobody\n65534\nnobody nobody\n"));
  EXPECT_EQ(::geteuid(), 0u); // the node itself keeps its rights
}

// -- time-outs, cancel, stop -------------------------------------------------------------------

TEST_F(command, a_time_out_ends_it) {
  const auto r = run(sh("echo begun; exec sleep 600"), 50ms);
  EXPECT_EQ(r.outcome, run_outcome::timeout);
  EXPECT_EQ(r.signal, SIGTERM);
  EXPECT_THAT(r.error, HasSubstr("timed out after 0.05 s"));
}

namespace {

bool alive(pid_t pid) {
  // A zombie that its new parent has not yet reaped is dead, too.
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string id, name, state;
  return static_cast<bool>(stat >> id >> name >> state) && state != "Z" && state != "X";
}

bool becomes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

} // namespace

TEST_F(command, a_program_may_end_in_order) {
  const folder f;
  auto a = sh("trap 'echo cleaned; exit 5' TERM; >ready; while :; do sleep 0.01; done");
  a.cwd = f.path;
  auto p = runs->start(a);
  ASSERT_TRUE(becomes_true([&] { return exists(f.path / "ready"); }));
  executor->cancel(p.key);
  const auto r = p.wait();
  EXPECT_EQ(r.outcome, run_outcome::cancelled);
  EXPECT_EQ(r.exit_code, 5);
  EXPECT_TRUE(r.output.ends_with("cleaned\n")) << r.output; // the shell may say more
}

TEST_F(command, what_ignores_the_request_is_killed_after_the_grace) {
  remake({.kill_grace = 50ms});
  const folder f;
  auto a = sh("trap '' TERM; >ready; while :; do sleep 600; done");
  a.cwd = f.path;
  auto p = runs->start(a);
  ASSERT_TRUE(becomes_true([&] { return exists(f.path / "ready"); }));
  executor->cancel(p.key);
  const auto r = p.wait();
  EXPECT_EQ(r.outcome, run_outcome::cancelled);
  EXPECT_EQ(r.signal, SIGKILL);
}

TEST_F(command, the_rest_of_the_group_has_the_grace_as_well) {
  const folder f;
  // The leader goes at once, its child takes a moment to clean up.
  auto a = sh("sh -c 'trap \"sleep 0.2; echo cleaned; exit\" TERM; >ready; "
              "while :; do sleep 0.01; done' & wait");
  a.cwd = f.path;
  auto p = runs->start(a);
  ASSERT_TRUE(becomes_true([&] { return exists(f.path / "ready"); }));
  executor->cancel(p.key);
  const auto r = p.wait();
  EXPECT_EQ(r.signal, SIGTERM);
  EXPECT_TRUE(r.output.ends_with("cleaned\n")) << r.output; // the shell may say more
}

TEST_F(command, the_whole_group_is_killed_though_the_leader_is_gone) {
  remake({.kill_grace = 50ms});
  const folder f;
  auto a = sh("sh -c 'trap \"\" TERM; echo $$; sleep 600 & echo $!; >ready; wait; sleep 600' & "
              "wait");
  a.cwd = f.path;
  auto p = runs->start(a);
  ASSERT_TRUE(becomes_true([&] { return exists(f.path / "ready"); }));
  executor->cancel(p.key);
  const auto r = p.wait();
  EXPECT_EQ(r.signal, SIGTERM);
  std::istringstream in(r.output);
  std::vector<pid_t> pids{std::istream_iterator<pid_t>(in), {}};
  ASSERT_EQ(pids.size(), 2u) << r.output;
  for (const auto pid : pids)
    EXPECT_TRUE(becomes_true([&] { return !alive(pid); })) << pid;
}

TEST_F(command, a_time_out_kills_the_whole_group) {
  remake({.kill_grace = 100ms});
  // A child and a grandchild, one polite and one deaf, and one that holds no output of ours.
  const auto r = run(sh("sleep 600 & echo $!; "
                        "sh -c 'trap \"\" TERM; sleep 600 & echo $!; wait' & echo $!; "
                        "sleep 600 >/dev/null 2>&1 & echo $!; wait"),
                     500ms);
  EXPECT_EQ(r.outcome, run_outcome::timeout);
  std::istringstream in(r.output);
  std::vector<pid_t> pids{std::istream_iterator<pid_t>(in), {}};
  for (const auto pid : pids)
    EXPECT_TRUE(becomes_true([&] { return !alive(pid); })) << pid;
}

TEST_F(command, a_stopped_program_ends_at_its_time_out) {
  const auto r = run(sh("kill -STOP $$"), 50ms);
  EXPECT_EQ(r.outcome, run_outcome::timeout);
  EXPECT_EQ(r.signal, SIGTERM);
}

TEST_F(command, a_background_process_that_keeps_the_output_does_not_hold_the_run) {
  const auto r = run(sh("sleep 600 & echo $!"));
  EXPECT_EQ(r.outcome, run_outcome::success);
  const auto left = static_cast<pid_t>(std::stoi(r.output));
  EXPECT_TRUE(alive(left)); // a success kills nobody
  ::kill(left, SIGKILL);
}

TEST_F(command, a_background_process_that_floods_the_output_does_not_hold_the_run) {
  // The leader ends once the pipe has been filled again and again.
  const auto a = sh("yes & while ! grep -q 'wchar: [0-9]\\{7\\}' /proc/$!/io; do :; done");
  const auto r = run(a);
  EXPECT_EQ(r.outcome, run_outcome::success) << r.error;
  EXPECT_TRUE(r.output_cut);
}

TEST_F(command, a_flood_of_output_does_not_hold_up_a_time_out) {
  const auto r = run(argv({"yes"}), 100ms);
  EXPECT_EQ(r.outcome, run_outcome::timeout);
  EXPECT_LE(r.output.size(), 64u * 1024);
}

TEST_F(command, cancel_ends_it) {
  auto p = runs->start(argv({"sleep", "600"}), 600s);
  executor->cancel(p.key);
  const auto r = p.wait();
  EXPECT_EQ(r.outcome, run_outcome::cancelled);
  EXPECT_EQ(r.signal, SIGTERM);
  EXPECT_THAT(r.error, HasSubstr("cancelled"));
}

TEST_F(command, cancel_of_what_does_not_run_changes_nothing) {
  executor->cancel(jobs::run_key{12345});
  auto p = runs->start(argv({"true"}));
  const auto key = p.key;
  EXPECT_EQ(p.wait().outcome, run_outcome::success);
  executor->cancel(key);
  EXPECT_EQ(run(argv({"true"})).outcome, run_outcome::success);
}

TEST_F(command, a_number_that_is_under_way_is_refused) {
  jobs::run_request q;
  q.key = jobs::run_key{999};
  q.action = argv({"sleep", "600"});
  auto first = runs->start(q);
  auto second = runs->start(q);
  EXPECT_THAT(second.wait().error, HasSubstr("under way"));
  executor->cancel(q.key);
  EXPECT_EQ(first.wait().outcome, run_outcome::cancelled);
}

TEST_F(command, two_hundred_at_once) {
  std::vector<test::runs::pending> all;
  for (int i = 0; i < 200; ++i) {
    auto a = sh("read n; sleep 0.2; echo $n; exit $((n % 7))");
    a.stdin_text = std::to_string(i) + "\n";
    all.push_back(runs->start(a));
  }
  for (int i = 0; i < 200; ++i) {
    const auto r = all[static_cast<std::size_t>(i)].wait();
    EXPECT_EQ(r.exit_code, i % 7) << r.error;
    EXPECT_EQ(r.output, std::to_string(i) + "\n");
  }
  // No zombie: this process has no child left.
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(command, no_descriptor_is_lost) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  run(argv({"true"}));
  const auto before = open_files();
  for (int i = 0; i < 30; ++i) {
    run(argv({"true"}));
    run(argv({"no-such-tool"}));
    auto a = argv({"cat"});
    a.stdin_text = "x";
    a.cwd = i % 2 == 0 ? "/no/such/folder" : "";
    run(a);
  }
  EXPECT_EQ(open_files(), before);
}

TEST_F(command, stop_ends_all_that_runs_and_takes_no_more) {
  std::vector<test::runs::pending> all;
  for (int i = 0; i < 50; ++i)
    all.push_back(runs->start(argv({"sleep", "600"})));
  all.push_back(runs->start(sh("trap '' TERM; while :; do sleep 600; done")));
  executor->stop(200ms);
  for (auto& p : all) {
    // At once: stop returns when every handler has been called.
    ASSERT_EQ(p.result.wait_for(0s), std::future_status::ready);
    EXPECT_EQ(p.result.get().outcome, run_outcome::cancelled);
  }
  const auto r = run(argv({"true"}));
  EXPECT_EQ(r.outcome, run_outcome::cancelled);
  EXPECT_EQ(r.error, "the executor has stopped");
  executor->stop(0s);
}

TEST_F(command, a_second_stop_shortens_the_grace) {
  auto deaf = runs->start(sh("trap '' TERM; echo ready; while :; do sleep 600; done"));
  std::thread patient([&] { executor->stop(1h); });
  executor->stop(0s);
  patient.join();
  EXPECT_EQ(deaf.wait().outcome, run_outcome::cancelled);
}

TEST_F(command, stop_from_inside_a_handler_does_not_hang) {
  auto other = runs->start(argv({"sleep", "600"}));
  std::promise<void> called;
  jobs::run_request q;
  q.key = jobs::run_key{1000};
  q.action = argv({"true"});
  executor->start(q, [&](jobs::run_result) {
    executor->stop(1h);
    called.set_value();
  });
  called.get_future().wait();
  EXPECT_EQ(other.wait().outcome, run_outcome::cancelled);
}

TEST_F(command, a_handler_may_start_the_next) {
  std::promise<jobs::run_result> last;
  jobs::run_request q;
  q.key = jobs::run_key{1};
  q.action = argv({"true"});
  std::function<void(int)> again = [&](int left) {
    executor->start(q, [&, left](jobs::run_result r) {
      if (left == 0)
        last.set_value(std::move(r));
      else
        again(left - 1);
    });
  };
  again(10);
  EXPECT_EQ(last.get_future().get().outcome, run_outcome::success);
}

TEST_F(command, a_handler_that_throws_harms_nobody) {
  jobs::run_request q;
  q.key = jobs::run_key{1};
  q.action = argv({"true"});
  executor->start(q, [](jobs::run_result) { throw std::runtime_error("not today"); });
  q.key = jobs::run_key{2};
  EXPECT_EQ(runs->start(q).wait().outcome, run_outcome::success);
}

} // namespace lycosa::executors
