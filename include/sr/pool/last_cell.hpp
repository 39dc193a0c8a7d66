// What each thread remembers of the pools it leased from.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sr::pool {

// The cell that the calling thread gave back last to one table of cells: looking there first, a thread of
// many finds the object whose memory is in its own core's caches, and reads no line that another thread
// writes. It is a hint: nothing depends on it. Threads remember as many tables as `memory()` has places; two
// tables that share a place take it from each other.
class LastCell {
 public:
  LastCell() : table_(next_table().fetch_add(1, std::memory_order_relaxed)) {}
  LastCell(const LastCell&) = delete;
  LastCell& operator=(const LastCell&) = delete;

  // 0 for a thread that is new here.
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

  // Tables are never numbered alike, so that what is remembered of one that is gone is not taken for
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
