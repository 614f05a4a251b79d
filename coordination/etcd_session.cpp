#include "coordination/etcd_session.hpp"

#include "coordination/etcd_api.hpp"
#include "coordination/time.hpp"
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace lycosa::coordination {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using cluster::session_id;

constexpr auto awaitably = asio::as_tuple(asio::use_awaitable);

std::uint64_t raw(session_id id) {
  return static_cast<std::uint64_t>(id);
}

} // namespace

session_keeper::session_keeper(asio::io_context& io, etcd_client& client, const keys& at,
                               const config& settings, member self, observer& watcher)
    : client_(client), keys_(at),
      ttl_(std::chrono::duration_cast<std::chrono::seconds>(settings.session_ttl)),
      drift_(settings.clock_drift), self_(std::move(self)), observer_(watcher),
      retry_(static_cast<std::uint64_t>(self_.node)), lease_(ttl_, drift_), wake_(io), expiry_(io) {
}

awaitable<void> session_keeper::run() {
  while (!leaving_) {
    auto begun = co_await begin();
    if (leaving_) break;
    if (begun) {
      retry_.succeeded();
      co_await keep();
      continue;
    }
    const auto pause = retry_.failed(begun.error().text());
    co_await sleep_until(now() + pause);
  }
}

awaitable<result<void>> session_keeper::begin() {
  if (stale_ != session_id::none) {
    auto revoked = co_await revoke(stale_);
    if (!revoked) co_return revoked;
    stale_ = session_id::none;
  }
  const auto asked_at = now();
  const call_options options{ttl_ / 2, true};
  auto answer = co_await client_.call("/v3/lease/grant", etcd::grant(ttl_), options);
  if (!answer) co_return tl::unexpected(std::move(answer.error()));
  if (leaving_) co_return fail(errc::unavailable, "session", "leaving");
  const auto id = etcd::number(*answer, "ID").value_or(0);
  const auto ttl = etcd::number(*answer, "TTL").value_or(0);
  if (id == 0) co_return fail(errc::incompatible, "etcd's answer", "a lease without an id");
  stale_ = session_id{id}; // whatever comes of it
  if (ttl < static_cast<std::uint64_t>(ttl_.count()))
    co_return fail(errc::incompatible, "session",
                   "etcd grants " + std::to_string(ttl) + " s instead of "
                       + std::to_string(ttl_.count()) + " s");
  auto joined = co_await join(session_id{id});
  if (!joined || leaving_) co_return joined;
  lease_ = cluster::session_lease(ttl_, drift_);
  lease_.granted(asked_at);
  if (!lease_.holds(now()))
    co_return fail(errc::unavailable, "session", "etcd took too long to begin one");
  current_ = std::exchange(stale_, session_id::none);
  prolonged(asked_at);
  co_return result<void>{};
}

/// Writes the member, unless this node still is one by a lease that another process keeps or has
/// left behind.
awaitable<result<void>> session_keeper::join(session_id id) {
  self_.session = id;
  const auto member_key = keys_.member(self_.node);
  std::vector<nlohmann::json> conditions;
  conditions.push_back(etcd::if_absent(member_key));
  std::vector<nlohmann::json> then;
  then.push_back(etcd::then_put(etcd::put(member_key, to_text(self_), raw(id))));
  then.push_back(etcd::then_put(etcd::put(keys_.session(id), id_text(raw(id)), raw(id))));
  std::vector<nlohmann::json> otherwise;
  otherwise.push_back(etcd::then_get(etcd::get(member_key)));
  auto request = etcd::transaction(std::move(conditions), std::move(then), std::move(otherwise));
  const call_options options{ttl_ / 2, true};
  auto answer = co_await client_.call("/v3/kv/txn", std::move(request), options);
  if (!answer) co_return tl::unexpected(std::move(answer.error()));
  const auto txn = etcd::read_txn(*answer);
  if (!txn) co_return tl::unexpected(txn.error());
  if (txn->succeeded) co_return result<void>{};
  // The call may have reached etcd twice.
  for (const auto& kv : txn->got)
    if (kv.lease == raw(id)) co_return result<void>{};
  co_return fail(errc::conflict, "node " + id_text(static_cast<std::uint64_t>(self_.node)),
                 "is still a member by another session; waiting until that has ended");
}

/// Returns when the session has ended.
awaitable<void> session_keeper::keep() {
  const auto third = usec{ttl_} / 3;
  auto next = asked_at_ + third;
  while (true) {
    co_await sleep_until(next);
    if (leaving_ || current_ == session_id::none) co_return;
    const auto id = current_;
    const auto asked_at = now();
    const call_options options{third, true};
    auto answer = co_await client_.call("/v3/lease/keepalive", etcd::lease(raw(id)), options);
    if (leaving_ || current_ != id) co_return;
    if (!lease_.holds(now())) {
      end(); // the timer has not come to say so yet
      co_return;
    }
    if (!answer && answer.error().code != errc::not_found) {
      // Soon: of the two thirds that are left no more should be lost to waiting than need be.
      next = now() + std::min(retry_.failed(answer.error().text()), third / 10);
      continue;
    }
    if (!answer || etcd::number(*answer, "TTL").value_or(0) == 0) {
      spdlog::warn("coordination: etcd has ended the session");
      end();
      co_return;
    }
    retry_.succeeded();
    lease_.granted(asked_at);
    prolonged(asked_at);
    next = asked_at + third;
  }
}

/// Tells until when, and sees to it that the session ends then.
void session_keeper::prolonged(mono_time asked_at) {
  asked_at_ = asked_at;
  const auto until = *lease_.until();
  expiry_.expires_at(on_steady_clock(until));
  expiry_.async_wait([this](boost::system::error_code cancelled) {
    if (cancelled || current_ == session_id::none || lease_.holds(now())) return;
    spdlog::warn("coordination: the session has run out, etcd did not prolong it in time");
    end();
  });
  observer_.session(current_, until);
}

void session_keeper::end() {
  stale_ = std::exchange(current_, session_id::none);
  lease_.lost();
  expiry_.cancel();
  wake_.cancel();
  observer_.session_ended();
}

awaitable<void> session_keeper::leave() {
  leaving_ = true;
  expiry_.cancel();
  wake_.cancel();
  for (const auto id : {std::exchange(current_, session_id::none), stale_})
    if (id != session_id::none) co_await revoke(id);
}

awaitable<result<void>> session_keeper::revoke(session_id id) {
  const call_options options{ttl_ / 2, true};
  auto answer = co_await client_.call("/v3/lease/revoke", etcd::lease(raw(id)), options);
  if (answer || answer.error().code == errc::not_found) co_return result<void>{};
  co_return tl::unexpected(std::move(answer.error()));
}

awaitable<void> session_keeper::sleep_until(mono_time at) {
  if (leaving_) co_return;
  wake_.expires_at(on_steady_clock(at));
  co_await wake_.async_wait(awaitably);
}

} // namespace lycosa::coordination
