#include "gateway/xmlrpc_text.hpp"

#include "gateway/bytes_as_text.hpp"
#include "gateway/items.hpp"
#include "gateway/json_writer.hpp"
#include "gateway/numbers.hpp"

#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <pugixml.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

namespace lycosa::gateway {

namespace {

using json_value = nlohmann::ordered_json;

tl::unexpected<xmlrpc_fault> fault(fault_code code, std::string text) {
  return tl::unexpected<xmlrpc_fault>({code, std::move(text)});
}

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r\n") - first + 1);
}

/// All text of an element; CDATA may split it.
std::string text_of(const pugi::xml_node& node) {
  std::string out;
  for (const auto& child : node.children())
    if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) out += child.value();
  return out;
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string packed;
  std::ranges::copy_if(text, std::back_inserter(packed),
                       [](char c) { return c != ' ' && c != '\n' && c != '\r' && c != '\t'; });
  if (packed.size() % 4 != 0) return std::nullopt;
  std::string out(packed.size() / 4 * 3, '\0');
  const int n = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<const unsigned char*>(packed.data()),
                                static_cast<int>(packed.size()));
  if (n < 0) return std::nullopt;
  const auto padding = packed.size() - std::min(packed.find('='), packed.size());
  if (padding > 2) return std::nullopt;
  out.resize(static_cast<std::size_t>(n) - padding);
  return out;
}

class value_reader {
public:
  /// Appends the value as JSON. False: `why` says what is wrong.
  bool read(const pugi::xml_node& value, std::string& to, int depth) {
    if (depth > deepest_value) return bad("nested too deeply");
    if (++count_ > most_values) return bad("too many values");
    const auto typed =
        value.find_child([](const pugi::xml_node& n) { return n.type() == pugi::node_element; });
    if (!typed) {
      append_string(to, text_of(value));
      return true;
    }
    std::string_view type = typed.name();
    if (type.starts_with("ex:")) type.remove_prefix(3);
    if (type == "string" || type == "dateTime.iso8601") {
      append_string(to, text_of(typed));
      return true;
    }
    if (type == "nil") {
      to += "null";
      return true;
    }
    if (type == "array") return read_array(typed, to, depth);
    if (type == "struct") return read_struct(typed, to, depth);
    return read_scalar(type, trimmed(text_of(typed)), to);
  }

  [[nodiscard]] const std::string& why() const { return why_; }

private:
  bool bad(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool read_scalar(std::string_view type, std::string_view text, std::string& to) {
    if (type == "int" || type == "i4" || type == "i8" || type == "i2" || type == "i1"
        || type == "biginteger") {
      if (text.starts_with('+')) text.remove_prefix(1);
      std::int64_t n = 0;
      const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
      if (ec != std::errc{} || end != text.data() + text.size())
        return bad("not an integer: " + std::string{text.substr(0, 40)});
      to += std::to_string(n);
      return true;
    }
    if (type == "boolean") {
      if (text != "0" && text != "1")
        return bad("not a boolean: " + std::string{text.substr(0, 40)});
      to += text == "1" ? "true" : "false";
      return true;
    }
    if (type == "double") {
      double d = 0;
      if (text.starts_with('+')) text.remove_prefix(1);
      const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), d);
      if (ec != std::errc{} || end != text.data() + text.size() || !std::isfinite(d))
        return bad("not a finite number: " + std::string{text.substr(0, 40)});
      append_double(to, d);
      return true;
    }
    if (type == "base64") {
      const auto bytes = decode_base64(text);
      if (!bytes) return bad("not base64");
      append_bytes_as_text(to, *bytes);
      return true;
    }
    return bad("unknown type <" + std::string{type.substr(0, 40)} + ">");
  }

  bool read_array(const pugi::xml_node& array, std::string& to, int depth) {
    const auto data = array.child("data");
    if (!data) return bad("an array without <data>");
    to += '[';
    for (const auto& v : data.children("value")) {
      if (to.back() != '[') to += ',';
      if (!read(v, to, depth + 1)) return false;
    }
    to += ']';
    return true;
  }

  bool read_struct(const pugi::xml_node& structure, std::string& to, int depth) {
    to += '{';
    for (const auto& m : structure.children("member")) {
      const auto name = m.child("name");
      const auto value = m.child("value");
      if (!name || !value) return bad("a member without <name> or <value>");
      append_key(to, text_of(name));
      if (!read(value, to, depth + 1)) return false;
    }
    to += '}';
    return true;
  }

  int count_ = 0;
  std::string why_;
};

/// The character that begins at `at`: how many bytes it has, or 0 when it is broken or one that XML
/// cannot carry (controls, surrogates, U+FFFE, U+FFFF).
std::size_t fit_character(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\n' || first == '\t' || first == '\r' ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (size == 0 || first > 0xf4) return 0;
  std::uint32_t code = first & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least[size] || code > 0x10ffff || surrogate || (code & 0xfffeU) == 0xfffe) return 0;
  return size;
}

