// Checks of indices, apart from the loops that follow them: those then have nothing in them but copies and
// sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <sr/kernels/isa.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// An index is within if neither it nor what is left to the last one is negative. Only signs are put together,
// which a register does for all of its indices at once, where comparisons of 64 bits are not at hand.
template <class Integer>
inline bool all_within(const Integer* indices, std::size_t count, std::int64_t limit) {
  using Bits = std::make_unsigned_t<Integer>;  // wraps around
  constexpr std::int64_t kLargest = std::numeric_limits<Integer>::max();
  const auto last = static_cast<Bits>(limit - 1 < kLargest ? limit - 1 : kLargest);
  Bits signs = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<Bits>(indices[i]);
    signs |= index | (last - index);
  }
  return static_cast<Integer>(signs) >= 0;
}

inline bool all_within(const void* indices, bool wide, std::size_t count, std::int64_t limit) {
  return wide ? all_within(static_cast<const std::int64_t*>(indices), count, limit)
              : all_within(static_cast<const std::int32_t*>(indices), count, limit);
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
