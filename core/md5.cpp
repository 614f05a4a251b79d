#include "core/md5.hpp"

#include <openssl/evp.h>

#include <cstdlib>
#include <memory>

namespace lycosa {
namespace {

struct digest_context {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  // Fetched once: looking an algorithm up costs several times the hashing of a url. "-fips" lets
  // it be found where the system allows only approved algorithms for protection.
  EVP_MD* md5 = EVP_MD_fetch(nullptr, "MD5", "-fips");
  digest_context() = default;
  digest_context(const digest_context&) = delete;
  digest_context& operator=(const digest_context&) = delete;
  ~digest_context() {
    EVP_MD_CTX_free(context);
    EVP_MD_free(md5);
  }
};

} // namespace

std::string md5_hex(std::string_view bytes) {
  thread_local digest_context d;
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  // Only a broken OpenSSL installation or lack of memory gets here, and a wrong task id would
  // corrupt what is stored.
  if (d.context == nullptr || d.md5 == nullptr || EVP_DigestInit_ex2(d.context, d.md5, nullptr) != 1
      || EVP_DigestUpdate(d.context, bytes.data(), bytes.size()) != 1
      || EVP_DigestFinal_ex(d.context, digest, &size) != 1)
    std::abort();
  constexpr char hex[] = "0123456789abcdef";
  std::string text(std::size_t{size} * 2, '\0');
  for (unsigned i = 0; i < size; ++i) {
    text[2 * i] = hex[digest[i] >> 4U];
    text[2 * i + 1] = hex[digest[i] & 15U];
  }
  return text;
}

} // namespace lycosa
