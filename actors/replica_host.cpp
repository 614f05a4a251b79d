#include "actors/replica_host.hpp"

#include "actors/log.hpp"
#include "actors/replica_copies.hpp"
#include "actors/work_thread.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace lycosa::actors {

namespace {

using namespace cluster;

/// Messages that wait for the disk; more are dropped, they are sent again.
constexpr std::size_t most_waiting = 256;
/// Of batches kept in memory after they were acknowledged, for followers that lag a little.
constexpr std::size_t kept_bytes = std::size_t{32} << 20;

std::shared_ptr<spdlog::logger> logger() {
  return log_of("cluster");
}

std::string_view words(stop_reason why) {
  switch (why) {
  case stop_reason::fenced:
    return "another node leads";
  case stop_reason::lease_ended:
    return "the coordination store was not reached in time";
  case stop_reason::handed_over:
    return "handed over";
  case stop_reason::disk_failed:
    return "the disk failed";
  case stop_reason::not_enough:
    return "too few copies could be reached";
  }
  return "";
}

class disk_replica final : public replica_host {
public:
  disk_replica(replica_config config, storage::replica_store& store, clock_ptr time,
               replica_ports ports)
      : config_(std::move(config)), store_(store), time_(std::move(time)),
        ports_(std::move(ports)) {}

  ~disk_replica() override {
    if (work_) work_->stop();
    if (copies_) copies_->stop();
  }

  result<void> begin() {
    auto found = store_.found();
    if (!found) return tl::unexpected(found.error());
    replica_.emplace(config_.self, std::move(*found), config_.limits);
    store_.lead(*this); // nobody writes through it before `attach`
    copies_ = std::make_unique<replica_copies>(
        store_,
        replica_copies::config{config_.copy_chunk, config_.copy_rate, config_.limits.resend_after},
        time_,
        replica_copies::ports{
            [this](copy_id id, entry_id at, std::uint32_t chunks) {
              with([&](effects& out) { replica_->snapshot_opened(id, at, chunks, now(), out); });
            },
            [this](copy_id id, const error& why) {
              logger()->warn("{}: no copy could be made: {}", config_.name, why.text());
              with([&](effects&) { replica_->snapshot_failed(id); });
            },
            [this](node_id to, const copy_message& m, std::string_view chunk) {
              ports_.send(to, storage::encode_replica_message(config_.number, m, {}, chunk));
            }});
    work_ = std::make_unique<work_thread>(config_.limits.heartbeat / 2, [this] {
      with([&](effects& out) { replica_->tick(now(), out); });
    });
    return {};
  }

  // -- coordination ---

  // Not at once: whoever says it must not wait for this disk. A leader's queue has no disk work.
  void session_seen(session_id session, mono_time until) override {
    work_->post([this, session, until] {
      with([&](effects& out) {
        session_ = session;
        until_ = until;
        replica_->session_seen(session, until, now(), out);
      });
    });
  }
  void session_ended() override {
    work_->post([this] {
      with([&](effects& out) {
        session_ = session_id::none;
        replica_->session_ended(out);
      });
    });
  }
  void members_seen(std::map<node_id, session_id> members) override {
    work_->post([this, members = std::move(members)] {
      with([&](effects&) {
        members_ = members;
        replica_->members_seen(members);
      });
    });
  }
  void record_seen(shard_record record) override {
    work_->post([this, record = std::move(record)] {
      with([&](effects& out) { replica_->record_seen(record, now(), out); });
      ports_.changed();
    });
  }

  void receive(node_id from, storage::replica_message message) override {
    if (work_->waiting() >= most_waiting) return;
    work_->post([this, from, m = std::move(message)] { handle(from, m); });
  }

  [[nodiscard]] bool leads() const override { return leads_; }
  [[nodiscard]] bool serves() const override { return serving_; }
  [[nodiscard]] replica_status status() const override {
    const std::lock_guard lock(mutex_);
    replica_status s;
    s.name = config_.name;
    s.leads = replica_->leads();
    s.whole = replica_->whole();
    s.end = replica_->log().end();
    s.acknowledged = acknowledged_;
    s.record = replica_->record();
    s.log_bytes = replica_->log().bytes();
    return s;
  }

  void attach() override {
    const std::lock_guard lock(mutex_);
    attached_ = true;
  }
  /// What the store did last is read from the disk: a commit may have failed half way.
  void detach() override {
    with([&](effects&) {
      attached_ = false;
      reload();
    });
  }

  // -- commits of the environment's own store ---

