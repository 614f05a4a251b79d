#include "storage/change_set.hpp"

#include "storage/keys.hpp"

#include <array>

namespace lycosa::storage {

namespace {

constexpr std::uint8_t erased_bit = 0x80;
constexpr std::size_t head_bytes = 3; // table, u16 length of the key

template <class T>
void append(std::string& to, T number) {
  std::array<std::byte, sizeof(T)> b;
  put_little(b.data(), number);
  to.append(reinterpret_cast<const char*>(b.data()), b.size());
}

} // namespace

void change_set::key(std::size_t table, bool erased, std::string_view key) {
  bytes_ += static_cast<char>(table | (erased ? erased_bit : 0));
  append(bytes_, static_cast<std::uint16_t>(key.size())); // LMDB's keys have at most 511 bytes
  bytes_ += key;
}

void change_set::put(std::size_t table, std::string_view key_bytes, std::string_view value) {
  key(table, false, key_bytes);
  append(bytes_, static_cast<std::uint32_t>(value.size()));
  bytes_ += value;
}

void change_set::erase(std::size_t table, std::string_view key_bytes) {
  key(table, true, key_bytes);
}

bool change_reader::next() {
  auto at = rest_;
  if (at.size() < head_bytes) return false;
  const auto head = static_cast<std::uint8_t>(at[0]);
  const auto key_size = get_little<std::uint16_t>(at.data() + 1);
  at.remove_prefix(head_bytes);
  if (at.size() < key_size) return false;
  const auto key = at.substr(0, key_size);
  at.remove_prefix(key_size);
  std::string_view value;
  if ((head & erased_bit) == 0) {
    if (at.size() < 4) return false;
    const auto size = get_little<std::uint32_t>(at.data());
    at.remove_prefix(4);
    if (at.size() < size) return false;
    value = at.substr(0, size);
    at.remove_prefix(size);
  }
  table_ = head & (erased_bit - 1);
  erased_ = (head & erased_bit) != 0;
  key_ = key;
  value_ = value;
  rest_ = at;
  return true;
}

} // namespace lycosa::storage
