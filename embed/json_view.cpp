#include "lycosa/function.hpp"
#include <nlohmann/json.hpp>

#include <cmath>

namespace lycosa {

namespace {

using json = nlohmann::ordered_json;

const json& node_of(const void* p) {
  return *static_cast<const json*>(p);
}

std::string dump(const json& j) {
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

[[noreturn]] void refuse(const json& value, const char* expected) {
  throw std::invalid_argument(std::string("expected ") + expected + ", not " + dump(value));
}

work action(json o) {
  return work(dump(o));
}

} // namespace

namespace detail {

bool json_view::boolean() const {
  const auto& v = node_of(node_);
  if (!v.is_boolean()) refuse(v, "true or false");
  return v.get<bool>();
}

std::int64_t json_view::whole() const {
  const auto& v = node_of(node_);
  if (!v.is_number_integer()) refuse(v, "a whole number");
  if (v.is_number_unsigned() && !std::in_range<std::int64_t>(v.get<std::uint64_t>()))
    throw std::invalid_argument("the number is out of range");
  return v.get<std::int64_t>();
}

std::uint64_t json_view::natural() const {
  const auto& v = node_of(node_);
  if (!v.is_number_unsigned()) refuse(v, "a whole number, 0 or more");
  return v.get<std::uint64_t>();
}

double json_view::number() const {
  const auto& v = node_of(node_);
  if (!v.is_number()) refuse(v, "a number");
  return v.get<double>();
}

std::string json_view::text() const {
  const auto& v = node_of(node_);
  if (!v.is_string()) refuse(v, "a text");
  return v.get<std::string>();
}

std::size_t json_view::size() const {
  const auto& v = node_of(node_);
  if (!v.is_structured()) refuse(v, "a list");
  return v.size();
}

json_view json_view::at(std::size_t i) const {
  const auto& v = node_of(node_);
  if (!v.is_structured() || i >= v.size()) refuse(v, "a list with more elements");
  return json_view(v.is_array() ? &v[i] : &std::next(v.begin(), static_cast<long>(i)).value());
}

std::string json_view::key(std::size_t i) const {
  const auto& v = node_of(node_);
  if (!v.is_object() || i >= v.size()) refuse(v, "an object");
  return std::next(v.begin(), static_cast<long>(i)).key();
}

bool json_view::null() const {
  return node_of(node_).is_null();
}

std::string json_view::json() const {
  return dump(node_of(node_));
}

void put_text(std::string& out, std::string_view text) {
  out += dump(std::string(text));
}

void put_number(std::string& out, double value) {
  if (!std::isfinite(value)) throw std::invalid_argument("JSON has no such number");
  out += dump(value);
}

void put_json(std::string& out, const std::string& text) {
  const auto value = nlohmann::ordered_json::parse(text, nullptr, false);
  if (value.is_discarded()) throw std::invalid_argument("not JSON: " + text);
  out += dump(value);
}

work call_json(std::string_view name, std::string args) {
  return action({{"type", "function"},
                 {"name", name},
                 {"args", nlohmann::ordered_json::parse(args, nullptr, false)}});
}

work ask_json(std::string_view name, std::string payload) {
  return action({{"type", "actor"},
                 {"name", name},
                 {"payload", nlohmann::ordered_json::parse(payload, nullptr, false)}});
}

} // namespace detail

work command(const std::vector<std::string>& argv) {
  return action({{"type", "command"}, {"argv", argv}});
}

work shell(std::string_view text) {
  return action({{"type", "command"}, {"shell", text}});
}

work http(std::string_view method, std::string_view url, std::string_view body) {
  json o = {{"type", "http"}, {"method", method}, {"url", url}};
  if (!body.empty()) o["body"] = body;
  return action(std::move(o));
}

} // namespace lycosa
