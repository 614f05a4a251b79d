#pragma once

#include "gateway/forward.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lycosa::gateway {

/// Threads that stand in for those of the connections, for requests that came from other nodes.
/// What is for one number is done in order, on one thread.
class forward_threads {
public:
  explicit forward_threads(unsigned count);
  ~forward_threads();
  forward_threads(const forward_threads&) = delete;
  forward_threads& operator=(const forward_threads&) = delete;

  void post(std::uint64_t number, std::function<void()> work);
  /// Finishes what is being done and drops the rest.
  void stop();

private:
  struct one {
    std::mutex mutex;
    std::condition_variable more;
    std::deque<std::function<void()>> work;
    bool stopped = false;
    std::thread thread;
  };
  static void run(one& t);
  std::vector<std::unique_ptr<one>> all_;
};

/// The active node's side of forwarding: hands requests to the local node and sends the answers.
class forward_server : public std::enable_shared_from_this<forward_server> {
public:
  /// Hands a request to the local node; false = there is none.
  using serve = std::function<bool(front::interface, request&, const exchange_ptr&)>;

  forward_server(const front_config& config, std::shared_ptr<forward_transport> transport,
                 serve local);
  void stop() { threads_.stop(); }

  /// What a client's node says.
  void take(cluster::node_id from, wire::forward_frame frame);
  /// It has gone, and with it its clients.
  void give_up(cluster::node_id from);

private:
  friend class remote_exchange;
  class served;
  using served_ptr = std::shared_ptr<served>;
  using key = std::pair<cluster::node_id, std::uint64_t>;

  void obey(cluster::node_id from, wire::forward_frame frame);
  void begin(const key& k, wire::forward_request head);
  void more(const served_ptr& s, std::string bytes);
  void run(const served_ptr& s);
  served_ptr find(const key& k);
  void forget(const key& k);
  bool send(const key& to, wire::forward_content content, std::string_view body = {});
  void refuse(const key& k, response no);

  const std::size_t max_body_;
  std::shared_ptr<budget> bytes_;
  std::shared_ptr<forward_transport> transport_;
  serve local_;
  std::mutex mutex_;
  std::map<key, served_ptr> open_;
  forward_threads threads_;
};

} // namespace lycosa::gateway
