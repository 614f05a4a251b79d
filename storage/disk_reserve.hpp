#pragma once

#include <cstdint>
#include <mutex>
#include <string>

namespace lycosa::storage {

/// Keeps a file of allocated blocks in the data directory, so that work can still be finished when
/// the disk is full: new work is refused first, then the file is given up for settling. It comes
/// back when there is room. Shared by all shards; any thread.
class disk_reserve {
public:
  /// `bytes` is capped to 1/16 of the file system; 0 = no ballast, only the look at free space.
  disk_reserve(std::string path, std::uint64_t bytes);

  /// Whether a growing commit of about `bytes` may be tried. Takes the reserve back first if it was
  /// given up and there is room for it again.
  bool allow_growth(std::uint64_t bytes);

  /// Called before a settling commit: gives the reserve up if the commit would not fit without.
  void before_settle(std::uint64_t bytes);

  /// Gives the reserve up. True when that freed something.
  bool release();

  /// Bytes that growing commits leave for settling, of whatever there is room in: little while the
  /// reserve is held, as much as it and more once it has been given up.
  [[nodiscard]] std::uint64_t cushion() const;

  /// Whether so little is free that a failed write is a full disk, whatever error it was reported
  /// as (a partial write is all that some of them show).
  [[nodiscard]] bool exhausted() const;

private:
  [[nodiscard]] std::uint64_t available() const;
  [[nodiscard]] std::uint64_t kept_free() const;
  bool take();

  mutable std::mutex mutex_;
  std::string path_;
  std::string dir_;
  std::uint64_t bytes_ = 0;
  std::uint64_t margin_ = 0; // left free beside the ballast
  bool held_ = false;
  unsigned skip_ = 0; // growth attempts to refuse before the next try at taking it back
};

} // namespace lycosa::storage
