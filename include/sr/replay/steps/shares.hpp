// Work of a step that threads share.
#pragma once

#include <chrono>
#include <cstdint>

#include <sr/base/intra_op_width.hpp>
#include <sr/base/team.hpp>
#include <sr/replay/steps/sharing_choice.hpp>

namespace sr::replay {

class Shares {
 public:
  // The number of parts, 0 if there is nothing to share, and a measure of the work of all.
  void set(std::int64_t count, double work) {
    count_ = count;
    work_ = work;
  }
  std::int64_t count() const { return count_; }
  // Whether a later step of the program is shared, too.
  void set_more_follow(bool more) { more_follow_ = more; }

  // Calls body(first, end) for ranges of parts, concurrently on as many threads as the caller may use, or
  // alone where that is faster. The body must not throw.
  template <class Body>
  void each(const Body& body) const {
    const int width = count_ < 2 ? 1 : intra_op_threads();
    if (width == 1) return body(std::int64_t{0}, count_);
    using Clock = std::chrono::steady_clock;
    const bool shares = choice_.shares();
    const Clock::time_point begin = Clock::now();
    if (shares) {
      Team::of_process().each(count_, width, more_follow_, body);
    } else {
      body(std::int64_t{0}, count_);
    }
    choice_.note(shares, std::chrono::duration<double>(Clock::now() - begin).count() / work_);
  }

 private:
  std::int64_t count_ = 0;
  double work_ = 1;
  bool more_follow_ = false;
  mutable SharingChoice choice_;
};

}  // namespace sr::replay
