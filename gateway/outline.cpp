#include "gateway/outline.hpp"

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <array>

namespace lycosa::gateway {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

} // namespace

std::string_view describe(json_kind kind) noexcept {
  switch (kind) {
  case json_kind::null:
    return "null";
  case json_kind::boolean:
    return "true or false";
  case json_kind::number:
    return "a number";
  case json_kind::string:
    return "a string";
  case json_kind::object:
    return "an object";
  case json_kind::array:
    return "a list";
  }
  return "";
}

/// Follows the parser's events; remembers members while in an opened object, otherwise only
/// counts brackets.
struct outline_handler : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, outline_handler> {
  outline_handler(outline& to, std::string_view body, const rapidjson::MemoryStream& in)
      : out(to), text(body), stream(in) {}

  outline& out;
  std::string_view text;
  const rapidjson::MemoryStream& stream;
  std::array<std::uint32_t, 8> opened{}; ///< the objects we are inside of
  unsigned levels = 0;                   ///< how many of them
  unsigned skipped = 0;                  ///< brackets open inside a value that is only carried
  unsigned depth = 0;
  std::size_t last = 0; ///< end of the last token read as a member
  std::size_t pair_at = 0;
  bool too_deep = false;

  // rapidjson calls the start and end of objects and arrays with the bracket not taken yet,
  // everything else after its last byte.

  bool Key(const char* str, rapidjson::SizeType length, bool) {
    if (skipped > 0) return true;
    const auto end = stream.Tell();
    pair_at = text.find('"', last);
    json_member m;
    m.key = plain_or_kept(text.substr(pair_at, end - pair_at), {str, length});
    m.parent = opened[levels - 1];
    out.members_.push_back(m);
    last = end;
    return true;
  }

  bool Null() { return scalar(json_kind::null, {}); }
  bool Bool(bool) { return scalar(json_kind::boolean, {}); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return scalar(json_kind::number, {}); }
  bool String(const char* str, rapidjson::SizeType length, bool) {
    return scalar(json_kind::string, {str, length});
  }
  bool StartObject() { return enter(json_kind::object); }
  bool StartArray() { return enter(json_kind::array); }
  bool EndObject(rapidjson::SizeType) { return leave(); }
  bool EndArray(rapidjson::SizeType) { return leave(); }

private:
  std::string_view plain_or_kept(std::string_view quoted, std::string_view unescaped) {
    if (quoted.size() == unescaped.size() + 2) return quoted.substr(1, unescaped.size());
    return out.arena_.keep(unescaped);
  }

  std::size_t value_start() const {
    auto at = last;
    while (is_space(text[at]) || text[at] == ':')
      ++at;
    return at;
  }

  bool scalar(json_kind kind, std::string_view unescaped) {
    if (skipped > 0) return true;
    const auto end = stream.Tell();
    const auto from = value_start();
    const auto raw = text.substr(from, end - from);
    if (levels == 0) {
      out.kind_ = kind;
      out.raw_ = raw;
    } else {
      auto& m = out.members_.back();
      m.kind = kind;
      m.raw = raw;
      m.pair = text.substr(pair_at, end - pair_at);
      if (kind == json_kind::string) m.text = plain_or_kept(raw, unescaped);
    }
    last = end;
    return true;
  }

  bool enter(json_kind kind) {
    if (++depth > outline::max_depth) {
      too_deep = true;
      return false;
    }
    if (skipped > 0) {
      ++skipped;
      return true;
    }
    const auto at = stream.Tell();
    last = at + 1;
    if (levels == 0) {
      out.kind_ = kind;
      out.raw_ = text.substr(at);
      if (kind == json_kind::object)
        opened[levels++] = json_member::no_parent;
      else
        skipped = 1;
      return true;
    }
    auto& m = out.members_.back();
    m.kind = kind;
    m.raw = text.substr(at);
    m.pair = text.substr(pair_at);
    if (kind == json_kind::object && levels < opened.size() && out.opens(m))
      opened[levels++] = static_cast<std::uint32_t>(out.members_.size() - 1);
    else
      skipped = 1;
    return true;
  }

