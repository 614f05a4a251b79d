#include "gateway/items.hpp"

#include <simdjson.h>

namespace lycosa::gateway {
namespace {

std::size_t skip_space(std::string_view body, std::size_t at) {
  const auto next = body.find_first_not_of(" \t\r\n", at);
  return next == std::string_view::npos ? body.size() : next;
}

tl::unexpected<error> not_json(std::size_t at, std::string_view why) {
  return fail(errc::invalid_argument, "body",
              "is not JSON: byte " + std::to_string(at) + ": " + std::string{why});
}

} // namespace

bool is_utf8(std::string_view text) noexcept {
  return simdjson::validate_utf8(text.data(), text.size());
}

result<void> read_object(std::string_view body, outline& into) {
  if (!is_utf8(body)) return fail(errc::invalid_argument, "body", "is not valid UTF-8");
  if (into.parse(body, 0) != outline::outcome::ok) return not_json(into.error_at(), into.why());
  if (skip_space(body, into.end()) != body.size())
    return not_json(into.end(), "something follows the object");
  if (into.kind() != json_kind::object)
    return fail(errc::invalid_argument, "body", "must be an object");
  if (auto twice = into.duplicate()) return fail(errc::invalid_argument, *twice, "stands twice");
  return {};
}

result<list_form> walk_items(std::string_view body, bool lines, outline& item,
                             std::size_t max_items,
                             const std::function<void(std::size_t, const outline&)>& each,
                             const std::function<void(std::size_t, const std::string&)>& bad) {
  if (!is_utf8(body)) return fail(errc::invalid_argument, "body", "is not valid UTF-8");
  auto at = skip_space(body, 0);
  if (at == body.size()) {
    if (lines) return list_form::lines;
    return fail(errc::invalid_argument, "body", "is empty");
  }
  bool array = !lines && body[at] == '[';
  if (!array && !lines && body[at] != '{')
    return fail(errc::invalid_argument, "body",
                "must be a list of objects, one object, or objects line by line");
  auto form = array ? list_form::array : lines ? list_form::lines : list_form::single;
  std::size_t index = 0;
  std::size_t good = 0;
  std::string first_error;
  if (array) {
    at = skip_space(body, at + 1);
    if (at < body.size() && body[at] == ']') {
      at = skip_space(body, at + 1);
      if (at != body.size()) return not_json(at, "something follows the list");
      return form;
    }
  }
  for (;; ++index) {
    if (index >= max_items)
      return fail(errc::too_large, "body", "has more than " + std::to_string(max_items) + " items");
    const auto outcome = item.parse(body, at);
    if (outcome == outline::outcome::broken) {
      if (!lines) return not_json(item.error_at(), item.why());
      if (first_error.empty()) first_error = item.why();
      bad(index, "is not JSON: " + item.why());
      at = std::min(body.find('\n', at), body.size());
    } else if (outcome == outline::outcome::unfit) {
      ++good;
      bad(index, item.why());
      at = item.end();
    } else {
      ++good;
      each(index, item);
      at = item.end();
    }
    const auto from = at;
    at = skip_space(body, at);
    if (array) {
      if (at == body.size()) return not_json(at, "the list does not end");
      if (body[at] == ']') break;
      if (body[at] != ',') return not_json(at, "a comma is missing");
      ++at;
      continue;
    }
    if (at == body.size()) break;
    if (form == list_form::single) {
      if (body.substr(from, at - from).find('\n') == std::string_view::npos)
        return not_json(at, "something follows the object");
      form = list_form::lines;
    }
  }
  if (array && skip_space(body, at + 1) != body.size())
    return not_json(at + 1, "something follows the list");
  if (lines && good == 0) return not_json(0, first_error);
  return form;
}

} // namespace lycosa::gateway
