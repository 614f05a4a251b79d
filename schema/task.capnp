@0xf1f8f75e1a3c4d21;
# A task as one shard keeps it: the value of the table `tasks` (storage/FORMAT.md).
# Times are microseconds since 1970-01-01 UTC; durations are microseconds.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("lycosa::schema");

struct Task {
  project @0 :UInt32;
  # Number the catalog gave to the project.

  hashHigh @1 :UInt64;
  hashLow @2 :UInt64;
  # The task's 128-bit name: with `project` the key of its index entry, so that the index can be
  # checked against, or rebuilt from, the records.

  status @3 :UInt8;
  # 1 ACTIVE, 2 SUCCESS, 3 FAILED, 4 BAD.

  generation @4 :UInt32;
  # +1 with each restart.

  lastCrawlTime @5 :Int64;
  # 0 = never.

  updateTime @6 :Int64;

  taskid @7 :Text;
  url @8 :Text;

  fetch @9 :Data;
  process @10 :Data;
  track @11 :Data;
  # JSON text byte for byte as it came in; a null pointer = absent.

  schedule :group {
    # A group costs no pointer; a struct would cost 8 bytes a task.
    priority @12 :Int32;
    retries @13 :Int32 = 3;
    retried @14 :Int32;
    exetime @15 :Int64;
    age @16 :Int64 = -1000000;
    itag @17 :Text;
    # A null pointer = no itag, which is not the same as an empty one.
    forceUpdate @18 :Bool;
    autoRecrawl @19 :Bool;
    cancel @20 :Bool;
    extra @21 :Data;
    # Members of the schedule that Lycosa does not know, as JSON text without braces.
  }
}
