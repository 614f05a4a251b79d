#include "core/jobs/crontab_line.hpp"

#include "core/triggers/text.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace lycosa::jobs::detail {

namespace {

using trigger::is_alpha;
using trigger::is_digit;
using trigger::lower;

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::vector<std::string_view> words_of(std::string_view text, std::size_t most) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < text.size() && out.size() < most;) {
    while (i < text.size() && is_space(text[i]))
      ++i;
    const auto start = i;
    while (i < text.size() && !is_space(text[i]))
      ++i;
    if (i > start) out.push_back(text.substr(start, i - start));
  }
  return out;
}

/// A field of times that could stand in a crontab.
bool like_field(std::string_view word) {
  const bool known = std::ranges::all_of(word, [](char c) {
    return is_digit(c) || is_alpha(c) || c == '*' || c == '/' || c == ',' || c == '-' || c == '~';
  });
  return known && std::ranges::any_of(word, [](char c) { return is_digit(c) || c == '*'; });
}

/// The part of a word that names something; empty for options, redirections and operators.
std::string_view telling(std::string_view word) {
  constexpr auto trimmed = "\"'`(){};,|&!";
  while (!word.empty() && std::string_view(trimmed).find(word.front()) != std::string_view::npos)
    word.remove_prefix(1);
  while (!word.empty() && std::string_view(trimmed).find(word.back()) != std::string_view::npos)
    word.remove_suffix(1);
  if (word.empty() || word.front() == '-' || word.front() == '$') return {};
  if (const auto scheme = word.find("://"); scheme != std::string_view::npos) {
    word.remove_prefix(scheme + 3);
    word = word.substr(0, word.find_first_of("/?#"));
    if (const auto at = word.rfind('@'); at != std::string_view::npos) word.remove_prefix(at + 1);
    return word.substr(0, word.find(':'));
  }
  if (word.find('=') < word.find('/')) return {};
  word = word.substr(0, word.find_first_of("?=:@"));
  while (word.ends_with('/'))
    word.remove_suffix(1);
  const auto slash = word.rfind('/');
  return slash == std::string_view::npos ? word : word.substr(slash + 1);
}

} // namespace

std::optional<crontab_variable> read_variable(std::string_view line) {
  // One pass with a state a part, as the daemon has it: what it takes for a variable is one here.
  enum { name_first, name, before_equals, after_equals, value_first, value, after_value } state{};
  crontab_variable out;
  char quote = '\0';
  std::size_t i = 0;
  while (i < line.size()) {
    const char c = line[i];
    switch (state) {
    case name_first:
    case value_first:
      if (c == '\'' || c == '"') {
        quote = c;
        ++i;
      }
      state = state == name_first ? name : value;
      break;
    case name:
      if (quote != '\0' && c == '=') return std::nullopt;
      if (quote == '\0' && c == '=') {
        state = before_equals;
      } else if (quote != '\0' ? c == quote : is_space(c)) {
        state = before_equals;
        ++i;
      } else {
        out.name += c;
        ++i;
      }
      break;
    case before_equals:
      if (c == '=') {
        state = after_equals;
        quote = '\0';
      } else if (!is_space(c)) {
        return std::nullopt;
      }
      ++i;
      break;
    case after_equals:
      if (is_space(c))
        ++i;
      else
        state = value_first;
      break;
    case value:
      if (quote != '\0' && c == quote)
        state = after_value;
      else
        out.value += c;
      ++i;
      break;
    case after_value:
      if (!is_space(c)) return std::nullopt;
      ++i;
      break;
    }
  }
  if (state == value && quote != '\0') return std::nullopt;
  if (state == value)
    while (!out.value.empty() && is_space(out.value.back()))
      out.value.pop_back();
  // `NAME=` alone is an empty value.
  if (state != value && state != after_value && state != after_equals) return std::nullopt;
  return out;
}

crontab_command split_percent(std::string_view text) {
  crontab_command out;
  bool escaped = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (!escaped && c == '%') break;
    if (escaped && c == '%') out.shell.pop_back();
    out.shell += c;
    escaped = !escaped && c == '\\';
  }
  out.percent = i < text.size() ? i : std::string_view::npos;
  if (i == text.size()) return out;
  escaped = false;
  for (++i; i < text.size(); ++i) {
    char c = text[i];
    if (escaped && c != '%') out.input += '\\';
    if (!escaped && c == '%') c = '\n';
    escaped = c == '\\';
    if (!escaped) out.input += c;
  }
  if (escaped) out.input += '\\';
  if (!out.input.empty() && out.input.back() != '\n') out.input += '\n';
  return out;
}

comment_kind classify_comment(std::string_view text) {
  const auto words = words_of(text, 6);
  if (words.empty()) return comment_kind::words;
  static constexpr std::array<std::string_view, 5> strokes{"|", ".-", "+-", "┌", "│"};
  for (const auto s : strokes)
    if (words.front().starts_with(s)) return comment_kind::template_;
  const auto heading = lower(words.front());
  if (words.size() >= 5 && (heading == "m" || heading == "min" || heading == "minute")
      && lower(words[1]).starts_with("h"))
    return comment_kind::template_;
  if (words.size() == 6 && std::all_of(words.begin(), words.begin() + 5, like_field))
    return comment_kind::template_;
  if (words.size() >= 2 && heading.front() == '@'
      && (heading == "@reboot" || heading.ends_with("ly") || heading == "@midnight"))
    return comment_kind::template_;
  return comment_kind::words;
}

std::string command_slug(std::string_view command) {
  constexpr std::size_t longest = 40;
  std::string out;
  for (const auto word : words_of(command, 64)) {
    // What follows a redirection is about output, not about what is done.
    if (word.find('>') != std::string_view::npos) break;
    std::string part;
    for (const char c : telling(word)) {
      const char l = lower(c);
      if (is_digit(l) || is_alpha(l) || l == '.' || l == '_')
        part += l;
      else if (!part.empty() && part.back() != '-')
        part += '-';
    }
    while (!part.empty() && (part.back() == '-' || part.back() == '.'))
      part.pop_back();
    if (part.empty()) continue;
    if (out.empty())
      out = part.substr(0, longest);
    else if (out.size() + 1 + part.size() <= longest)
      out += "-" + part;
    else
      break;
  }
  return out.empty() ? "job" : out;
}

std::string_view utf8_prefix(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80)
    --most;
  return text.substr(0, most);
}

std::size_t find_bad_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80    ? 1
                               : lead < 0xc2  ? 0
                               : lead < 0xe0  ? 2
                               : lead < 0xf0  ? 3
                               : lead <= 0xf4 ? 4
                                              : 0;
    if (length == 0 || i + length > text.size()) return i;
    for (std::size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return i;
    const auto second = length > 1 ? static_cast<unsigned char>(text[i + 1]) : 0;
    // Overlong forms, surrogates, and what is past the last plane.
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)
        || (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f))
      return i;
    i += length;
  }
  return std::string_view::npos;
}

} // namespace lycosa::jobs::detail
