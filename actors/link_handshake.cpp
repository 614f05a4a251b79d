#include "actors/link_handshake.hpp"

#include "core/hmac.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace lycosa::actors {

namespace {

constexpr std::size_t nonce_bytes = 32;

std::string number(std::uint64_t n) {
  return std::to_string(n);
}

std::string range(const wire::link_hello& h) {
  return h.oldest == h.version ? "version " + number(h.version)
                               : "versions " + number(h.oldest) + " to " + number(h.version);
}

void add(std::string& to, const std::string& part) {
  to += number(part.size());
  to += ':';
  to += part;
}

void add(std::string& to, const wire::link_hello& h) {
  add(to, h.cluster);
  add(to, number(h.node));
  add(to, number(h.to));
  add(to, number(h.version));
  add(to, number(h.oldest));
  add(to, h.nonce);
}

} // namespace

wire::link_hello hello_of(const link_config& config, cluster::node_id to, std::string nonce) {
  wire::link_hello h;
  h.cluster = config.cluster;
  h.node = static_cast<std::uint64_t>(config.self);
  h.to = static_cast<std::uint64_t>(to);
  h.name = config.name;
  h.version = config.wire_version;
  h.oldest = config.oldest_wire_version;
  h.nonce = std::move(nonce);
  h.max_message = config.max_message;
  return h;
}

std::string refusal(const wire::link_hello& mine, const wire::link_hello& theirs) {
  if (theirs.cluster != mine.cluster)
    return "its cluster is \"" + theirs.cluster.substr(0, 64) + "\", this node's is \""
           + mine.cluster + "\"";
  if (std::max(mine.oldest, theirs.oldest) > std::min(mine.version, theirs.version))
    return "it speaks " + range(theirs) + " of the nodes' protocol, this node " + range(mine);
  if (theirs.node == 0) return "it has no number";
  if (theirs.node == mine.node)
    return "it has this node's own number " + number(mine.node) + ": a copied data directory?";
  if (mine.to != 0 && theirs.node != mine.to)
    return "node " + number(theirs.node) + " answers at the address of node " + number(mine.to);
  if (theirs.to != 0 && theirs.to != mine.node)
    return "it looks for node " + number(theirs.to) + " at the address of node "
           + number(mine.node);
  if ((mine.to == 0) == (theirs.to == 0)) return "both sides say that they were dialled";
  if (theirs.nonce.size() != nonce_bytes) return "its nonce is malformed";
  return {};
}

std::string proof_of(const std::string& secret, const wire::link_hello& prover,
                     const wire::link_hello& verifier) {
  std::string text = "lycosa link proof";
  add(text, prover);
  add(text, verifier);
  return hmac_sha256(secret, text);
}

std::string fresh_nonce() {
  std::string bytes(nonce_bytes, '\0');
  for (std::size_t filled = 0; filled < bytes.size();) {
    const auto n = ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (n > 0)
      filled += static_cast<std::size_t>(n);
    else if (errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return bytes;
}

} // namespace lycosa::actors
