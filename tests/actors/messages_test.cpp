#include "tests/actors/fixture.hpp"

namespace lycosa::actors::test {
namespace {

/// Projects with a script, as pyspider's.
class messages : public node_fixture {
protected:
  void scripted(const std::string& name, std::string script = "print(1)", usec min_tick = 0s) {
    project_patch p;
    p.status = project_status::running;
    p.rate = 1000;
    p.burst = 1000;
    p.script = std::move(script);
    if (min_tick > 0s) p.min_tick = min_tick;
    ASSERT_TRUE(put(name, p).has_value());
  }

  report_answer answer_info(const std::string& name, std::string_view track = "{}") {
    report_item item;
    item.project = name;
    item.pack.taskid = "_on_get_info";
    item.pack.fetch_ok = item.pack.process_ok = true;
    item.pack.track = track;
    return report(std::vector{item});
  }

  /// A scripted project that has answered.
  void known(const std::string& name) {
    scripted(name);
    EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"_on_get_info"});
    EXPECT_EQ(answer_info(name).done, 1U);
  }

  result<bool> send(const std::string& project, std::string_view taskid) {
    auto op = std::make_shared<send_op>();
    op->what.record.taskid = taskid;
    op->what.record.url = "data:,on_message";
    op->what.record.fetch = R"({"save":["__command__","hello"]})";
    std::optional<result<bool>> got;
    op->done = promise<bool>{[&](result<bool> r) { got = r; }};
    caf::anon_send(projects->find(project)->actor, std::move(op));
    run();
    return got.value_or(fail(errc::internal, "test", "no answer"));
  }
};

// -- get-info ------------------------------------------------------------------------------------

TEST_F(messages, a_running_project_with_a_script_is_asked_first_and_selects_nothing_before) {
  scripted("p");
  submit({make_task("p", "a")});
  auto got = lease(10);
  ASSERT_EQ(ids(got), std::vector<std::string>{"_on_get_info"});
  EXPECT_TRUE(got[0].lease.empty()) << "a message carries no lease";
  EXPECT_EQ(got[0].record.url, "data:,_on_get_info");
  EXPECT_EQ(got[0].record.fetch, R"({"save":["min_tick","retry_delay","crawl_config"]})");
  EXPECT_EQ(got[0].record.project, "p");
  EXPECT_FALSE(got[0].project_md5sum.empty());
  EXPECT_TRUE(lease(10).empty());
  EXPECT_NE(view("p").gate.find("_on_get_info"), std::string::npos);
  EXPECT_EQ(answer_info("p").done, 1U);
  EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"a"});
}

TEST_F(messages, projects_without_a_script_or_not_running_are_not_asked) {
  running("plain");
  project_patch p;
  p.script = "x = 1";
  ASSERT_TRUE(put("todo", p).has_value());
  EXPECT_TRUE(lease(10).empty());
}

TEST_F(messages, tasks_of_a_script_that_never_answers_go_out_after_a_while) {
  scripted("p");
  submit({make_task("p", "a")});
  EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"_on_get_info"});
  auto waiting = ask(10, 1min);
  advance(2s);
  EXPECT_FALSE(waiting->answer.has_value());
  advance(1s);
  ASSERT_TRUE(waiting->answer.has_value());
  EXPECT_EQ(ids(waiting->answer->tasks), std::vector<std::string>{"a"});
}

TEST_F(messages, a_lost_answer_is_asked_for_again) {
  scripted("p");
  EXPECT_EQ(lease(10).size(), 1U);
  EXPECT_TRUE(lease(10).empty());
  advance(10s);
  EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"_on_get_info"});
  advance(10s);
  EXPECT_TRUE(lease(10).empty()) << "the pause has grown";
  advance(10s);
  EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"_on_get_info"});
}

TEST_F(messages, the_question_of_a_consumer_that_has_gone_is_put_to_the_next) {
  auto gone = ask(10, 1min);
  caf::anon_send(dispatch, cancel_atom_v, gone->id);
  scripted("p");
  EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"_on_get_info"});
}

TEST_F(messages, its_values_take_effect_and_outlive_a_restart) {
  scripted("p");
  lease(10);
  EXPECT_EQ(answer_info("p", R"({"save":{"min_tick":20,"retry_delay":{"0":7,"":7},)"
                             R"("crawl_config":{"timeout":9}}})")
                .done,
            1U);
  submit({make_task("p", "a")});
  auto got = lease(10);
  ASSERT_EQ(ids(got), std::vector<std::string>{"a"});
  EXPECT_EQ(got[0].record.fetch, R"({"timeout":9})");
  EXPECT_EQ(settle(got[0], false).retried, 1U);
  EXPECT_EQ(view("p").next_at, time->now().wall + 7s);
  stop();
  start({});
  EXPECT_EQ(view("p").record.min_tick, 20s);
  EXPECT_TRUE(lease(10).empty()) << "not asked again";
}