  bool leave() {
    --depth;
    if (skipped > 1) {
      --skipped;
      return true;
    }
    const auto end = stream.Tell() + 1;
    last = end;
    json_member* closed = nullptr;
    if (skipped == 1) {
      skipped = 0;
      if (levels > 0) closed = &out.members_.back();
    } else {
      const auto index = opened[--levels];
      if (index != json_member::no_parent) closed = &out.members_[index];
    }
    const auto cut = [&](std::string_view& slice) {
      slice = slice.substr(0, static_cast<std::size_t>(text.data() + end - slice.data()));
    };
    if (closed == nullptr) {
      cut(out.raw_);
    } else {
      cut(closed->raw);
      cut(closed->pair);
    }
    return true;
  }
};

outline::outcome outline::parse(std::string_view body, std::size_t at) {
  members_.clear();
  raw_ = {};
  why_.clear();
  kind_ = json_kind::null;
  while (at < body.size() && is_space(body[at]))
    ++at;
  const auto text = body.substr(at);

  rapidjson::MemoryStream stream(text.data(), text.size());
  outline_handler handler(*this, text, stream);
  rapidjson::Reader reader;
  // Iterative: the depth of the input must not become depth of our stack. Numbers as strings:
  // their spelling is kept and their range is ours to judge.
  constexpr unsigned flags = rapidjson::kParseIterativeFlag | rapidjson::kParseStopWhenDoneFlag
                             | rapidjson::kParseNumbersAsStringsFlag;
  const auto result = reader.Parse<flags>(stream, handler);
  if (!result.IsError()) {
    end_ = at + stream.Tell();
    return outcome::ok;
  }

  error_at_ = at + result.Offset();
  const auto code = result.Code();
  if (handler.too_deep)
    why_ = "nested deeper than " + std::to_string(max_depth) + " levels";
  else
    why_ = rapidjson::GetParseError_En(code);
  const bool is_json = handler.too_deep || code == rapidjson::kParseErrorNumberTooBig
                       || code == rapidjson::kParseErrorStringUnicodeSurrogateInvalid;
  if (!is_json) return outcome::broken;
  const auto end = find_end(body, at);
  if (!end) return outcome::broken;
  end_ = *end;
  return outcome::unfit;
}

std::optional<std::size_t> outline::find_end(std::string_view body, std::size_t at) const {
  std::size_t open = 0;
  for (bool in_string = false; at < body.size(); ++at) {
    const char c = body[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++open;
    } else if (c == '}' || c == ']') {
      if (open == 0) return at; // of the list around a value without brackets
      if (--open == 0) return at + 1;
    } else if (c == ',' && open == 0) {
      return at;
    }
  }
  return std::nullopt;
}

bool outline::opens(const json_member& m) const {
  // The dotted path is compared from its end, so that it need not be built.
  return std::any_of(open_.begin(), open_.end(), [&](std::string_view path) {
    const auto* at = &m;
    for (;;) {
      if (!path.ends_with(at->key)) return false;
      path.remove_suffix(at->key.size());
      if (at->parent == json_member::no_parent) return path.empty();
      if (!path.ends_with('.')) return false;
      path.remove_suffix(1);
      at = &members_[at->parent];
    }
  });
}

const json_member* outline::find(std::string_view key, const json_member* parent) const noexcept {
  const auto wanted = parent == nullptr ? json_member::no_parent : index_of(*parent);
  for (const auto& m : members_)
    if (m.parent == wanted && m.key == key) return &m;
  return nullptr;
}

std::string outline::path(const json_member& m) const {
  std::string text{m.key};
  for (const auto* at = &m; at->parent != json_member::no_parent;) {
    at = &members_[at->parent];
    text = std::string{at->key} + "." + text;
  }
  return text;
}

std::optional<std::string> outline::duplicate() const {
  const auto same = [](const json_member& a, const json_member& b) {
    return a.parent == b.parent && a.key == b.key;
  };
  if (members_.size() <= 32) {
    for (std::size_t i = 1; i < members_.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (same(members_[i], members_[j])) return path(members_[i]);
    return std::nullopt;
  }
  std::vector<const json_member*> sorted;
  sorted.reserve(members_.size());
  for (const auto& m : members_)
    sorted.push_back(&m);
  std::sort(sorted.begin(), sorted.end(), [](const json_member* a, const json_member* b) {
    return a->parent != b->parent ? a->parent < b->parent : a->key < b->key;
  });
  const auto twice =
      std::adjacent_find(sorted.begin(), sorted.end(),
                         [&](const json_member* a, const json_member* b) { return same(*a, *b); });
  if (twice == sorted.end()) return std::nullopt;
  return path(**twice);
}

} // namespace lycosa::gateway
