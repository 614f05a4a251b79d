#include "bridges/amqp_link.hpp"

#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <curl/curl.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>

namespace lycosa::bridges {

namespace {

using steady = std::chrono::steady_clock;

constexpr int heartbeat_seconds = 30;
constexpr int frame_max = 131072;
constexpr timeval connect_wait{2, 0};
constexpr timeval rpc_wait{5, 0};
constexpr usec answer_wait = std::chrono::seconds{10};

tl::unexpected<error> lost(std::string why) {
  return fail(errc::unavailable, "amqp", std::move(why));
}

amqp_bytes_t bytes_of(std::string_view text) {
  amqp_bytes_t b;
  b.len = text.size();
  b.bytes = const_cast<char*>(text.data()); // librabbitmq only reads them
  return b;
}

std::string text_of(const amqp_bytes_t& b) {
  return {static_cast<const char*>(b.bytes), b.len};
}

std::string why(const amqp_rpc_reply_t& reply) {
  if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION)
    return amqp_error_string2(reply.library_error);
  if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION) {
    if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD)
      return text_of(static_cast<amqp_connection_close_t*>(reply.reply.decoded)->reply_text);
    if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD)
      return text_of(static_cast<amqp_channel_close_t*>(reply.reply.decoded)->reply_text);
  }
  return "no answer";
}

bool ok(const amqp_rpc_reply_t& reply) {
  return reply.reply_type == AMQP_RESPONSE_NORMAL;
}

struct url_deleter {
  void operator()(CURLU* u) const { curl_url_cleanup(u); }
};

std::optional<std::string> part(CURLU* url, CURLUPart what) {
  char* text = nullptr;
  if (curl_url_get(url, what, &text, CURLU_URLDECODE) != CURLUE_OK || text == nullptr)
    return std::nullopt;
  std::string out = text;
  curl_free(text);
  return out;
}

} // namespace

std::string amqp_address::display() const {
  return std::string{tls ? "amqps://" : "amqp://"} + host + ":" + std::to_string(port) + " "
         + vhost;
}

result<amqp_address> parse_amqp_url(std::string_view text) {
  const auto bad = [](std::string reason) {
    return fail(errc::invalid_argument, "amqp.url", std::move(reason));
  };
  const std::unique_ptr<CURLU, url_deleter> url{curl_url()};
  const std::string whole{text};
  if (!url
      || curl_url_set(url.get(), CURLUPART_URL, whole.c_str(), CURLU_NON_SUPPORT_SCHEME)
             != CURLUE_OK)
    return bad("is not a URL such as amqp://user:password@127.0.0.1:5672/%2F");
  amqp_address a;
  const auto scheme = part(url.get(), CURLUPART_SCHEME).value_or("");
  if (scheme != "amqp" && scheme != "amqps") return bad("must begin with amqp:// or amqps://");
  a.tls = scheme == "amqps";
  a.port = a.tls ? 5671 : 5672;
  a.host = part(url.get(), CURLUPART_HOST).value_or("");
  a.user = part(url.get(), CURLUPART_USER).value_or(a.user);
  a.password = part(url.get(), CURLUPART_PASSWORD).value_or(a.password);
  if (const auto port = part(url.get(), CURLUPART_PORT))
    std::from_chars(port->data(), port->data() + port->size(), a.port);
  if (const auto path = part(url.get(), CURLUPART_PATH); path && path->size() > 1)
    a.vhost = path->substr(1);
  std::string_view query;
  const auto options = part(url.get(), CURLUPART_QUERY).value_or("");
  for (query = options; !query.empty();) {
    const auto end = std::min(query.find('&'), query.size());
    const auto option = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (option.starts_with("ca="))
      a.ca_file = option.substr(3);
    else if (option == "verify=no")
      a.verify = false;
    else
      return bad("unknown option \"" + std::string{option} + "\"; known: ca=FILE, verify=no");
  }
  return a;
}

struct amqp_link::impl {
  amqp_connection_state_t connection = amqp_new_connection();
  amqp_channel_t channel = 1;
  const stop_signal* stop = nullptr;
  std::uint64_t published = 0, confirmed = 0;

  impl() = default;
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;
  ~impl() { amqp_destroy_connection(connection); }

  /// Waits until something can be read. False: stopped, or not in time.
  bool await(usec wait) const {
    if (amqp_frames_enqueued(connection) || amqp_data_in_buffer(connection)) return true;
    std::array<pollfd, 2> fds{pollfd{amqp_get_sockfd(connection), POLLIN, 0},
                              pollfd{stop->fd(), POLLIN, 0}};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    return ::poll(fds.data(), fds.size(), static_cast<int>(ms)) > 0 && fds[1].revents == 0
           && fds[0].revents != 0;
  }

  result<void> checked() const {
    const auto reply = amqp_get_rpc_reply(connection);
    if (!ok(reply)) return lost(why(reply));
    return {};
  }
};

amqp_link::amqp_link(std::unique_ptr<impl> i) : impl_(std::move(i)) {}

amqp_link::~amqp_link() = default;

