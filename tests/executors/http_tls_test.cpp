#include "executors/http_executor.hpp"
#include "executors/unique_fd.hpp"
#include "tests/executors/runs.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <thread>

namespace lycosa::executors {

using jobs::run_outcome;

namespace {

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* p) const {
    Free(p);
  }
};
template <class T, auto Free>
using owned = std::unique_ptr<T, freed_by<Free>>;
using key_ptr = owned<EVP_PKEY, ::EVP_PKEY_free>;
using cert_ptr = owned<X509, ::X509_free>;
using context_ptr = owned<SSL_CTX, ::SSL_CTX_free>;
using session_ptr = owned<SSL, ::SSL_free>;

/// A certificate that vouches for itself, valid for the address 127.0.0.1 and no name.
cert_ptr self_signed(EVP_PKEY* key) {
  cert_ptr cert(::X509_new());
  ::X509_set_version(cert.get(), 2);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(cert.get()), 1);
  ::X509_gmtime_adj(::X509_getm_notBefore(cert.get()), -3600);
  ::X509_gmtime_adj(::X509_getm_notAfter(cert.get()), 86400);
  ::X509_set_pubkey(cert.get(), key);
  auto* name = ::X509_get_subject_name(cert.get());
  ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  ::X509_set_issuer_name(cert.get(), name);
  const owned<X509_EXTENSION, ::X509_EXTENSION_free> address(
      ::X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1"));
  ::X509_add_ext(cert.get(), address.get(), -1);
  if (::X509_sign(cert.get(), key, ::EVP_sha256()) == 0) throw std::runtime_error("no certificate");
  return cert;
}

/// Says "secure" to whoever completes the handshake.
class tls_server {
public:
  tls_server()
      : key_(::EVP_EC_gen("P-256")), cert_(self_signed(key_.get())),
        context_(::SSL_CTX_new(::TLS_server_method())),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    ::SSL_CTX_use_certificate(context_.get(), cert_.get());
    ::SSL_CTX_use_PrivateKey(context_.get(), key_.get());
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof a;
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&a), size) != 0
        || ::listen(listener_.get(), 16) != 0
        || ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&a), &size) != 0)
      throw std::runtime_error("no port for the test's server");
    port_ = ::ntohs(a.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~tls_server() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  tls_server(const tls_server&) = delete;
  tls_server& operator=(const tls_server&) = delete;

  [[nodiscard]] jobs::http_action get(const std::string& host) const {
    jobs::http_action a;
    a.url = "https://" + host + ":" + std::to_string(port_) + "/";
    return a;
  }

  /// Writes the certificate to a file of the test's.
  [[nodiscard]] std::string certificate_file() const {
    std::string name = testing::TempDir() + "lycosa-ca-XXXXXX";
    const int fd = ::mkstemp(name.data());
    std::FILE* f = ::fdopen(fd, "w");
    ::PEM_write_X509(f, cert_.get());
    std::fclose(f);
    return name;
  }

private:
  void serve() {
    // OpenSSL writes without MSG_NOSIGNAL, and clients that refuse us are gone by then.
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    for (;;) {
      const unique_fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd) return;
      const session_ptr s(::SSL_new(context_.get()));
      ::SSL_set_fd(s.get(), fd.get());
      if (::SSL_accept(s.get()) != 1) continue;
      std::array<char, 4096> request{};
      if (::SSL_read(s.get(), request.data(), static_cast<int>(request.size())) <= 0) continue;
      const std::string answer = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
                                 "Content-Length: 6\r\n\r\nsecure";
      ::SSL_write(s.get(), answer.data(), static_cast<int>(answer.size()));
      ::SSL_shutdown(s.get());
    }
  }

  key_ptr key_;
  cert_ptr cert_;
  context_ptr context_;
  unique_fd listener_;
  int port_ = 0;
  std::thread thread_;
};

jobs::run_result run(jobs::http_action a, std::string ca_file = {}) {
  http_options o;
  o.proxy = "";
  o.ca_file = std::move(ca_file);
  auto made = make_http_executor(std::move(o));
  if (!made) throw std::runtime_error(made.error().text());
  return test::runs(**made).run(std::move(a));
}

} // namespace

TEST(http_tls, a_certificate_nobody_vouches_for_is_refused) {
  const tls_server s;
  const auto r = run(s.get("127.0.0.1"));
  EXPECT_EQ(r.outcome, run_outcome::error);
  EXPECT_EQ(r.http_status, std::nullopt);
  EXPECT_THAT(r.error, testing::HasSubstr("certificate"));
}

TEST(http_tls, without_verification_it_is_taken) {
  const tls_server s;
  auto a = s.get("127.0.0.1");
  a.verify_tls = false;
  const auto r = run(a);
  EXPECT_EQ(r.outcome, run_outcome::success) << r.error;
  EXPECT_EQ(r.output, "secure");
}

TEST(http_tls, a_trusted_certificate_is_good_for_its_own_host_only) {
  const tls_server s;
  const auto file = s.certificate_file();
  const auto own = run(s.get("127.0.0.1"), file);
  EXPECT_EQ(own.outcome, run_outcome::success) << own.error;
  const auto other = run(s.get("localhost"), file);
  EXPECT_EQ(other.outcome, run_outcome::error);
  EXPECT_THAT(other.error, testing::HasSubstr("certificate"));
  std::filesystem::remove(file);
}

} // namespace lycosa::executors
