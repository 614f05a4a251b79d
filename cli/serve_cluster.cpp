#include "cli/serve_cluster.hpp"

#include "cli/node_settings.hpp"
#include "cli/scheduler.hpp"
#include "cli/serve_parts.hpp"
#include "cli/signals.hpp"
#include "conf/units.hpp"
#include "gateway/cluster_door.hpp"
#include "gateway/front.hpp"

#include "cluster/host.hpp"
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>

namespace lycosa::cli {

namespace {

/// How long a start waits for the coordination store.
constexpr usec join_limit = std::chrono::minutes{1};

cluster::host_config to_host_config(const conf::settings& s, const std::string& http) {
  const auto& c = s.cluster;
  cluster::host_config out;
  out.data = s.node.data;
  out.name = s.node.name;
  out.advertise = c.advertise;
  out.http_address = c.http_advertise.empty() ? http : c.http_advertise;
  out.failure_domain = c.failure_domain;
  out.shards = static_cast<std::uint16_t>(s.storage.shards);
  out.map_size = s.storage.map_size.count;
  out.sync = s.storage.durability == "sync";
  out.replicas = static_cast<std::uint32_t>(c.replicas);
  out.min_in_sync = static_cast<std::uint32_t>(c.min_in_sync);
  out.replace_after = c.replace_after;
  out.copy_rate = c.copy_rate.count;
  out.limits.slow_after = c.slow_after;
  out.limits.log_bytes = c.log_size.count;
  out.limits.copy_log_bytes = 4 * c.log_size.count;
  out.links.listen = c.listen;
  out.links.secret = c.secret;
  out.links.tls_cert = c.tls_cert;
  out.links.tls_key = c.tls_key;
  out.links.tls_ca = c.tls_ca;
  out.links.heartbeat = c.heartbeat;
  out.coordination.endpoints = c.etcd;
  out.coordination.cluster = c.name;
  out.coordination.session_ttl = c.session;
  out.coordination.user = c.etcd_user;
  out.coordination.password = c.etcd_password;
  out.coordination.ca = c.etcd_ca;
  out.coordination.cert = c.etcd_cert;
  out.coordination.key = c.etcd_key;
  return out;
}

/// What fronts say to one another goes over the links of the cluster.
class link_transport final : public gateway::forward_transport {
public:
  void use(actors::links* links) { links_ = links; }
  bool send(cluster::node_id to, std::string bytes) override {
    auto* links = links_.load();
    return links != nullptr
           && links->send(to, cluster::forward_channel,
                          std::make_shared<const std::string>(std::move(bytes)));
  }

private:
  std::atomic<actors::links*> links_{nullptr};
};

/// The cluster as clients see it.
class host_door final : public gateway::cluster_door {
public:
  void use(cluster::host* host) { host_ = host; }
  std::string state() override {
    const auto* host = host_.load();
    return host == nullptr ? std::string{R"({"mode":"etcd"})"} : host->status_json();
  }
  void move(std::string node, done reply) override {
    if (auto* host = host_.load()) return host->prefer_leader(std::move(node), std::move(reply));
    reply(not_yet());
  }
  void drain(std::string node, bool on, done reply) override {
    if (auto* host = host_.load()) return host->drain(std::move(node), on, std::move(reply));
    reply(not_yet());
  }

private:
  static result<void> not_yet() {
    return fail(errc::unavailable, "cluster", "this node has not joined the cluster yet");
  }
  std::atomic<cluster::host*> host_{nullptr};
};

/// The scheduler of this node while it leads.
class lead {
public:
  lead(const conf::settings& s, gateway::front& front, gateway::limits_config limits)
      : settings_(s), front_(front), limits_(limits) {}

  result<void> begin(std::shared_ptr<storage::replica_set> replicas) {
    auto config = to_node_config(settings_);
    config.replicas = std::move(replicas);
    config.full_buckets = false; // the node that led before may have just given the burst away
    auto started = scheduler::start(settings_, std::move(config));
    if (!started) return tl::unexpected(started.error());
    scheduler_ = std::move(*started);
    front_.serve(scheduler_->node());
    serving_ = true;
    return scheduler_->start_bridges(settings_, limits_);
  }

