#include "gateway/front.hpp"

#include "gateway/forward.hpp"
#include "gateway/forward_server.hpp"
#include "gateway/handlers.hpp"
#include "gateway/json_writer.hpp"
#include "gateway/local_gate.hpp"

#include <mutex>
#include <set>
#include <utility>
#include <variant>

namespace lycosa::gateway {

response unavailable(std::string_view why) {
  return problem(503, why, {}, R"("code":"unavailable")");
}

struct front::inside {
  explicit inside(front_config c, std::shared_ptr<forward_transport> transport)
      : config(std::move(c)),
        out(std::make_shared<forwarder>(transport, config.max_forwarded_bytes)),
        in(std::make_shared<forward_server>(
            config, transport, [this](interface kind, request& r, const exchange_ptr& x) {
              const auto gate = local();
              return gate && gate->run(kind, r, x);
            })) {}

  struct nobody {
    std::string why;
  };
  using gate_ptr = std::shared_ptr<local_gate>;
  using place = std::variant<nobody, gate_ptr, cluster::node_id>;

  place where() {
    const std::lock_guard lock(mutex);
    return target;
  }
  gate_ptr local() {
    const std::lock_guard lock(mutex);
    const auto* gate = std::get_if<gate_ptr>(&target);
    return gate == nullptr ? nullptr : *gate;
  }
  std::weak_ptr<shared_state> counted() {
    const std::lock_guard lock(mutex);
    return server;
  }
  bool is_down(cluster::node_id node) {
    const std::lock_guard lock(mutex);
    return down.contains(node);
  }
  /// Leaves where requests went until now.
  void turn_to(place next) {
    const bool stays = std::holds_alternative<cluster::node_id>(next);
    const auto going = stays ? std::get<cluster::node_id>(next) : cluster::node_id::none;
    place before;
    {
      const std::lock_guard lock(mutex);
      before = std::exchange(target, std::move(next));
      if (const auto* gate = std::get_if<gate_ptr>(&before)) leaving = *gate;
    }
    if (const auto* gate = std::get_if<gate_ptr>(&before)) (*gate)->close();
    const auto* node = std::get_if<cluster::node_id>(&before);
    if (node != nullptr && *node != going) out->give_up(*node, "another node is becoming active");
  }

  bool answer_here(const request& r, const exchange_ptr& x);
  void show_ready(request r, const exchange_ptr& x);
  void go(interface kind, request r, const exchange_ptr& x);

  const front_config config;
  const std::shared_ptr<forwarder> out;
  const std::shared_ptr<local_gate::validity> valid = std::make_shared<local_gate::validity>();
  std::mutex mutex;
  place target = nobody{"no node is active yet"};
  std::weak_ptr<shared_state> server;
  gate_ptr leaving; ///< of a node that is not released yet
  std::set<cluster::node_id> down;
  const std::shared_ptr<forward_server> in; ///< its threads end before what they use
};

void front::inside::go(interface kind, request r, const exchange_ptr& x) {
  const auto to = where();
  if (const auto* node = std::get_if<cluster::node_id>(&to))
    return out->forward(*node, kind, std::move(r), x);
  if (const auto* gate = std::get_if<gate_ptr>(&to)) {
    if ((*gate)->run(kind, r, x)) return;
    return answer_now(x, unavailable("the active node is changing"));
  }
  answer_now(x, unavailable(std::get<nobody>(to).why));
}

/// Whether requests can be served, as far as this node knows.
void front::inside::show_ready(request r, const exchange_ptr& x) {
  const auto to = where();
  if (std::holds_alternative<gate_ptr>(to)) return go(interface::http, std::move(r), x);
  std::string why;
  if (const auto* none = std::get_if<nobody>(&to))
    why = none->why;
  else if (is_down(std::get<cluster::node_id>(to)))
    why = "the active node cannot be reached";
  if (why.empty()) return answer_now(x, json(R"({"ready":true,"why":"","forwarding":true})"));
  std::string more = "\"code\":\"unavailable\",\"ready\":false,\"why\":";
  append_string(more, why);
  answer_now(x, problem(503, why, {}, more));
}

bool front::inside::answer_here(const request& r, const exchange_ptr& x) {
  const bool asset = r.segments.size() == 2 && r.segments[0] == "assets" && !r.segments[1].empty();
  const bool page = r.path == "/";
  const bool health = r.path == "/healthz";
  const bool ready = r.path == "/readyz";
  if (answer_cluster(config.cluster, r, x)) return true;
  // Of this node: who collects from all of them must not count the active one again and again.
  const bool metrics = r.path == "/metrics";
  if (!asset && !page && !health && !ready && !metrics) return false;
  if (r.method != "GET") {
    auto no = problem(405, "allowed here: GET, HEAD");
    no.headers.emplace_back("Allow", "GET, HEAD");
    answer_now(x, std::move(no));
  } else if (health) {
    answer_now(x, json(R"({"status":"ok"})"));
  } else if (metrics) {
    const auto gate = local();
    request same = r;
    if (!gate || !gate->run(interface::http, same, x))
      show_metrics_alone(config.version, counted(), x);
  } else if (ready) {
    show_ready(r, x);
  } else {
    show_file(page ? "index.html" : r.segments[1], r, x);
  }
  return true;
}

front::front(front_config config, std::shared_ptr<forward_transport> transport)
    : inside_(std::make_unique<inside>(std::move(config), std::move(transport))) {}

front::~front() {
  inside_->in->stop();
}

void front::serve(actors::node& node) {
  inside_->turn_to(std::make_shared<local_gate>(
      node, inside_->config, inside_->valid, inside_->counted()));
}

void front::forward_to(cluster::node_id node) {
  inside_->turn_to(node);
}

void front::withdraw(std::string why) {
  inside_->turn_to(inside::nobody{std::move(why)});
}

void front::counted_by(std::weak_ptr<shared_state> server) {
  const std::lock_guard lock(inside_->mutex);
  inside_->server = std::move(server);
}

void front::valid_until(mono_time until) {
  inside_->valid->until.store(until.time_since_epoch().count());
}

void front::release() {
  inside::gate_ptr gate;
  {
    const std::lock_guard lock(inside_->mutex);
    gate = std::exchange(inside_->leaving, nullptr);
  }
  if (gate) gate->clear();
}

void front::on_message(cluster::node_id from, std::string_view bytes) {
  auto frame = wire::decode_forward(bytes);
  if (!frame) return;
  const bool answer = std::holds_alternative<wire::forward_head>(frame->content)
                      || std::holds_alternative<wire::forward_part>(frame->content);
  if (answer)
    inside_->out->take(from, std::move(*frame));
  else
    inside_->in->take(from, std::move(*frame));
}

void front::on_change(cluster::node_id node, bool up) {
  {
    const std::lock_guard lock(inside_->mutex);
    if (up)
      inside_->down.erase(node);
    else
      inside_->down.insert(node);
  }
  if (up) return;
  inside_->out->give_up(node, "the active node cannot be reached");
  inside_->in->give_up(node);
}

void front::handle(interface kind, request r, const exchange_ptr& x) {
  if (kind == interface::http && inside_->answer_here(r, x)) return;
  inside_->go(kind, std::move(r), x);
}

} // namespace lycosa::gateway
