#include "cli/shell_call.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace lycosa::cli {

namespace {

using json = nlohmann::ordered_json;

constexpr int deepest = 32;

class reader {
public:
  explicit reader(std::string_view text) : text_(text) {}

  result<shell_call> call() {
    shell_call c;
    c.name = word();
    if (c.name.empty()) return bad("a name, as in crawl(\"http://…\")");
    if (done()) return c;
    if (!take('(')) return bad("an opening bracket");
    if (take(')')) return end(std::move(c));
    for (;;) {
      skip();
      const auto start = at_;
      const auto name = word();
      if (!name.empty() && take('=')) {
        auto v = value(0);
        if (!v) return tl::unexpected(v.error());
        c.options[name] = std::move(*v);
      } else {
        at_ = start;
        if (!c.options.empty()) return bad("a name=value, after the first of them");
        auto v = value(0);
        if (!v) return tl::unexpected(v.error());
        c.args.push_back(std::move(*v));
      }
      if (take(',')) continue;
      if (take(')')) return end(std::move(c));
      return bad("a comma or a closing bracket");
    }
  }

private:
  result<shell_call> end(shell_call c) {
    if (!done()) return bad("nothing after the closing bracket");
    return c;
  }

  tl::unexpected<error> bad(const std::string& wanted) const {
    return fail(errc::invalid_argument, "column " + std::to_string(at_ + 1), "wanted: " + wanted);
  }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
      ++at_;
  }
  bool done() {
    skip();
    return at_ == text_.size();
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string word() {
    skip();
    const auto start = at_;
    while (at_ < text_.size()
           && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    if (at_ > start && std::isdigit(static_cast<unsigned char>(text_[start])) != 0) {
      at_ = start;
      return {};
    }
    return std::string{text_.substr(start, at_ - start)};
  }

  result<json> value(int depth) {
    if (depth > deepest) return bad("less nesting");
    skip();
    if (at_ >= text_.size()) return bad("a value");
    const char c = text_[at_];
    if (c == '"' || c == '\'') return quoted();
    if (take('[')) {
      auto list = json::array();
      while (!take(']')) {
        auto v = value(depth + 1);
        if (!v) return v;
        list.push_back(std::move(*v));
        if (take(']')) break;
        if (!take(',')) return bad("a comma or ]");
      }
      return list;
    }
    if (take('{')) {
      auto table = json::object();
      while (!take('}')) {
        auto key = value(depth + 1);
        if (!key) return key;
        if (!key->is_string()) return bad("a key in quotes");
        if (!take(':')) return bad("a colon");
        auto v = value(depth + 1);
        if (!v) return v;
        table[key->get<std::string>()] = std::move(*v);
        if (take('}')) break;
        if (!take(',')) return bad("a comma or }");
      }
      return table;
    }
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      const auto start = at_;
      const auto name = word();
      if (name == "True") return json(true);
      if (name == "False") return json(false);
      if (name == "None") return json();
      at_ = start;
      return bad("a value; text goes in quotes");
    }
    return number();
  }

  result<json> number() {
    const auto start = at_;
    while (at_ < text_.size()
           && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0
               || std::string_view{"+-.eE"}.find(text_[at_]) != std::string_view::npos))
      ++at_;
    auto n = json::parse(text_.substr(start, at_ - start), nullptr, false);
    if (!n.is_number()) {
      at_ = start;
      return bad("a value");
    }
    return n;
  }

  result<json> quoted() {
    const char quote = text_[at_++];
    std::string out;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == quote) {
        ++at_;
        return json(out);
      }
      if (c != '\\' || at_ + 1 == text_.size()) {
        out += c;
        continue;
      }
      switch (const char e = text_[++at_]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case '\\':
      case '\'':
      case '"':
        out += e;
        break;
      default:
        return bad("one of \\n \\t \\\\ \\' \\\"");
      }
    }
    return bad("a closing quote");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

constexpr std::array<std::string_view, 8> schedule_keys{
    "priority", "retries", "exetime", "age", "itag", "auto_recrawl", "force_update", "cancel"};
constexpr std::array<std::string_view, 17> fetch_keys{
    "method",  "headers",         "user_agent", "data",       "connect_timeout", "timeout",
    "cookies", "allow_redirects", "proxy",      "etag",       "last_modified",   "validate_cert",
    "save",    "max_redirects",   "robots_txt", "fetch_type", "use_gzip"};
constexpr std::array<std::string_view, 2> process_keys{"callback", "process_time_limit"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

} // namespace

result<shell_call> parse_call(std::string_view line) {
  return reader{line}.call();
}

result<json> task_of(const shell_call& call) {
  auto task = json::object();
  if (call.args.size() != 1 || !call.args[0].is_string())
    return fail(errc::invalid_argument, "crawl", "wants one URL in quotes, then name=value");
  task["url"] = call.args[0];
  for (const auto& [name, value] : call.options.items()) {
    if (name == "project" || name == "taskid")
      task[name] = value;
    else if (among(schedule_keys, name))
      task["schedule"][name] = value;
    else if (among(fetch_keys, name))
      task["fetch"][name] = value;
    else if (among(process_keys, name))
      task["process"][name] = value;
    else
      return fail(errc::invalid_argument, name, "crawl() knows no such option");
  }
  return task;
}

} // namespace lycosa::cli
