#pragma once

#include "core/cluster/messages.hpp"

#include <optional>
#include <vector>

/// Looking into lists of effects.
namespace lycosa::cluster {

template <class T>
std::vector<T> all_of(const effects& out) {
  std::vector<T> found;
  for (const auto& e : out)
    if (const auto* t = std::get_if<T>(&e)) found.push_back(*t);
  return found;
}

template <class T>
std::optional<T> last_of(const effects& out) {
  const auto all = all_of<T>(out);
  return all.empty() ? std::nullopt : std::optional{all.back()};
}

/// Messages of one type to one node.
template <class M>
std::vector<M> sent(const effects& out, node_id to) {
  std::vector<M> found;
  for (const auto& s : all_of<effect::send>(out))
    if (const auto* m = std::get_if<M>(&s.what); m != nullptr && s.to == to) found.push_back(*m);
  return found;
}

} // namespace lycosa::cluster
