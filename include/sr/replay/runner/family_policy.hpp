// Decides which calls are recorded as a family.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sr/replay/trace/family_signature.hpp>

namespace sr::replay {

// Two calls of one skeleton whose sizes differ show which sizes vary. Belongs to one runtime.
class FamilyPolicy {
 public:
  // Notes a call that no program serves. Returns the family to record it as, if it is to be recorded as one.
  std::optional<FamilySignature> note_call(const SignatureWords& words) {
    if (skeletons_.size() >= kMostSkeletons) skeletons_.clear();
    Skeleton& known = skeletons_[skeleton_of(words)];
    if (known.is_refused || known.last == words) return std::nullopt;
    const SignatureWords before = known.last;
    known.last = words;
    if (before.empty() || ++known.misses < wanted(known)) return std::nullopt;
    auto family = FamilyMaker(before, words).make();
    if (family) {
      family->keeps_sizes_open = known.is_pinned;
      ++known.recorded;
      known.misses = 0;
    }
    return family;
  }

  // From now on calls that differ from this one in sizes only are recorded one signature at a time.
  void refuse(const SignatureWords& words) { skeletons_[skeleton_of(words)].is_refused = true; }
  // Notes that data ended its replays: sizes that were guessed may be others. Refuses such calls after some.
  void doubt(const SignatureWords& words) {
    constexpr std::uint32_t kMost = 3;
    Skeleton& known = skeletons_[skeleton_of(words)];
    known.is_refused |= ++known.doubts >= kMost;
  }
  // The operator `name` pinned the sizes of a recording. After some calls of other sizes the next family
  // keeps them open; if they are pinned even so, such calls are refused.
  void note_pinned(const SignatureWords& words, const std::string& name) {
    Skeleton& known = skeletons_[skeleton_of(words)];
    if (std::exchange(known.is_pinned, true)) known.is_refused = true;
    if (!name.empty() && std::ranges::find(pinned_by_, name) == pinned_by_.end()) pinned_by_.push_back(name);
  }
  // The names of such operators.
  const std::vector<std::string>& pinned_by() const { return pinned_by_; }

  bool refuses(const SignatureWords& words) const {
    const auto known = skeletons_.find(skeleton_of(words));
    return known != skeletons_.end() && (known->second.is_refused || known->second.is_pinned);
  }

  void reset() {
    skeletons_.clear();
    pinned_by_.clear();
  }

 private:
  static constexpr std::size_t kMostSkeletons = 64;
  static constexpr std::uint32_t kAtOnce =
      4;  // families; for each further one twice as many calls are missed
  // So many calls with pinned sizes may be missed before a plan for all sizes is recorded. In that plan
  // LibTorch convolves, which is slower than a plan for one size. Models of images are called with few sizes,
  // and models of speech with almost any length.
  static constexpr std::uint32_t kPinnedMisses = 16;

  struct Skeleton {
    SignatureWords last;  // the call that came last
    std::uint32_t recorded = 0;
    std::uint32_t misses = 0;  // since then
    std::uint32_t doubts = 0;
    bool is_refused = false, is_pinned = false;
  };

  static std::uint32_t wanted(const Skeleton& known) {
    if (known.is_pinned) return kPinnedMisses;
    return known.recorded < kAtOnce ? 1 : 1U << std::min(known.recorded - kAtOnce + 1, 16U);
  }

  std::unordered_map<std::uint64_t, Skeleton> skeletons_;
  std::vector<std::string> pinned_by_;
};

}  // namespace sr::replay
