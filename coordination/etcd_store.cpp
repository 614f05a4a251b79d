#include "coordination/etcd_api.hpp"
#include "coordination/etcd_client.hpp"
#include "coordination/etcd_session.hpp"
#include "coordination/keys.hpp"
#include "coordination/picture.hpp"
#include "coordination/record_text.hpp"
#include "coordination/replies.hpp"
#include "coordination/retry.hpp"
#include "coordination/store.hpp"
#include "coordination/time.hpp"
#include "coordination/viewer.hpp"
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <mutex>
#include <thread>

namespace lycosa::coordination {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using nlohmann::json;

constexpr auto awaitably = asio::as_tuple(asio::use_awaitable);
constexpr std::uint64_t page = 1000; ///< keys read at once
constexpr std::size_t most_ops = 64; ///< etcd takes 128 in a transaction with what is inside it

class etcd_store final : public store {
public:
  etcd_store(config settings, std::unique_ptr<asio::io_context> io,
             std::unique_ptr<etcd_client> client, member self, observer& watcher)
      : config_(std::move(settings)), keys_(config_.cluster), observer_(watcher),
        retry_(static_cast<std::uint64_t>(self.node)), io_(std::move(io)),
        client_(std::move(client)), viewer_(keys_, observer_),
        session_(std::make_unique<session_keeper>(*io_, *client_, keys_, config_, std::move(self),
                                                  observer_)),
        pause_(std::make_unique<asio::steady_timer>(*io_)) {}

  ~etcd_store() override { etcd_store::stop(); }

  void start() {
    spawn(session_->run());
    spawn(follow());
    thread_ = std::thread([this] {
      const auto guard = asio::make_work_guard(*io_);
      io_->run();
    });
  }

  void propose(std::string shard, cluster::shard_record next, cluster::session_id ended) override {
    const std::lock_guard lock(gate_);
    if (!stopped_) spawn(do_propose(std::move(shard), std::move(next), ended));
  }

  void found(cluster_facts facts, std::map<std::string, cluster::shard_record> records,
             founded reply) override {
    const auto ticket = replies_.add(std::move(reply));
    const std::lock_guard lock(gate_);
    if (!stopped_) spawn(do_found(std::move(facts), std::move(records), ticket));
  }

  void put_note(std::string key, std::string value, done reply) override {
    const auto ticket = replies_.add(without_value(std::move(reply)));
    const std::lock_guard lock(gate_);
    if (!stopped_) spawn(do_note("/v3/kv/put", etcd::put(keys_.notes() + key, value), ticket));
  }

  void erase_note(std::string key, done reply) override {
    const auto ticket = replies_.add(without_value(std::move(reply)));
    const std::lock_guard lock(gate_);
    if (!stopped_) spawn(do_note("/v3/kv/deleterange", etcd::erase(keys_.notes() + key), ticket));
  }

  void stop() override {
    {
      const std::lock_guard lock(gate_);
      if (std::exchange(stopped_, true)) return;
      spawn(leave());
    }
    thread_.join();
    client_->close();
    session_.reset();
    pause_.reset();
    io_.reset(); // with everything that still waited for something
    replies_.close();
  }

private:
  static founded without_value(done reply) {
    return [reply = std::move(reply)](result<bool> r) {
      if (!reply) return;
      if (r)
        reply({});
      else
        reply(tl::unexpected(std::move(r.error())));
    };
  }

  void spawn(awaitable<void> what) {
    asio::co_spawn(*io_, std::move(what), [](std::exception_ptr failed) {
      if (failed) std::rethrow_exception(failed);
    });
  }

  awaitable<void> leave() {
    asio::steady_timer patience(*io_, on_steady_clock(now() + config_.timeout));
    patience.async_wait([this](boost::system::error_code cancelled) {
      if (!cancelled) io_->stop();
    });
    co_await session_->leave();
    io_->stop();
  }

  /// Keeps the picture up to date: reads everything, then follows what changes from there.
  awaitable<void> follow() {
    while (true) {
      auto ended = co_await follow_once();
      pause_->expires_at(on_steady_clock(now() + retry_.failed(ended.text())));
      co_await pause_->async_wait(awaitably);
    }
  }

  /// Returns why it cannot go on.
  awaitable<error> follow_once() {
    const auto asked_at = viewer_.newest();
    std::uint64_t revision = 0;
    auto all = co_await read_all(revision);
    if (!all) co_return std::move(all.error());
    if (revision < asked_at)
      spdlog::error(
          "coordination: etcd is at revision {} and was at {}: it has been put back to an "
          "older state",
          revision, asked_at);
    viewer_.replace(std::move(*all), revision, asked_at);

    auto stream =
        co_await client_->stream("/v3/watch", etcd::watch_prefix(keys_.prefix, revision + 1));
    if (!stream) co_return std::move(stream.error());
    while (true) {
      auto answer = co_await (*stream)->next();
      if (!answer) co_return std::move(answer.error());
      auto news = etcd::read_watch(*answer);
      if (!news) co_return std::move(news.error());
      if (news->cancelled) co_return error{errc::unavailable, "watch", news->why};
      retry_.succeeded();
      viewer_.apply(std::move(news->events));
    }
  }

  /// In pages, all as of one revision.
  awaitable<result<std::vector<etcd::key_value>>> read_all(std::uint64_t& revision) {
    std::vector<etcd::key_value> all;
    std::string from = keys_.prefix;
    while (true) {
      auto request = etcd::get_prefix(keys_.prefix, from, revision, page);
      auto answer = co_await client_->call("/v3/kv/range", std::move(request), call_options{});
      if (!answer) co_return tl::unexpected(std::move(answer.error()));
      if (revision == 0) revision = etcd::revision(*answer);
      auto range = etcd::read_range(*answer);
      if (!range) co_return tl::unexpected(std::move(range.error()));
      const bool more = range->more && !range->kvs.empty();
      if (more) from = range->kvs.back().key + '\0';
      for (auto& kv : range->kvs)
        all.push_back(std::move(kv));
      if (!more) co_return all;
    }
  }

