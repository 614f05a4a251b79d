@0xf1f8f75e1a3c4d21;
struct Task { taskid @0 :Text; }
