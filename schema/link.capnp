@0xb3d0c5a1f2e84796;
# What two nodes of a cluster say to each other over one connection. schema/README.md, "On the wire".

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("lycosa::schema");

struct LinkFrame {
  union {
    hello @0 :LinkHello;
    proof @1 :LinkProof;
    refused @2 :LinkRefused;
    alive @3 :LinkAlive;
    envelope @4 :LinkEnvelope;
  }
}

struct LinkHello {
  # The first frame of both sides. Every version reads it.

  cluster @0 :Text;
  node @1 :UInt64;
  to @2 :UInt64;
  # Whom the dialling side wants; 0 = it is the accepting side that speaks.
  name @3 :Text;
  wireVersion @4 :UInt32;
  oldestWireVersion @5 :UInt32;
  nonce @6 :Data;
  maxMessage @7 :UInt64;
  # Longest body it takes, bytes.
}

struct LinkProof {
  # That the sender knows the secret. The dialling side proves first.

  mac @0 :Data;
}

struct LinkRefused {
  # The last frame before the sender closes.

  why @0 :Text;
}

struct LinkAlive {
  # Sent at least once in a heartbeat.

  handled @0 :UInt64;
  # Bytes of envelope bodies of this connection that its receiver is done with.
}

struct LinkEnvelope {
  channel @0 :UInt16;
  body @1 :Data;
}
