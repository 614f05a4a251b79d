#include "tests/actors/link_fixture.hpp"

#include <cstdlib>
#include <filesystem>

#ifdef __SANITIZE_ADDRESS__
/// CAF loses its OpenSSL context when a certificate cannot be read: once a start, which then fails;
/// and, at its end, a connection that was just being accepted.
extern "C" const char* __lsan_default_suppressions() { // NOLINT: the sanitizer's name for it
  return "leak:libcrypto\nleak:libssl\nleak:new_scribe";
}
#endif

namespace lycosa::actors {
namespace {

using namespace test;

/// Two authorities and a certificate of each.
struct certificates : testing::Test {
  void SetUp() override {
    auto name = (std::filesystem::temp_directory_path() / "lycosa-tls-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    for (const std::string who : {"good", "bad"}) {
      const auto at = folder + "/" + who;
      run("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca-" + who + " -keyout " + at
          + "-ca.key -out " + at + "-ca.pem");
      run("openssl req -newkey rsa:2048 -nodes -subj /CN=node-" + who + " -keyout " + at
          + ".key -out " + at + ".csr");
      run("openssl x509 -req -days 2 -in " + at + ".csr -CA " + at + "-ca.pem -CAkey " + at
          + "-ca.key -CAcreateserial -out " + at + ".pem");
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  static void run(const std::string& command) {
    ASSERT_EQ(std::system((command + " >/dev/null 2>&1").c_str()), 0) << command;
  }
  std::function<void(link_config&)> use(const std::string& who) {
    return [this, who](link_config& c) {
      c.tls_cert = folder + "/" + who + ".pem";
      c.tls_key = folder + "/" + who + ".key";
      c.tls_ca = folder + "/" + who + "-ca.pem";
    };
  }
  std::string folder;
};

TEST_F(certificates, of_one_authority_connect_nodes) {
  linked a(1, use("good")), b(2, use("good"));
  introduce({&a, &b});
  ASSERT_TRUE(both_up(a, b)) << a.l->trouble(node(2)) << " / " << b.l->trouble(node(1));
  const std::string large(8U << 20, 'x');
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(a.send(b, large));
    ASSERT_TRUE(b.send(a, large));
    ASSERT_TRUE(a.send(b, std::to_string(i)));
  }
  ASSERT_TRUE(until([&] { return b.from(a).size() == 6 && a.from(b).size() == 3; }))
      << b.from(a).size() << " " << a.from(b).size();
  EXPECT_EQ(b.from(a)[4], large);
  EXPECT_EQ(b.from(a)[5], "2");
}

TEST_F(certificates, are_noticed_to_be_gone_with_their_node) {
  linked a(1, use("good")), b(2, use("good"));
  cable between(b.l->port());
  a.l->members({{node(2), between.address()}});
  b.l->members({{node(1), a.address()}});
  ASSERT_TRUE(both_up(a, b)) << a.l->trouble(node(2));
  between.is_cut = true;
  ASSERT_TRUE(until([&] { return !a.l->is_up(node(2)) && !b.l->is_up(node(1)); }));
  between.is_cut = false;
  ASSERT_TRUE(both_up(a, b));
}

TEST_F(certificates, of_another_authority_or_none_are_refused) {
  linked a(1, use("good")), b(2, use("bad")), c(3);
  introduce({&a, &b, &c});
  ASSERT_TRUE(
      until([&] { return !a.l->trouble(node(2)).empty() && !a.l->trouble(node(3)).empty(); }));
  EXPECT_FALSE(a.l->is_up(node(2)) || a.l->is_up(node(3)));
  EXPECT_FALSE(b.l->is_up(node(1)) || c.l->is_up(node(1)));
}

TEST_F(certificates, that_cannot_be_read_are_an_error) {
  link_config config;
  config.listen = "127.0.0.1:0";
  config.cluster = "test";
  config.self = node(1);
  use("good")(config);
  config.tls_key = folder + "/bad.key";
  const auto mismatched = links::start(config);
  ASSERT_FALSE(mismatched);
  config.tls_key = folder + "/none.key";
  const auto missing = links::start(config);
  ASSERT_FALSE(missing);
  config.tls_key.clear();
  const auto partly = links::start(config);
  ASSERT_FALSE(partly);
  EXPECT_EQ(partly.error().code, errc::invalid_argument);
}

} // namespace
} // namespace lycosa::actors
