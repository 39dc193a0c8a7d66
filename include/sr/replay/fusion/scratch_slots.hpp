// The slots of scratch that a fused step keeps values in while it computes a tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include <sr/replay/trace/operand.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// A slot holds a value until the last operation that reads it, and then another one.
class ScratchSlots {
 public:
  // What one pass over the iteration space reads or makes: storage, dtype, and the identities of the offset
  // and of the strides in the order of iteration.
  using Key = std::tuple<StorageId, c10::ScalarType, std::vector<Size::Identity>>;

  void clear() { *this = ScratchSlots(); }

  // Before values are held: one more operation reads this one.
  void expect_read(const Key& key) { ++reads_left_[key]; }
  bool will_be_read(const Key& key) const {
    const auto left = reads_left_.find(key);
    return left != reads_left_.end() && left->second != 0;
  }
  // An operation has read the value; after the last one its slot is free.
  void note_read(const Key& key) {
    if (--reads_left_[key] != 0) return;
    const auto slot = slot_of_.find(key);
    if (slot == slot_of_.end()) return;
    give_back(slot->second);
    slot_of_.erase(slot);
  }

  std::uint32_t take() {
    if (free_.empty()) return static_cast<std::uint32_t>(count_++);
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::uint32_t slot) { free_.push_back(slot); }

  void hold(const Key& key, std::uint32_t slot) { slot_of_[key] = slot; }
  std::optional<std::uint32_t> find(const Key& key) const {
    const auto slot = slot_of_.find(key);
    return slot == slot_of_.end() ? std::nullopt : std::optional(slot->second);
  }

  std::size_t count() const { return count_; }

 private:
  std::map<Key, std::uint32_t> reads_left_, slot_of_;
  std::vector<std::uint32_t> free_;
  std::size_t count_ = 0;
};

}  // namespace sr::replay
