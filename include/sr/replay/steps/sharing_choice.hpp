// Decides if threads share a step, by the times of both ways.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sr::replay {

// The choice for one step, which one thread runs at a time. Sharing pays if the other processors are free,
// which only a trial can tell: the first runs try both ways, and later the worse one is tried again, less and
// less often as long as it stays the worse one, and never so often that trying takes more than a small part
// of the time.
class SharingChoice {
 public:
  // For the next run.
  bool shares() {
    if (first_runs_ < kFirstRuns) return first_runs_ % 2 == 1;
    if (++runs_ < interval_ || time_ < least_time_) return is_better_shared();
    is_trial_ = true;
    return !is_better_shared();
  }

  // The run took so long, in any unit of time for a unit of work.
  void note(bool was_shared, double took) {
    double& mean = was_shared ? shared_ : alone_;
    if (first_runs_ < kFirstRuns) {
      // The first pair finds cold caches, and starts threads.
      mean = first_runs_ < 4 ? took : std::min(mean, took);
      ++first_runs_;
      return;
    }
    time_ += took;
    const bool before = is_better_shared();
    const double best = before ? shared_ : alone_;
    // A slow run alone was interrupted, which happens to shared runs as well. A slow shared run waited for
    // others.
    const double weight = was_shared ? kShared : took < mean ? kAloneAndFaster : kAloneAndSlower;
    mean += (took - mean) * weight;
    if (before != is_better_shared()) interval_ = kLeastInterval;
    if (!is_trial_) return;
    const bool is_promising = was_shared ? took < kGain * alone_ : kGain * took < shared_;
    if (before == is_better_shared())
      interval_ = is_promising ? kLeastInterval : std::min(2 * interval_, kMostInterval);
    least_time_ = (took - best) / kForTrials;
    runs_ = 0;
    time_ = 0;
    is_trial_ = false;
  }

 private:
  static constexpr std::uint32_t kFirstRuns = 6, kLeastInterval = 16, kMostInterval = 1024;
  static constexpr double kShared = 0.25, kAloneAndFaster = 0.5, kAloneAndSlower = 0.125;  // weights of a run
  static constexpr double kGain = 0.95;        // the most time of a run alone for which it pays to share
  static constexpr double kForTrials = 0.005;  // the most that trials may add to the time

  bool is_better_shared() const { return shared_ < kGain * alone_; }

  double alone_ = 0, shared_ = 0;     // means
  double time_ = 0, least_time_ = 0;  // since the last trial, and until the next one
  std::uint32_t first_runs_ = 0, runs_ = 0, interval_ = kLeastInterval;
  bool is_trial_ = false;
};

}  // namespace sr::replay
