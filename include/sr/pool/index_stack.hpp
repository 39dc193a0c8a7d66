// A lock-free stack of the numbers of cells (Treiber, "Systems Programming: Coping with Parallelism", IBM
// 1986).
#pragma once

#include <atomic>
#include <cstdint>

namespace sr::pool {

// Cells are linked through their own `std::atomic<std::uint32_t> next`; one is in no more than one stack at a
// time. The cells must outlive the stack. All of it may be called from any number of threads at once.
//
// An empty stack can be marked as waited for, or closed: both make `push` refuse, in the same atomic step
// that would have pushed. Every change counts up 48 bits beside the index, so that a stack that looks as it
// did before is only taken for unchanged when 2^48 changes happened in the meantime: more than 60 days of
// nothing else.
template <class Cell>
class IndexStack {
 public:
  enum class Pushed : std::uint8_t { yes, waited_for, closed };

  static constexpr std::uint32_t kNone = 0xffff;
  static constexpr std::uint32_t kMost = 0xfffd;  // cells

  explicit IndexStack(Cell* cells) : cells_(cells) {}

  // The cell pushed last, or kNone.
  std::uint32_t pop() {
    std::uint64_t head = head_.load();
    for (;;) {
      const std::uint32_t top = index_of(head);
      if (top >= kMost) return kNone;
      const std::uint32_t below = cells_[top].next.load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, changed(head, below))) return top;
    }
  }

  // Unless it says yes, the cell is the caller's still.
  Pushed push(std::uint32_t cell) {
    std::uint64_t head = head_.load();
    do {
      const std::uint32_t top = index_of(head);
      if (top == kWaitedFor) return Pushed::waited_for;
      if (top == kClosed) return Pushed::closed;
      cells_[cell].next.store(top, std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, changed(head, cell)));
    return Pushed::yes;
  }

  // False: there is something to pop.
  bool mark_waited_for() {
    std::uint64_t head = head_.load();
    for (;;) {
      if (index_of(head) == kWaitedFor) return true;
      if (index_of(head) != kNone) return false;
      if (head_.compare_exchange_weak(head, changed(head, kWaitedFor))) return true;
    }
  }
  void unmark() {
    std::uint64_t head = head_.load();
    while (index_of(head) == kWaitedFor && !head_.compare_exchange_weak(head, changed(head, kNone))) {
    }
  }

  // Nothing can be pushed from now on. The cells that were there are the caller's: the first, its `next`, and
  // so on to kNone.
  std::uint32_t close() {
    std::uint64_t head = head_.load();
    while (!head_.compare_exchange_weak(head, changed(head, kClosed))) {
    }
    return index_of(head) < kMost ? index_of(head) : kNone;
  }

 private:
  static constexpr std::uint32_t kWaitedFor = 0xfffe;
  static constexpr std::uint32_t kClosed = 0xfffd;
  static constexpr unsigned kIndexBits = 16;

  static std::uint32_t index_of(std::uint64_t head) { return static_cast<std::uint32_t>(head & 0xffff); }
  static std::uint64_t changed(std::uint64_t head, std::uint32_t index) {
    return ((head >> kIndexBits) + 1) << kIndexBits | index;
  }

  alignas(64) std::atomic<std::uint64_t> head_{kNone};
  Cell* cells_;
};

}  // namespace sr::pool
