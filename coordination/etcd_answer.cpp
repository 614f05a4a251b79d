#include "coordination/etcd_answer.hpp"

#include "coordination/json_fields.hpp"

#include <algorithm>

namespace lycosa::coordination {
namespace {

using nlohmann::json;

/// gRPC's status codes, as far as etcd uses them.
enum class grpc : std::uint64_t {
  invalid_argument = 3,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  out_of_range = 11,
  unauthenticated = 16,
};

bool says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

answer_failure refused(std::uint64_t code, std::string message) {
  answer_failure f;
  f.why = std::move(message);
  // Every other code means that this server cannot answer at the moment.
  switch (static_cast<grpc>(code)) {
  case grpc::invalid_argument:
  case grpc::permission_denied:
    f.code = errc::invalid_argument;
    break;
  case grpc::unauthenticated:
    f.code = errc::invalid_argument;
    f.token = true;
    break;
  case grpc::not_found:
    f.code = errc::not_found;
    break;
  case grpc::already_exists:
  case grpc::failed_precondition:
  case grpc::out_of_range:
    f.code = errc::conflict;
    break;
  case grpc::resource_exhausted:
    f.code = says(f.why, "space exceeded") ? errc::no_space : errc::busy;
    break;
  default:
    f.elsewhere = true;
  }
  // These have another code. Without a token one has no name.
  if (says(f.why, "revision of auth store is old") || says(f.why, "user name is empty"))
    f.token = true;
  return f;
}

tl::unexpected<answer_failure> foreign(unsigned status, std::string_view body) {
  answer_failure f;
  f.code = errc::incompatible;
  f.elsewhere = true;
  std::string shown(body.substr(0, 60));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '.');
  f.why = "does not answer as etcd does: status " + std::to_string(status) + ", '" + shown + "'";
  return tl::unexpected(std::move(f));
}

} // namespace

tl::expected<json, answer_failure> read_answer(unsigned status, std::string_view body) {
  auto whole = parse_object(body);
  if (!whole) {
    // A proxy in between answers so when there is no etcd behind it.
    auto no = foreign(status, body);
    if (status >= 502 && status <= 504) no.value().code = errc::unavailable;
    return no;
  }
  const auto* wrong = field(*whole, "error");
  if (wrong) {
    const auto& about = wrong->is_object() ? *wrong : *whole;
    auto code = number_field<std::uint64_t>(about, "code");
    if (!code) code = number_field<std::uint64_t>(about, "grpc_code");
    const auto* message = text_field(about, "message");
    if (!message) message = text_field(about, "error");
    if (!code || !message) return foreign(status, body);
    return tl::unexpected(refused(*code, *message));
  }
  if (status != 200) return foreign(status, body);
  if (auto inner = whole->find("result"); inner != whole->end()) {
    json streamed = std::move(*inner);
    *whole = std::move(streamed);
  }
  const auto* header = field(*whole, "header");
  if (!header || !field(*header, "member_id")) return foreign(status, body);
  return std::move(*whole);
}

} // namespace lycosa::coordination
