#include "storage/job_codec.hpp"

#include "schema/job.capnp.h"
#include "storage/capnp_bytes.hpp"

namespace lycosa::storage {

using namespace bytes;

namespace {

template <class T>
bool set(const std::optional<T>& from, std::int64_t& to) {
  if (!from) return false;
  if constexpr (std::is_same_v<T, wall_time>)
    to = count(*from);
  else
    to = *from;
  return true;
}

} // namespace

std::string encode_members(std::string_view json) {
  capnp::MallocMessageBuilder message(length(json) / 8 + 8); // words: one allocation
  fill(message.initRoot<schema::Job>().initMembers(length(json)), json);
  return flat_text(message);
}

result<std::string> decode_members(std::string_view from) {
  return guarded("job record", [&]() -> result<std::string> {
    const aligned_copy copy(from);
    auto message = reader_over(copy.bytes());
    return std::string(view(message.getRoot<schema::Job>().getMembers()));
  });
}

std::string encode_place(const stored_place& s) {
  capnp::word scratch[32] = {};
  capnp::MallocMessageBuilder message(kj::arrayPtr(scratch, 32));
  auto out = message.initRoot<schema::JobPlace>();
  const auto& p = s.place;
  out.setCreated(count(p.created));
  if (p.previous) {
    out.setHasPrevious(true);
    out.setPrevious(count(*p.previous));
  }
  if (p.next) {
    out.setHasNext(true);
    out.setNext(count(p.next->nominal));
    out.setJitter(p.next->jitter.count());
  }
  out.setPaused(p.paused);
  out.setAtStart(p.at_start);
  out.setRunOnStart(p.run_on_start);
  out.setRuns(p.runs);
  out.setUid(s.uid);
  out.setEnded(s.ended);
  out.setNewest(s.newest);
  return flat_text(message);
}

result<stored_place> decode_place(std::string_view from) {
  return guarded("place of a job", [&]() -> result<stored_place> {
    const aligned_copy copy(from);
    auto message = reader_over(copy.bytes());
    const auto in = message.getRoot<schema::JobPlace>();
    stored_place s;
    auto& p = s.place;
    p.created = moment(in.getCreated());
    if (in.getHasPrevious()) p.previous = moment(in.getPrevious());
    if (in.getHasNext()) p.next = trigger::fire{moment(in.getNext()), usec{in.getJitter()}};
    p.paused = in.getPaused();
    p.at_start = in.getAtStart();
    p.run_on_start = in.getRunOnStart();
    p.runs = in.getRuns();
    s.uid = in.getUid();
    s.ended = in.getEnded();
    s.newest = in.getNewest();
    if (s.uid == 0) return fail(errc::corrupt, "place of a job", "it has no number");
    return s;
  });
}

std::string encode_run(const stored_run& s) {
  capnp::word scratch[128] = {};
  capnp::MallocMessageBuilder message(kj::arrayPtr(scratch, 128));
  auto out = message.initRoot<schema::Run>();
  const auto& r = s.run;
  fill(out.initJobId(length(r.job_id)), r.job_id);
  out.setNumber(r.number);
  out.setCause(static_cast<std::uint8_t>(r.cause));
  out.setState(static_cast<std::uint8_t>(r.state));
  out.setNominal(count(r.nominal));
  out.setPlanned(count(r.planned));
  out.setCount(r.count);
  out.setAtLeast(r.at_least);
  out.setLast(count(r.last));
  std::int64_t n = 0;
  if (set(r.started, n)) out.setHasStarted(true), out.setStarted(n);
  if (set(r.ended, n)) out.setHasEnded(true), out.setEnded(n);
  if (set(r.retry_at, n)) out.setHasRetryAt(true), out.setRetryAt(n);
  out.setAttempt(r.attempt);
  out.setLate(r.late.count());
  if (!r.reason.empty()) fill(out.initReason(length(r.reason)), r.reason);
  const auto& x = r.result;
  out.setOutcome(static_cast<std::uint8_t>(x.outcome));
  if (set(x.exit_code, n)) out.setHasExitCode(true), out.setExitCode(static_cast<int>(n));
  if (set(x.signal, n)) out.setHasSignal(true), out.setSignal(static_cast<int>(n));
  if (set(x.http_status, n)) out.setHasHttpStatus(true), out.setHttpStatus(static_cast<int>(n));
  out.setOutputCut(x.output_cut);
  if (!x.output.empty()) fill(out.initOutput(length(x.output)), x.output);
  if (!x.value.empty()) fill(out.initValue(length(x.value)), x.value);
  if (!x.error.empty()) fill(out.initError(length(x.error)), x.error);
  out.setUid(s.uid);
  out.setIndex(s.index);
  out.setBefore(s.before);
  return flat_text(message);
}

result<stored_run> decode_run(std::string_view from) {
  return guarded("record of a run", [&]() -> result<stored_run> {
    const aligned_copy copy(from);
    auto message = reader_over(copy.bytes());
    const auto in = message.getRoot<schema::Run>();
    if (in.getState() > static_cast<std::uint8_t>(jobs::run_state::dropped_queue)
        || in.getCause() > static_cast<std::uint8_t>(jobs::run_cause::lost)
        || in.getOutcome() > static_cast<std::uint8_t>(jobs::run_outcome::cancelled))
      return fail(errc::corrupt, "record of a run", "its state is unknown");
    stored_run s;
    auto& r = s.run;
    r.job_id = view(in.getJobId());
    r.number = in.getNumber();
    r.cause = static_cast<jobs::run_cause>(in.getCause());
    r.state = static_cast<jobs::run_state>(in.getState());
    r.nominal = moment(in.getNominal());
    r.planned = moment(in.getPlanned());
    r.count = in.getCount();
    r.at_least = in.getAtLeast();
    r.last = moment(in.getLast());
    if (in.getHasStarted()) r.started = moment(in.getStarted());
    if (in.getHasEnded()) r.ended = moment(in.getEnded());
    if (in.getHasRetryAt()) r.retry_at = moment(in.getRetryAt());
    r.attempt = in.getAttempt();
    r.late = usec{in.getLate()};
    r.reason = view(in.getReason());
    auto& x = r.result;
    x.outcome = static_cast<jobs::run_outcome>(in.getOutcome());
    if (in.getHasExitCode()) x.exit_code = in.getExitCode();
    if (in.getHasSignal()) x.signal = in.getSignal();
    if (in.getHasHttpStatus()) x.http_status = in.getHttpStatus();
    x.output_cut = in.getOutputCut();
    x.output = view(in.getOutput());
    x.value = view(in.getValue());
    x.error = view(in.getError());
    s.uid = in.getUid();
    s.index = in.getIndex();
    s.before = in.getBefore();
    return s;
  });
}

} // namespace lycosa::storage
