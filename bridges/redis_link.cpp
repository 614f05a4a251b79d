#include "bridges/redis_link.hpp"

#include <hiredis/hiredis.h>

#include <charconv>

namespace lycosa::bridges {

namespace {

constexpr usec connect_wait = std::chrono::seconds{5};

tl::unexpected<error> dead(std::string why) {
  return fail(errc::unavailable, "redis", std::move(why));
}

/// hiredis' reader allocates for the elements a reply announces: what we ask for is never larger.
constexpr long long most_elements = 1 << 20;

struct reply_deleter {
  void operator()(void* r) const { freeReplyObject(r); }
};

std::string text_of(const redisReply& r) {
  return r.type == REDIS_REPLY_INTEGER ? std::to_string(r.integer) : std::string{r.str, r.len};
}

} // namespace

std::int64_t redis_link::reply::number() const {
  std::int64_t n = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), n);
  return n;
}

void redis_link::reader_deleter::operator()(redisReader* r) const {
  redisReaderFree(r);
}

redis_link::redis_link(std::unique_ptr<stream> s)
    : stream_(std::move(s)), reader_(redisReaderCreate()), buffer_(std::size_t{64} << 10) {}

redis_link::~redis_link() = default;

result<std::unique_ptr<redis_link>> redis_link::open(const redis_address& to,
                                                     const stop_signal& stop) {
  auto s = stream::open(to, stop, connect_wait);
  if (!s) return tl::unexpected(s.error());
  std::unique_ptr<redis_link> link{new redis_link(std::move(*s))};
  if (!to.password.empty()) {
    command login{"AUTH"};
    if (!to.user.empty()) login.emplace_back(to.user);
    login.emplace_back(to.password);
    if (auto ok = link->run(login); !ok) return tl::unexpected(ok.error());
  }
  const auto database = std::to_string(to.database);
  if (auto ok = link->run({"SELECT", database}); !ok) return tl::unexpected(ok.error());
  return link;
}

result<void> redis_link::send(const command& c, std::string& out) const {
  std::vector<const char*> words;
  std::vector<std::size_t> sizes;
  for (const auto& w : c) {
    words.push_back(w.data());
    sizes.push_back(w.size());
  }
  char* bytes = nullptr;
  const int n =
      redisFormatCommandArgv(&bytes, static_cast<int>(words.size()), words.data(), sizes.data());
  if (n < 0) return dead("out of memory");
  out.append(bytes, static_cast<std::size_t>(n));
  redisFreeCommand(bytes);
  return {};
}

result<redis_link::reply> redis_link::receive(usec wait) {
  for (;;) {
    void* raw = nullptr;
    if (redisReaderGetReply(reader_.get(), &raw) != REDIS_OK)
      return dead(std::string{"not a Redis server: "} + reader_->errstr);
    if (raw != nullptr) {
      const std::unique_ptr<void, reply_deleter> owned{raw};
      const auto& r = *static_cast<const redisReply*>(raw);
      if (r.type == REDIS_REPLY_ERROR)
        return fail(errc::invalid_argument, "redis", std::string{r.str, r.len});
      reply out;
      if (r.type == REDIS_REPLY_ARRAY) {
        for (std::size_t i = 0; i < r.elements && i < most_elements; ++i)
          if (const auto& e = *r.element[i];
              e.type == REDIS_REPLY_STRING || e.type == REDIS_REPLY_INTEGER)
            out.list.push_back(text_of(e));
      } else if (r.type != REDIS_REPLY_NIL) {
        out.text = text_of(r);
      }
      return out;
    }
    const auto n = stream_->read(buffer_.data(), buffer_.size(), wait);
    if (!n) return tl::unexpected(n.error());
    redisReaderFeed(reader_.get(), buffer_.data(), *n);
  }
}

result<redis_link::reply> redis_link::run(const command& c, usec wait) {
  std::string bytes;
  if (auto ok = send(c, bytes); !ok) return tl::unexpected(ok.error());
  if (auto ok = stream_->write(bytes, default_wait); !ok) return tl::unexpected(ok.error());
  return receive(wait);
}

result<std::vector<result<redis_link::reply>>>
redis_link::run_all(const std::vector<command>& commands) {
  std::string bytes;
  for (const auto& c : commands)
    if (auto ok = send(c, bytes); !ok) return tl::unexpected(ok.error());
  if (auto ok = stream_->write(bytes, default_wait); !ok) return tl::unexpected(ok.error());
  std::vector<result<reply>> replies;
  replies.reserve(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) {
    auto r = receive(default_wait);
    if (!r && r.error().code == errc::unavailable) return tl::unexpected(r.error());
    replies.push_back(std::move(r));
  }
  return replies;
}

} // namespace lycosa::bridges
