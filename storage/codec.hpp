#pragma once

#include "core/project.hpp"
#include "storage/store.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Records to bytes and back; the only place that knows Cap'n Proto (schema/*.capnp).
namespace lycosa::storage {

/// What a stored task holds besides the task itself.
struct stored_task {
  project_id project{};
  task_hash hash;
  task record;
};

/// Encodes one record after the other without allocating: `encode` prepares, `size` says how many
/// bytes `write` will produce. One a transaction; not thread-safe.
class task_encoder {
public:
  task_encoder();
  ~task_encoder();
  task_encoder(const task_encoder&) = delete;
  task_encoder& operator=(const task_encoder&) = delete;

  void encode(const task_ref& ref, const task& record);
  [[nodiscard]] std::size_t size() const;
  void write(std::byte* to) const;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// Decodes a record whose bytes lie at an address aligned to 8 and outlive the result: its strings
/// point into them. `corrupt` for anything that is not a whole record.
[[nodiscard]] result<stored_task> decode_task(std::span<const std::byte> aligned);

/// Of a record what its removal needs, also if it does not decode as a whole; none when even that
/// is not there.
struct task_brief {
  task_ref ref{};
  wall_time updatetime{};
};
[[nodiscard]] std::optional<task_brief> decode_brief(std::span<const std::byte> bytes);

/// Copies stored bytes, wherever they lie, into the batch and adds what they say to its items.
[[nodiscard]] result<void> decode_into(record_batch& batch, task_key key,
                                       std::span<const std::byte> bytes);

[[nodiscard]] std::string encode_project(const project_record& p);
[[nodiscard]] result<project_record> decode_project(std::string_view bytes);

/// One state change, as schema/mutation.capnp describes it.
struct mutation {
  enum class kind : std::uint8_t { insert, update, erase, put_result, erase_result };
  kind what = kind::insert;
  task_ref ref{};
  std::uint64_t seq = 0;
  task_status status = task_status::active;
  std::uint8_t old_status = 0; ///< 0 = there was none
  std::int64_t lastcrawltime = 0;
  std::uint64_t itag_hash = 0;
  std::uint32_t generation = 0;
  queue_position position;
};

struct mutation_batch {
  std::uint64_t lsn = 0;
  std::uint64_t epoch = 0;
  std::vector<mutation> mutations;
  /// So many slices of the index, the last before `next_slice`, are in their places with it.
  std::uint16_t merged_slices = 0;
  std::uint16_t next_slice = 0;
};

[[nodiscard]] std::vector<std::byte> encode_mutations(const mutation_batch& batch);
[[nodiscard]] result<mutation_batch> decode_mutations(std::span<const std::byte> bytes);

} // namespace lycosa::storage
