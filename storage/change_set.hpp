#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lycosa::storage {

/// What one commit of an environment does to its tables, as bytes: put and erased keys, in the
/// order in which they were written. Applied to the same tables as they were before, it makes them
/// the same as after. FORMAT.md has the layout.
class change_set {
public:
  void put(std::size_t table, std::string_view key, std::string_view value);
  void erase(std::size_t table, std::string_view key);
  void clear() { bytes_.clear(); }

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::string take() {
    auto out = std::move(bytes_);
    bytes_ = {};
    return out;
  }

private:
  void key(std::size_t table, bool erased, std::string_view key);

  std::string bytes_;
};

/// Reads what `change_set` wrote.
///
///     change_reader r(bytes);
///     while (r.next()) … r.table() … r.key() …
///     if (!r.whole()) …
class change_reader {
public:
  explicit change_reader(std::string_view bytes) : rest_(bytes) {}

  /// Goes to the next change; false at the end, and where the bytes make no sense.
  bool next();
  /// After `next` has said false: whether all bytes were understood.
  [[nodiscard]] bool whole() const { return rest_.empty(); }

  [[nodiscard]] std::size_t table() const { return table_; }
  [[nodiscard]] bool erased() const { return erased_; }
  [[nodiscard]] std::string_view key() const { return key_; }
  [[nodiscard]] std::string_view value() const { return value_; } ///< empty when erased

private:
  std::string_view rest_;
  std::size_t table_ = 0;
  bool erased_ = false;
  std::string_view key_, value_;
};

} // namespace lycosa::storage
