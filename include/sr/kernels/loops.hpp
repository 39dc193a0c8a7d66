// The loops of a lane over arrays: one for every choice of operands that are a single float.
#pragma once

#include <cstddef>
#include <utility>

#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

template <bool kScalar>
struct Operand {
  const float* from;

  SR_KERNEL_INLINE explicit Operand(const float* begin) : from(begin) {}
  SR_KERNEL_INLINE Vec at(std::size_t i) const { return Vec::load(from + i); }
  SR_KERNEL_INLINE Vec first(std::size_t count) const { return Vec::load(from, count); }
};

template <>
struct Operand<true> {
  Vec value;

  SR_KERNEL_INLINE explicit Operand(const float* from) : value(*from) {}
  SR_KERNEL_INLINE Vec at(std::size_t) const { return value; }
  SR_KERNEL_INLINE Vec first(std::size_t) const { return value; }
};

// The last register is computed before the loop and stored behind it: it overlaps the one before where n is
// no multiple of the width, and its operands may be what the loop overwrites. Only fewer than `width`
// elements need partial access.
template <class Lane, class... Operands>
SR_KERNEL_INLINE void run_lane(std::size_t n, float* out, const Operands... operands) {
  if (n < kWidth) {
    if (n != 0) Lane::template apply<Vec>(operands.first(n)...).store(out, n);
    return;
  }
  const std::size_t end = n - kWidth;
  const Vec last = Lane::template apply<Vec>(operands.at(end)...);
  for (std::size_t i = 0; i < end; i += kWidth) Lane::template apply<Vec>(operands.at(i)...).store(out + i);
  last.store(out + end);
}

// `flatten`: a lane is written as an ordinary function; calling it in the loop would cost more than the rest.
template <class Lane, unsigned kScalars, std::size_t... kIndex>
[[gnu::flatten]] void lane_loop(std::size_t n, float* out, const float* const* in) {
  run_lane<Lane>(n, out, Operand<((kScalars >> kIndex) & 1) != 0>(in[kIndex])...);
}

template <class Lane>
consteval LaneLoops make_loops() {
  static_assert(Lane::operands >= 1 && Lane::operands <= kMaxOperands, "a lane has one to three operands");
  LaneLoops loops;
  loops.operands = Lane::operands;
  const auto fill = [&]<std::size_t... kIndex, unsigned... kScalars>(
      std::index_sequence<kIndex...>, std::integer_sequence<unsigned, kScalars...>) {
    ((loops.by_scalars[kScalars] = lane_loop<Lane, kScalars, kIndex...>), ...);
  };
  fill(std::make_index_sequence<Lane::operands>{},
       std::make_integer_sequence<unsigned, 1U << Lane::operands>{});
  return loops;
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
