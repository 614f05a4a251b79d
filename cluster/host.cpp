#include "cluster/host.hpp"

#include "actors/replica_host.hpp"
#include "actors/work_thread.hpp"
#include "storage/open.hpp"
#include "storage/replica_codec.hpp"

#include "cluster/joining.hpp"
#include "cluster/view.hpp"
#include <spdlog/spdlog.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace lycosa::cluster {

namespace {

constexpr usec look_every = std::chrono::milliseconds{100};
/// Between looks at whether replicas are where they should be.
constexpr usec plan_every = std::chrono::milliseconds{500};
constexpr usec complain_every = std::chrono::seconds{30};

std::shared_ptr<spdlog::logger> logger() {
  auto found = spdlog::get("cluster");
  return found ? found : spdlog::default_logger();
}

class etcd_host final : public host, private coordination::observer {
public:
  etcd_host(host_config config, host_ports ports)
      : config_(std::move(config)), ports_(std::move(ports)) {}

  ~etcd_host() override { stop(); }

  result<void> begin(const std::function<void(actors::links&)>& prepare) {
    auto mark = identify(joining());
    if (!mark) return tl::unexpected(mark.error());
    mark_ = *mark;
    view_.self = mark_.node;
    view_.name = config_.coordination.cluster;
    view_.names[mark_.node] = config_.name;
    auto link = config_.links;
    link.self = mark_.node;
    link.name = config_.name;
    link.cluster = config_.coordination.cluster;
    auto links = actors::links::start(link);
    if (!links) return tl::unexpected(links.error());
    links_ = std::move(*links);
    links_->handle(replica_channel, [this](node_id from, const actors::bytes_ptr& bytes) {
      received(from, *bytes);
    });
    if (prepare) prepare(*links_);
    thread_ = std::make_unique<actors::work_thread>(look_every, [this] { look(); });
    coordination::member self;
    self.node = mark_.node;
    self.name = config_.name;
    self.cluster_address = advertised();
    self.http_address = config_.http_address;
    self.failure_domain = config_.failure_domain;
    self.wire_version = link.wire_version;
    self.oldest_wire_version = link.oldest_wire_version;
    auto store = coordination::start_etcd(config_.coordination, self, *this);
    if (!store) return tl::unexpected(store.error());
    const std::lock_guard lock(mutex_);
    store_ = std::move(*store);
    return {};
  }

  result<void> wait_joined(usec limit) override {
    std::unique_lock lock(mutex_);
    joined_changed_.wait_for(lock, limit, [this] { return joined_ || failed_ || stopping_; });
    if (failed_) return tl::unexpected(*failed_);
    if (joined_) return {};
    return fail(errc::unavailable, "cluster",
                "the coordination store does not answer: " + endpoints());
  }

  [[nodiscard]] node_id self() const override { return mark_.node; }
  [[nodiscard]] actors::links& links() override { return *links_; }

  [[nodiscard]] std::string status_json() const override {
    std::vector<actors::replica_status> here;
    {
      const std::lock_guard lock(hosts_mutex_);
      for (const auto& [name, h] : hosts_)
        here.push_back(h->status());
    }
    const std::lock_guard lock(mutex_);
    return to_json(view_, here, [this](node_id n) {
      return std::pair{links_->is_up(n), links_->trouble(n)};
    });
  }

  void drain(std::string node, bool on, done reply) override {
    const std::lock_guard lock(mutex_);
    const auto n = view_.find(node);
    if (n == node_id::none) return reply(fail(errc::not_found, "node", "no such node: " + node));
    if (on)
      store_->put_note(drain_note(n), "1", std::move(reply));
    else
      store_->erase_note(drain_note(n), std::move(reply));
  }

  void prefer_leader(std::string node, done reply) override {
    const std::lock_guard lock(mutex_);
    if (node.empty()) return store_->erase_note(leader_note, std::move(reply));
    const auto n = view_.find(node);
    if (n == node_id::none || !view_.members.contains(n))
      return reply(fail(errc::not_found, "node", "no such node is there: " + node));
    store_->put_note(leader_note, hex(n), std::move(reply));
  }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      stopping_ = true;
    }
    joined_changed_.notify_all();
    if (thread_) thread_->stop();
    if (active_) end_leading();
    // The session ends with the store: the others elect without waiting for it to run out.
    if (store_) store_->stop();
    if (links_) links_->stop();
    {
      const std::lock_guard lock(hosts_mutex_);
      hosts_.clear();
    }
    set_.reset();
  }