TEST_F(messages, a_new_script_is_asked_again_and_an_answer_is_no_change_of_the_project) {
  known("p");
  const auto before = view("p").record.updatetime;
  advance(5s);
  EXPECT_EQ(answer_info("p").done, 1U);
  EXPECT_EQ(view("p").record.updatetime, before);
  scripted("p", "print(2)");
  EXPECT_GT(view("p").record.updatetime, before);
  EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"_on_get_info"});
}

TEST_F(messages, an_unusable_answer_is_refused_with_the_reason_and_asked_for_again) {
  scripted("p");
  lease(10);
  const auto got = answer_info("p", R"({"save":{"min_tick":"soon"}})");
  ASSERT_EQ(got.rejected.size(), 1U);
  EXPECT_NE(got.rejected[0].why.find("min_tick"), std::string::npos);
  advance(10s);
  EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"_on_get_info"});
}

TEST_F(messages, a_script_that_changed_while_checking_is_asked_when_it_runs) {
  known("p");
  project_patch p;
  p.status = project_status::checking;
  p.script = "print(2)";
  ASSERT_TRUE(put("p", p).has_value());
  EXPECT_TRUE(lease(10).empty());
  project_patch run_again;
  run_again.status = project_status::running;
  ASSERT_TRUE(put("p", run_again).has_value());
  EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"_on_get_info"});
}

TEST_F(messages, a_task_is_taken_as_soon_as_the_change_to_running_is_acknowledged) {
  ASSERT_TRUE(put("p", project_patch{}).has_value());
  EXPECT_EQ(submit({make_task("p", "a")}).rejected.size(), 1U);
  project_patch p;
  p.status = project_status::running;
  ASSERT_TRUE(put("p", p).has_value());
  EXPECT_EQ(submit({make_task("p", "a")}).created, 1U);
}

// -- ticks ---------------------------------------------------------------------------------------

TEST_F(messages, ticks_come_at_the_seconds_that_min_tick_divides) {
  known("p");
  answer_info("p", R"({"save":{"min_tick":10}})");
  advance(9s);
  EXPECT_TRUE(lease(10).empty());
  advance(1s);
  auto got = lease(10);
  ASSERT_EQ(ids(got), std::vector<std::string>{"_on_cronjob"});
  EXPECT_TRUE(got[0].lease.empty());
  EXPECT_EQ(got[0].record.url, "data:,_on_cronjob");
  EXPECT_EQ(got[0].record.fetch, R"({"save":{"tick":1700000010}})");
  EXPECT_EQ(got[0].record.process, R"({"callback":"_on_cronjob"})");
  EXPECT_TRUE(lease(10).empty()) << "once";
}

TEST_F(messages, a_waiting_consumer_gets_a_tick_when_it_is_due) {
  known("p");
  answer_info("p", R"({"save":{"min_tick":10}})");
  auto waiting = ask(10, 1min);
  advance(9s);
  EXPECT_FALSE(waiting->answer.has_value());
  advance(1s);
  ASSERT_TRUE(waiting->answer.has_value());
  EXPECT_EQ(ids(waiting->answer->tasks), std::vector<std::string>{"_on_cronjob"});
}

TEST_F(messages, ticks_nobody_takes_are_bounded_by_the_catch_up) {
  known("p");
  answer_info("p", R"({"save":{"min_tick":1}})");
  advance(1h);
  EXPECT_EQ(lease(10'000).size(), 60U);
}

TEST_F(messages, a_stopped_project_gets_no_ticks_and_none_are_made_up_for) {
  known("p");
  answer_info("p", R"({"save":{"min_tick":10}})");
  advance(10s);
  project_patch p;
  p.status = project_status::stop;
  ASSERT_TRUE(put("p", p).has_value());
  EXPECT_TRUE(lease(10).empty());
  advance(100s);
  p.status = project_status::running;
  ASSERT_TRUE(put("p", p).has_value());
  EXPECT_TRUE(lease(10).empty());
  advance(10s);
  EXPECT_EQ(lease(10).size(), 1U);
}

TEST_F(messages, ticks_pass_rate_and_queue) {
  known("p");
  answer_info("p", R"({"save":{"min_tick":10}})");
  project_patch p;
  p.rate = 0;
  p.burst = 0;
  ASSERT_TRUE(put("p", p).has_value());
  submit({make_task("p", "a")});
  advance(10s);
  EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"_on_cronjob"});
}

// -- send_task -----------------------------------------------------------------------------------

