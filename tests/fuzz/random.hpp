// Random numbers that are the same on every machine, so a seed and an index determine a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace sr::fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(seed * 0x9E3779B97F4A7C15ull + stream) {
    bits();
    state_ ^= stream << 32;
    bits();
  }

  // SplitMix64.
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(bits() % end); }
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::size_t>(last - first + 1)));
  }
  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

  // One of the items of a container or array.
  template <class Items>
  auto& of(Items& items) {
    return items[below(std::size(items))];
  }
  template <class Items>
  const auto& of(const Items& items) {
    return items[below(std::size(items))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace sr::fuzz