private:
  [[nodiscard]] join_config joining() const {
    return {config_.data, config_.coordination.cluster, config_.shards, config_.map_size,
            config_.sync};
  }

  [[nodiscard]] std::string endpoints() const {
    std::string out;
    for (const auto& e : config_.coordination.endpoints)
      out += (out.empty() ? "" : ", ") + e;
    return out;
  }

  [[nodiscard]] std::string advertised() const {
    auto at = config_.advertise.empty() ? config_.links.listen : config_.advertise;
    if (const auto colon = at.rfind(':'); colon != std::string::npos && at.substr(colon) == ":0")
      at.replace(colon, std::string::npos, ":" + std::to_string(links_->port()));
    return at;
  }

  // -- the coordination store; its thread ---

  void session(session_id id, mono_time until) override {
    ports_.lease(until);
    {
      const std::lock_guard lock(mutex_);
      session_ = id;
      until_ = until;
    }
    each([&](actors::replica_host& h) { h.session_seen(id, until); });
  }
  void session_ended() override {
    logger()->warn("the session in the coordination store has ended: another begins when it "
                   "answers");
    {
      const std::lock_guard lock(mutex_);
      session_ = session_id::none;
    }
    each([](actors::replica_host& h) { h.session_ended(); });
  }
  void members(std::map<node_id, coordination::member> all) override {
    std::map<node_id, std::string> addresses;
    std::map<node_id, session_id> sessions;
    for (const auto& [n, m] : all)
      addresses[n] = m.cluster_address;
    {
      const std::lock_guard lock(mutex_);
      view_.members_seen(std::move(all), mono_now());
      sessions = view_.sessions();
    }
    links_->members(std::move(addresses));
    each([&](actors::replica_host& h) { h.members_seen(sessions); });
    thread_->post([this] { look(); });
  }
  void record(std::string_view shard, std::optional<shard_record> is) override {
    const std::string name(shard);
    {
      const std::lock_guard lock(mutex_);
      view_.record_seen(name, is);
    }
    {
      const std::lock_guard lock(hosts_mutex_);
      if (const auto h = hosts_.find(name); h != hosts_.end() && is) h->second->record_seen(*is);
    }
    thread_->post([this] { look(); });
  }
  void facts(std::optional<coordination::cluster_facts> are) override {
    thread_->post([this, are = std::move(are)] { facts_seen(are); });
  }
  void note(std::string_view key, std::optional<std::string> value) override {
    const std::lock_guard lock(mutex_);
    view_.note_seen(std::string(key), value);
  }

  template <class F>
  void each(F&& tell) {
    const std::lock_guard lock(hosts_mutex_);
    for (const auto& [name, h] : hosts_)
      tell(*h);
  }

  // -- joining; the host's thread ---

  void facts_seen(const std::optional<coordination::cluster_facts>& are) {
    if (are) {
      {
        const std::lock_guard lock(mutex_);
        view_.facts = are;
      }
      if (!set_ && !failed_) join_as(*are);
      return;
    }
    if (!mark_.id.empty()) {
      give_up({errc::incompatible, config_.data,
               "it belongs to the cluster " + mark_.cluster + " (" + mark_.id
                   + "), of which the coordination store knows nothing: restore it, or give the "
                     "node an empty directory"});
      return;
    }
    auto shards = shards_to_found(joining());
    if (!shards) return give_up(shards.error());
    std::map<std::string, shard_record> records;
    const auto record = found_shard(mark_.node, {mark_.node}, 1);
    for (std::uint16_t i = 0; i <= *shards; ++i)
      records[name_of(i, *shards)] = record;
    const std::lock_guard lock(mutex_);
    if (!store_) return;
    logger()->info("founds the cluster {} with {} shards", mark_.cluster, *shards);
    store_->found(facts_to_found(mark_, *shards), std::move(records), [](const result<bool>& won) {
      // Who won is seen in the facts that follow.
      if (!won) logger()->warn("the cluster could not be founded: {}", won.error().text());
    });
  }

  void give_up(error why) {
    logger()->error("{}", why.text());
    {
      const std::lock_guard lock(mutex_);
      failed_ = std::move(why);
    }
    joined_changed_.notify_all();
  }

  static std::string name_of(std::uint16_t i, std::uint16_t shards) {
    return i == shards ? "catalog" : storage::shard_name(i);
  }

  void join_as(const coordination::cluster_facts& facts) {
    auto set = join(joining(), mark_, facts);
    if (!set) return give_up(set.error());
    set_ = std::move(*set);
    std::map<std::string, std::unique_ptr<actors::replica_host>> hosts;
    std::map<std::uint16_t, actors::replica_host*> by_number;
    for (std::uint16_t i = 0; i <= facts.shards; ++i) {
      const bool last = i == facts.shards;
      actors::replica_config c;
      c.number = last ? storage::catalog_number : i;
      c.name = name_of(i, facts.shards);
      c.self = mark_.node;
      c.limits = config_.limits;
      c.copy_rate = config_.copy_rate;
      auto h = actors::replica_host::start(
          c, last ? set_->catalog() : set_->shard(i), time_,
          {[this](node_id to, std::string m) {
             links_->send(to, replica_channel, std::make_shared<const std::string>(std::move(m)));
           },
           [this, name = c.name](shard_record next, session_id ended) {
             propose(name, std::move(next), ended);
           },
           [this] { changed(); }});
      if (!h) return give_up(h.error());
      by_number[c.number] = h->get();
      hosts[c.name] = std::move(*h);
    }
    {
      // Together, so that nothing that is seen meanwhile is missed.
      const std::lock_guard all(hosts_mutex_);
      const std::lock_guard lock(mutex_);
      for (const auto& [name, h] : hosts) {
        if (session_ != session_id::none) h->session_seen(session_, until_);
        h->members_seen(view_.sessions());
        if (const auto r = view_.records.find(name); r != view_.records.end())
          h->record_seen(r->second);
      }
      hosts_ = std::move(hosts);
      by_number_ = std::move(by_number);
      joined_ = true;
    }
    joined_changed_.notify_all();
    logger()->info("node {} has joined the cluster {} ({})", config_.name, mark_.cluster, mark_.id);
  }

  // -- replicas ---

  void received(node_id from, std::string_view bytes) {
    auto m = storage::decode_replica_message(bytes);
    if (!m) {
      logger()->debug("a message of {} is passed over: {}", hex(from), m.error().text());
      return;
    }
    const std::lock_guard lock(hosts_mutex_);
    if (const auto h = by_number_.find(m->environment); h != by_number_.end())
      h->second->receive(from, std::move(*m));
  }

  void propose(const std::string& name, shard_record next, session_id ended) {
    const std::lock_guard lock(mutex_);
    if (store_ && !stopping_) store_->propose(name, std::move(next), ended);
  }

  /// Called by a replica, perhaps while it is locked.
  void changed() {
    thread_->post([this] { look(); });
  }

  // -- leading; the host's thread ---

  template <class Is>
  bool all_hosts(Is is) const {
    const std::lock_guard lock(hosts_mutex_);
    for (const auto& [name, h] : hosts_)
      if (!is(*h)) return false;
    return !hosts_.empty();
  }

  void look() {
    if (active_ && !all_hosts([](const auto& h) { return h.leads(); })) end_leading();
    if (!active_ && all_hosts([](const auto& h) { return h.serves(); })) begin_leading();
    tell_elsewhere();
    const auto now = mono_now();
    if (now < next_plan_) return;
    next_plan_ = now + plan_every;
    improve(now);
  }

  void begin_leading() {
    if (mono_now() < retry_at_) return;
    logger()->info("leads all of the cluster's data: the scheduler starts here");
    each([](actors::replica_host& h) { h.attach(); });
    active_ = true;
    if (auto ok = ports_.begin(set_); !ok) {
      logger()->error("the scheduler did not start: {}", ok.error().text());
      retry_at_ = mono_now() + std::chrono::seconds{5};
      end_leading();
    }
  }

  void end_leading() {
    ports_.fence();
    logger()->info("leads no more: the scheduler stops here");
    ports_.end();
    active_ = false;
    each([](actors::replica_host& h) { h.detach(); });
  }

  void tell_elsewhere() {
    if (active_) {
      told_.reset();
      return;
    }
    node_id other = node_id::none;
    {
      const std::lock_guard lock(mutex_);
      // Without a session what is known of the others may be long past.
      if (session_ != session_id::none) other = view_.active();
    }
    if (other == mark_.node) other = node_id::none; // not yet, or not any more
    if (told_ == other) return;
    told_ = other;
    ports_.elsewhere(other == node_id::none ? std::nullopt : std::optional(other));
  }

  /// Whoever leads the catalog sees to it that replicas are where they should be.
  void improve(mono_time now) {
    {
      const std::lock_guard lock(hosts_mutex_);
      const auto catalog = by_number_.find(storage::catalog_number);
      if (catalog == by_number_.end() || !catalog->second->leads()) return;
    }
    const std::lock_guard lock(mutex_);
    if (session_ == session_id::none || stopping_ || !store_) return;
    const auto plan = view_.plan({config_.replicas, config_.min_in_sync, node_id::none},
                                 config_.replace_after, now);
    for (const auto& [name, next] : plan)
      store_->propose(name, next, session_id::none);
  }

  [[nodiscard]] mono_time mono_now() const { return time_->now().mono; }

  host_config config_;
  host_ports ports_;
  actors::clock_ptr time_ = actors::make_system_clock();
  storage::cluster_mark mark_;
  std::unique_ptr<actors::links> links_;

  mutable std::mutex mutex_; ///< of what follows, up to the next one
  std::condition_variable joined_changed_;
  view view_;
  session_id session_ = session_id::none;
  mono_time until_{};
  bool joined_ = false;
  bool stopping_ = false;
  std::optional<error> failed_;
  std::unique_ptr<coordination::store> store_;

  /// Taken before the other one, never after it.
  mutable std::mutex hosts_mutex_;
  std::map<std::string, std::unique_ptr<actors::replica_host>> hosts_;
  std::map<std::uint16_t, actors::replica_host*> by_number_;

  // The host's thread's.
  std::shared_ptr<storage::replica_set> set_;
  bool active_ = false;
  std::optional<node_id> told_;
  mono_time next_plan_{};
  mono_time retry_at_{};

  std::unique_ptr<actors::work_thread> thread_; // last: it uses all the others
};

} // namespace

result<std::unique_ptr<host>> host::start(host_config config, host_ports ports,
                                          const std::function<void(actors::links&)>& prepare) {
  auto made = std::make_unique<etcd_host>(std::move(config), std::move(ports));
  if (auto ok = made->begin(prepare); !ok) {
    made->stop();
    return tl::unexpected(ok.error());
  }
  return made;
}

} // namespace lycosa::cluster
