// A lock-free table of objects that are leased: which are idle, and which are in use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <sr/pool/last_cell.hpp>

namespace sr::pool {

// A cell is vacant, idle (it has an object that is not in use) or leased: then the cell and its object belong
// to one thread. The state of a cell is one word on its own cache line, so that threads that lease and
// return their own cells again and again write to no shared line.
//
// While a thread waits, every cell is leased and marked as wanted; at the end every cell is marked as closed.
// Both marks make `release` fail in the same atomic step that would have released the cell. So nothing of a
// cell is read after its release, when the cell and the table may no longer exist.
//
// All functions may be called from any number of threads at once, unless their comments say otherwise.
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

  // Leases a cell: the one that this thread returned last, else the first idle one, else a vacant one.
  // Returns kNone if all are leased.
  std::uint32_t take() {
    const std::uint32_t last = last_.get();
    if (take_from(last, State::idle)) return last;
    const std::uint32_t touched = touched_.load();
    for (std::uint32_t i = 0; i < touched; ++i) {
      if (take_from(i, State::idle)) return i;
    }
    for (std::uint32_t i = 0; i < most_; ++i) {
      if (take_vacant(i)) return i;
      // All cells behind the last one that was ever used are vacant: there is no need to look at each.
      if (i >= touched && take_from(i, State::idle)) return i;
    }
    return kNone;
  }

  // Returns the caller's cell. If this returns false, the cell still belongs to the caller.
  Released release(std::uint32_t cell, State to) {
    std::uint32_t state = word(State::out);
    // Before the release: afterwards the table may no longer exist.
    last_.set(cell);
    if (cells_[cell].state.compare_exchange_strong(state, word(to))) return Released::yes;
    return (state & kClosed) != 0 ? Released::closed : Released::wanted;
  }

  // Marks every cell as wanted if all are leased. If one is not, leases it to the caller instead and marks
  // nothing. Must be called by one thread at a time, and so must `unmark`.
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

  // Leases every idle cell and calls `each` with it.
  template <class Each>
  void take_idle(Each each) {
    for (std::uint32_t i = 0; i < touched_.load(); ++i) {
      if (take_from(i, State::idle)) each(i);
    }
  }

  // Closes the table: from now on no cell can be released, and none may be leased. Calls `each` with the idle
  // cells, which then belong to the caller. The caller must keep the table alive meanwhile.
  template <class Each>
  void close(Each each) {
    for (std::uint32_t i = 0; i < touched_.load(); ++i) {
      if (cells_[i].state.fetch_or(kClosed) == word(State::idle)) each(i);
    }
  }

  // The number of leased cells, which may change at any moment.
  std::size_t out() const {
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < touched_.load(); ++i) {
      count += (cells_[i].state.load(std::memory_order_relaxed) & kState) == word(State::out) ? 1U : 0U;
    }
    return count;
  }

 private:
  // Processors fetch cache lines in pairs.
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
    // Before the cell is leased: a thread that finds it leased relies on it.
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
