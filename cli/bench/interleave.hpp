#pragma once

#include <functional>

namespace lycosa::cli::bench {

/// Runs `work(0)` … `work(n - 1)` on one thread: while one waits in `wait_readable`, the others go
/// on. A client with a thread for each connection would make the node pay for waking one with each
/// answer; clients that people run for speed do not have one either.
void interleave(unsigned n, const std::function<void(unsigned)>& work);

/// Waits until a socket has something to read or is closed. Outside `interleave` it blocks.
void wait_readable(int socket);

/// To be called before a socket is closed that was waited for.
void forget_socket(int socket);

} // namespace lycosa::cli::bench
