@0xe17c4f0a95d2b368;
# HTTP requests that a node passes on to the active one, and their answers. Each side of a request
# names it by the number its client's node has given it. schema/README.md, "On the wire".

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("lycosa::schema");

struct ForwardHeader {
  name @0 :Text;
  value @1 :Text;
}

struct ForwardFrame {
  id @0 :UInt64;

  union {
    # from the client's node
    request @1 :ForwardRequest;
    body @2 :Data;
    # More of the request's body.
    cancel @3 :Void;
    # The client has gone: without an answer, or the one it was sent did not reach it.
    done @4 :Void;
    # The answer has reached the client; nothing is owed.
    credit @5 :UInt64;
    # So many bytes of the answer have gone to the client; as many more may be sent.
    received @6 :Void;
    # The whole answer is at the client's node.

    # from the active node
    head @7 :ForwardHead;
    part @8 :ForwardPart;
  }
}

struct ForwardRequest {
  interface @0 :Interface;
  method @1 :Text;
  target @2 :Text;
  contentType @3 :Text;
  accept @4 :Text;
  lastEventId @5 :Text;
  bodySize @6 :UInt64;
  # Of all of it.
  body @7 :Data;
  # How it begins.

  enum Interface {
    http @0;
    xmlrpc @1;
  }
}

struct ForwardHead {
  status @0 :UInt16;
  contentType @1 :Text;
  headers @2 :List(ForwardHeader);
  body @3 :Data;
  # How it begins.
  last @4 :Bool;
  # And ends.
  live @5 :Bool;
  # It goes on until somebody leaves.
  keepAlive @6 :Text;
  # Sent to the client when there is nothing for long.
  owed @7 :Bool;
  # The active node wants to hear what became of it: `received`, then `done` or `cancel`.
}

struct ForwardPart {
  bytes @0 :Data;
  last @1 :Bool;
  broken @2 :Bool;
  # There would be more, but it cannot be had: what was sent is not the whole.
}
