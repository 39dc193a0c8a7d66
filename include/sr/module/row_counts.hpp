// Which variables of a model hold the number of rows of its last call, as a recurrent network does that
// resets its state when the size of the batch changes.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

namespace sr {

// Sessions that run in one call learn it from calls; any number of threads may ask and add.
class RowCounts {
 public:
  explicit RowCounts(std::size_t variables) : holds_rows_(variables) {}

  bool has(std::size_t variable) const { return holds_rows_[variable].load(std::memory_order_relaxed); }
  void add(std::size_t variable) { holds_rows_[variable].store(true, std::memory_order_relaxed); }

  // False once a number in the state was found to depend on the number of rows in another way.
  bool may_join() const { return may_join_.load(std::memory_order_relaxed); }
  void forbid_joining() { may_join_.store(false, std::memory_order_relaxed); }

  // True once a joined call was compared with one of a single session.
  bool was_compared() const { return was_compared_.load(std::memory_order_relaxed); }
  void note_compared() { was_compared_.store(true, std::memory_order_relaxed); }

 private:
  std::vector<std::atomic<bool>> holds_rows_;
  std::atomic<bool> was_compared_ = false, may_join_ = true;
};

}  // namespace sr
