// Packs weights of 8 or 4 bits whose scales differ between groups of k, for products with rows of int8. A
// panel has the columns of two registers. It holds each group as rows of words, followed by the scales of the
// group. A word of 8-bit weights has 4 elements of k as unsigned bytes, each plus 128. A word of 4-bit
// weights has 8 elements, each plus 8: element i in the lower 4 bits of byte i, element i + 4 in the upper
// ones. The sums of the columns are at the end of the panel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sr/kernels/grouped_weights.hpp>
#include <sr/kernels/int8_dots.hpp>
#include <sr/kernels/products.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

inline constexpr std::size_t kBytesOfWords = kPanel * sizeof(std::uint32_t);  // one for each column
inline constexpr std::size_t kBytesOfFactors = kPanel * sizeof(float);

inline std::size_t packed_int8_group_bytes(std::size_t group, bool nibbles) {
  return group / (nibbles ? 2 * kInGroup : kInGroup) * kBytesOfWords + kBytesOfFactors;
}
inline std::size_t packed_int8_panel_bytes(std::size_t k, std::size_t group, bool nibbles) {
  return k / group * packed_int8_group_bytes(group, nibbles) + kBytesOfFactors;
}

inline std::size_t packed_int8_grouped_bytes(const GroupedWeights& weights) {
  return grouped_panels(weights.n) * packed_int8_panel_bytes(weights.k, weights.group, weights.nibbles);
}

inline void pack_int8_grouped(const GroupedWeights& weights, std::uint8_t* packed) {
  const std::size_t groups = weights.k / weights.group;
  const auto element = [&](std::size_t l, std::size_t j) -> std::int32_t {
    return j < weights.n ? weights.b[static_cast<std::ptrdiff_t>(l) * weights.b_k +
                                     static_cast<std::ptrdiff_t>(j) * weights.b_n]
                         : 0;
  };
  const auto word_of = [&](std::size_t l, std::size_t j) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < kInGroup; ++i) {
      const auto byte = weights.nibbles ? (element(l + i, j) + 8) | (element(l + kInGroup + i, j) + 8) << 4
                                        : element(l + i, j) + 128;
      word |= static_cast<std::uint32_t>(byte) << 8 * i;
    }
    return word;
  };
  const auto put = [&](auto value) {
    std::memcpy(packed, &value, sizeof(value));
    packed += sizeof(value);
  };
  for (std::size_t column = 0; column < weights.n; column += kPanel) {
    float sums[kPanel] = {};
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t begin = g * weights.group;
      for (std::size_t l = 0; l < weights.group; l += weights.nibbles ? 2 * kInGroup : kInGroup) {
        for (std::size_t j = 0; j < kPanel; ++j) put(word_of(begin + l, column + j));
      }
      for (std::size_t j = 0; j < kPanel; ++j) {
        const float scale = column + j < weights.n ? weights.scales[(column + j) * groups + g] : 0.0F;
        std::int32_t sum = 0;
        for (std::size_t l = 0; l < weights.group; ++l) sum += element(begin + l, column + j);
        sums[j] += scale * static_cast<float>(sum);
        put(scale);
      }
    }
    for (const float sum : sums) put(sum);
  }
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
