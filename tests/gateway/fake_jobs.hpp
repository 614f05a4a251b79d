#pragma once

#include "actors/jobs.hpp"

namespace lycosa::gateway {

/// A job scheduler that has no jobs and takes none; a test overrides what it is about.
class fake_jobs : public actors::job_service {
public:
  template <class T>
  using reply = actors::job_reply<T>;

  void add(jobs::job job, bool, reply<jobs::job> done) override { done(std::move(job)); }
  void add_all(std::vector<jobs::job> all, bool, bool whole,
               reply<std::vector<result<actors::job_ptr>>> done) override {
    std::vector<result<actors::job_ptr>> added;
    for (auto& j : all)
      added.emplace_back(whole ? std::make_shared<const jobs::job>(std::move(j)) : nullptr);
    done(std::move(added));
  }
  void get(std::string id, reply<jobs::job> done) override { done(none(id)); }
  void list(std::string, std::size_t, reply<actors::job_page> done) override { done({}); }
  void modify(std::string id, jobs::job_patch, reply<jobs::job> done) override { done(none(id)); }
  void reschedule(std::string id, std::string, reply<jobs::job> done) override { done(none(id)); }
  void pause(std::string id, std::string, reply<jobs::job> done) override { done(none(id)); }
  void resume(std::string id, actors::resume_mode, reply<jobs::job> done) override {
    done(none(id));
  }
  void remove(std::string id, reply<bool> done) override { done(none(id)); }
  void remove_all(reply<std::uint64_t> done) override { done(std::uint64_t{0}); }
  void run_now(std::string id, reply<jobs::run_record> done) override { done(none(id)); }
  void backfill(std::string id, wall_time, wall_time, reply<std::uint64_t> done) override {
    done(none(id));
  }
  void runs(std::string id, std::uint64_t, std::size_t, reply<actors::run_page> done) override {
    done(none(id));
  }
  void next(std::string id, std::size_t, reply<std::vector<wall_time>> done) override {
    done(none(id));
  }
  void why(std::string id, std::optional<wall_time>, reply<std::string> done) override {
    done(none(id));
  }
  void pause_all(reply<bool> done) override { done(true); }
  void resume_all(reply<bool> done) override { done(true); }
  void statistics(reply<actors::job_statistics> done) override { done({}); }
  std::unique_ptr<actors::event_subscription>
  subscribe(jobs::event_mask, std::size_t, std::function<void(const jobs::job_event&)>) override {
    return std::make_unique<actors::event_subscription>();
  }

private:
  static tl::unexpected<error> none(const std::string& id) {
    return fail(errc::not_found, id, "no such job");
  }
};

} // namespace lycosa::gateway
