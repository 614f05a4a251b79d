#include "tests/coordination/etcd_server.hpp"

#include "coordination/etcd_client.hpp"
#include <arpa/inet.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

namespace lycosa::coordination::testing {

using nlohmann::json;

scratch_folder::scratch_folder() {
  auto name = (std::filesystem::temp_directory_path() / "lycosa-etcd-XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
  path_ = name;
}

scratch_folder::~scratch_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

// Below those that the system gives to outgoing connections: one of them might be the client's own
// attempt to reach a server that is not there yet. Anywhere among them, for tests run side by side.
std::uint16_t free_port() {
  std::random_device random;
  for (int tries = 0; tries < 12000; ++tries) {
    const auto port = static_cast<std::uint16_t>(20000 + random() % 12000);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    const bool free = ::bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
    ::close(fd);
    if (free) return port;
  }
  throw std::runtime_error("no free port");
}

etcd_server::etcd_server(std::vector<std::string> options, std::string scheme)
    : options_(std::move(options)), scheme_(std::move(scheme)), port_(free_port()),
      peer_port_(free_port()) {
  start();
}

etcd_server::~etcd_server() {
  kill();
}

std::string etcd_server::endpoint() const {
  return scheme_ + "://127.0.0.1:" + std::to_string(port_);
}

void etcd_server::start() {
  const auto peer = "http://127.0.0.1:" + std::to_string(peer_port_);
  std::vector<std::string> args{"etcd",
                                "--data-dir",
                                folder_.file("data"),
                                "--listen-client-urls",
                                endpoint(),
                                "--advertise-client-urls",
                                endpoint(),
                                "--listen-peer-urls",
                                peer,
                                "--initial-advertise-peer-urls",
                                peer,
                                "--initial-cluster",
                                "default=" + peer,
                                "--unsafe-no-fsync"};
  args.insert(args.end(), options_.begin(), options_.end());
  std::vector<char*> argv;
  for (auto& a : args)
    argv.push_back(a.data());
  argv.push_back(nullptr);
  const auto log = folder_.file("log");
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(fd, 1);
  ::dup2(fd, 2);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

void etcd_server::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void etcd_server::freeze() {
  ::kill(pid_, SIGSTOP);
  ::waitpid(pid_, nullptr, WUNTRACED); // it may go on for a moment
}

void etcd_server::thaw() {
  ::kill(pid_, SIGCONT);
}

result<json> ask(const std::string& endpoint, const std::string& path, const json& body,
                 const std::string& user) {
  boost::asio::io_context io;
  client_config c;
  c.endpoints = {endpoint};
  if (!user.empty()) {
    c.user = user.substr(0, user.find(':'));
    c.password = user.substr(user.find(':') + 1);
  }
  auto client = etcd_client::make(io, c);
  if (!client) return tl::unexpected(client.error());
  result<json> answer;
  const auto one = [&]() -> boost::asio::awaitable<void> {
    answer = co_await (*client)->call(path, body, call_options{});
  };
  boost::asio::co_spawn(io, one, boost::asio::detached);
  io.run();
  (*client)->close();
  return answer;
}

json must(const std::string& endpoint, const std::string& path, const json& body,
          const std::string& user) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (true) {
    auto answer = ask(endpoint, path, body, user);
    if (answer) return *answer;
    const bool away = answer.error().code == errc::unavailable;
    if (!away || std::chrono::steady_clock::now() > until) {
      ADD_FAILURE() << path << ": " << answer.error().text();
      return json::object();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{10}); // between two looks
  }
}

} // namespace lycosa::coordination::testing