  void fence() {
    if (serving_) front_.withdraw("this node does not lead the cluster any more");
  }

  void end() {
    if (!scheduler_) return;
    scheduler_->stop();
    if (std::exchange(serving_, false)) front_.release();
    scheduler_.reset();
  }

private:
  const conf::settings& settings_;
  gateway::front& front_;
  gateway::limits_config limits_;
  std::unique_ptr<scheduler> scheduler_;
  bool serving_ = false;
};

} // namespace

int serve_in_cluster(const conf::loaded& config, context& ctx) {
  const auto& s = config.values;
  auto http_config = to_server_config(s);
  if (!http_config) return ctx.complain(http_config.error());
  const auto transport = std::make_shared<link_transport>();
  std::unique_ptr<cluster::host> host;

  gateway::front_config fc;
  fc.limits = http_config->limits;
  fc.event_keep_alive = http_config->event_keep_alive;
  fc.max_body = http_config->max_body;
  fc.metrics_projects = http_config->metrics_projects;
  fc.version = http_config->version;
  fc.max_in_flight_bytes = http_config->max_in_flight_bytes;
  host_door door;
  fc.cluster = &door;
  fc.quit = quit_once();
  gateway::front front(fc, transport);
  front.withdraw("this node has not joined the cluster yet");

  auto http = gateway::server::start(*http_config, front);
  if (!http) return ctx.complain(http.error());
  const auto address = endpoint_text(http_config->host, (*http)->port());
  spdlog::info("serves HTTP on {}", address);
  auto xmlrpc = start_xmlrpc(
      s, [&](const gateway::server_config& c) { return gateway::server::start_xmlrpc(c, front); });
  const auto stop_servers = [&] {
    if (xmlrpc && *xmlrpc) (*xmlrpc)->stop(serve_grace);
    (*http)->stop(serve_grace);
  };
  if (!xmlrpc) {
    stop_servers();
    return ctx.complain(xmlrpc.error());
  }

  lead leading(s, front, http_config->limits);
  cluster::host_ports ports;
  ports.begin = [&](auto replicas) { return leading.begin(std::move(replicas)); };
  ports.fence = [&] { leading.fence(); };
  ports.end = [&] { leading.end(); };
  ports.elsewhere = [&](std::optional<cluster::node_id> node) {
    if (node)
      front.forward_to(*node);
    else
      front.withdraw("no node leads the cluster at the moment");
  };
  ports.lease = [&front](mono_time until) { front.valid_until(until); };
  auto started =
      cluster::host::start(to_host_config(s, address), std::move(ports), [&](auto& links) {
        links.handle(cluster::forward_channel,
                     [&front](cluster::node_id from, const actors::bytes_ptr& bytes) {
                       front.on_message(from, *bytes);
                     });
        links.on_change([&front](cluster::node_id node, bool up) { front.on_change(node, up); });
        transport->use(&links);
      });
  if (!started) {
    stop_servers();
    return ctx.complain(started.error());
  }
  host = std::move(*started);
  door.use(host.get());
  const auto stop_all = [&] {
    stop_servers();
    transport->use(nullptr);
    door.use(nullptr);
    host->stop();
  };
  if (auto joined = host->wait_joined(join_limit); !joined) {
    if (joined.error().code != errc::unavailable) {
      stop_all();
      return ctx.complain(joined.error());
    }
    spdlog::warn("{}: goes on trying", joined.error().text());
  }
  tell_ready(address, *xmlrpc ? endpoint_text(http_config->host, (*xmlrpc)->port()) : "off", s,
             ctx);
  wait_for_stop([] { spdlog::warn("SIGHUP: the configuration is read at start only"); });
  spdlog::info("stops: no new requests; another signal stops at once");
  stop_all();
  spdlog::info("stopped");
  return done;
}

} // namespace lycosa::cli
