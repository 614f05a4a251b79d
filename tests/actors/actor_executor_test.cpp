#include "actors/actor_executor.hpp"
#include "actors/interfaces.hpp"
#include "tests/actors/caf_peer.hpp"
#include "tests/executors/runs.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace lycosa::actors {
namespace {

using executors::test::runs;
using jobs::run_outcome;
using test::caf_peer;

/// A listening socket of a program that is no CAF system.
class plain_listener {
public:
  plain_listener() {
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address_), sizeof(address_)), 0);
    EXPECT_EQ(::listen(fd_, 8), 0);
    socklen_t size = sizeof(address_);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address_), &size);
  }
  ~plain_listener() { ::close(fd_); }
  plain_listener(const plain_listener&) = delete;
  plain_listener& operator=(const plain_listener&) = delete;

  [[nodiscard]] std::string at(const std::string& name) const {
    return name + "@127.0.0.1:" + std::to_string(ntohs(address_.sin_port));
  }
  /// Says `text` to the next that connects, and waits for it to leave.
  std::thread say(std::string text) {
    return std::thread([this, text = std::move(text)] {
      const int fd = ::accept(fd_, nullptr, nullptr);
      EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(text.size()));
      if (text.empty()) ::shutdown(fd, SHUT_WR);
      char c = 0;
      while (::recv(fd, &c, 1, 0) > 0) {
      }
      ::close(fd);
    });
  }

private:
  static sockaddr_in loopback() {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
  }
  int fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address_ = loopback();
};

class actor_executor_test : public ::testing::Test {
protected:
  actor_executor_test() {
    config_.add_message_types<caf::id_block::lycosa>();
    config_.set("scheduler.max-threads", std::size_t{1});
    system_ = std::make_unique<caf::actor_system>(config_);
    make({});
  }
  void make(actor_options options) { executor_ = make_actor_executor(*system_, options); }

