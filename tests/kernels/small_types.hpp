// The two floats of 16 bits, and their products, for tests of kernels.
#pragma once

#include <cstddef>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/floats.hpp"
#include "support/small_floats.hpp"

namespace sr::test {

struct Bfloat16 {
  using Bits = kernels::Bfloat16Bits;
  static constexpr SmallFloat kType = kBfloat16;
  static const sr::kernels::SmallWeights<Bits>& weights(const sr::kernels::Table& table) {
    return table.bfloat16_weights;
  }
};
struct Float16 {
  using Bits = kernels::Float16Bits;
  static constexpr SmallFloat kType = kFloat16;
  static const sr::kernels::SmallWeights<Bits>& weights(const sr::kernels::Table& table) {
    return table.float16_weights;
  }
};

template <class Type>
float value_of(typename Type::Bits half) {
  return static_cast<float>(test::value_of(Type::kType, half.bits));
}
// The bits of a number that the type has.
template <class Type>
typename Type::Bits half_of(float value) {
  return {bits_of(Type::kType, value)};
}
template <class Type>
float nearest(float value) {
  return static_cast<float>(test::nearest(Type::kType, value));
}
// Multiplies contiguous operands and returns the rounded results as floats. `bias` may be empty.
template <class Type>
std::vector<float> multiply(const kernels::Table& table, std::size_t m, std::size_t n,
                            const std::vector<float>& a, const std::vector<typename Type::Bits>& b,
                            const std::vector<float>& bias, float low = -kInf) {
  const std::size_t k = b.size() / n;
  std::vector<typename Type::Bits> packed(table.packed_small(n, k)), out(m * n);
  Type::weights(table).pack(n, k, b.data(), 1, static_cast<std::ptrdiff_t>(k), packed.data());
  Type::weights(table).multiply_and_round({.m = m,
                                           .n = n,
                                           .k = k,
                                           .a = a.data(),
                                           .a_row = static_cast<std::ptrdiff_t>(k),
                                           .b = packed.data(),
                                           .bias = bias.empty() ? nullptr : bias.data(),
                                           .clamp_min = low,
                                           .out = out.data(),
                                           .out_row = static_cast<std::ptrdiff_t>(n)});
  std::vector<float> values;
  for (const auto half : out) values.push_back(value_of<Type>(half));
  return values;
}

}  // namespace sr::test
