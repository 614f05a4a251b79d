#include "core/hmac.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <new>

namespace lycosa {

std::string hmac_sha256(std::string_view key, std::string_view text) {
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  // A null key means "the one of before" to OpenSSL, even where there is none.
  const char* bytes = key.empty() ? "" : key.data();
  if (HMAC(EVP_sha256(), bytes, static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac, &size)
      == nullptr)
    throw std::bad_alloc{};
  return {reinterpret_cast<const char*>(mac), size};
}

bool same_secret(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  unsigned char differs = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    differs |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differs == 0;
}

} // namespace lycosa
