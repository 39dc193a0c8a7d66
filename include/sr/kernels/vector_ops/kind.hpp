// What a vector op states about itself: the number of its operands, the types it is compiled for, and how
// near its results are to ATen's.
#pragma once

#include <cstddef>

namespace sr::kernels::vector_ops {

// Traits of an op of sr. A new op has none of them unless it states them, so a forgotten trait costs speed
// and never a wrong result.
enum Trait : unsigned {
  kDoubles = 1,   // compiled for doubles, too
  kIntegers = 2,  // compiled for 64-bit integers, too
  // ATen computes the op on bfloat16 and float16 in floats and rounds the result once, as fused steps do.
  kHalves = 4,
  // kHalves also holds if the second operand is a number. ATen rounds the number of most other ops to 16
  // bits.
  kHalvesByNumbers = 8,
  // On floats, results may differ from ATen's in their last bits. Such ops do not run under Numerics::exact.
  kInexact = 16,
};

template <std::size_t kOperands, unsigned kTraits>
struct Kind {
  static constexpr std::size_t operands = kOperands;
  static constexpr bool exact = (kTraits & kInexact) == 0;
  static constexpr bool on_doubles = (kTraits & kDoubles) != 0;
  static constexpr bool on_integers = (kTraits & kIntegers) != 0;
  static constexpr bool on_halves = (kTraits & kHalves) != 0;
  static constexpr bool on_halves_by_numbers = (kTraits & kHalvesByNumbers) != 0;
};
template <unsigned kTraits = 0>
using Unary = Kind<1, kTraits>;
template <unsigned kTraits = 0>
using Binary = Kind<2, kTraits>;
template <unsigned kTraits = 0>
using Ternary = Kind<3, kTraits>;

}  // namespace sr::kernels::vector_ops
