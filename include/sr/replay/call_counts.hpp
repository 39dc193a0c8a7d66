// Which signatures came by lately.
#pragma once

#include <array>
#include <cstdint>

namespace sr::replay {

// Signatures met lately, by hash: how often, so that a plan is made when one comes back and not before.
class CallCounts {
 public:
  // How often this one was met, this time included.
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
