#include "gateway/content_encoding.hpp"
#include "gateway/handlers.hpp"

#include "web/assets.hpp"

#include <algorithm>

/// The dashboard: files of the binary, and what a browser is told to allow them.
namespace lycosa::gateway {
namespace {

/// Scripts, styles and data come from here alone, none is written into the page, no text can
/// become markup, and no other page may frame this one.
constexpr std::string_view policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t'))
    text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t'))
    text.remove_suffix(1);
  return text;
}

/// Calls `each` with the items of a header's list until it returns true; whether it did.
template <class F>
bool any_item(std::string_view list, F each) {
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    if (each(trimmed(list.substr(0, comma)))) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

bool takes_gzip(std::string_view accept_encoding) {
  return any_item(accept_encoding, [](std::string_view item) {
    const auto mark = std::min(item.find(';'), item.size());
    const auto name = trimmed(item.substr(0, mark));
    if (name != "gzip" && name != "x-gzip" && name != "*") return false;
    auto quality = item.substr(mark);
    quality.remove_prefix(std::min(quality.find('='), quality.size()));
    // q=0, q=0.0 … refuse; anything else takes.
    return quality.empty() || quality.find_first_of("123456789") != std::string_view::npos;
  });
}

bool is_current(std::string_view if_none_match, std::string_view etag) {
  return any_item(if_none_match, [etag](std::string_view item) {
    if (item.starts_with("W/")) item.remove_prefix(2);
    return item == "*" || item == etag;
  });
}

} // namespace

void show_file(std::string_view name, const request& r, const exchange_ptr& x) {
  const auto all = web::all_assets();
  const auto file =
      std::find_if(all.begin(), all.end(), [name](const web::asset& a) { return a.name == name; });
  if (file == all.end()) return answer_now(x, problem(404, "the dashboard has no such file"));
  response out;
  out.content_type = file->content_type;
  out.headers = {{"ETag", std::string{file->etag}},
                 {"Cache-Control", "no-cache"}, // asked for again, answered by 304
                 {"Vary", "Accept-Encoding"},
                 {"Content-Security-Policy", std::string{policy}},
                 {"X-Content-Type-Options", "nosniff"},
                 {"X-Frame-Options", "DENY"},
                 {"Referrer-Policy", "no-referrer"},
                 {"Cross-Origin-Opener-Policy", "same-origin"},
                 {"Cross-Origin-Resource-Policy", "same-origin"}};
  if (is_current(r.if_none_match, file->etag)) {
    out.status = 304;
    return answer_now(x, std::move(out));
  }
  out.body = file->packed;
  if (takes_gzip(r.accept_encoding)) {
    out.headers.emplace_back("Content-Encoding", "gzip");
    return answer_now(x, std::move(out));
  }
  constexpr std::size_t largest = 4 * 1024 * 1024;
  budget_share unlimited;
  auto plain = decode_body("gzip", std::move(out.body), largest, unlimited);
  if (!plain) return answer_now(x, problem(plain.error()));
  out.body = std::move(*plain);
  answer_now(x, std::move(out));
}

void show_dashboard(service&, const request& r, const exchange_ptr& x) {
  show_file("index.html", r, x);
}

void show_asset(service&, const request& r, const exchange_ptr& x) {
  show_file(r.captured[0], r, x);
}

} // namespace lycosa::gateway
