#pragma once

#include "coordination/etcd_api.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lycosa::coordination {

/// What a node knows of the store's keys. Told by several at once, watch, reading of everything and
/// answers of transactions, of which each may be late: a key never goes back to an older value.
class picture {
public:
  struct change {
    std::string key;
    std::optional<std::string> value; ///< none = it is gone
    std::uint64_t revision = 0;
  };

  /// True = this is newer than what was known.
  bool put(const std::string& key, std::optional<std::string> value, std::uint64_t revision);

  /// None = not known, or known to be gone.
  [[nodiscard]] std::optional<change> find(const std::string& key) const;

  /// Takes over all there was at a revision; returns what differs. `asked_at`: what `newest` was
  /// when it was asked for. A store that answers with less has been put back to an older state, and
  /// all of that is believed.
  std::vector<change> replace(std::vector<etcd::key_value> all, std::uint64_t revision,
                              std::uint64_t asked_at);

  /// The greatest revision heard of.
  [[nodiscard]] std::uint64_t newest() const { return newest_; }

private:
  struct entry {
    std::optional<std::string> value; ///< none: known to be gone
    std::uint64_t revision = 0;
  };
  std::map<std::string, entry> keys_;
  std::uint64_t newest_ = 0;
};

} // namespace lycosa::coordination
