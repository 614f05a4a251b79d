#include "lycosa/scheduler.hpp"

#include "embed/scheduler_impl.hpp"

#include <ostream>

namespace lycosa {

using embed::to_info;
using service = actors::job_service;

scheduler::scheduler(scheduler_options options)
    : impl_(std::make_shared<impl>(std::move(options))) {}

scheduler::~scheduler() {
  impl_->leave();
}

void scheduler::start() {
  impl_->start();
}

void scheduler::run() {
  const auto held = impl_; // a job may destroy the scheduler
  held->run();
}

void scheduler::shutdown(bool wait, std::optional<duration> deadline) {
  const auto held = impl_;
  held->shutdown(wait, deadline);
}

bool scheduler::running() const {
  return impl_->running();
}

// -- changes -------------------------------------------------------------------------------------

job_info scheduler::add_job(std::string id, const schedule& when, const work& what,
                            const job_options& options) {
  if (id.empty()) id = impl_->new_id();
  return impl_->add(embed::job_json(id, when, what.json(), options));
}

job_info scheduler::add_job_json(std::string_view job) {
  return impl_->add(job);
}

job_info scheduler::add_function(std::string id, const schedule& when, const job_options& options,
                                 detail::function fn) {
  return impl_->add_function(std::move(id), when, options, std::move(fn));
}

void scheduler::register_function(std::string name, detail::function fn) {
  if (name.empty() || name.starts_with('@'))
    throw scheduler_error(failure::invalid, "name", "is empty or begins with @");
  impl_->register_function(name, std::move(fn));
}

job_info scheduler::modify(std::string_view id, std::string_view members) {
  const auto j = impl_->call<jobs::job>([&](service& s, auto done) {
    s.modify(std::string(id), {std::string(members)}, std::move(done));
  });
  return to_info(j, impl_->pending());
}

job_info scheduler::modify(std::string_view id, const job_options& options) {
  return modify(id, embed::options_json(options));
}

job_info scheduler::reschedule(std::string_view id, const schedule& when) {
  auto trigger = embed::trigger_json(when);
  const auto j = impl_->call<jobs::job>([&](service& s, auto done) {
    s.reschedule(std::string(id), std::move(trigger), std::move(done));
  });
  return to_info(j, impl_->pending());
}

job_info scheduler::pause(std::string_view id, std::string_view reason) {
  const auto j = impl_->call<jobs::job>([&](service& s, auto done) {
    s.pause(std::string(id), std::string(reason), std::move(done));
  });
  return to_info(j, impl_->pending());
}

job_info scheduler::resume(std::string_view id, resume_mode mode) {
  const auto how =
      mode == resume_mode::catch_up ? actors::resume_mode::catch_up : actors::resume_mode::skip;
  const auto j = impl_->call<jobs::job>(
      [&](service& s, auto done) { s.resume(std::string(id), how, std::move(done)); });
  return to_info(j, impl_->pending());
}

bool scheduler::remove(std::string_view id) {
  try {
    (void)impl_->call<bool>(
        [&](service& s, auto done) { s.remove(std::string(id), std::move(done)); });
  } catch (const scheduler_error& e) {
    if (e.kind() == failure::not_found) return false;
    throw;
  }
  impl_->forget_function_of(id);
  return true;
}

std::size_t scheduler::remove_all() {
  const auto known = impl_->all();
  const auto n =
      impl_->call<std::uint64_t>([](service& s, auto done) { s.remove_all(std::move(done)); });
  for (const auto& j : known)
    impl_->forget_function_of(j.id);
  return n;
}

run_info scheduler::run_now(std::string_view id) {
  return to_info(impl_->call<jobs::run_record>(
      [&](service& s, auto done) { s.run_now(std::string(id), std::move(done)); }));
}

void scheduler::pause_all() {
  (void)impl_->call<bool>([](service& s, auto done) { s.pause_all(std::move(done)); });
}

void scheduler::resume_all() {
  (void)impl_->call<bool>([](service& s, auto done) { s.resume_all(std::move(done)); });
}

import_result scheduler::import_json(std::string_view jobs, bool replace_existing) {
  std::vector<jobs::job> all;
  for (const auto& text : embed::split_list(jobs)) {
    try {
      all.push_back(impl_->read(text).job);
    } catch (const scheduler_error& e) {
      throw scheduler_error(e.kind(), "jobs[" + std::to_string(all.size()) + "]." + e.field(),
                            e.reason());
    }
  }
  std::vector<std::string> ids;
  for (const auto& j : all)
    ids.push_back(j.id);
  const auto answers =
      impl_->call<std::vector<result<actors::job_ptr>>>([&](service& s, auto done) {
        s.add_all(std::move(all), replace_existing, false, std::move(done));
      });
  import_result out;
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (answers[i])
      ++out.added;
    else
      out.refused.push_back(ids[i] + ": " + answers[i].error().text());
  return out;
}

// -- looking -------------------------------------------------------------------------------------

std::optional<job_info> scheduler::get(std::string_view id) const {
  try {
    const auto j = impl_->call<jobs::job>(
        [&](service& s, auto done) { s.get(std::string(id), std::move(done)); });
    return to_info(j, impl_->pending());
  } catch (const scheduler_error& e) {
    if (e.kind() == failure::not_found) return std::nullopt;
    throw;
  }
}

std::vector<job_info> scheduler::list() const {
  const auto pending = impl_->pending();
  std::vector<job_info> out;
  for (const auto& j : impl_->all())
    out.push_back(to_info(j, pending));
  return out;
}

void scheduler::print_jobs(std::ostream& out) const {
  const auto pending = impl_->pending();
  const auto all = impl_->all();
  if (all.empty()) out << "no jobs\n";
  for (const auto& j : all)
    out << embed::to_line(j, pending) << '\n';
}

std::vector<run_info> scheduler::runs(std::string_view id, std::size_t limit) const {
  const auto page = impl_->call<actors::run_page>(
      [&](service& s, auto done) { s.runs(std::string(id), 0, limit, std::move(done)); });
  std::vector<run_info> out;
  for (const auto& r : page.runs)
    out.push_back(to_info(r));
  return out;
}

std::vector<time_point> scheduler::next(std::string_view id, std::size_t count) const {
  return impl_->call<std::vector<wall_time>>(
      [&](service& s, auto done) { s.next(std::string(id), count, std::move(done)); });
}

std::string scheduler::why(std::string_view id, std::optional<time_point> at) const {
  return impl_->call<std::string>(
      [&](service& s, auto done) { s.why(std::string(id), at, std::move(done)); });
}

std::string scheduler::export_json() const {
  std::vector<std::string> all;
  for (const auto& j : list())
    all.push_back(j.json);
  return embed::join_list(all);
}

subscription scheduler::on(events::mask kinds, std::function<void(const event&)> callback,
                           std::size_t buffer) {
  return subscription(impl_->listen(kinds, std::move(callback), buffer));
}

} // namespace lycosa
