#pragma once

#include "cli/bench/child_node.hpp"
#include "cli/bench/load_options.hpp"
#include "cli/bench/load_target.hpp"

#include <iosfwd>
#include <memory>
#include <string>

namespace lycosa::cli::bench {

/// Where a run takes place: the server named, a child that serves, or a node in this process; the
/// latter two on a directory that was named or a temporary one, which goes with this object.
class bench_place {
public:
  /// Says where it is. `invalid_argument` names the option.
  static result<std::unique_ptr<bench_place>> make(const load_options& options, std::ostream& say);
  ~bench_place();
  bench_place(const bench_place&) = delete;
  bench_place& operator=(const bench_place&) = delete;

  [[nodiscard]] load_target& target() { return *target_; }
  /// The child that serves; null when it is another kind of place.
  [[nodiscard]] child_node* child() { return child_.get(); }

private:
  bench_place() = default;
  std::string temporary_; ///< directory to remove
  std::unique_ptr<child_node> child_;
  std::unique_ptr<load_target> target_;
};

} // namespace lycosa::cli::bench