result<std::unique_ptr<amqp_link>> amqp_link::open(const amqp_address& to,
                                                   const stop_signal& stop) {
  auto i = std::make_unique<impl>();
  i->stop = &stop;
  auto* c = i->connection;
  auto* socket = to.tls ? amqp_ssl_socket_new(c) : amqp_tcp_socket_new(c);
  if (socket == nullptr) return lost("out of memory");
  if (to.tls) {
    amqp_ssl_socket_set_verify_peer(socket, to.verify ? 1 : 0);
    amqp_ssl_socket_set_verify_hostname(socket, to.verify ? 1 : 0);
    const auto* ca = to.ca_file.empty() ? "/etc/ssl/certs/ca-certificates.crt" : to.ca_file.c_str();
    if (to.verify && amqp_ssl_socket_set_cacert(socket, ca) != AMQP_STATUS_OK)
      return lost(std::string{ca} + ": no certificates");
  }
  if (const int rc = amqp_socket_open_noblock(socket, to.host.c_str(), to.port, &connect_wait);
      rc != AMQP_STATUS_OK)
    return lost(amqp_error_string2(rc));
  amqp_set_rpc_timeout(c, &rpc_wait);
  const auto login =
      amqp_login(c, to.vhost.c_str(), AMQP_DEFAULT_MAX_CHANNELS, frame_max, heartbeat_seconds,
                 AMQP_SASL_METHOD_PLAIN, to.user.c_str(), to.password.c_str());
  if (!ok(login)) return lost(why(login));
  amqp_channel_open(c, i->channel);
  if (auto good = i->checked(); !good) return tl::unexpected(good.error());
  return std::unique_ptr<amqp_link>{new amqp_link(std::move(i))};
}

result<void> amqp_link::declare(const std::string& queue) {
  if (length(queue)) return {};
  // The broker has closed the channel over the missing queue.
  ++impl_->channel;
  amqp_channel_open(impl_->connection, impl_->channel);
  if (auto good = impl_->checked(); !good) return good;
  amqp_queue_declare(impl_->connection, impl_->channel, bytes_of(queue), 0, 0, 0, 0,
                     amqp_empty_table);
  return impl_->checked();
}

result<std::uint64_t> amqp_link::length(const std::string& queue) {
  const auto* found = amqp_queue_declare(impl_->connection, impl_->channel, bytes_of(queue), 1, 0,
                                         0, 0, amqp_empty_table);
  if (auto good = impl_->checked(); !good) return tl::unexpected(good.error());
  return found->message_count;
}

result<void> amqp_link::consume(const std::string& queue, std::uint16_t ahead) {
  amqp_basic_qos(impl_->connection, impl_->channel, 0, ahead, 0);
  if (auto good = impl_->checked(); !good) return good;
  amqp_basic_consume(impl_->connection, impl_->channel, bytes_of(queue), amqp_empty_bytes, 0, 0, 0,
                     amqp_empty_table);
  return impl_->checked();
}

result<std::vector<amqp_link::delivery>> amqp_link::receive(std::size_t most, usec wait) {
  std::vector<delivery> got;
  // Also when nothing came: the library sends its heartbeats only when it is called.
  const bool there = impl_->await(wait);
  if (impl_->stop->raised()) return got;
  while (got.size() < most) {
    amqp_maybe_release_buffers(impl_->connection);
    // Once a delivery has begun its body is on the way.
    timeval none{0, there && got.empty() ? 100'000 : 0};
    amqp_envelope_t envelope;
    const auto reply = amqp_consume_message(impl_->connection, &envelope, &none, 0);
    if (ok(reply)) {
      got.push_back({envelope.delivery_tag, text_of(envelope.message.body)});
      amqp_destroy_envelope(&envelope);
      continue;
    }
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION
        && reply.library_error == AMQP_STATUS_TIMEOUT)
      return got;
    return lost(why(reply));
  }
  return got;
}

result<void> amqp_link::acknowledge(std::uint64_t tag) {
  if (const int rc = amqp_basic_ack(impl_->connection, impl_->channel, tag, 1); rc != 0)
    return lost(amqp_error_string2(rc));
  return {};
}

result<void> amqp_link::confirm() {
  amqp_confirm_select(impl_->connection, impl_->channel);
  impl_->published = impl_->confirmed = 0;
  return impl_->checked();
}

result<void> amqp_link::publish(const std::string& queue,
                                const std::vector<std::string_view>& bodies) {
  for (const auto& body : bodies) {
    const int rc = amqp_basic_publish(impl_->connection, impl_->channel, amqp_empty_bytes,
                                      bytes_of(queue), 0, 0, nullptr, bytes_of(body));
    if (rc != AMQP_STATUS_OK) return lost(amqp_error_string2(rc));
    ++impl_->published;
  }
  const auto until = steady::now() + answer_wait;
  while (impl_->confirmed < impl_->published) {
    const auto left = std::chrono::duration_cast<usec>(until - steady::now());
    if (left <= usec::zero()) return lost("the broker did not confirm");
    if (!impl_->await(left)) return lost(impl_->stop->raised() ? "stopped" : "no answer in time");
    amqp_maybe_release_buffers(impl_->connection);
    amqp_frame_t frame;
    timeval none{0, 100'000};
    const int rc = amqp_simple_wait_frame_noblock(impl_->connection, &frame, &none);
    if (rc == AMQP_STATUS_TIMEOUT) continue;
    if (rc != AMQP_STATUS_OK) return lost(amqp_error_string2(rc));
    if (frame.frame_type != AMQP_FRAME_METHOD) continue;
    if (frame.payload.method.id == AMQP_BASIC_ACK_METHOD)
      impl_->confirmed = static_cast<amqp_basic_ack_t*>(frame.payload.method.decoded)->delivery_tag;
    else if (frame.payload.method.id == AMQP_BASIC_NACK_METHOD
             || frame.payload.method.id == AMQP_CHANNEL_CLOSE_METHOD
             || frame.payload.method.id == AMQP_CONNECTION_CLOSE_METHOD)
      return lost("the broker did not take a message");
  }
  return {};
}

} // namespace lycosa::bridges
