#pragma once

#include "storage/catalog.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lycosa::storage {

/// Names to values; an empty value erases.
using blob_changes = std::vector<std::pair<std::string, std::string>>;

/// One log record: changes as bytes, and back. Errors are `corrupt`.
[[nodiscard]] std::string encode_changes(const std::map<std::string, std::string>& changes);
[[nodiscard]] result<blob_changes> decode_changes(std::string_view bytes);

/// Small values of one space that change all the time, all over the tree. Written in place, each
/// would cost a page of the commit; here a commit appends one record of all of them, and they reach
/// their places later, neighbours together, a slice with each commit. That is the memory table and
/// the log of a log-structured merge tree (O'Neil et al., 1996) before an LMDB tree.
///
/// The records are blobs of the space named `prefix` and a number. Whoever reads the space past
/// this class has to put them on top, in their order. Calls block on the disk; one thread.
class blob_log {
public:
  /// Fewer changes are written in place, when nothing waits: a quiet node's log is empty.
  static constexpr std::size_t few = 32;
  /// Changes gathered before they begin to be written in their places.
  static constexpr std::size_t enough = 4096;
  /// Changes written in their places with one commit.
  static constexpr std::size_t slice = 512;

  blob_log(catalog_store& catalog, std::string space, std::string prefix)
      : catalog_(catalog), space_(std::move(space)), prefix_(std::move(prefix)) {}

  /// Reads what has not reached its place. Before anything else; writes nothing.
  result<void> open();

  /// One commit, durable when it returns: `placed` are written in their places at once (unless an
  /// older value of theirs waits), `scattered` go the way of the log. Names are in neither twice.
  result<void> put(blob_changes placed, blob_changes scattered);

  /// As `catalog_store` does it, with what waits on top.
  result<std::string> get(std::string_view name);
  result<blob_changes> scan(std::string_view after, std::size_t limit);

  /// Changes that have not reached their places.
  [[nodiscard]] std::size_t waiting() const { return fresh_.size() + merging_.size(); }

private:
  using changes_map = std::map<std::string, std::string, std::less<>>;

  [[nodiscard]] const std::string* waiting_value(std::string_view name) const;
  [[nodiscard]] std::string record_name(std::uint64_t n) const;
  void begin_merge();

  catalog_store& catalog_;
  std::string space_, prefix_;
  changes_map fresh_;            ///< in the log's newer part
  changes_map merging_;          ///< in its older part; stays whole until all of it is in place
  std::string merged_;           ///< the last of these names that is in its place; empty = none
  std::uint64_t first_ = 1;      ///< oldest record there is
  std::uint64_t fresh_from_ = 1; ///< oldest record of the newer part
  std::uint64_t next_ = 1;
};

} // namespace lycosa::storage
