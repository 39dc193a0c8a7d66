// Stores which variables of a model hold the batch size of the last call. Some recurrent networks keep the
// batch size and reset their state when it changes.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

namespace sr {

// Joined calls of sessions add variables. Any number of threads may use one object concurrently.
class RowCounts {
 public:
  explicit RowCounts(std::size_t variables) : holds_rows_(variables) {}

  bool has(std::size_t variable) const { return holds_rows_[variable].load(std::memory_order_relaxed); }
  void add(std::size_t variable) { holds_rows_[variable].store(true, std::memory_order_relaxed); }

  // Returns false if another number in the state was found to depend on the number of rows.
  bool may_join() const { return may_join_.load(std::memory_order_relaxed); }
  void forbid_joining() { may_join_.store(false, std::memory_order_relaxed); }

  // Returns true if a joined call was compared with a call of a single session.
  bool was_compared() const { return was_compared_.load(std::memory_order_relaxed); }
  void note_compared() { was_compared_.store(true, std::memory_order_relaxed); }

 private:
  std::vector<std::atomic<bool>> holds_rows_;
  std::atomic<bool> was_compared_ = false, may_join_ = true;
};

}  // namespace sr
