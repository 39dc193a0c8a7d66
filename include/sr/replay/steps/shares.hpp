// Work of a step that threads share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>

#include <sr/base/intra_op_width.hpp>
#include <sr/base/team.hpp>
#include <sr/replay/steps/sharing_choice.hpp>

namespace sr::replay {

// The multiply-adds from which on a product may be shared: one thread takes 20 microseconds for them. Whether
// it is shared, times decide, see SharingChoice.
inline constexpr std::int64_t kLeastShared = 1'000'000;

// Keeps the first exception of the parts of a step, since nothing may leave a helper thread.
class FirstFailure {
 public:
  // Calls part() unless another part has failed.
  template <class Part>
  void run(const Part& part) noexcept {
    if (has_failed_.load(std::memory_order_relaxed)) return;
    try {
      part();
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      has_failed_.store(true, std::memory_order_relaxed);
    }
  }
  // Throws the exception that was kept. Must be called when all parts have ended.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::atomic<bool> has_failed_{false};
};

class Shares {
 public:
  // The number of parts, 0 if there is nothing to share, and a measure of the work of all.
  void set(std::int64_t count, double work) {
    count_ = is_alone_ ? 0 : count;
    work_ = work;
  }
  std::int64_t count() const { return count_; }
  // Makes it one part, because threads share something larger. Must be called before set().
  void keep_alone(bool alone) { is_alone_ = alone; }
  // True if the step may run on several threads at once, for different images.
  bool is_alone() const { return is_alone_; }
  // True if a later step of the program is shared, too.
  void set_more_follow(bool more) { more_follow_ = more; }

  // Calls body(first, end) for ranges of parts, concurrently on as many threads as the caller may use, or
  // alone where that is faster. Throws the first exception of a body when all threads have ended.
  template <class Body>
  void each(const Body& body) const {
    const int width = count_ < 2 ? 1 : intra_op_threads();
    if (width == 1) return body(std::int64_t{0}, count_);
    using Clock = std::chrono::steady_clock;
    const bool shares = choice_.shares();
    const Clock::time_point begin = Clock::now();
    FirstFailure failure;
    const auto part = [&](std::int64_t first, std::int64_t end) noexcept {
      failure.run([&] { body(first, end); });
    };
    if (shares) {
      Team::of_process().each(count_, width, more_follow_, part);
    } else {
      part(std::int64_t{0}, count_);
    }
    choice_.note(shares, std::chrono::duration<double>(Clock::now() - begin).count() / work_);
    failure.rethrow();
  }

 private:
  std::int64_t count_ = 0;
  double work_ = 1;
  bool more_follow_ = false, is_alone_ = false;
  mutable SharingChoice choice_;
};

}  // namespace sr::replay
