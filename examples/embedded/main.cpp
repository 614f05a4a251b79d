// A program with a scheduler inside. Usage: embedded [DIR]
// With a directory, jobs and their runs are there again the next time.
#include <lycosa/scheduler.hpp>

#include <iostream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

namespace {

int greet(const std::string& whom, int times) {
  for (int i = 0; i < times; ++i)
    std::cout << "hello, " << whom << std::endl;
  return times;
}

int run(const std::string& data) {
  lycosa::scheduler s({.data = data, .job_defaults = {.misfire_grace_time = 10s}});

  // Registered by name, with arguments kept as JSON: jobs of it survive a restart.
  s.function("greet", greet);

  // What goes wrong is told here, on a thread of its own.
  namespace events = lycosa::events;
  const auto errors = s.on(events::job_error | events::job_missed, [](const lycosa::event& e) {
    std::cout << e.job_id << " failed: " << e.run->error << std::endl;
  });

  // Declared where the functions are. They wait for the start.
  s.scheduled("flaky", "@reboot") = [] { throw std::runtime_error("no luck today"); };
  s.scheduled("report", lycosa::cron("30 6 * * mon-fri").in_zone("Europe/Berlin"),
              {.name = "morning report", .timeout = 10min}) = [](lycosa::run_context& run) {
    for (int page = 0; page < 100 && !run.cancelled().stop_requested(); ++page) {
      // … a long piece of work that ends when asked to
    }
  };
  s.start();

  // Arguments are checked when compiled; options come before the function.
  s.add_job(
      "tick", lycosa::every(50ms), {.max_instances = 1, .replace_existing = true},
      [&s, n = 0](const std::string& word, int last) mutable {
        std::cout << word << ' ' << ++n << std::endl;
        if (n == last) s.shutdown(); // from inside a job: it does not wait for itself
      },
      "tick", 3);
  s.add_job("greeting", lycosa::every(24h), lycosa::call("greet", "world", 2),
            {.replace_existing = true});
  s.run_now("greeting");

  s.print_jobs(std::cout);
  s.run(); // until somebody shuts it down
  std::cout << "done" << std::endl;
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "");
  } catch (const lycosa::scheduler_error& e) {
    std::cerr << "embedded: " << e.what() << '\n';
    return 1;
  }
}
