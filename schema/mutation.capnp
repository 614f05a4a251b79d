@0xd2b05f1c98e7a364;
# The state changes of one commit of a shard, in the order they were made: what the table `log`
# keeps (storage/FORMAT.md). Bodies are not repeated here: `seq` finds them in `tasks`.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("lycosa::schema");

struct MutationBatch {
  lsn @0 :UInt64;
  # +1 with each commit of the shard.

  epoch @1 :UInt64;
  # The opening of the data directory in which it was written.

  mutations @2 :List(Mutation);

  mergedSlices @3 :UInt16;
  nextSlice @4 :UInt16;
  # With this commit, so many slices of the index before slice `nextSlice` (modulo their number) were
  # brought up to date in `hashes`, its own changes included.
}

struct Mutation {
  # Only numbers: the list lies in one piece and is written and read without allocation.

  project @0 :UInt32;
  kind @1 :Kind;
  status @2 :UInt8;
  # The task's state after the change.
  oldStatus @3 :UInt8;
  # Its state before; 0 for an insert.

  hashHigh @4 :UInt64;
  hashLow @5 :UInt64;
  seq @6 :UInt64;
  lastCrawlTime @7 :Int64;
  itagHash @8 :UInt64;
  # 0 = no itag.
  generation @9 :UInt32;

  priority @10 :Int32;
  due @11 :Int64;
  arrival @12 :UInt64;
  # Where it is queued; meaningful while `status` is 1.

  enum Kind {
    insert @0;
    update @1;
    erase @2;
    putResult @3;
    # The result of (project, hash) was stored or replaced.
    eraseResult @4;
  }
}
