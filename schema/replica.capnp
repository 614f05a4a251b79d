@0xb7c1d4a95e2f6083;
# How a replica of an environment stands: the value under "S" of its table `replica`
# (storage/FORMAT.md). What the numbers mean is said in core/cluster/.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("lycosa::schema");

struct EntryId {
  epoch @0 :UInt64;
  lsn @1 :UInt64;
}

struct CopyId {
  epoch @0 :UInt64;
  # Of the leader that copies.
  number @1 :UInt64;
}

struct EpochStart {
  epoch @0 :UInt64;
  first @1 :UInt64;
  # Position of the epoch's first batch.
}

struct CopyProgress {
  id @0 :CopyId;
  at @1 :EntryId;
  # The copy is of the leader's environment as it was just after this batch.
  chunks @2 :UInt32;
  # So many pieces are here.
}

struct ReplicaState {
  end @0 :EntryId;
  # The last batch of the log; outlives the batches themselves.
  history @1 :List(EpochStart);
  # Of the log up to its end.
  lastCopy @2 :CopyId;
  # The newest copying that was begun here.
  copying @3 :CopyProgress;
  # Null unless the environment is being copied, and so not whole.
}
