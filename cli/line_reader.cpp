#include "cli/line_reader.hpp"

#include <editline/readline.h>

#include <cstdlib>
#include <cstring>
#include <istream>
#include <memory>
#include <utility>

namespace lycosa::cli {

namespace {

constexpr int kept_lines = 1000;

std::vector<std::string> completions; ///< libedit's interface leaves no other way to hand them in

char* complete(const char* begun, int state) {
  static std::size_t at;
  if (state == 0) at = 0;
  while (at < completions.size()) {
    const auto& word = completions[at++];
    if (word.rfind(begun, 0) == 0) return ::strdup(word.c_str());
  }
  return nullptr;
}

} // namespace

line_reader::line_reader(std::istream& in, bool terminal, std::string prompt,
                         std::vector<std::string> words)
    : in_(in), terminal_(terminal), prompt_(std::move(prompt)) {
  if (!terminal_) return;
  completions = std::move(words);
  rl_completion_entry_function = complete;
  using_history();
  stifle_history(kept_lines);
  if (const char* home = std::getenv("HOME")) {
    history_ = std::string{home} + "/.lycosa_history";
    read_history(history_.c_str());
  }
}

line_reader::~line_reader() {
  if (terminal_ && !history_.empty()) write_history(history_.c_str());
}

std::optional<std::string> line_reader::next() {
  std::string line;
  if (!terminal_) {
    if (!std::getline(in_, line)) return std::nullopt;
    return line;
  }
  const std::unique_ptr<char, decltype(&std::free)> typed{readline(prompt_.c_str()), &std::free};
  if (!typed) return std::nullopt;
  line = typed.get();
  if (!line.empty()) add_history(line.c_str());
  return line;
}

} // namespace lycosa::cli
