#include "actors/dial.hpp"

#include "core/jobs/actor_name.hpp"

#include <caf/io/basp/header.hpp>
#include <caf/io/basp/version.hpp>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

namespace lycosa::actors {

namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t longest_handshake = 16 << 10; // a few hundred bytes are usual

std::string reason(int error) {
  return std::generic_category().message(error);
}

struct address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

/// What a look-up of a host and whoever waits for it share: the system's resolver cannot be
/// interrupted, so it may be left behind with its thread.
struct lookup {
  std::string host, port;
  file_handle over{::eventfd(0, EFD_CLOEXEC)};
  std::vector<address> found;
  std::string failure;

  void run(int flags) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    if (const int code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list); code != 0) {
      failure = code == EAI_SYSTEM ? reason(errno) : ::gai_strerror(code);
    } else {
      for (const auto* a = list; a != nullptr; a = a->ai_next) {
        address one;
        one.size = a->ai_addrlen;
        std::memcpy(&one.storage, a->ai_addr, a->ai_addrlen);
        found.push_back(one);
      }
      ::freeaddrinfo(list);
    }
    ::eventfd_write(over.get(), 1);
  }
};

class dialling {
public:
  dialling(const dial_request& request, const stop_flag& stop)
      : request_(request), stop_(stop.descriptor()), until_(steady::now() + request.limit) {}

  result<file_handle> run() {
    auto made = connected();
    if (!made) return made;
    return greeted(std::move(*made));
  }

  result<file_handle> connected() {
    auto addresses = resolve();
    if (!addresses) return tl::unexpected(addresses.error());
    auto all = until_;
    error last = gave_up("no address");
    for (std::size_t i = 0; i < addresses->size(); ++i) {
      // The last one gets what the others have left.
      until_ = steady::now() + (all - steady::now()) / (addresses->size() - i);
      auto made = connect((*addresses)[i]);
      if (made) {
        until_ = all;
        return made;
      }
      last = made.error();
    }
    return tl::unexpected(last);
  }

private:
  enum class waited { ready, timeout, stopped };

  error gave_up(const std::string& why) const {
    return {errc::unavailable, jobs::actor_name{"", request_.host, request_.port}.endpoint(), why};
  }
  tl::unexpected<error> failed(const std::string& why) const {
    return tl::unexpected<error>(gave_up(why));
  }
  tl::unexpected<error> failed(waited how, const char* what) const {
    return failed(how == waited::stopped ? std::string{"given up"} : std::string{what});
  }

  waited wait(int fd, short events) const {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - steady::now());
      std::array<pollfd, 2> both{pollfd{fd, events, 0}, pollfd{stop_, POLLIN, 0}};
      const auto ms = std::clamp<std::int64_t>(left.count(), 0, 60'000);
      const int n = ::poll(both.data(), both.size(), static_cast<int>(ms));
      if (both[1].revents != 0 && n > 0) return waited::stopped;
      if (both[0].revents != 0 && n > 0) return waited::ready;
      if (steady::now() >= until_) return waited::timeout;
    }
  }

  result<std::vector<address>> resolve() const {
    const auto shared = std::make_shared<lookup>();
    shared->host = request_.host;
    shared->port = std::to_string(request_.port);
    shared->run(AI_NUMERICHOST);
    if (!shared->found.empty()) return std::move(shared->found);
    const auto asked = std::make_shared<lookup>();
    asked->host = request_.host;
    asked->port = shared->port;
    try {
      std::thread([asked] { asked->run(AI_ADDRCONFIG); }).detach();
    } catch (const std::system_error& e) {
      return failed(e.what());
    }
    if (const auto how = wait(asked->over.get(), POLLIN); how != waited::ready)
      return failed(how, "the host's name is not found in time");
    if (asked->found.empty()) return failed(asked->failure);
    return std::move(asked->found);
  }

  result<file_handle> connect(const address& to) const {
    file_handle socket{
        ::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP)};
    if (!socket.valid()) return failed(reason(errno));
    const auto* where = reinterpret_cast<const sockaddr*>(&to.storage);
    if (::connect(socket.get(), where, to.size) != 0 && errno != EINPROGRESS)
      return failed(reason(errno));
    if (const auto how = wait(socket.get(), POLLOUT); how != waited::ready)
      return failed(how, "no connection in time");
    int code = 0;
    socklen_t size = sizeof(code);
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &code, &size);
    if (code != 0) return failed(reason(code));
    const auto set = [&](int level, int name, int value) {
      ::setsockopt(socket.get(), level, name, &value, sizeof(value));
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000);
    return socket;
  }

  /// Waits until `bytes` are there, without taking them.
  result<std::vector<unsigned char>> peek(int fd, std::size_t bytes) const {
    const int wanted = static_cast<int>(bytes);
    ::setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &wanted, sizeof(wanted));
    const auto how = wait(fd, POLLIN);
    const int one = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
    if (how != waited::ready)
      return failed(how, "it accepts the connection and says nothing: is it a CAF system?");
    std::vector<unsigned char> got(bytes);
    const auto n = ::recv(fd, got.data(), got.size(), MSG_PEEK | MSG_DONTWAIT);
    if (n < 0) return failed(reason(errno));
    if (static_cast<std::size_t>(n) < bytes)
      return failed("it closed the connection at once: is it a CAF system?");
    return got;
  }

  /// The handshake's header: operation, 2 bytes of padding, flags, length of the rest (32 bits),
  /// version (64 bits), two actors; big-endian.
  result<file_handle> greeted(file_handle socket) const {
    namespace basp = caf::io::basp;
    auto header = peek(socket.get(), basp::header_size);
    if (!header) return tl::unexpected(header.error());
    const auto number = [&](std::size_t from, std::size_t size) {
      std::uint64_t value = 0;
      for (std::size_t i = from; i < from + size; ++i)
        value = value << 8 | (*header)[i];
      return value;
    };
    const auto rest = number(4, 4);
    const auto version = number(8, 8);
    if (number(0, 4) != static_cast<std::uint64_t>(basp::message_type::server_handshake)
        || rest == 0 || rest > longest_handshake || version == 0)
      return failed("it does not speak CAF's protocol");
    if (version != basp::version)
      return failed("it speaks version " + std::to_string(version)
                    + " of CAF's protocol, this node version " + std::to_string(basp::version));
    if (auto all = peek(socket.get(), basp::header_size + rest); !all)
      return tl::unexpected(all.error());
    return socket;
  }

  const dial_request& request_;
  int stop_;
  steady::time_point until_;
};

} // namespace

file_handle::~file_handle() {
  if (fd_ >= 0) ::close(fd_);
}

file_handle& file_handle::operator=(file_handle&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

stop_flag::stop_flag() : event_(::eventfd(0, EFD_CLOEXEC)) {}

void stop_flag::raise() noexcept {
  if (event_.valid()) ::eventfd_write(event_.get(), 1);
}

result<file_handle> dial(const dial_request& request, const stop_flag& stop) {
  return dialling(request, stop).run();
}

result<file_handle> dial_any(const dial_request& request, const stop_flag& stop) {
  return dialling(request, stop).connected();
}

} // namespace lycosa::actors
