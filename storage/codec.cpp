#include "storage/codec.hpp"

#include "schema/mutation.capnp.h"
#include "schema/project.capnp.h"
#include "schema/task.capnp.h"
#include "storage/capnp_bytes.hpp"

#include <cstring>
#include <optional>

namespace lycosa::storage {

using namespace bytes;

namespace {

bool valid_status(std::uint8_t s) {
  return s >= 1 && s <= 4;
}

} // namespace

// -- tasks -------------------------------------------------------------------------------------

struct task_encoder::impl {
  // Large enough for nearly every record; larger ones get further segments from the heap. Must be
  // zero before a builder takes it, which the builder sees to when it goes.
  std::vector<capnp::word> scratch = std::vector<capnp::word>(4096);
  std::optional<capnp::MallocMessageBuilder> message;
  std::size_t size = 0;
};

task_encoder::task_encoder() : impl_(std::make_unique<impl>()) {}
task_encoder::~task_encoder() = default;

void task_encoder::encode(const task_ref& ref, const task& t) {
  impl_->message.reset();
  auto& message =
      impl_->message.emplace(kj::arrayPtr(impl_->scratch.data(), impl_->scratch.size()));
  auto out = message.initRoot<schema::Task>();
  out.setProject(static_cast<std::uint32_t>(ref.project));
  out.setHashHigh(ref.hash.high);
  out.setHashLow(ref.hash.low);
  out.setStatus(static_cast<std::uint8_t>(t.status));
  out.setGeneration(t.generation);
  out.setLastCrawlTime(count(t.lastcrawltime));
  out.setUpdateTime(count(t.updatetime));
  fill(out.initTaskid(length(t.taskid)), t.taskid);
  fill(out.initUrl(length(t.url)), t.url);
  if (!t.fetch.empty()) fill(out.initFetch(length(t.fetch)), t.fetch);
  if (!t.process.empty()) fill(out.initProcess(length(t.process)), t.process);
  if (!t.track.empty()) fill(out.initTrack(length(t.track)), t.track);
  auto s = out.getSchedule();
  s.setPriority(t.sched.priority);
  s.setRetries(t.sched.retries);
  s.setRetried(t.sched.retried);
  s.setExetime(count(t.sched.exetime));
  s.setAge(t.sched.age.count());
  if (t.sched.itag) fill(s.initItag(length(*t.sched.itag)), *t.sched.itag);
  s.setForceUpdate(t.sched.force_update);
  s.setAutoRecrawl(t.sched.auto_recrawl);
  s.setCancel(t.sched.cancel);
  if (!t.sched.extra.empty()) fill(s.initExtra(length(t.sched.extra)), t.sched.extra);
  impl_->size = flat_size(message);
}

std::size_t task_encoder::size() const {
  return impl_->size;
}
void task_encoder::write(std::byte* to) const {
  flat_write(*impl_->message, to, impl_->size);
}

result<stored_task> decode_task(std::span<const std::byte> aligned) {
  return guarded("task record", [&]() -> result<stored_task> {
    auto message = reader_over(aligned);
    const auto in = message.getRoot<schema::Task>();
    if (!valid_status(in.getStatus()))
      return fail(errc::corrupt, "task record",
                  "status " + std::to_string(in.getStatus()) + " is unknown");
    stored_task out;
    out.project = project_id{in.getProject()};
    out.hash = {in.getHashHigh(), in.getHashLow()};
    auto& t = out.record;
    t.status = static_cast<task_status>(in.getStatus());
    t.generation = in.getGeneration();
    t.lastcrawltime = moment(in.getLastCrawlTime());
    t.updatetime = moment(in.getUpdateTime());
    t.taskid = view(in.getTaskid());
    t.url = view(in.getUrl());
    t.fetch = view(in.getFetch());
    t.process = view(in.getProcess());
    t.track = view(in.getTrack());
    const auto s = in.getSchedule();
    t.sched.priority = s.getPriority();
    t.sched.retries = s.getRetries();
    t.sched.retried = s.getRetried();
    t.sched.exetime = moment(s.getExetime());
    t.sched.age = usec{s.getAge()};
    if (s.hasItag()) t.sched.itag = view(s.getItag());
    t.sched.force_update = s.getForceUpdate();
    t.sched.auto_recrawl = s.getAutoRecrawl();
    t.sched.cancel = s.getCancel();
    t.sched.extra = view(s.getExtra());
    return out;
  });
}

std::optional<task_brief> decode_brief(std::span<const std::byte> bytes) {
  auto found = guarded("task record", [&]() -> result<task_brief> {
    const aligned_copy copy(bytes);
    auto message = reader_over(copy.bytes());
    const auto in = message.getRoot<schema::Task>();
    return task_brief{{project_id{in.getProject()}, {in.getHashHigh(), in.getHashLow()}},
                      moment(in.getUpdateTime())};
  });
  if (!found) return std::nullopt;
  return *found;
}

result<void> decode_into(record_batch& batch, task_key key, std::span<const std::byte> bytes) {
  auto* copy = batch.allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
  auto got = decode_task({copy, bytes.size()});
  if (!got) return tl::unexpected(std::move(got.error()));
  batch.items.push_back({key, got->project, got->record});
  return {};
}

// -- projects ----------------------------------------------------------------------------------

std::string encode_project(const project_record& p) {
  capnp::MallocMessageBuilder message;
  auto out = message.initRoot<schema::Project>();
  out.setId(static_cast<std::uint32_t>(p.id));
  out.setStatus(static_cast<std::uint8_t>(p.status));
  out.setDeleting(p.deleting);
  out.setRate(p.rate);
  out.setBurst(p.burst);
  out.setMinTick(p.min_tick.count());
  out.setQueueLimit(p.queue_limit);
  out.setQueueWindow(p.queue_window);
  out.setRetainAge(p.retain.age.count());
  out.setRetainCount(p.retain.count);
  out.setUpdateTime(count(p.updatetime));
  fill(out.initName(length(p.name)), p.name);
  if (!p.group.empty()) fill(out.initGroup(length(p.group)), p.group);
  if (!p.script.empty()) fill(out.initScript(length(p.script)), p.script);
  if (!p.script_md5.empty()) fill(out.initScriptMd5(length(p.script_md5)), p.script_md5);
  if (!p.comments.empty()) fill(out.initComments(length(p.comments)), p.comments);
  if (!p.crawl_config.empty()) fill(out.initCrawlConfig(length(p.crawl_config)), p.crawl_config);
  if (!p.info_md5.empty()) fill(out.initInfoMd5(length(p.info_md5)), p.info_md5);
  if (p.retry) {
    auto retry = out.initRetry();
    retry.setOtherwise(p.retry->otherwise.count());
    auto table = retry.initTable(static_cast<unsigned>(p.retry->table.size()));
    unsigned i = 0;
    for (const auto& [retried, delay] : p.retry->table) {
      table[i].setRetried(retried);
      table[i++].setDelay(delay.count());
    }
  }
  return flat_text(message);
}

result<project_record> decode_project(std::string_view bytes) {
  return guarded("project record", [&]() -> result<project_record> {
    const aligned_copy copy(std::as_bytes(std::span(bytes)));
    auto message = reader_over(copy.bytes());
    const auto in = message.getRoot<schema::Project>();
    if (in.getStatus() > static_cast<std::uint8_t>(project_status::paused))
      return fail(errc::corrupt, "project record",
                  "status " + std::to_string(in.getStatus()) + " is unknown");
    project_record p;
    p.id = project_id{in.getId()};
    p.status = static_cast<project_status>(in.getStatus());
    p.deleting = in.getDeleting();
    p.rate = in.getRate();
    p.burst = in.getBurst();
    p.min_tick = usec{in.getMinTick()};
    p.queue_limit = in.getQueueLimit();
    p.queue_window = in.getQueueWindow();
    p.retain = {usec{in.getRetainAge()}, in.getRetainCount()};
    p.updatetime = moment(in.getUpdateTime());
    p.name = view(in.getName());
    p.group = view(in.getGroup());
    p.script = view(in.getScript());
    p.script_md5 = view(in.getScriptMd5());
    p.comments = view(in.getComments());
    p.crawl_config = view(in.getCrawlConfig());
    p.info_md5 = view(in.getInfoMd5());
    if (in.hasRetry()) {
      retry_policy policy;
      policy.otherwise = usec{in.getRetry().getOtherwise()};
      policy.table.clear();
      for (auto d : in.getRetry().getTable())
        policy.table[d.getRetried()] = usec{d.getDelay()};
      p.retry = std::move(policy);
    }
    return p;
  });
}

// -- mutations ---------------------------------------------------------------------------------

std::vector<std::byte> encode_mutations(const mutation_batch& batch) {
  // Ten words a mutation and a few around them: one segment of the right size, one copy.
  capnp::MallocMessageBuilder message(static_cast<unsigned>(batch.mutations.size() * 10 + 32));
  auto out = message.initRoot<schema::MutationBatch>();
  out.setLsn(batch.lsn);
  out.setEpoch(batch.epoch);
  out.setMergedSlices(batch.merged_slices);
  out.setNextSlice(batch.next_slice);
  auto list = out.initMutations(static_cast<unsigned>(batch.mutations.size()));
  unsigned i = 0;
  for (const auto& m : batch.mutations) {
    auto to = list[i++];
    to.setProject(static_cast<std::uint32_t>(m.ref.project));
    to.setKind(static_cast<schema::Mutation::Kind>(m.what));
    to.setStatus(static_cast<std::uint8_t>(m.status));
    to.setOldStatus(m.old_status);
    to.setHashHigh(m.ref.hash.high);
    to.setHashLow(m.ref.hash.low);
    to.setSeq(m.seq);
    to.setLastCrawlTime(m.lastcrawltime);
    to.setItagHash(m.itag_hash);
    to.setGeneration(m.generation);
    to.setPriority(m.position.priority);
    to.setDue(count(m.position.due));
    to.setArrival(m.position.arrival);
  }
  std::vector<std::byte> bytes(flat_size(message));
  flat_write(message, bytes.data(), bytes.size());
  return bytes;
}

result<mutation_batch> decode_mutations(std::span<const std::byte> bytes) {
  return guarded("mutation batch", [&]() -> result<mutation_batch> {
    const aligned_copy copy(bytes);
    auto message = reader_over(copy.bytes());
    const auto in = message.getRoot<schema::MutationBatch>();
    mutation_batch batch{in.getLsn(), in.getEpoch(), {}, in.getMergedSlices(), in.getNextSlice()};
    batch.mutations.reserve(in.getMutations().size());
    for (auto m : in.getMutations()) {
      if (m.getKind() > schema::Mutation::Kind::ERASE_RESULT)
        return fail(errc::corrupt, "mutation batch", "unknown kind of mutation");
      batch.mutations.push_back({static_cast<mutation::kind>(m.getKind()),
                                 {project_id{m.getProject()}, {m.getHashHigh(), m.getHashLow()}},
                                 m.getSeq(),
                                 static_cast<task_status>(m.getStatus()),
                                 m.getOldStatus(),
                                 m.getLastCrawlTime(),
                                 m.getItagHash(),
                                 m.getGeneration(),
                                 {moment(m.getDue()), m.getPriority(), m.getArrival()}});
    }
    return batch;
  });
}

} // namespace lycosa::storage