  awaitable<void> do_propose(std::string shard, cluster::shard_record next,
                             cluster::session_id ended) {
    const auto key = keys_.shards() + shard;
    auto text = to_text(next);
    std::vector<json> conditions;
    conditions.push_back(etcd::if_unchanged(key, next.version));
    if (ended != cluster::session_id::none)
      conditions.push_back(etcd::if_absent(keys_.session(ended)));
    std::vector<json> then;
    then.push_back(etcd::then_put(etcd::put(key, text)));
    std::vector<json> otherwise;
    otherwise.push_back(etcd::then_get(etcd::get(key)));
    auto request = etcd::transaction(std::move(conditions), std::move(then), std::move(otherwise));
    auto answer = co_await client_->call("/v3/kv/txn", std::move(request), call_options{});
    if (!answer) {
      spdlog::warn("coordination: a change of shard {} may not have been made: {}", shard,
                   answer.error().text());
      co_return;
    }
    auto txn = etcd::read_txn(*answer);
    if (!txn) {
      spdlog::error("coordination: {}", txn.error().text());
      co_return;
    }
    const auto revision = etcd::revision(*answer);
    if (txn->succeeded)
      viewer_.put(key, std::move(text), revision);
    else if (txn->got.empty())
      viewer_.show(key, std::nullopt, revision);
    else
      viewer_.show(key, std::move(txn->got.front().value), txn->got.front().mod_revision);
  }

  awaitable<void> do_found(cluster_facts facts,
                           std::map<std::string, cluster::shard_record> records,
                           std::uint64_t ticket) {
    if (records.size() > most_ops * (most_ops - 1)) {
      replies_.answer(ticket, fail(errc::too_large, "shards", "more than a transaction takes"));
      co_return;
    }
    const auto text = to_text(facts);
    std::vector<json> then;
    then.push_back(etcd::then_put(etcd::put(keys_.facts(), text)));
    std::vector<json> some;
    for (const auto& [shard, record] : records) {
      some.push_back(etcd::then_put(etcd::put(keys_.shards() + shard, to_text(record))));
      if (some.size() == most_ops) then.push_back(etcd::then_all(std::exchange(some, {})));
    }
    if (!some.empty()) then.push_back(etcd::then_all(std::move(some)));
    std::vector<json> conditions;
    conditions.push_back(etcd::if_absent(keys_.facts()));
    std::vector<json> otherwise;
    otherwise.push_back(etcd::then_get(etcd::get(keys_.facts())));
    auto request = etcd::transaction(std::move(conditions), std::move(then), std::move(otherwise));
    auto answer = co_await client_->call("/v3/kv/txn", std::move(request), call_options{});
    if (!answer) {
      replies_.answer(ticket, tl::unexpected(std::move(answer.error())));
      co_return;
    }
    const auto txn = etcd::read_txn(*answer);
    if (!txn) {
      replies_.answer(ticket, tl::unexpected(txn.error()));
      co_return;
    }
    // The call may have reached etcd twice; nobody else has facts with this id.
    bool ours = txn->succeeded;
    for (const auto& kv : txn->got)
      ours = ours || kv.value == text;
    replies_.answer(ticket, ours);
  }

  awaitable<void> do_note(std::string path, json request, std::uint64_t ticket) {
    auto answer = co_await client_->call(std::move(path), std::move(request), call_options{});
    if (answer)
      replies_.answer(ticket, true);
    else
      replies_.answer(ticket, tl::unexpected(std::move(answer.error())));
  }

  const config config_;
  const keys keys_;
  observer& observer_;
  retry retry_;
  std::unique_ptr<asio::io_context> io_;
  std::unique_ptr<etcd_client> client_;
  viewer viewer_;
  std::unique_ptr<session_keeper> session_;
  std::unique_ptr<asio::steady_timer> pause_;
  replies replies_;
  std::thread thread_;

  std::mutex gate_; ///< nothing is begun once it is stopped
  bool stopped_ = false;
};

} // namespace

result<std::unique_ptr<store>> start_etcd(config settings, member self, observer& watcher) {
  const auto wrong = [](const char* what, const char* why) {
    return fail(errc::invalid_argument, what, why);
  };
  if (settings.cluster.empty() || settings.cluster.find('/') != std::string::npos)
    return wrong("cluster", "its name is empty or has a slash in it");
  if (settings.session_ttl < std::chrono::seconds{2}
      || settings.session_ttl % std::chrono::seconds{1} != usec{0})
    return wrong("session time", "has to be whole seconds, two at least");
  if (!(settings.clock_drift >= 0 && settings.clock_drift < 0.5))
    return wrong("clock drift", "has to be from 0 to 0.5");
  if (settings.timeout <= usec{0}) return wrong("timeout", "has to be positive");
  if (self.node == cluster::node_id::none) return wrong("node", "has no id");

  client_config c;
  c.endpoints = settings.endpoints;
  c.timeout = settings.timeout;
  c.user = settings.user;
  c.password = settings.password;
  c.ca = settings.ca;
  c.cert = settings.cert;
  c.key = settings.key;
  auto io = std::make_unique<asio::io_context>(1);
  auto client = etcd_client::make(*io, std::move(c));
  if (!client) return tl::unexpected(std::move(client.error()));
  auto made = std::make_unique<etcd_store>(std::move(settings), std::move(io), std::move(*client),
                                           std::move(self), watcher);
  made->start();
  return std::unique_ptr<store>(std::move(made));
}

} // namespace lycosa::coordination
