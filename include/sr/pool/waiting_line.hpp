// Threads that wait for something to be handed to them, in the order they came.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sr::pool {

struct WaitingFigures {
  std::uint64_t now = 0;       // callers that wait
  std::uint64_t waits = 0;     // callers that had to wait, those that gave up among them
  std::uint64_t timeouts = 0;  // callers that gave up
  std::chrono::nanoseconds total{0};
  std::chrono::nanoseconds longest{0};
};

// Every function is called with `mutex()` held by the caller.
class WaitingLine {
 public:
  using Clock = std::chrono::steady_clock;
  using Item = std::uint32_t;
  static constexpr Clock::time_point kForever = Clock::time_point::max();

  explicit WaitingLine(Item none) : none_(none) {}

  std::mutex& mutex() const { return mutex_; }
  bool empty() const { return first_ == nullptr; }
  const WaitingFigures& figures() const { return figures_; }

  // Waits at the end of the line for an item. Returns `none` if the deadline passes first.
  Item wait(std::unique_lock<std::mutex>& lock, Clock::time_point deadline) {
    const Clock::time_point begin = Clock::now();
    Waiter self{none_, {}, nullptr};
    (first_ == nullptr ? first_ : last_->next) = &self;
    last_ = &self;
    ++figures_.now;
    const auto served = [&] { return self.item != none_; };
    if (deadline == kForever) {
      self.wake.wait(lock, served);
    } else if (!self.wake.wait_until(lock, deadline, served)) {
      leave(self);
      ++figures_.timeouts;
    }
    const auto waited = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
    ++figures_.waits;
    figures_.total += waited;
    figures_.longest = std::max(figures_.longest, waited);
    return self.item;
  }

  // Hands the item to the first thread in the line. Returns false if no thread waits.
  bool serve(Item item) {
    if (first_ == nullptr) return false;
    Waiter& first = *first_;
    leave(first);
    first.item = item;
    first.wake.notify_one();
    return true;
  }

 private:
  struct Waiter {  // on the stack of its thread
    Item item;
    std::condition_variable wake;
    Waiter* next;
  };

  void leave(const Waiter& waiter) {
    Waiter* before = nullptr;
    for (Waiter* at = first_; at != &waiter; at = at->next) before = at;
    (before == nullptr ? first_ : before->next) = waiter.next;
    if (last_ == &waiter) last_ = before;
    --figures_.now;
  }

  const Item none_;
  mutable std::mutex mutex_;
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
  WaitingFigures figures_;
};

}  // namespace sr::pool
