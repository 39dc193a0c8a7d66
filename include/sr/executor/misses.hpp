// Why calls were answered on the general path.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sr {

enum class Miss : std::uint8_t {
  none,       // the call is recorded
  autocast,   // LibTorch's operators follow it
  arguments,  // no signature describes them
  refused,    // calls of this signature cannot be replayed
  hopeless,   // nor could those of any signature so far
  is_new,     // the signature has to come back first
  no_room,    // plans take all the bytes they may
  elsewhere,  // another runtime of the module records such a call, or has just done so
  ended,      // data led a replay elsewhere
  count
};

// One thread at a time may call note(); any thread may read.
class Misses {
 public:
  void note(Miss why) { counts_[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed); }

  // What to say of calls, with how many there were.
  std::vector<std::pair<std::string, std::uint64_t>> report() const {
    static constexpr std::array<const char*, static_cast<std::size_t>(Miss::count)> kSentences{
        "",
        "The call was made under torch.autocast.",
        "An argument is a sparse, quantized or lazily conjugated tensor, or of a type that no plan takes.",
        "Calls with these arguments cannot be replayed (see the bailouts).",
        "No call so far could be replayed, so no more are recorded (see the bailouts).",
        "This input signature has not been seen often enough to record.",
        "Plans already take max_plan_bytes (MemoryOptions::max_plan_bytes).",
        "The shared plans of the module were changing: a runtime was recording or withdrawing one.",
        "The input data took a different path from the recorded call."};
    std::vector<std::pair<std::string, std::uint64_t>> report;
    for (std::size_t i = 1; i < counts_.size(); ++i) {
      const std::uint64_t count = counts_[i].load(std::memory_order_relaxed);
      if (count != 0) report.emplace_back(kSentences[i], count);
    }
    return report;
  }

 private:
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Miss::count)> counts_{};
};

}  // namespace sr
