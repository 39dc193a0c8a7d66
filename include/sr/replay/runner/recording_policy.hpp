// Decides which calls are recorded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <sr/executor/misses.hpp>
#include <sr/replay/runner/bailout_reasons.hpp>
#include <sr/replay/runner/call_counts.hpp>

namespace sr::replay {

// A recording costs as much as some 30 calls on the general path, so a signature is recorded when it comes
// back. Belongs to one runtime.
class RecordingPolicy {
 public:
  explicit RecordingPolicy(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // True if no program exists and so many signatures have bailed out that further ones are not tried.
  bool is_hopeless(std::size_t programs) const {
    return programs == 0 && bailouts_.signatures() >= kHopelessAfter;
  }

  // Counts a call without a program, and returns why not to record it, if so. `is_full`: there is no room for
  // another program; `evictions` is how often one was replaced. A full table replaces a program only for a
  // signature that has come back often, and more often each time: otherwise calls that alternate between more
  // signatures than there is room for would be recorded each time.
  Miss why_not(std::uint64_t signature, bool is_full, std::uint32_t evictions) {
    if (bailouts_.contains(signature)) return Miss::refused;
    const std::uint32_t wanted = 2U << (is_full ? std::min(evictions, 16U) : dropped_early_);
    const std::uint32_t seen = counts_.count(signature);
    if (seen >= wanted) return Miss::none;
    if (!is_full || seen < 2) return Miss::is_new;
    ++without_room_;
    return Miss::no_room;
  }

  // True if calls of this signature keep to the general path.
  bool refuses(std::uint64_t signature) const { return bailouts_.contains(signature); }

  // Notes why a recording gave no program. `is_of_call`: the reason lies in this call's arguments only, so
  // that another call with the same signature may be recorded.
  void note_bailout(std::uint64_t signature, const std::string& why, bool is_of_call) {
    if (is_of_call && ++bailouts_of_calls_ < kMostBailoutsOfCalls) {
      bailouts_.add(why);
    } else {
      bailouts_.add(signature, why);
    }
  }
  // Notes that data ended the replays of calls with this skeleton: none is recorded for a while, twice as
  // long each time.
  void note_rest(std::uint64_t skeleton, const std::string& why) {
    bailouts_.add(why);
    constexpr std::size_t kMost = 256;
    constexpr std::uint32_t kFirst = 32, kLongest = 1U << 20U;
    if (rests_.size() >= kMost) rests_.clear();
    Rest& rest = rests_[skeleton];
    rest.calls = rest.calls == 0 ? kFirst : std::min(2 * rest.calls, kLongest);
    rest.left = rest.calls;
  }
  // Counts a call without a program. True if it is not to be recorded because calls of its skeleton() rest.
  template <class Skeleton>
  bool rests(const Skeleton& skeleton) {
    if (rests_.empty()) return false;
    const auto known = rests_.find(skeleton());
    if (known == rests_.end() || known->second.left == 0) return false;
    --known->second.left;
    return true;
  }
  // Notes a reason that says nothing about a signature.
  void note_bailout(const std::string& why) { bailouts_.add(why); }

  // Notes that weights have changed and that `programs` programs, replayed `replays` times together, were
  // dropped. While weights change every few calls, a signature has to come back more often before it is
  // recorded again.
  void note_changed_weights(std::size_t programs, std::uint64_t replays) {
    if (programs == 0) return;
    dropped_early_ = replays < kWorthRecording * programs ? std::min(dropped_early_ + 1, 10U) : 0;
  }

  // Forgets all but how weights change.
  void reset() {
    counts_ = CallCounts();
    bailouts_ = BailoutReasons();
    bailouts_of_calls_ = 0;
    without_room_ = 0;
    rests_.clear();
  }

  // Sentences that say why calls were not recorded.
  std::vector<std::string> reasons() const {
    std::vector<std::string> reasons = bailouts_.reasons();
    if (without_room_ != 0) {
      reasons.push_back("Plans may take " + std::to_string(most_bytes_) +
                        " bytes (MemoryOptions::max_plan_bytes): " + std::to_string(without_room_) +
                        " calls had a known signature but no room for a plan.");
    }
    return reasons;
  }

 private:
  // A recording costs about as much as this number of calls on the general path.
  static constexpr std::uint64_t kWorthRecording = 32;

  static constexpr std::size_t kHopelessAfter = 4;  // signatures, if every one so far has bailed out

  // After so many it is no coincidence that arguments share memory, and the signature bails out.
  static constexpr std::uint32_t kMostBailoutsOfCalls = 8;

  struct Rest {
    std::uint32_t calls = 0, left = 0;
  };

  std::size_t most_bytes_;
  CallCounts counts_;
  std::unordered_map<std::uint64_t, Rest> rests_;  // by skeleton
  BailoutReasons bailouts_;
  std::uint32_t bailouts_of_calls_ = 0;
  std::uint32_t dropped_early_ = 0;  // changes of weights in a row before programs were replayed often enough
  std::uint64_t without_room_ = 0;   // calls whose signature came back, but for which there was no room
};

}  // namespace sr::replay
