// Places for objects that are lent: who has which, without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <sr/pool/last_cell.hpp>

namespace sr::pool {

// A cell is vacant, idle (with an object that nobody uses) or out: then it and its object are of one thread.
// All that is known of a cell is one word on a cache line of its own, so that threads that lease and return
// the same cells again and again share nothing that is written.
//
// While somebody waits every cell is out and marked as wanted, and in the end every cell is marked as closed:
// both make `release` refuse in the same atomic step that would have released. So nothing of a cell is read
// after it was released, when it and the table may be gone.
//
// Everything may be called from any number of threads at once, unless it says otherwise.
template <class T>
class Cells {
 public:
  static constexpr std::uint32_t kNone = 0xffff;
  static constexpr std::uint32_t kMost = 0xfffd;  // cells

  enum class State : std::uint32_t { vacant, idle, out };
  enum class Released : std::uint8_t { yes, wanted, closed };

  explicit Cells(std::uint32_t most) : most_(most), cells_(std::make_unique<Cell[]>(most)) {}

  std::uint32_t most() const { return most_; }
  T*& object(std::uint32_t cell) const { return cells_[cell].object; }  // of a cell that is the caller's

  // A cell with an object: the one this thread gave back last, else the first; else one that is vacant. It is
  // out then. kNone: all are.
  std::uint32_t take() {
    const std::uint32_t last = last_.get();
    if (take_from(last, State::idle)) return last;
    const std::uint32_t touched = touched_.load();
    for (std::uint32_t i = 0; i < touched; ++i) {
      if (take_from(i, State::idle)) return i;
    }
    for (std::uint32_t i = 0; i < most_; ++i) {
      if (take_vacant(i)) return i;
      // Cells after the last one touched are all alike: no use in looking at each when others touch them.
      if (i >= touched && take_from(i, State::idle)) return i;
    }
    return kNone;
  }

  // Gives the caller's cell up. Unless this says yes, it is the caller's still.
  Released release(std::uint32_t cell, State to) {
    std::uint32_t state = word(State::out);
    // First: afterwards the table may be gone.
    last_.set(cell);
    if (cells_[cell].state.compare_exchange_strong(state, word(to))) return Released::yes;
    return (state & kClosed) != 0 ? Released::closed : Released::wanted;
  }

  // Marks every cell that is out as wanted; or one is not, and is now the caller's: then nothing is marked.
  // By one thread at a time, as `unmark`.
  std::uint32_t take_or_mark() {
    for (std::uint32_t i = 0; i < most_; ++i) {
      std::uint32_t state = word(State::out);
      while (!cells_[i].state.compare_exchange_weak(state, word(State::out) | kWanted)) {
        if (take_from(i, State::idle) || take_vacant(i)) {
          unmark();
          return i;
        }
        state = word(State::out);
      }
    }
    return kNone;
  }
  void unmark() {
    for (std::uint32_t i = 0; i < touched_.load(); ++i) cells_[i].state.fetch_and(~kWanted);
  }

  // Takes every idle cell and calls `each` with it.
  template <class Each>
  void take_idle(Each each) {
    for (std::uint32_t i = 0; i < touched_.load(); ++i) {
      if (take_from(i, State::idle)) each(i);
    }
  }

  // None can be released from now on, and nobody may take any more; `each` is called with those that are
  // idle, and are the caller's. The caller keeps the table alive meanwhile.
  template <class Each>
  void close(Each each) {
    for (std::uint32_t i = 0; i < touched_.load(); ++i) {
      if (cells_[i].state.fetch_or(kClosed) == word(State::idle)) each(i);
    }
  }

  // Cells that are out; a moment's figure.
  std::size_t out() const {
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < touched_.load(); ++i) {
      count += (cells_[i].state.load(std::memory_order_relaxed) & kState) == word(State::out) ? 1U : 0U;
    }
    return count;
  }

 private:
  // The pair of lines that processors fetch together.
  struct alignas(128) Cell {
    std::atomic<std::uint32_t> state = word(State::vacant);
    T* object = nullptr;
  };
  static constexpr std::uint32_t kState = 3, kWanted = 4, kClosed = 8;

  static constexpr std::uint32_t word(State state) { return static_cast<std::uint32_t>(state); }

  bool take_from(std::uint32_t cell, State from) {
    std::uint32_t state = cells_[cell].state.load(std::memory_order_relaxed);
    return state == word(from) && cells_[cell].state.compare_exchange_strong(state, word(State::out));
  }
  bool take_vacant(std::uint32_t cell) {
    if (cells_[cell].state.load(std::memory_order_relaxed) != word(State::vacant)) return false;
    // Before the cell is out: whoever finds it so counts it as touched.
    std::uint32_t touched = touched_.load();
    while (touched <= cell && !touched_.compare_exchange_weak(touched, cell + 1)) {
    }
    return take_from(cell, State::vacant);
  }

  const std::uint32_t most_;
  const std::unique_ptr<Cell[]> cells_;
  std::atomic<std::uint32_t> touched_ = 0;  // cells from here on were never out
  const LastCell last_;
};

}  // namespace sr::pool