  result<entry_id> begin(storage::batch_bytes changes) override {
    tl::expected<entry_id, append_refusal> id;
    with([&](effects& out) {
      id = replica_->append(static_cast<std::uint32_t>(changes->size()), now(), out);
      if (id) keep(id->lsn, std::move(changes));
    });
    if (!id) {
      switch (id.error()) {
      case append_refusal::busy:
        return fail(errc::unavailable, config_.name, "its leadership is being handed over");
      case append_refusal::too_few:
        return fail(errc::unavailable, config_.name,
                    "too few replicas are in sync to keep it safe");
      case append_refusal::not_leader:
        break;
      }
      return fail(errc::unavailable, config_.name, "this node does not lead it any more");
    }
    return *id;
  }

  void written(entry_id id, bool ok) override {
    with([&](effects& out) {
      if (ok)
        replica_->synced(id.lsn, now(), out);
      else
        replica_->disk_failed(now(), out);
    });
  }

  result<void> settled(entry_id id) override {
    std::unique_lock lock(mutex_);
    const auto known = [&] {
      return ended_ >= id.epoch || (led_ == id.epoch && acknowledged_ >= id.lsn);
    };
    // A member that is slow or gone has been dropped by then, if the others are enough without it.
    // Not to be told is a reason to begin anew: the scheduler must read again what is there.
    if (!moved_.wait_for(lock, 2 * config_.limits.slow_after, known)) {
      decide([&](effects& out) { replica_->give_up(now(), out); });
      moved_.wait(lock, known);
    }
    if (led_ == id.epoch && acknowledged_ >= id.lsn) return {};
    return fail(errc::unavailable, config_.name,
                "the leadership ended before all replicas had it: it may have been kept or not");
  }

private:
  [[nodiscard]] mono_time now() const { return time_->now().mono; }

  template <class F>
  void with(F&& step) {
    const std::lock_guard lock(mutex_);
    decide(step);
  }

  /// One step of the state machine, and what follows from it. `handled`: the message it is about.
  template <class F>
  void decide(F&& step, const storage::replica_message* handled = nullptr) {
    effects out;
    step(out);
    carry_out(out, handled);
    leads_ = replica_->leads();
  }

  void handle(node_id from, const storage::replica_message& m) {
    const std::lock_guard lock(mutex_);
    // Whoever leads now sends it again when the store is closed; by the record this node learns
    // that another leads.
    const bool for_follower = std::holds_alternative<append_message>(m.what)
                              || std::holds_alternative<copy_message>(m.what);
    if (for_follower && attached_) return;
    decide([&](effects& out) { replica_->receive(from, m.what, now(), out); }, &m);
  }