  static jobs::action ask(const std::string& name, const std::string& payload = "1") {
    return jobs::actor_action{name, payload};
  }
  jobs::run_result run(const std::string& name, const std::string& payload = "1",
                       std::optional<usec> timeout = {}) {
    return runs(*executor_).run(ask(name, payload), timeout);
  }

  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::unique_ptr<jobs::executor> executor_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(actor_executor_test, another_systems_actor_is_told_of_the_run_and_its_answer_is_the_value) {
  caf_peer peer;
  jobs::run_request request;
  request.key = jobs::run_key{7};
  request.job_id = "nightly";
  request.action = ask(peer.at("greeter"), R"({"a":[1]})");
  request.nominal = wall_time{usec{1'700'000'000'000'001}};
  request.attempt = 2;
  const auto r = runs(*executor_).start(request).wait();
  EXPECT_EQ(r.outcome, run_outcome::success) << r.error;
  EXPECT_EQ(r.value, R"({"hello":{"a":[1]}})");
  const auto heard = peer.calls().last();
  EXPECT_EQ(heard.job, "nightly");
  EXPECT_EQ(heard.payload, R"({"a":[1]})");
  EXPECT_EQ(heard.nominal, 1'700'000'000'000'001);
  EXPECT_EQ(heard.attempt, 2u);
}

TEST_F(actor_executor_test, an_actor_of_the_own_system_is_asked_by_its_name_alone) {
  const auto calls = std::make_shared<test::heard>();
  auto greeter = system_->spawn(caf_peer::greeter, calls);
  system_->registry().put(caf::atom("greeter"), greeter);
  const auto r = run("greeter", "[2]");
  EXPECT_EQ(r.outcome, run_outcome::success) << r.error;
  EXPECT_EQ(r.value, R"({"hello":[2]})");
  const auto gone = run("greeter", R"("quit")");
  EXPECT_EQ(gone.outcome, run_outcome::error);
  EXPECT_TRUE(has(gone.error, "ended before it answered")) << gone.error;
  EXPECT_EQ(run("greeter").outcome, run_outcome::error); // it is still registered
  system_->registry().erase(caf::atom("greeter"));
  EXPECT_EQ(run("greeter").error, "no actor is named greeter in this process");
  EXPECT_EQ(run("ConfigServ").error, "no actor is named ConfigServ in this process");
}

TEST_F(actor_executor_test, text_and_nothing_are_answers_too) {
  caf_peer peer;
  EXPECT_EQ(run(peer.at("greeter"), R"("text")").value, R"("hello there")");
  const auto mute = run(peer.at("mute"));
  EXPECT_EQ(mute.outcome, run_outcome::success) << mute.error;
  EXPECT_EQ(mute.value, "");
}

TEST_F(actor_executor_test, an_error_is_told_in_the_actors_words) {
  caf_peer peer;
  const auto r = run(peer.at("greeter"), R"("error")");
  EXPECT_EQ(r.outcome, run_outcome::error);
  EXPECT_EQ(r.error, "no luck today");
  EXPECT_TRUE(has(run(peer.at("number")).error, "no text"));
  EXPECT_TRUE(has(run(peer.at("deaf")).error, "takes no message"));
}

TEST_F(actor_executor_test, a_name_that_is_not_registered_there_is_an_error) {
  caf_peer peer;
  const auto r = run(peer.at("nobody"));
  EXPECT_EQ(r.outcome, run_outcome::error);
  EXPECT_EQ(r.error, "no actor is named " + peer.at("nobody").replace(6, 1, " at "));
}

TEST_F(actor_executor_test, where_nobody_listens_is_an_error_that_says_so) {
  std::string nowhere;
  {
    const plain_listener closed;
    nowhere = closed.at("greeter");
  }
  const auto r = run(nowhere);
  EXPECT_EQ(r.outcome, run_outcome::error);
  EXPECT_TRUE(has(r.error, "refused")) << r.error;
  const auto unknown = run("greeter@no-such-host.invalid:4711");
  EXPECT_EQ(unknown.outcome, run_outcome::error);
  EXPECT_TRUE(has(unknown.error, "no-such-host.invalid:4711: ")) << unknown.error;
}

TEST_F(actor_executor_test, what_is_no_caf_system_is_an_error_and_no_more) {
  make({std::chrono::milliseconds{200}});
  plain_listener other;
  for (const auto& [said, told] : std::vector<std::pair<std::string, std::string>>{
           {"SSH-2.0-OpenSSH_9.2p1 Debian, and more than a header has\r\n", "does not speak CAF"},
           // A server's handshake without what belongs to it.
           {std::string(15, '\0') + "\x03" + std::string(16, '\0'), "does not speak CAF"},
           {std::string(7, '\0') + "\x01" + std::string(7, '\0') + "\x63" + std::string(17, '\0'),
            "version 99"},
           {std::string(6, '\0') + "\x01\x01" + std::string(7, '\0') + "\x03"
                + std::string(30, '\0'),
            "says nothing"},
           {"", "closed the connection"}}) {
    auto talk = other.say(said);
    const auto r = run(other.at("greeter"));
    talk.join();
    EXPECT_EQ(r.outcome, run_outcome::error);
    EXPECT_TRUE(has(r.error, told)) << r.error;
  }
  const auto silent = run(other.at("greeter")); // nobody accepts
  EXPECT_EQ(silent.outcome, run_outcome::error);
  EXPECT_TRUE(has(silent.error, "says nothing")) << silent.error;
}

TEST_F(actor_executor_test, a_system_of_another_application_is_refused) {
  caf_peer peer(0, "somebody-elses");
  const auto r = run(peer.at("greeter"));
  EXPECT_EQ(r.outcome, run_outcome::error);
  EXPECT_TRUE(has(r.error, "app-identifiers")) << r.error;
}

TEST_F(actor_executor_test, who_ends_during_a_run_ends_it) {
  caf_peer peer;
  const auto r = run(peer.at("greeter"), R"("quit")");
  EXPECT_EQ(r.outcome, run_outcome::error);
  EXPECT_TRUE(has(r.error, "ended before it answered")) << r.error;
}

TEST_F(actor_executor_test, a_lost_connection_ends_the_run_and_the_next_one_makes_another) {
  auto peer = std::make_unique<caf_peer>();
  const auto port = peer->port();
  const auto name = peer->at("greeter");
  auto held = runs(*executor_).start(ask(name, R"("hold")"));
  ASSERT_TRUE(peer->calls().wait(1));
  peer.reset();
  const auto r = held.wait();
  EXPECT_EQ(r.outcome, run_outcome::error);
  for (int i = 0; i < 2; ++i) {
    caf_peer again(port);
    ASSERT_EQ(again.port(), port);
    EXPECT_EQ(run(name, "3").value, R"({"hello":3})");
  }
  EXPECT_EQ(run(name).outcome, run_outcome::error);
}

TEST_F(actor_executor_test, one_system_by_two_names_is_reached_by_both) {
  caf_peer peer;
  EXPECT_EQ(run(peer.at("greeter"), "1").value, R"({"hello":1})");
  const auto other = "greeter@localhost:" + std::to_string(peer.port());
  EXPECT_EQ(run(other, "2").value, R"({"hello":2})");
  EXPECT_EQ(run(peer.at("greeter"), "3").value, R"({"hello":3})");
}

TEST_F(actor_executor_test, a_run_without_an_answer_times_out) {
  caf_peer peer;
  const auto r = run(peer.at("greeter"), R"("hold")", std::chrono::milliseconds{50});
  EXPECT_EQ(r.outcome, run_outcome::timeout);
  EXPECT_TRUE(has(r.error, "its time was up")) << r.error;
  const plain_listener silent;
  EXPECT_EQ(run(silent.at("greeter"), "1", std::chrono::milliseconds{50}).outcome,
            run_outcome::timeout);
  EXPECT_EQ(run(peer.at("greeter"), "4").value, R"({"hello":4})");
}

TEST_F(actor_executor_test, who_does_not_answer_a_connection_holds_nobody_else_up) {
  make({std::chrono::hours{1}});
  const plain_listener silent;
  caf_peer peer;
  auto stuck = runs(*executor_).start(ask(silent.at("greeter")));
  jobs::run_request request;
  request.key = jobs::run_key{2};
  request.action = ask(peer.at("greeter"), "5");
  EXPECT_EQ(runs(*executor_).start(request).wait().value, R"({"hello":5})");
  executor_->cancel(stuck.key);
  EXPECT_EQ(stuck.wait().outcome, run_outcome::cancelled);
}

TEST_F(actor_executor_test, cancel_ends_a_run_and_leaves_the_others) {
  caf_peer peer;
  runs all(*executor_);
  auto first = all.start(ask(peer.at("greeter"), R"("hold")"));
  auto second = all.start(ask(peer.at("greeter"), R"("hold")"));
  ASSERT_TRUE(peer.calls().wait(2));
  executor_->cancel(first.key);
  EXPECT_EQ(first.wait().outcome, run_outcome::cancelled);
  executor_->cancel(first.key);
  EXPECT_EQ(all.run(ask(peer.at("greeter"), "6")).value, R"({"hello":6})");
  executor_->cancel(second.key);
  EXPECT_EQ(second.wait().outcome, run_outcome::cancelled);
}

TEST_F(actor_executor_test, stop_ends_all_and_takes_no_more) {
  caf_peer peer;
  auto greeter = system_->spawn(caf_peer::greeter, std::make_shared<test::heard>());
  system_->registry().put(caf::atom("greeter"), greeter);
  const plain_listener silent;
  runs all(*executor_);
  std::vector<runs::pending> open;
  for (const auto& name : {peer.at("greeter"), std::string("greeter"), silent.at("greeter")})
    open.push_back(all.start(ask(name, R"("hold")")));
  executor_->stop(usec{0});
  for (auto& one : open) {
    ASSERT_EQ(one.result.wait_for(usec{0}), std::future_status::ready);
    EXPECT_EQ(one.wait().outcome, run_outcome::cancelled);
  }
  EXPECT_EQ(run(peer.at("greeter")).outcome, run_outcome::cancelled);
  executor_.reset();
  system_->registry().erase(caf::atom("greeter"));
  caf::anon_send_exit(greeter, caf::exit_reason::kill);
}

TEST_F(actor_executor_test, stop_and_the_end_from_inside_a_done_do_not_wait) {
  caf_peer peer;
  std::promise<void> over;
  jobs::run_request request;
  request.key = jobs::run_key{1};
  request.action = ask(peer.at("greeter"));
  executor_->start(request, [&](jobs::run_result) {
    executor_->stop(usec{0});
    executor_.reset();
    over.set_value();
  });
  EXPECT_EQ(over.get_future().wait_for(std::chrono::minutes{1}), std::future_status::ready);
}

} // namespace
} // namespace lycosa::actors
