// Counts the calls of recent signatures.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace sr::replay {

// Counts of recent signatures, by hash: a signature is recorded when it comes back, and not before. A set
// keeps the counts of the kWays signatures that came last among those whose hashes share it, so that two
// signatures called in turn never displace each other.
class CallCounts {
 public:
  static constexpr std::size_t kSets = 64, kWays = 4;

  // Counts this call, and returns how often its signature has come, this call included.
  std::uint32_t count(std::uint64_t hash) {
    std::array<Entry, kWays>& set = sets_[hash % kSets];
    auto entry =
        std::ranges::find_if(set, [&](const Entry& each) { return each.times != 0 && each.hash == hash; });
    if (entry == set.end()) {
      --entry;  // the signature that came least recently
      *entry = {hash, 0};
    }
    const std::uint32_t times = ++entry->times;
    std::rotate(set.begin(), entry, entry + 1);
    return times;
  }

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t times = 0;
  };
  std::array<std::array<Entry, kWays>, kSets>
      sets_{};  // of each set the signature that came last is the first
};

}  // namespace sr::replay
