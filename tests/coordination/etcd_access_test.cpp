#include "tests/coordination/garbage_server.hpp"
#include "tests/coordination/watcher.hpp"

#include "coordination/etcd_api.hpp"

#include <cstdlib>

namespace lycosa::coordination::testing {
namespace {

TEST(EtcdAccess, settings_that_cannot_work_are_refused) {
  watcher w;
  const auto refused = [&](auto spoil) {
    auto c = config_for("http://127.0.0.1:1");
    spoil(c);
    const auto started = start_etcd(c, node_number(1), w);
    return !started && started.error().code == errc::invalid_argument;
  };
  EXPECT_TRUE(refused([](config& c) { c.endpoints.clear(); }));
  EXPECT_TRUE(refused([](config& c) { c.endpoints = {"ftp://x"}; }));
  EXPECT_TRUE(refused([](config& c) { c.cluster = ""; }));
  EXPECT_TRUE(refused([](config& c) { c.cluster = "a/b"; }));
  EXPECT_TRUE(refused([](config& c) { c.session_ttl = std::chrono::seconds{1}; }));
  EXPECT_TRUE(refused([](config& c) { c.session_ttl = std::chrono::milliseconds{2500}; }));
  EXPECT_TRUE(refused([](config& c) {
    c.endpoints = {"https://127.0.0.1:1"};
    c.ca = "/nonexistent";
  }));
}

TEST(EtcdAccess, endpoints_that_are_dead_or_silent_are_gone_past) {
  const etcd_server etcd;
  garbage_server silent("");
  auto c = config_for(etcd.endpoint());
  c.endpoints = {"http://127.0.0.1:" + std::to_string(free_port()), silent.endpoint(),
                 etcd.endpoint()};
  node a(c, 1);
  EXPECT_TRUE(a.joined());
}

TEST(EtcdAccess, watch_and_session_move_on_when_their_endpoint_falls_silent) {
  const etcd_server etcd;
  garbage_server way(etcd.endpoint(), garbage_server::forward{});
  auto c = config_for(etcd.endpoint());
  c.endpoints = {way.endpoint(), etcd.endpoint()};
  node a(c, 1);
  ASSERT_TRUE(a.sees([](const auto& s) { return s.until.size() >= 2 && s.members.size() == 1; }));
  way.fall_silent();
  must(etcd.endpoint(), "/v3/kv/put", etcd::put("/lycosa/test/notes/n", "1"));
  EXPECT_TRUE(a.sees([](const auto& s) { return s.notes.contains("n"); }));
  EXPECT_TRUE(a.sees([](const auto& s) { return s.session != cluster::session_id::none; }));
}

TEST(EtcdAccess, what_is_no_etcd_gives_a_clear_error) {
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
  for (const auto& [answer, part] : std::vector<std::pair<std::string, std::string>>{
           {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "does not speak HTTP"},
           {std::string("\0\xff\xfe\r\n\r\n", 7), ""},
           {ok + "Content-Length: 6\r\n\r\n<html>", "does not answer as etcd does"},
           {ok + "Content-Length: 2\r\n\r\n{}", "does not answer as etcd does"},
           {ok + "Content-Length: 9999999999999\r\n\r\n", ""},
           {ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", ""},
           {"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno\n", "status 404"},
           {"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", ""}}) {
    garbage_server server(answer);
    auto c = config_for(server.endpoint());
    c.timeout = std::chrono::seconds{2};
    node a(c, 1);
    answer_to<void> put;
    a.store_->put_note("k", "v", put.here());
    const auto r = put.get();
    ASSERT_FALSE(r) << answer;
    EXPECT_TRUE(r.error().code == errc::incompatible || r.error().code == errc::unavailable)
        << r.error().text();
    EXPECT_NE(r.error().text().find(server.endpoint()), std::string::npos) << r.error().text();
    EXPECT_NE(r.error().text().find(part), std::string::npos) << r.error().text();
    EXPECT_EQ(a.sees_.now().sessions, 0);
  }
}

TEST(EtcdAccess, users_log_in_and_do_so_again_when_the_token_is_void) {
  etcd_server etcd;
  const auto at = etcd.endpoint();
  must(at, "/v3/auth/user/add", {{"name", "root"}, {"password", "secret"}});
  must(at, "/v3/auth/user/grant", {{"user", "root"}, {"role", "root"}});
  must(at, "/v3/auth/enable", nlohmann::json::object());

  auto c = config_for(at);
  c.user = "root";
  c.password = "secret";
  node a(c, 1);
  ASSERT_TRUE(a.joined());
  etcd.kill(); // it forgets all tokens
  etcd.start();
  must(at, "/v3/kv/put", etcd::put("/lycosa/test/notes/n", "1"), "root:secret");
  EXPECT_TRUE(a.sees([](const auto& s) { return s.notes.contains("n"); }));
  const auto so_far = a.sees_.now().until.size();
  EXPECT_TRUE(a.sees([&](const auto& s) { return s.sessions > 1 || s.until.size() > so_far + 1; }));

  c.password = "guessed";
  node b(c, 2);
  answer_to<void> put;
  b.store_->put_note("k", "v", put.here());
  const auto refused = put.get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_argument) << refused.error().text();
  EXPECT_EQ(b.sees_.now().sessions, 0);
}

/// Certificates of an authority of the test's own.
struct certificates {
  scratch_folder folder;
  bool made = false;

