// The cell that each thread returned last, for each pool.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sr::pool {

// The cell that the calling thread returned last to one table of cells. A thread that looks there first finds
// the object whose memory is in the caches of its core, and reads no line that another thread writes. It is a
// hint that nothing depends on. A thread remembers as many tables as `memory()` has places; two tables that
// share a place overwrite each other's entry.
class LastCell {
 public:
  LastCell() : table_(next_table().fetch_add(1, std::memory_order_relaxed)) {}
  LastCell(const LastCell&) = delete;
  LastCell& operator=(const LastCell&) = delete;

  // 0 if the thread has returned none.
  std::uint32_t get() const {
    const Place& place = mine();
    return place.table == table_ ? place.cell : 0;
  }
  void set(std::uint32_t cell) const { mine() = {table_, cell}; }

 private:
  struct Place {
    std::uint64_t table = 0;
    std::uint32_t cell = 0;
  };
  static constexpr std::size_t kPlaces = 16;

  // No two tables ever have the same number, so that an entry of a destroyed table is not mistaken for
  // another's.
  static std::atomic<std::uint64_t>& next_table() {
    static std::atomic<std::uint64_t> next = 1;
    return next;
  }
  Place& mine() const {
    static thread_local constinit std::array<Place, kPlaces> memory{};
    return memory[table_ % kPlaces];
  }

  const std::uint64_t table_;
};

}  // namespace sr::pool