TEST_F(messages, a_sent_message_goes_to_the_next_consumer_once_past_queue_and_status) {
  project_patch p;
  p.status = project_status::stop;
  ASSERT_TRUE(put("p", p).has_value());
  EXPECT_EQ(send("p", "m1"), true);
  EXPECT_EQ(send("p", "m2"), true);
  EXPECT_EQ(ids(lease(1)), std::vector<std::string>{"m1"});
  auto got = lease(10);
  ASSERT_EQ(ids(got), std::vector<std::string>{"m2"});
  EXPECT_TRUE(got[0].lease.empty());
  EXPECT_TRUE(lease(10).empty());
  EXPECT_EQ(view("p").size(), 0U) << "stored nowhere";
}

TEST_F(messages, more_messages_than_wait_sensibly_are_refused) {
  running("p");
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(send("p", "m"), true);
  const auto refused = send("p", "m");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, errc::unavailable);
  EXPECT_EQ(lease(2000).size(), 1000U);
  EXPECT_EQ(send("p", "m"), true);
}

TEST_F(messages, credit_is_shared_between_messages_and_tasks) {
  running("p");
  submit({make_task("p", "a"), make_task("p", "b")});
  EXPECT_EQ(send("p", "m"), true);
  EXPECT_EQ(ids(lease(2)), (std::vector<std::string>{"m", "a"}));
  EXPECT_EQ(ids(lease(2)), std::vector<std::string>{"b"});
}

// -- on_finished ---------------------------------------------------------------------------------

TEST_F(messages, on_finished_comes_once_when_the_project_has_run_dry) {
  known("p");
  submit({make_task("p", "a"), make_task("p", "b")});
  auto got = lease(10);
  ASSERT_EQ(got.size(), 2U);
  settle(got[0]);
  advance(10s);
  EXPECT_TRUE(lease(10).empty()) << "b is still in processing";
  settle(got[1]);
  EXPECT_TRUE(lease(10).empty()) << "its links may be on their way";
  advance(1s);
  auto finished = lease(10);
  ASSERT_EQ(ids(finished), std::vector<std::string>{"on_finished"});
  EXPECT_FALSE(finished[0].lease.empty()) << "a task like others";
  EXPECT_EQ(finished[0].record.process, R"({"callback":"on_finished"})");
  settle(finished[0]);
  EXPECT_EQ(view("p").size(), 0U);
  advance(1h);
  EXPECT_TRUE(lease(10).empty()) << "never twice";
  submit({make_task("p", "c")});
  settle(lease(10)[0]);
  advance(1s);
  EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"on_finished"}) << "armed again";
}

TEST_F(messages, on_finished_waits_for_delayed_tasks_and_retries) {
  known("p");
  auto later = make_task("p", "later");
  later.sched.exetime = time->now().wall + 1h;
  submit({make_task("p", "a"), later});
  settle(lease(10)[0], false); // a is retried in 5 s
  advance(4s);
  EXPECT_TRUE(lease(10).empty());
  advance(2s);
  settle(lease(10)[0]);
  advance(30min);
  EXPECT_TRUE(lease(10).empty());
  advance(30min);
  settle(lease(10)[0]);
  advance(1s);
  EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"on_finished"});
}

TEST_F(messages, a_project_that_never_ran_a_task_is_not_finished) {
  known("p");
  advance(1h);
  EXPECT_TRUE(lease(10).empty());
}

TEST_F(messages, tasks_submitted_within_the_delay_put_it_off) {
  known("p");
  submit({make_task("p", "a")});
  settle(lease(10)[0]);
  advance(500ms);
  submit({make_task("p", "b")});
  advance(1s);
  EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"b"});
}

TEST_F(messages, on_finished_waits_while_a_source_holds_tasks) {
  known("p");
  submit({make_task("p", "a")});
  settle(lease(10)[0]);
  environment.inputs->fetch_add(1);
  advance(1min);
  EXPECT_TRUE(lease(10).empty());
  environment.inputs->fetch_sub(1);
  advance(1s);
  advance(1s);
  EXPECT_EQ(ids(lease(10)), std::vector<std::string>{"on_finished"});
}

TEST_F(messages, a_node_that_stops_before_on_finished_sends_it_after_the_restart) {
  known("p");
  submit({make_task("p", "a")});
  settle(lease(10)[0]);
  stop();
  start({});
  EXPECT_TRUE(lease(10).empty());
  advance(1s);
  auto finished = lease(10);
  ASSERT_EQ(ids(finished), std::vector<std::string>{"on_finished"});
  stop(); // not reported: ready again
  advance(1s);
  start({});
  finished = lease(10);
  ASSERT_EQ(ids(finished), std::vector<std::string>{"on_finished"});
  advance(1s);
  settle(finished[0]);
  stop();
  start({});
  advance(1min);
  EXPECT_TRUE(lease(10).empty()) << "not a second time";
}

} // namespace
} // namespace lycosa::actors::test
