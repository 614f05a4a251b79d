#include "gateway/bytes_as_text.hpp"

#include "gateway/items.hpp"
#include "gateway/json_writer.hpp"

#include <openssl/evp.h>

namespace lycosa::gateway {

void append_bytes_as_text(std::string& to, std::string_view bytes) {
  if (is_utf8(bytes)) return append_string(to, bytes);
  std::string coded(4 * ((bytes.size() + 2) / 3), '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(coded.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  append_string(to, "[BASE64-DATA]" + coded + "[/BASE64-DATA]");
}

} // namespace lycosa::gateway
