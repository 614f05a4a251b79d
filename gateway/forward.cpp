#include "gateway/forward.hpp"

#include "gateway/handlers.hpp"

#include <deque>
#include <random>
#include <utility>

namespace lycosa::gateway {

namespace {

using done_part = std::function<void(result<std::string>)>;

/// Differs from start to start, so that no late answer is taken for another request's.
std::uint64_t first_id() {
  std::random_device random;
  return (std::uint64_t{random()} << 32U) + 1;
}

/// The rest of an answer, on its way from the active node to the client.
struct incoming {
  std::mutex mutex;
  std::deque<std::string> parts;
  bool ended = false, broken = false;
  std::function<void()> wake; ///< somebody waits for more

  /// What came last may be taken: calls whoever waits.
  void notify(std::unique_lock<std::mutex>& lock) {
    const auto live = std::exchange(wake, nullptr);
    lock.unlock();
    if (live) live();
  }
};

} // namespace

struct forwarder::call {
  std::uint64_t id = 0;
  cluster::node_id to = cluster::node_id::none;

  // guarded by the forwarder
  exchange_ptr client; ///< none = it was answered
  budget_share share;
  bool owed = false;
  std::shared_ptr<incoming> rest; ///< set once
};

namespace {

/// What became of an answer that the active node wants to hear of.
class delivery {
public:
  delivery(std::weak_ptr<forwarder> by, forwarder::call_ptr c)
      : by_(std::move(by)), call_(std::move(c)) {}
  ~delivery() {
    const auto by = by_.lock();
    if (by && !failed_) by->send(*call_, wire::forward_done{});
  }
  delivery(const delivery&) = delete;
  delivery& operator=(const delivery&) = delete;
  void failed() {
    if (failed_.exchange(true)) return;
    if (const auto by = by_.lock()) by->send(*call_, wire::forward_cancel{});
  }

private:
  std::weak_ptr<forwarder> by_;
  forwarder::call_ptr call_;
  std::atomic<bool> failed_{false};
};

/// The client's hold on the rest of an answer: when it lets go, nothing more is sent.
class outlet final : public live_body {
public:
  outlet(std::weak_ptr<forwarder> by, forwarder::call_ptr c)
      : by_(std::move(by)), call_(std::move(c)) {}
  ~outlet() override {
    const auto by = by_.lock();
    if (!by) return;
    bool ended = false;
    {
      const std::lock_guard lock(call_->rest->mutex);
      ended = call_->rest->ended;
    }
    if (!ended) by->cancel(call_->id);
  }
  outlet(const outlet&) = delete;
  outlet& operator=(const outlet&) = delete;

  std::optional<std::string> take() override {
    std::string all;
    {
      auto& in = *call_->rest;
      const std::lock_guard lock(in.mutex);
      for (auto& p : in.parts)
        all += p;
      in.parts.clear();
      if (all.empty() && in.ended) return std::nullopt;
    }
    give_credit(all.size());
    return all;
  }
  void wait(std::function<void()> wake) override {
    auto& in = *call_->rest;
    {
      const std::lock_guard lock(in.mutex);
      if (in.parts.empty() && !in.ended) {
        in.wake = std::move(wake);
        return;
      }
    }
    wake();
  }
  void next(const done_part& done) {
    auto& in = *call_->rest;
    {
      const std::lock_guard lock(in.mutex);
      if (in.parts.empty() && !in.ended) {
        in.wake = [call = call_, done] { finish(*call->rest, done); };
        return;
      }
    }
    finish(in, done);
  }
  /// The part has been taken by the client when it asks for the next one.
  void give_credit(std::size_t bytes) {
    if (bytes == 0) return;
    if (const auto by = by_.lock()) by->send(*call_, wire::forward_credit{bytes});
  }

private:
  static void finish(incoming& in, const done_part& done) {
    std::string part;
    bool broken = false;
    {
      const std::lock_guard lock(in.mutex);
      if (!in.parts.empty()) {
        part = std::move(in.parts.front());
        in.parts.pop_front();
      } else {
        broken = in.broken;
      }
    }
    if (broken) return done(fail(errc::unavailable, "", "the active node has gone"));
    done(std::move(part));
  }

