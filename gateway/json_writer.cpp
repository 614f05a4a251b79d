#include "gateway/json_writer.hpp"

namespace lycosa::gateway {

void append_string(std::string& to, std::string_view text) {
  to += '"';
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    to.append(text.substr(done, i - done));
    done = i + 1;
    switch (c) {
    case '"':
      to += "\\\"";
      break;
    case '\\':
      to += "\\\\";
      break;
    case '\n':
      to += "\\n";
      break;
    case '\r':
      to += "\\r";
      break;
    case '\t':
      to += "\\t";
      break;
    default: {
      constexpr char hex[] = "0123456789abcdef";
      to += "\\u00";
      to += hex[c >> 4U];
      to += hex[c & 15U];
    }
    }
  }
  to.append(text.substr(done));
  to += '"';
}

void append_key(std::string& to, std::string_view key) {
  if (!to.empty() && to.back() != '{') to += ',';
  append_string(to, key);
  to += ':';
}

} // namespace lycosa::gateway