  /// In order; what an effect brings about comes behind the rest.
  void carry_out(effects& out, const storage::replica_message* handled) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto e = out[i]; // `out` grows
      std::visit([&](const auto& what) { carry_out(what, handled, out); }, e);
    }
  }

  void carry_out(const effect::send& e, const storage::replica_message*, effects&) {
    if (const auto* c = std::get_if<copy_message>(&e.what)) return copies_->send(e.to, *c);
    std::vector<storage::batch_bytes> batches;
    if (const auto* a = std::get_if<append_message>(&e.what))
      if (!collect(*a, batches)) return;
    ports_.send(e.to, storage::encode_replica_message(config_.number, e.what, batches, {}));
  }
  void carry_out(const effect::write_opening& e, const storage::replica_message*, effects& out) {
    const storage::replica_store::batch opening{e.id, {}};
    led_ = e.id.epoch;
    leads_ = true;
    acknowledged_ = 0;
    keep(e.id.lsn, std::make_shared<const std::string>());
    logger()->info("{}: leads, epoch {}", config_.name, e.id.epoch);
    if (auto ok = store_.append({&opening, 1}); !ok) return disk_failed(ok.error(), out);
    replica_->synced(e.id.lsn, now(), out);
    ports_.changed();
  }
  void carry_out(const effect::write_batches& e, const storage::replica_message* m, effects& out) {
    const auto& heads = std::get<append_message>(m->what).batches;
    std::vector<storage::replica_store::batch> batches;
    for (auto i = e.first; i < e.first + e.count; ++i)
      batches.push_back({heads[i].id, m->batches[i]});
    if (auto ok = store_.append(batches); !ok) return disk_failed(ok.error(), out);
    replica_->synced(batches.back().id.lsn, now(), out);
  }
  void carry_out(const effect::acknowledge& e, const storage::replica_message*, effects&) {
    acknowledged_ = e.through;
    moved_.notify_all();
    while (recent_bytes_ > kept_bytes && !recent_.empty() && recent_.begin()->first <= e.through)
      forget_first();
    if (!serving_) {
      serving_ = true;
      ports_.changed(); // the opening batch is everywhere: it may serve now
    }
  }
  void carry_out(const effect::fail_open& e, const storage::replica_message*, effects&) {
    ended_ = led_;
    leads_ = false;
    serving_ = false;
    recent_.clear();
    recent_bytes_ = 0;
    logger()->info("{}: leads no more: {}", config_.name, words(e.why));
    moved_.notify_all();
    ports_.changed();
  }
  void carry_out(const effect::propose& e, const storage::replica_message*, effects&) {
    ports_.propose(e.next, e.ended);
  }
  void carry_out(const effect::open_snapshot& e, const storage::replica_message*, effects&) {
    logger()->info("{}: a follower lags too far behind, or is new: it is copied", config_.name);
    copies_->open(e.id);
  }
  void carry_out(const effect::close_snapshot& e, const storage::replica_message*, effects&) {
    copies_->close(e.id);
  }
  void carry_out(const effect::discard_shard& e, const storage::replica_message*, effects& out) {
    logger()->info("{}: its content here is replaced by a copy of the leader's", config_.name);
    if (auto ok = store_.discard(e.begun); !ok) disk_failed(ok.error(), out);
  }
  void carry_out(const effect::write_chunk& e, const storage::replica_message* m, effects& out) {
    const auto& c = std::get<copy_message>(m->what);
    if (auto ok = store_.write_chunk(m->chunk, e.last ? &c.history : nullptr); !ok)
      return disk_failed(ok.error(), out);
    replica_->chunks_synced(c.id, e.chunk + 1, out);
    if (e.last) logger()->info("{}: the copy is complete, {} pieces", config_.name, c.chunks);
  }
  void carry_out(const effect::trim_log& e, const storage::replica_message*, effects&) {
    store_.trim(e.through);
  }

  /// Memory may be ahead of the disk now: it is read again.
  void disk_failed(const error& why, effects& out) {
    if (now() - complained_ >= std::chrono::seconds{10}) {
      complained_ = now();
      logger()->error("{}: {}", config_.name, why.text());
    }
    replica_->disk_failed(now(), out);
    reload_ = true;
    if (!attached_)
      work_->post([this] {
        with([&](effects&) {
          if (std::exchange(reload_, false) && !attached_) reload();
        });
      });
  }

  void reload() {
    auto found = store_.found();
    if (!found) {
      logger()->error("{}: {}", config_.name, found.error().text());
      return;
    }
    const auto record = replica_->record();
    found->led = replica_->led();
    replica_.emplace(config_.self, std::move(*found), config_.limits);
    effects out;
    replica_->members_seen(members_);
    if (session_ != session_id::none) replica_->session_seen(session_, until_, now(), out);
    if (record) replica_->record_seen(*record, now(), out);
    carry_out(out, nullptr);
  }

  // -- batches ---

  void keep(lsn_number lsn, storage::batch_bytes changes) {
    recent_bytes_ += changes->size();
    recent_[lsn] = std::move(changes);
  }
  void forget_first() {
    recent_bytes_ -= recent_.begin()->second->size();
    recent_.erase(recent_.begin());
  }

  /// The batches that a message names: from memory, or else from the disk.
  bool collect(const append_message& m, std::vector<storage::batch_bytes>& out) {
    for (const auto& head : m.batches) {
      if (const auto found = recent_.find(head.id.lsn); found != recent_.end()) {
        out.push_back(found->second);
        continue;
      }
      auto read = store_.read(head.id.lsn, head.bytes);
      if (!read || read->empty() || read->front()->size() != head.bytes) {
        logger()->error("{}: batch {} cannot be read from its log", config_.name, head.id.lsn);
        return false;
      }
      out.push_back(read->front());
    }
    return true;
  }

  replica_config config_;
  storage::replica_store& store_;
  clock_ptr time_;
  replica_ports ports_;

  mutable std::mutex mutex_;
  std::condition_variable moved_;
  std::optional<shard_replica> replica_;
  session_id session_ = session_id::none;
  mono_time until_{};
  std::map<node_id, session_id> members_;
  bool attached_ = false;
  bool reload_ = false;
  mono_time complained_{usec{-1'000'000'000}};
  /// Read without the lock, which is held while the disk writes.
  std::atomic<bool> leads_{false}, serving_{false};
  epoch_number led_ = 0;   ///< newest epoch led in
  epoch_number ended_ = 0; ///< newest epoch whose leadership has ended
  lsn_number acknowledged_ = 0;
  std::map<lsn_number, storage::batch_bytes> recent_; ///< of this leadership, newest
  std::size_t recent_bytes_ = 0;

  std::unique_ptr<replica_copies> copies_;
  std::unique_ptr<work_thread> work_;
};

} // namespace

result<std::unique_ptr<replica_host>> replica_host::start(replica_config config,
                                                          storage::replica_store& store,
                                                          clock_ptr time, replica_ports ports) {
  auto host =
      std::make_unique<disk_replica>(std::move(config), store, std::move(time), std::move(ports));
  if (auto ok = host->begin(); !ok) return tl::unexpected(ok.error());
  return host;
}

} // namespace lycosa::actors
