#pragma once

#include "core/result.hpp"

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lycosa::coordination::testing {

/// A folder that goes with the test.
class scratch_folder {
public:
  scratch_folder();
  ~scratch_folder();
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
  std::filesystem::path path_;
};

/// Free just now.
[[nodiscard]] std::uint16_t free_port();

/// An etcd of the test's own on loopback, with its data in a temporary folder.
class etcd_server {
public:
  /// `options` are etcd's; `scheme` http or https for clients.
  explicit etcd_server(std::vector<std::string> options = {}, std::string scheme = "http");
  ~etcd_server();
  etcd_server(const etcd_server&) = delete;
  etcd_server& operator=(const etcd_server&) = delete;

  [[nodiscard]] std::string endpoint() const;
  void kill();
  void start(); ///< after `kill`, with the data it had
  void freeze();
  void thaw();

private:
  scratch_folder folder_;
  std::vector<std::string> options_;
  std::string scheme_;
  std::uint16_t port_;
  std::uint16_t peer_port_;
  pid_t pid_ = -1;
};

/// What etcd answers to one request, `user:password` or nobody's.
[[nodiscard]] result<nlohmann::json> ask(const std::string& endpoint, const std::string& path,
                                         const nlohmann::json& body, const std::string& user = {});
/// The same, again and again while it is not there; the test fails for other errors.
nlohmann::json must(const std::string& endpoint, const std::string& path,
                    const nlohmann::json& body, const std::string& user = {});

} // namespace lycosa::coordination::testing
