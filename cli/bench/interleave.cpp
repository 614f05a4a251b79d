#include "cli/bench/interleave.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/spawn.hpp>
#include <poll.h>

#include <exception>
#include <unordered_map>

namespace lycosa::cli::bench {

namespace {

namespace asio = boost::asio;

/// What the thread is at, while it is in `interleave`.
struct loop {
  asio::io_context io{1};
  std::unordered_map<int, asio::posix::stream_descriptor> waits;
  asio::yield_context* current = nullptr;
};
thread_local loop* running = nullptr;

} // namespace

void interleave(unsigned n, const std::function<void(unsigned)>& work) {
  loop here;
  running = &here;
  for (unsigned i = 0; i < n; ++i)
    asio::spawn(
        here.io,
        [&here, &work, i](asio::yield_context yield) {
          here.current = &yield;
          work(i);
        },
        [](const std::exception_ptr& e) {
          if (e) std::rethrow_exception(e);
        });
  here.io.run();
  running = nullptr;
}

void wait_readable(int socket) {
  if (running == nullptr) {
    pollfd p{socket, POLLIN, 0};
    ::poll(&p, 1, -1);
    return;
  }
  auto& here = *running;
  auto* mine = here.current;
  auto found = here.waits.find(socket);
  if (found == here.waits.end())
    found = here.waits.emplace(socket, asio::posix::stream_descriptor{here.io, socket}).first;
  boost::system::error_code ignored; // a closed socket shows when it is read
  found->second.async_wait(asio::posix::stream_descriptor::wait_read, (*mine)[ignored]);
  here.current = mine;
}

void forget_socket(int socket) {
  if (running == nullptr) return;
  if (auto found = running->waits.find(socket); found != running->waits.end()) {
    found->second.release();
    running->waits.erase(found);
  }
}

} // namespace lycosa::cli::bench