/// Whatever the text holds, the answer is one that clients can read.
void append_escaped(std::string& to, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto size = fit_character(text, at);
    if (size == 0) {
      to += "\xef\xbf\xbd";
      ++at;
      continue;
    }
    switch (const char c = text[at]) {
    case '<':
      to += "&lt;";
      break;
    case '>':
      to += "&gt;";
      break;
    case '&':
      to += "&amp;";
      break;
    case '\r':
      to += "&#13;"; // a bare one would be read back as a new line
      break;
    default:
      if (size == 1)
        to += c;
      else
        to += text.substr(at, size);
    }
    at += size;
  }
}

/// Whether a reference such as `&#0;` names a character XML does not have: the parser would end the
/// text there, or make broken UTF-8 of it.
bool has_bad_reference(std::string_view body) {
  for (auto at = body.find("&#"); at != std::string_view::npos; at = body.find("&#", at + 2)) {
    auto digits = body.substr(at + 2, 10);
    const bool hex = digits.starts_with('x');
    if (hex) digits.remove_prefix(1);
    std::uint32_t code = 0;
    const auto [end, ec] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
    if (ec != std::errc{} || code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)
        || (code & 0xfffeU) == 0xfffe)
      return true;
  }
  return false;
}

void append_xml(std::string& to, const json_value& v) {
  to += "<value>";
  switch (v.type()) {
  case json_value::value_t::null:
    to += "<nil/>";
    break;
  case json_value::value_t::boolean:
    to += v.get<bool>() ? "<boolean>1</boolean>" : "<boolean>0</boolean>";
    break;
  case json_value::value_t::number_integer:
  case json_value::value_t::number_unsigned: {
    const bool small =
        v.is_number_unsigned()
            ? v.get<std::uint64_t>() <= std::numeric_limits<std::int32_t>::max()
            : v.get<std::int64_t>() >= std::numeric_limits<std::int32_t>::min()
                  && v.get<std::int64_t>() <= std::numeric_limits<std::int32_t>::max();
    to += (small ? "<int>" : "<i8>") + v.dump() + (small ? "</int>" : "</i8>");
    break;
  }
  case json_value::value_t::number_float:
    to += "<double>" + v.dump() + "</double>";
    break;
  case json_value::value_t::string:
    to += "<string>";
    append_escaped(to, v.get_ref<const std::string&>());
    to += "</string>";
    break;
  case json_value::value_t::array:
    to += "<array><data>";
    for (const auto& e : v)
      append_xml(to, e);
    to += "</data></array>";
    break;
  default:
    to += "<struct>";
    for (const auto& [name, value] : v.items()) {
      to += "<member><name>";
      append_escaped(to, name);
      to += "</name>";
      append_xml(to, value);
      to += "</member>";
    }
    to += "</struct>";
  }
  to += "</value>";
}

constexpr std::string_view head = "<?xml version='1.0'?>\n<methodResponse>\n";

} // namespace

tl::expected<xmlrpc_call, xmlrpc_fault> parse_call(std::string_view body) {
  if (!is_utf8(body)) return fault(fault_code::parse_error, "the request is not valid UTF-8");
  if (body.find("<!DOCTYPE") != std::string_view::npos)
    return fault(fault_code::parse_error, "a document type is not accepted");
  if (body.find('\0') != std::string_view::npos)
    return fault(fault_code::parse_error, "the request has a zero byte");
  if (has_bad_reference(body))
    return fault(fault_code::parse_error, "a character reference names none");
  pugi::xml_document document;
  const auto parsed =
      document.load_buffer(body.data(), body.size(),
                           pugi::parse_default | pugi::parse_ws_pcdata_single, pugi::encoding_utf8);
  if (!parsed)
    return fault(fault_code::parse_error, "not well-formed at byte " + std::to_string(parsed.offset)
                                              + ": " + parsed.description());
  const auto call = document.child("methodCall");
  xmlrpc_call out;
  out.method = trimmed(text_of(call.child("methodName")));
  if (out.method.empty())
    return fault(fault_code::invalid_request, "no <methodCall> with a <methodName>");
  value_reader reader;
  for (const auto& param : call.child("params").children("param")) {
    const auto value = param.child("value");
    if (!value) return fault(fault_code::invalid_request, "a <param> without <value>");
    if (!reader.read(value, out.params.emplace_back(), 1))
      return fault(fault_code::invalid_params, reader.why());
  }
  return out;
}

std::string write_xmlrpc(std::string_view json) {
  const auto value = json_value::parse(json, nullptr, false);
  std::string out{head};
  out += "<params>\n<param>\n";
  append_xml(out, value.is_discarded() ? json_value{} : value);
  out += "</param>\n</params>\n</methodResponse>\n";
  return out;
}

std::string write_xmlrpc(const xmlrpc_fault& f) {
  std::string out{head};
  out += "<fault>\n";
  append_xml(out, json_value{{"faultCode", static_cast<int>(f.code)}, {"faultString", f.text}});
  out += "\n</fault>\n</methodResponse>\n";
  return out;
}

} // namespace lycosa::gateway
