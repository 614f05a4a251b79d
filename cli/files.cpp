#include "cli/files.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <iterator>

namespace lycosa::cli {

outcome<std::string> read_input(const std::string& file, context& ctx) {
  if (file == "-") return std::string{std::istreambuf_iterator<char>{ctx.in}, {}};
  std::ifstream in(file, std::ios::binary);
  if (!in) return tl::unexpected(failure{bad_input, file, std::strerror(errno)});
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  // Opening a directory succeeds, reading it does not.
  if (in.bad()) return tl::unexpected(failure{bad_input, file, "cannot be read"});
  return text;
}

} // namespace lycosa::cli
