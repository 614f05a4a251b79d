#include "cli/app.hpp"

#include <unistd.h>

#include <exception>
#include <iostream>

int main(int argc, char** argv) {
  lycosa::cli::context ctx{std::cin, std::cout, std::cerr, ::isatty(STDIN_FILENO) == 1,
                           ::isatty(STDERR_FILENO) == 1};
  try {
    return lycosa::cli::run({argv + 1, argv + argc}, ctx);
  } catch (const std::exception& e) {
    // Libraries throw; whatever reaches this point is still one line and a failure.
    return ctx.complain(lycosa::cli::failure{lycosa::cli::failed, "", e.what()});
  }
}