  std::weak_ptr<forwarder> by_;
  forwarder::call_ptr call_;
};

bool is_lease(front::interface kind, const request& r) {
  return kind == front::interface::http && r.method == "POST" && r.segments.size() == 2
         && r.segments[0] == "v1" && r.segments[1] == "lease";
}

} // namespace

forwarder::forwarder(std::shared_ptr<forward_transport> transport, std::size_t max_bytes)
    : transport_(std::move(transport)), bytes_(std::make_shared<budget>(max_bytes)),
      last_id_(first_id()) {}

void forwarder::send(const call& c, wire::forward_content content, std::string_view body) {
  if (transport_) transport_->send(c.to, wire::encode({c.id, std::move(content)}, body));
}

bool forwarder::send_all(const call& c, front::interface kind, const request& r) {
  std::string_view body = r.body->text;
  wire::forward_request head;
  head.interface = kind == front::interface::xmlrpc ? wire::forward_interface::xmlrpc
                                                    : wire::forward_interface::http;
  head.method = r.method;
  head.target = r.target;
  head.content_type = r.content_type;
  head.accept = r.accept;
  head.last_event_id = r.last_event_id;
  head.body_size = body.size();
  auto slice = body.substr(0, forward_slice);
  if (!transport_->send(c.to, wire::encode({c.id, std::move(head)}, slice))) return false;
  for (body.remove_prefix(slice.size()); !body.empty(); body.remove_prefix(slice.size())) {
    slice = body.substr(0, forward_slice);
    if (!transport_->send(c.to, wire::encode({c.id, wire::forward_body{}}, slice))) return false;
  }
  return true;
}

void forwarder::forward(cluster::node_id to, front::interface kind, request r,
                        const exchange_ptr& x) {
  if (!transport_) return answer_now(x, unavailable("this node forwards nothing"));
  const auto c = std::make_shared<call>();
  c->id = ++last_id_;
  c->to = to;
  c->client = x;
  c->share = budget_share(bytes_);
  if (!c->share.cover(r.body->text.size()))
    return answer_now(x, problem(429, "too many bytes of requests are being forwarded"));
  {
    const std::lock_guard lock(mutex_);
    calls_.emplace(c->id, c);
  }
  if (is_lease(kind, r))
    x->cancellable(
        [weak = weak_from_this(), id = c->id] {
          if (const auto self = weak.lock()) self->cancel(id);
        },
        no_tasks(r));
  if (send_all(*c, kind, r)) return;
  forget(c->id);
  answer_now(x, unavailable("the active node cannot be reached"));
}

forwarder::call_ptr forwarder::find(cluster::node_id from, std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(id);
  return found == calls_.end() || found->second->to != from ? nullptr : found->second;
}

void forwarder::forget(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  calls_.erase(id);
}

void forwarder::cancel(std::uint64_t id) {
  call_ptr c;
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    c = std::move(found->second);
    calls_.erase(found);
  }
  send(*c, wire::forward_cancel{});
}

void forwarder::take(cluster::node_id from, wire::forward_frame frame) {
  const auto c = find(from, frame.id);
  if (!c) return;
  if (auto* head = std::get_if<wire::forward_head>(&frame.content))
    return answer(c, std::move(*head));
  auto* part = std::get_if<wire::forward_part>(&frame.content);
  if (part == nullptr || !c->rest) return;
  if (part->last || part->broken) {
    if (c->owed && part->last) send(*c, wire::forward_received{});
    forget(c->id);
  }
  std::unique_lock lock(c->rest->mutex);
  if (!part->bytes.empty()) c->rest->parts.push_back(std::move(part->bytes));
  c->rest->ended = part->last || part->broken;
  c->rest->broken = part->broken;
  c->rest->notify(lock);
}

void forwarder::answer(const call_ptr& c, wire::forward_head head) {
  exchange_ptr client;
  {
    const std::lock_guard lock(mutex_);
    client = std::exchange(c->client, nullptr);
    if (!client) return;
    c->share = {};
    c->owed = head.owed;
    if (!head.last) c->rest = std::make_shared<incoming>();
  }
  response r;
  r.status = head.status;
  r.content_type = std::move(head.content_type);
  r.headers = std::move(head.headers);
  if (head.owed) {
    const auto told = std::make_shared<delivery>(weak_from_this(), c);
    r.undelivered = [told] { told->failed(); };
  }
  if (head.last) {
    r.body = std::move(head.body);
    if (head.owed) send(*c, wire::forward_received{});
    forget(c->id);
    return answer_now(client, std::move(r));
  }
  const auto out = std::make_shared<outlet>(weak_from_this(), c);
  if (head.live) {
    if (!head.body.empty()) c->rest->parts.push_back(std::move(head.body));
    out->keep_alive = std::move(head.keep_alive);
    r.live = out;
  } else {
    // A part's bytes have gone out when the next one is asked for.
    auto before = std::make_shared<std::size_t>(head.body.size());
    r.body = std::move(head.body);
    r.next_part = [out, before](done_part done) {
      out->give_credit(std::exchange(*before, 0));
      out->next([before, done = std::move(done)](result<std::string> got) {
        if (got) *before = got->size();
        done(std::move(got));
      });
    };
  }
  answer_now(client, std::move(r));
}

void forwarder::give_up(cluster::node_id node, std::string_view why) {
  std::vector<call_ptr> lost;
  {
    const std::lock_guard lock(mutex_);
    for (auto i = calls_.begin(); i != calls_.end();)
      if (i->second->to == node) {
        lost.push_back(std::move(i->second));
        i = calls_.erase(i);
      } else {
        ++i;
      }
  }
  for (const auto& c : lost) {
    send(*c, wire::forward_cancel{}); // it may only have ceased to be the active one
    exchange_ptr client;
    std::shared_ptr<incoming> rest;
    {
      const std::lock_guard lock(mutex_);
      client = std::exchange(c->client, nullptr);
      rest = c->rest;
    }
    if (client) answer_now(client, unavailable(why));
    if (!rest) continue;
    std::unique_lock lock(rest->mutex);
    rest->ended = rest->broken = true;
    rest->notify(lock);
  }
}

} // namespace lycosa::gateway
