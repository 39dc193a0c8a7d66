// How often recent signatures came.
#pragma once

#include <array>
#include <cstdint>

namespace sr::replay {

// Counts of recent signatures, by hash: a signature is recorded when it comes back, and not before.
class CallCounts {
 public:
  // Counts this call, and returns how often its signature has come, this call included.
  std::uint32_t count(std::uint64_t hash) {
    Entry& entry = entries_[hash % entries_.size()];
    if (entry.hash != hash) entry = {hash, 0};
    return ++entry.times;
  }

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t times = 0;
  };
  std::array<Entry, 256> entries_{};
};

}  // namespace sr::replay
