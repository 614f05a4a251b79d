#pragma once

namespace lycosa::cli {

/// A node takes and gives back the same large buffers all the time: a request's body, what came of
/// it, a commit's. By default the C library returns such memory to the kernel at once, and every
/// batch pays for mapping it and for zeroed pages (a third of the node's system time). Up to 32 MiB
/// of what is free stay with each arena; without an environment that says otherwise. For the whole
/// process: called before a node is opened in it.
void keep_freed_memory();

} // namespace lycosa::cli
