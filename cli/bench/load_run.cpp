#include "cli/bench/load_run.hpp"

#include "cli/bench/interleave.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <thread>

namespace lycosa::cli::bench {

namespace {

constexpr std::pair<std::string_view, std::string_view> span_names[] = {
    {"submit_call", "submit call"},
    {"lease_call", "lease call, waits included"},
    {"report_call", "report call"},
    {"submit_due", "submit, from when it was due"},
    {"due_to_lease", "from when it was due to a lease"},
    {"lateness", "lateness at a consumer"}};

volatile std::sig_atomic_t interrupted_flag = 0;
struct sigaction old_int, old_term;

void add(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& more) {
  if (more.size() > to.size()) to.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i)
    to[i] += more[i];
}

} // namespace

interrupt_guard::interrupt_guard() {
  interrupted_flag = 0;
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted_flag = 1; };
  ::sigaction(SIGINT, &action, &old_int);
  ::sigaction(SIGTERM, &action, &old_term);
}

interrupt_guard::~interrupt_guard() {
  ::sigaction(SIGINT, &old_int, nullptr);
  ::sigaction(SIGTERM, &old_term, nullptr);
}

bool interrupt_guard::interrupted() {
  return interrupted_flag != 0;
}

// -- client ------------------------------------------------------------------------------------

result<submit_counts> load_client::submit(const std::vector<load_task>& tasks) {
  const auto before = load_clock::now();
  auto got = session_->submit(tasks);
  if (!got) return got;
  record(span_kind::submit, load_clock::now() - before);
  run_.submitted += tasks.size();
  run_.created += got->created;
  run_.restarted += got->restarted;
  run_.ignored += got->ignored;
  count(counted::submitted, tasks.size());
  return got;
}

result<std::span<const leased_number>> load_client::lease(std::uint32_t max, unsigned wait,
                                                          bool check) {
  const auto before = load_clock::now();
  if (auto ok = session_->lease(max, wait, leased_); !ok) return tl::unexpected(ok.error());
  if (leased_.empty()) return std::span<const leased_number>{};
  record(span_kind::lease, load_clock::now() - before);
  run_.leased += leased_.size();
  if (check)
    for (const auto& l : leased_)
      run_.check.delivered(l.number);
  count(counted::leased, leased_.size());
  return std::span<const leased_number>{leased_};
}

result<void> load_client::report(std::span<const leased_number> done) {
  if (done.empty()) return {};
  const auto before = load_clock::now();
  auto n = session_->report(done);
  if (!n) return tl::unexpected(n.error());
  record(span_kind::report, load_clock::now() - before);
  count(counted::settled, *n);
  run_.settled_at_ = load_clock::now();
  run_.settled += *n;
  return {};
}

void load_client::record(span_kind what, load_clock::duration took, std::uint64_t times) {
  if (run_.what_.load(std::memory_order_relaxed) == counted::nothing) return;
  const auto ns = std::chrono::nanoseconds{took}.count();
  spans_[static_cast<std::size_t>(what)].record(ns < 0 ? 0 : static_cast<std::uint64_t>(ns), times);
}

void load_client::count(counted what, std::uint64_t n) {
  if (n == 0 || run_.what_.load(std::memory_order_relaxed) != what) return;
  const auto now = load_clock::now();
  run_.counted_ += n;
  run_.end_ = now;
  const auto slot = static_cast<std::size_t>((now - run_.begin) / load_figures::slot);
  if (slot >= timeline_.size()) timeline_.resize(slot + 1);
  timeline_[slot] += n;
}

// -- run ---------------------------------------------------------------------------------------

result<std::unique_ptr<load_run>> load_run::make(load_target& target, const load_options& options,
                                                 std::uint32_t projects) {
  std::unique_ptr<load_run> run{new load_run{target, options}};
  run->names.run =
      std::to_string(std::chrono::system_clock::now().time_since_epoch().count()) + "-";
  run->names.filler.assign(options.body, 'x');
  if (projects == 1) run->names.projects = {options.project};
  for (std::uint32_t i = 0; projects > 1 && i < projects; ++i)
    run->names.projects.push_back(options.project + "-" + std::to_string(i));
  if (auto ok = target.put_projects(run->names.projects); !ok) return tl::unexpected(ok.error());
  run->begin = load_clock::now();
  return run;
}

result<void> load_run::each(unsigned n, const std::function<result<void>(load_client&)>& work) {
  return each(n, n, work);
}

result<void> load_run::interleaved(unsigned n,
                                   const std::function<result<void>(load_client&)>& work) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return each(n, n, work); // sanitizers do not follow a change of stacks
#else
  const auto threads =
      target.interleaves() ? std::max(1u, std::thread::hardware_concurrency() / 2) : n;
  return each(n, std::min(n, threads), work);
#endif
}

result<void> load_run::each(unsigned n, unsigned thread_count,
                            const std::function<result<void>(load_client&)>& work) {
  const auto one = [&](unsigned) {
    auto session = target.open(names);
    if (!session) return stop_with(session.error());
    load_client client{*this, std::move(*session)};
    if (auto ok = work(client); !ok) stop_with(ok.error());
    const std::lock_guard lock(mutex_);
    for (std::size_t k = 0; k < spans_.size(); ++k)
      spans_[k].merge(client.spans_[k]);
    add(timeline_, client.timeline_);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < thread_count; ++i) {
    const auto share = n / thread_count + (i < n % thread_count ? 1 : 0);
    threads.emplace_back([&one, share] {
      ::prctl(PR_SET_TIMERSLACK, 1UL); // a request that is due goes out now, not 50 µs later
      if (share == 1)
        one(0);
      else
        interleave(share, one);
    });
  }
  for (auto& t : threads)
    t.join();
  if (failure_) return tl::unexpected(*failure_);
  if (interrupt_guard::interrupted()) return fail(errc::unavailable, "bench", "interrupted");
  return {};
}

void load_run::measure(counted what) {
  if (what != counted::nothing) {
    begin = load_clock::now();
    end_ = begin;
  }
  what_ = what;
}

bool load_run::stopped() const {
  return stop_ || interrupt_guard::interrupted();
}

void load_run::stop_with(const error& e) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = e;
  stop_ = true;
}

load_figures load_run::figures(std::optional<std::uint64_t> tasks) {
  load_figures f;
  f.seconds = std::chrono::duration<double>(end_.load() - begin).count();
  f.counted = counted_;
  f.submitted = submitted;
  f.leased = leased;
  f.settled = settled;
  f.delivered_twice = check.twice();
  if (tasks) f.lost = check.lost(*tasks);
  for (std::size_t k = 0; k < spans_.size(); ++k)
    if (spans_[k].count() > 0)
      f.latencies.push_back(
          {std::string{span_names[k].first}, std::string{span_names[k].second}, spans_[k]});
  f.timeline = timeline_;
  return f;
}

} // namespace lycosa::cli::bench
