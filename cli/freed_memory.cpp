#include "cli/freed_memory.hpp"

#include <malloc.h>

#include <cstdlib>

namespace lycosa::cli {

void keep_freed_memory() {
  if (std::getenv("GLIBC_TUNABLES") != nullptr) return;
  ::mallopt(M_TOP_PAD, 4 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 32 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 8 << 20);
}

} // namespace lycosa::cli
