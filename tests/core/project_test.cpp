#include "core/md5.hpp"
#include "core/project.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace lycosa {
namespace {

using std::chrono::seconds;

constexpr wall_time now{seconds{1'700'000'000}};

project_record stored() {
  project_record p;
  p.id = project_id{3};
  p.name = "news";
  p.rate = 2;
  p.burst = 5;
  return p;
}

std::string field_at_fault(const project_patch& patch) {
  const auto r = apply_patch(stored(), patch, now);
  if (r) return "(none)";
  EXPECT_EQ(r.error().code, errc::invalid_argument);
  EXPECT_FALSE(r.error().why.empty());
  return r.error().what;
}

TEST(project_name, takes_letters_digits_underscore_dot_and_dash_up_to_64) {
  for (const auto& good : {std::string{"a"}, std::string{"News_2.0-beta"}, std::string(64, 'x')})
    EXPECT_TRUE(check_project_name(good)) << good;
  for (const auto& bad : {std::string{}, std::string(65, 'x'), std::string{"a b"},
                          std::string{"a/b"}, std::string{"\xc3\xa4"}, std::string("a\0b", 3)})
    EXPECT_FALSE(check_project_name(bad)) << bad;
}

TEST(project_status, has_pyspiders_names_and_paused) {
  for (const auto* name : {"TODO", "STOP", "CHECKING", "DEBUG", "RUNNING", "PAUSED"}) {
    const auto s = parse_project_status(name);
    ASSERT_TRUE(s) << name;
    EXPECT_EQ(to_string(*s), name);
  }
  EXPECT_FALSE(parse_project_status("running"));
  EXPECT_FALSE(parse_project_status(""));
}

TEST(project_status, a_paused_project_takes_tasks_and_gives_none) {
  EXPECT_TRUE(accepts_tasks(project_status::paused));
  EXPECT_FALSE(dispatches(project_status::paused));
  EXPECT_TRUE(dispatches(project_status::debug));
  EXPECT_TRUE(dispatches(project_status::running));
  for (const auto s : {project_status::todo, project_status::stop, project_status::checking}) {
    EXPECT_FALSE(accepts_tasks(s));
    EXPECT_FALSE(dispatches(s));
  }
}

TEST(project_patch, changes_what_it_names_and_nothing_else) {
  project_patch patch;
  patch.status = project_status::running;
  patch.group = "g";
  const auto p = apply_patch(stored(), patch, now);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->status, project_status::running);
  EXPECT_EQ(p->group, "g");
  EXPECT_EQ(p->rate, 2);
  EXPECT_EQ(p->burst, 5);
  EXPECT_EQ(p->name, "news");
  EXPECT_EQ(p->updatetime, now);
}

TEST(project_patch, every_member_is_applied) {
  project_patch patch;
  patch.rate = 0.5;
  patch.burst = 0;
  patch.script = "print()";
  patch.comments = "c";
  patch.min_tick = seconds{60};
  patch.retry = retry_policy{{{0, seconds{1}}}, seconds{2}};
  patch.crawl_config = "{}";
  patch.queue_limit = 9;
  patch.retain_age = seconds{60};
  patch.retain_count = 1000;
  const auto p = apply_patch(stored(), patch, now);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->rate, 0.5);
  EXPECT_EQ(p->burst, 0);
  EXPECT_EQ(p->script, "print()");
  EXPECT_EQ(p->script_md5, md5_hex("print()"));
  EXPECT_EQ(p->comments, "c");
  EXPECT_EQ(p->min_tick, seconds{60});
  ASSERT_TRUE(p->retry);
  EXPECT_EQ(p->retry->delay(0), seconds{1});
  EXPECT_EQ(p->retry->delay(1), seconds{2});
  EXPECT_EQ(p->crawl_config, "{}");
  EXPECT_EQ(p->queue_limit, 9U);
  project_patch back;
  back.default_retry = true;
  EXPECT_FALSE(apply_patch(*p, back, now)->retry);
  EXPECT_EQ(p->retain, (retention{seconds{60}, 1000}));
}

TEST(project_patch, a_rate_alone_sets_the_burst_of_a_new_project_only) {
  project_patch patch;
  patch.rate = 3;
  EXPECT_EQ(apply_patch(stored(), patch, now)->burst, 5);
  project_record fresh;
  EXPECT_EQ(apply_patch(fresh, patch, now)->burst, 30);
  patch.rate = 1e9;
  EXPECT_EQ(apply_patch(fresh, patch, now)->burst, 1e9);
  patch.burst = 7;
  EXPECT_EQ(apply_patch(fresh, patch, now)->burst, 7);
}

TEST(project_patch, a_project_without_a_script_has_the_digest_of_none) {
  EXPECT_EQ(apply_patch({}, {}, now)->script_md5, md5_hex(""));
}

TEST(project_patch, what_is_out_of_range_is_refused_and_named) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-1.0, -0.001, 1.1e9, inf, -inf, nan}) {
    project_patch rate;
    rate.rate = bad;
    EXPECT_EQ(field_at_fault(rate), "rate") << bad;
    project_patch burst;
    burst.burst = bad;
    EXPECT_EQ(field_at_fault(burst), "burst") << bad;
  }
  project_patch tick;
  tick.min_tick = usec{-1};
  EXPECT_EQ(field_at_fault(tick), "min_tick");
  project_patch retry;
  retry.retry = retry_policy{{{2, seconds{-1}}}, seconds{1}};
  EXPECT_EQ(field_at_fault(retry), "retry_delay[\"2\"]");
  retry.retry = retry_policy{{{-2, seconds{1}}}, seconds{1}};
  EXPECT_EQ(field_at_fault(retry), "retry_delay[\"-2\"]");
  retry.retry = retry_policy{{}, seconds{-1}};
  EXPECT_EQ(field_at_fault(retry), "retry_delay[\"\"]");
}

} // namespace
} // namespace lycosa
