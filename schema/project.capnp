@0xb37ac1d6e5204f93;
# A project as the catalog keeps it: the value of the table `projects` (storage/FORMAT.md).

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("lycosa::schema");

struct Project {
  id @0 :UInt32;
  status @1 :UInt8;
  # 0 TODO, 1 STOP, 2 CHECKING, 3 DEBUG, 4 RUNNING, 5 PAUSED.

  deleting @2 :Bool;
  # Its tasks are being removed; survives a restart so that the removal goes on.

  rate @3 :Float64 = 1;
  burst @4 :Float64 = 10;
  # Tasks a second; most tokens that can pile up.

  minTick @5 :Int64;
  queueLimit @6 :UInt64;
  updateTime @7 :Int64;
  name @8 :Text;
  group @9 :Text;
  script @10 :Text;
  scriptMd5 @11 :Text;
  comments @12 :Text;
  crawlConfig @13 :Data;
  # JSON object text, or null.

  retry @14 :RetryPolicy;
  # Null = the node's default.

  infoMd5 @15 :Text;
  # The script whose answer to _on_get_info is in force.

  retainAge @16 :Int64;
  retainCount @17 :UInt64;
  # Settled tasks are kept so many microseconds, and about so many of them; 0 = without bound.

  queueWindow @18 :UInt64;
  # Waiting tasks kept in memory, about; 0 = all.
}

struct RetryPolicy {
  otherwise @0 :Int64;
  # Delay in microseconds where the table has no entry.
  table @1 :List(Delay);

  struct Delay {
    retried @0 :Int32;
    delay @1 :Int64;
  }
}
