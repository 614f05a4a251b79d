@0xa8f2c61d90b7e543;
# Jobs and their runs as the catalog keeps them: values of its space `jobs` (storage/FORMAT.md).
# Times are microseconds since 1970-01-01 UTC; durations are microseconds.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("lycosa::schema");

struct Job {
  # What a client has said. Changes only when a client changes it.

  members @0 :Text;
  # The job's object of the HTTP interface, JSON.
}

struct JobPlace {
  # Where a job is in time: what changes with every run, and all that a start reads of a job.

  created @0 :Int64;
  previous @1 :Int64;
  # Last nominal time that was decided.
  next @2 :Int64;
  jitter @3 :Int64;
  # The next nominal time, and what is added to it.
  hasPrevious @4 :Bool;
  hasNext @5 :Bool;

  paused @6 :Bool;
  atStart @7 :Bool;
  # Its trigger fires when the scheduler starts.
  runOnStart @8 :Bool;

  runs @9 :UInt64;
  # Number of its last run, from 1.

  uid @10 :UInt64;
  # Never used twice in a data directory: a job added again is another one.
  ended @11 :UInt64;
  # How many of its runs have ended.
  newest @12 :UInt64;
  # Where the record of the last one that ended is; 0 = there is none.
}

struct Run {
  jobId @0 :Text;
  number @1 :UInt64;
  cause @2 :UInt8;
  state @3 :UInt8;
  # Enumerators of core/jobs/run.hpp, in their order.
  nominal @4 :Int64;
  planned @5 :Int64;
  count @6 :UInt64 = 1;
  atLeast @7 :Bool;
  last @8 :Int64;
  hasStarted @9 :Bool;
  hasEnded @10 :Bool;
  hasRetryAt @11 :Bool;
  started @12 :Int64;
  ended @13 :Int64;
  retryAt @14 :Int64;
  attempt @15 :UInt32;
  late @16 :Int64;
  reason @17 :Text;

  outcome @18 :UInt8;
  hasExitCode @19 :Bool;
  hasSignal @20 :Bool;
  hasHttpStatus @21 :Bool;
  outputCut @22 :Bool;
  exitCode @23 :Int32;
  signal @24 :Int32;
  httpStatus @25 :Int32;
  output @26 :Data;
  value @27 :Text;
  error @28 :Text;
  # The result of the last attempt.

  uid @29 :UInt64;
  # Of its job.
  index @30 :UInt64;
  # It was the job's index-th run to end; 0 = it has not ended.
  before @31 :UInt64;
  # Where the record of the one that ended before it is; 0 = there is none.
}