  certificates() {
    const auto run = [&](const std::string& command) {
      return std::system(("cd " + folder.file("") + " && " + command + " >/dev/null 2>&1").c_str())
             == 0;
    };
    made = run("openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 "
               "-subj /CN=authority");
    made = made
           && run("openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.pem "
                  "-days 2 -subj /CN=another");
    for (const std::string name : {"server", "client"}) {
      made = made
             && run("openssl req -newkey rsa:2048 -nodes -keyout " + name + ".key -out " + name
                    + ".csr -subj /CN=" + name)
             && run("printf subjectAltName=IP:127.0.0.1 > san && openssl x509 -req -in " + name
                    + ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile san -out "
                    + name + ".pem");
    }
  }
};

TEST(EtcdAccess, tls_with_certificates_of_both_sides) {
  const certificates certs;
  ASSERT_TRUE(certs.made);
  const auto file = [&](const char* name) { return certs.folder.file(name); };
  const etcd_server etcd({"--cert-file", file("server.pem"), "--key-file", file("server.key"),
                          "--client-cert-auth", "--trusted-ca-file", file("ca.pem")},
                         "https");
  auto c = config_for(etcd.endpoint());
  c.ca = file("ca.pem");
  c.cert = file("client.pem");
  c.key = file("client.key");
  node a(c, 1);
  ASSERT_TRUE(a.sees([](const auto& s) { return s.until.size() >= 2 && s.members.size() == 1; }));

  const auto error_with = [&](auto spoil) {
    auto spoilt = c;
    spoil(spoilt);
    node b(spoilt, 2);
    answer_to<void> put;
    b.store_->put_note("k", "v", put.here());
    const auto r = put.get();
    return r ? std::string("none") : r.error().text();
  };
  EXPECT_NE(error_with([&](config& s) { s.ca = file("other.pem"); }).find("verify failed"),
            std::string::npos);
  EXPECT_NE(error_with([&](config& s) { s.cert = s.key = ""; }), "none");
  // The certificate names an address, not this name of it.
  auto by_name = etcd.endpoint();
  by_name.replace(by_name.find("127.0.0.1"), 9, "localhost");
  EXPECT_NE(error_with([&](config& s) { s.endpoints = {by_name}; }).find("verify failed"),
            std::string::npos);
}

} // namespace
} // namespace lycosa::coordination::testing
