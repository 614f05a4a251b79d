@0xe4a85f0b63d29c17;
# What the nodes that keep an environment say to each other (core/cluster/messages.hpp says what it
# means), with the batches and pieces that the messages speak of. Between nodes of different
# versions: fields are only ever added, at the end; a message of an unknown kind is passed over.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("lycosa::schema");
using R = import "replica.capnp";

struct ReplicaMessage {
  environment @0 :UInt16;
  # A shard's number; 65535 = the catalog.

  union {
    append @1 :Append;
    state @2 :State;
    copy @3 :Copy;
    candidate @4 :Candidate;
  }

  struct Append {
    epoch @0 :UInt64;
    before @1 :R.EntryId;
    batches @2 :List(Batch);
    committed @3 :UInt64;
    trim @4 :UInt64;
  }
  struct Batch {
    id @0 :R.EntryId;
    changes @1 :Data;
    # storage/FORMAT.md, "Change sets".
  }
  struct State {
    epoch @0 :UInt64;
    copy @1 :R.CopyId;
    end @2 :R.EntryId;
    synced @3 :UInt64;
    gap @4 :Bool;
    copying @5 :R.CopyProgress;
    # Null = not being copied.
  }
  struct Copy {
    epoch @0 :UInt64;
    id @1 :R.CopyId;
    at @2 :R.EntryId;
    history @3 :List(R.EpochStart);
    chunk @4 :UInt32;
    chunks @5 :UInt32;
    changes @6 :Data;
  }
  struct Candidate {
    version @0 :UInt64;
    end @1 :R.EntryId;
    asks @2 :Bool;
  }
}
