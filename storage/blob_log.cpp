#include "storage/blob_log.hpp"

#include "storage/job_names.hpp"

#include <algorithm>
#include <iterator>

namespace lycosa::storage {

namespace {

constexpr std::size_t page = 1000;

void append_text(std::string& to, std::string_view text) {
  job_names::append_number(to, text.size());
  to += text;
}

std::optional<std::string> take_text(std::string_view& from) {
  if (from.size() < 8) return std::nullopt;
  const auto size = job_names::number_at(from);
  from.remove_prefix(8);
  if (size > from.size()) return std::nullopt;
  std::string text(from.substr(0, size));
  from.remove_prefix(size);
  return text;
}

} // namespace

std::string encode_changes(const std::map<std::string, std::string>& changes) {
  std::string out;
  for (const auto& [name, value] : changes) {
    append_text(out, name);
    append_text(out, value);
  }
  return out;
}

result<blob_changes> decode_changes(std::string_view bytes) {
  blob_changes out;
  while (!bytes.empty()) {
    auto name = take_text(bytes);
    auto value = name ? take_text(bytes) : std::nullopt;
    if (!value) return fail(errc::corrupt, "log", "a record of changes is cut off");
    out.emplace_back(std::move(*name), std::move(*value));
  }
  return out;
}

std::string blob_log::record_name(std::uint64_t n) const {
  std::string name = prefix_;
  job_names::append_number(name, n);
  return name;
}

result<void> blob_log::open() {
  std::string after = prefix_;
  std::optional<std::uint64_t> first;
  for (bool more = true; more;) {
    auto found = catalog_.scan_blobs(space_, after, page);
    if (!found) return tl::unexpected(found.error());
    more = found->size() == page;
    for (auto& [name, value] : *found) {
      if (!name.starts_with(prefix_)) {
        more = false;
        break;
      }
      if (name.size() != prefix_.size() + 8)
        return fail(errc::corrupt, space_, "a record of changes has a name of the wrong length");
      auto changes = decode_changes(value);
      if (!changes) return tl::unexpected(changes.error());
      const auto n = job_names::number_at(std::string_view(name).substr(prefix_.size()));
      if (!first) first = n;
      next_ = n + 1;
      for (auto& [changed, to] : *changes)
        merging_[std::move(changed)] = std::move(to);
      after = std::move(name);
    }
  }
  first_ = first.value_or(next_);
  fresh_from_ = next_;
  return {};
}

const std::string* blob_log::waiting_value(std::string_view name) const {
  for (const auto* part : {&fresh_, &merging_})
    if (const auto i = part->find(name); i != part->end()) return &i->second;
  return nullptr;
}

result<std::string> blob_log::get(std::string_view name) {
  const auto* value = waiting_value(name);
  if (!value) return catalog_.get_blob(space_, name);
  if (value->empty()) return fail(errc::not_found, std::string(name), "does not exist");
  return *value;
}

result<blob_changes> blob_log::scan(std::string_view after, std::size_t limit) {
  blob_changes out;
  for (std::string from(after); out.size() < limit;) {
    auto placed = catalog_.scan_blobs(space_, from, limit);
    if (!placed) return placed;
    const bool last = placed->size() < limit;
    const auto end = last ? std::string() : placed->back().first;
    changes_map all{std::make_move_iterator(placed->begin()),
                    std::make_move_iterator(placed->end())};
    for (const auto* part : {&merging_, &fresh_}) // the newer on top
      for (auto i = part->upper_bound(from); i != part->end() && (last || i->first <= end); ++i)
        all.insert_or_assign(i->first, i->second);
    for (auto& [name, value] : all)
      if (!value.empty() && out.size() < limit) out.emplace_back(name, std::move(value));
    if (last) break;
    from = end;
  }
  return out;
}

void blob_log::begin_merge() {
  merging_ = std::exchange(fresh_, {});
  merged_.clear();
  fresh_from_ = next_;
}

result<void> blob_log::put(blob_changes placed, blob_changes scattered) {
  const auto begin = merged_.empty() ? merging_.begin() : merging_.upper_bound(merged_);
  auto end = begin;
  for (std::size_t n = 0; n < slice && end != merging_.end(); ++n)
    ++end;
  const bool whole = end == merging_.end();
  const bool quiet = scattered.size() < few;
  std::map<std::string, std::string> logged;
  if (quiet && whole && fresh_.empty()) { // with this commit nothing waits any more
    std::move(scattered.begin(), scattered.end(), std::back_inserter(placed));
  } else {
    logged.insert(std::make_move_iterator(scattered.begin()),
                  std::make_move_iterator(scattered.end()));
    // A start reads the log again from its oldest record: what is in it may not be overtaken.
    std::erase_if(placed, [&](auto& change) {
      if (!waiting_value(change.first)) return false;
      logged.insert_or_assign(change.first, std::move(change.second));
      return true;
    });
  }
  if (!logged.empty()) placed.emplace_back(record_name(next_), encode_changes(logged));

  // The older part goes to its places a piece at a time; what is changed now has gone past it.
  const auto by_name = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::sort(placed.begin(), placed.end(), by_name);
  blob_changes piece(begin, end);
  std::erase_if(piece, [&](const auto& change) {
    return std::binary_search(placed.begin(), placed.end(), change, by_name);
  });
  std::move(piece.begin(), piece.end(), std::back_inserter(placed));
  if (whole)
    for (auto n = first_; n < fresh_from_; ++n)
      placed.emplace_back(record_name(n), std::string());
  if (placed.empty()) return {};
  std::sort(placed.begin(), placed.end(), by_name); // neighbours one after the other
  if (auto ok = catalog_.put_blobs(space_, placed); !ok) return ok;

  if (begin != end) merged_ = std::prev(end)->first;
  if (!logged.empty()) {
    ++next_;
    for (auto& [name, value] : logged)
      fresh_.insert_or_assign(name, std::move(value));
  }
  if (!whole) return {};
  merging_.clear();
  merged_.clear();
  first_ = fresh_from_;
  if (fresh_.size() >= enough || (quiet && !fresh_.empty())) begin_merge();
  return {};
}

} // namespace lycosa::storage
