#include "wire/forward_frames.hpp"

#include "schema/forward.capnp.h"

#include "wire/bytes.hpp"

namespace lycosa::wire {

namespace {

using builder = schema::ForwardFrame::Builder;
using reader = schema::ForwardFrame::Reader;

std::size_t size_of(const forward_content& c) {
  std::size_t n = 256;
  if (const auto* r = std::get_if<forward_request>(&c))
    n += r->target.size() + r->content_type.size() + r->accept.size() + r->last_event_id.size();
  if (const auto* h = std::get_if<forward_head>(&c))
    for (const auto& [name, value] : h->headers)
      n += name.size() + value.size() + 64;
  return n;
}

/// The text that may stand outside of the content.
std::string_view own_body(const forward_content& c) {
  if (const auto* r = std::get_if<forward_request>(&c)) return r->body;
  if (const auto* b = std::get_if<forward_body>(&c)) return b->bytes;
  if (const auto* h = std::get_if<forward_head>(&c)) return h->body;
  if (const auto* p = std::get_if<forward_part>(&c)) return p->bytes;
  return {};
}

struct writer {
  builder to;
  std::string_view body;

  void operator()(const forward_unknown&) {}
  void operator()(const forward_request& f) {
    auto r = to.initRequest();
    r.setInterface(f.interface == forward_interface::xmlrpc
                       ? schema::ForwardRequest::Interface::XMLRPC
                       : schema::ForwardRequest::Interface::HTTP);
    r.setMethod(text(f.method));
    r.setTarget(text(f.target));
    r.setContentType(text(f.content_type));
    r.setAccept(text(f.accept));
    r.setLastEventId(text(f.last_event_id));
    r.setBodySize(f.body_size);
    r.setBody(blob(body));
  }
  void operator()(const forward_body&) { to.setBody(blob(body)); }
  void operator()(const forward_cancel&) { to.setCancel(); }
  void operator()(const forward_done&) { to.setDone(); }
  void operator()(const forward_credit& f) { to.setCredit(f.bytes); }
  void operator()(const forward_received&) { to.setReceived(); }
  void operator()(const forward_head& f) {
    auto h = to.initHead();
    h.setStatus(f.status);
    h.setContentType(text(f.content_type));
    auto list = h.initHeaders(static_cast<unsigned>(f.headers.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      list[i].setName(text(f.headers[i].first));
      list[i].setValue(text(f.headers[i].second));
    }
    h.setBody(blob(body));
    h.setLast(f.last);
    h.setLive(f.live);
    h.setKeepAlive(text(f.keep_alive));
    h.setOwed(f.owed);
  }
  void operator()(const forward_part& f) {
    auto p = to.initPart();
    p.setBytes(blob(body));
    p.setLast(f.last);
    p.setBroken(f.broken);
  }
};

forward_content content_of(reader from) {
  switch (from.which()) {
  case schema::ForwardFrame::REQUEST: {
    const auto r = from.getRequest();
    forward_request f;
    if (r.getInterface() == schema::ForwardRequest::Interface::XMLRPC)
      f.interface = forward_interface::xmlrpc;
    else if (r.getInterface() != schema::ForwardRequest::Interface::HTTP)
      return forward_unknown{};
    f.method = text(r.getMethod());
    f.target = text(r.getTarget());
    f.content_type = text(r.getContentType());
    f.accept = text(r.getAccept());
    f.last_event_id = text(r.getLastEventId());
    f.body_size = r.getBodySize();
    f.body = text(r.getBody());
    return f;
  }
  case schema::ForwardFrame::BODY:
    return forward_body{text(from.getBody())};
  case schema::ForwardFrame::CANCEL:
    return forward_cancel{};
  case schema::ForwardFrame::DONE:
    return forward_done{};
  case schema::ForwardFrame::CREDIT:
    return forward_credit{from.getCredit()};
  case schema::ForwardFrame::RECEIVED:
    return forward_received{};
  case schema::ForwardFrame::HEAD: {
    const auto h = from.getHead();
    forward_head f;
    f.status = h.getStatus();
    f.content_type = text(h.getContentType());
    for (const auto one : h.getHeaders())
      f.headers.emplace_back(text(one.getName()), text(one.getValue()));
    f.body = text(h.getBody());
    f.last = h.getLast();
    f.live = h.getLive();
    f.keep_alive = text(h.getKeepAlive());
    f.owed = h.getOwed();
    return f;
  }
  case schema::ForwardFrame::PART: {
    const auto p = from.getPart();
    return forward_part{text(p.getBytes()), p.getLast(), p.getBroken()};
  }
  }
  return forward_unknown{};
}

} // namespace

std::string encode(const forward_frame& f, std::string_view body) {
  if (body.empty()) body = own_body(f.content);
  const auto size = body.size() + size_of(f.content);
  capnp::MallocMessageBuilder message(first_segment(size));
  auto root = message.initRoot<schema::ForwardFrame>();
  root.setId(f.id);
  std::visit(writer{root, body}, f.content);
  std::string out;
  out.reserve(size + 512);
  append_flat(out, message);
  return out;
}

result<forward_frame> decode_forward(std::string_view bytes) {
  const auto words = bytes.size() / sizeof(capnp::word);
  std::vector<std::uint64_t> aligned;
  const void* from = bytes.data();
  if (reinterpret_cast<std::uintptr_t>(from) % alignof(std::uint64_t) != 0) {
    aligned.resize(words);
    std::memcpy(aligned.data(), bytes.data(), words * sizeof(capnp::word));
    from = aligned.data();
  }
  try {
    capnp::FlatArrayMessageReader message(
        kj::ArrayPtr<const capnp::word>(static_cast<const capnp::word*>(from), words),
        limits(words));
    const auto root = message.getRoot<schema::ForwardFrame>();
    return forward_frame{root.getId(), content_of(root)};
  } catch (const kj::Exception& e) {
    return fail(errc::corrupt, "forwarded request", e.getDescription().cStr());
  }
}

} // namespace lycosa::wire
