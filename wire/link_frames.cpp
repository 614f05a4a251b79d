#include "wire/link_frames.hpp"

#include "schema/link.capnp.h"

#include "wire/bytes.hpp"

#include <algorithm>

namespace lycosa::wire {

namespace {

constexpr std::size_t length_bytes = 4;

template <class Fill>
std::string framed(std::size_t payload, Fill fill) {
  capnp::MallocMessageBuilder message(first_segment(payload));
  fill(message.initRoot<schema::LinkFrame>());
  std::string out;
  out.reserve(payload + 512);
  out.resize(length_bytes);
  append_flat(out, message);
  const auto size = static_cast<std::uint32_t>(out.size() - length_bytes);
  for (std::size_t i = 0; i < length_bytes; ++i)
    out[i] = static_cast<char>(size >> (8 * i));
  return out;
}

link_frame decoded(std::span<const std::uint64_t> words) {
  capnp::FlatArrayMessageReader message(
      kj::ArrayPtr<const capnp::word>(reinterpret_cast<const capnp::word*>(words.data()),
                                      words.size()),
      limits(words.size()));
  const auto frame = message.getRoot<schema::LinkFrame>();
  switch (frame.which()) {
  case schema::LinkFrame::HELLO: {
    const auto h = frame.getHello();
    return link_hello{text(h.getCluster()), h.getNode(),        h.getTo(),
                      text(h.getName()),    h.getWireVersion(), h.getOldestWireVersion(),
                      text(h.getNonce()),   h.getMaxMessage()};
  }
  case schema::LinkFrame::PROOF:
    return link_proof{text(frame.getProof().getMac())};
  case schema::LinkFrame::REFUSED:
    return link_refused{text(frame.getRefused().getWhy())};
  case schema::LinkFrame::ALIVE:
    return link_alive{frame.getAlive().getHandled()};
  case schema::LinkFrame::ENVELOPE: {
    const auto e = frame.getEnvelope();
    return link_envelope{e.getChannel(), text(e.getBody())};
  }
  }
  return link_unknown{};
}

} // namespace

std::string encode(const link_hello& f) {
  return framed(f.cluster.size() + f.name.size() + 256, [&](schema::LinkFrame::Builder b) {
    auto h = b.initHello();
    h.setCluster(text(f.cluster));
    h.setNode(f.node);
    h.setTo(f.to);
    h.setName(text(f.name));
    h.setWireVersion(f.version);
    h.setOldestWireVersion(f.oldest);
    h.setNonce(blob(f.nonce));
    h.setMaxMessage(f.max_message);
  });
}

std::string encode(const link_proof& f) {
  return framed(f.mac.size(),
                [&](schema::LinkFrame::Builder b) { b.initProof().setMac(blob(f.mac)); });
}

std::string encode(const link_refused& f) {
  return framed(f.why.size(),
                [&](schema::LinkFrame::Builder b) { b.initRefused().setWhy(text(f.why)); });
}

std::string encode(const link_alive& f) {
  return framed(0, [&](schema::LinkFrame::Builder b) { b.initAlive().setHandled(f.handled); });
}

std::string encode_envelope(std::uint16_t channel, std::string_view body) {
  return framed(body.size(), [&](schema::LinkFrame::Builder b) {
    auto e = b.initEnvelope();
    e.setChannel(channel);
    e.setBody(blob(body));
  });
}

result<void> link_reader::take(std::span<const char> bytes,
                               const std::function<bool(link_frame)>& each) {
  const auto no = [](std::string why) { return fail(errc::corrupt, "", std::move(why)); };
  while (!bytes.empty()) {
    if (!sized_) {
      size_ |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[0])) << (8 * filled_);
      bytes = bytes.subspan(1);
      if (++filled_ < length_bytes) continue;
      if (size_ == 0 || size_ % sizeof(std::uint64_t) != 0 || size_ > longest_)
        return no("it does not speak this protocol");
      sized_ = true;
      filled_ = 0;
      words_.resize(size_ / sizeof(std::uint64_t));
      continue;
    }
    const auto n = std::min<std::size_t>(bytes.size(), size_ - filled_);
    std::memcpy(reinterpret_cast<char*>(words_.data()) + filled_, bytes.data(), n);
    filled_ += n;
    bytes = bytes.subspan(n);
    if (filled_ < size_) return {};
    link_frame frame;
    try {
      frame = decoded(words_);
    } catch (const kj::Exception& e) {
      return no(std::string{"a malformed frame: "} + e.getDescription().cStr());
    }
    if (words_.capacity() > (std::size_t{1} << 20)) words_ = {};
    filled_ = 0;
    size_ = 0;
    sized_ = false;
    if (!each(std::move(frame))) return {};
  }
  return {};
}

} // namespace lycosa::wire
