// Packs weights of 8 or 4 bits whose scales differ between groups of k. A panel has the columns of two
// registers. Its weights come first: rows of bytes, or 4 bits for each weight and eight rows of a column in a
// word, where each group begins with a new word. Then come the scales, a row for each group, and the zero
// points, a row for each group, if there are any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sr/kernels/bfloat16.hpp>
#include <sr/kernels/gemm.hpp>
#include <sr/kernels/products.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

inline constexpr std::size_t kRowsOfWord = 8;  // of 4 bits

// The size of each part of a panel, in bytes.
struct GroupedPanel {
  std::size_t weights, factors, all;

  GroupedPanel(std::size_t k, std::size_t group, bool nibbles, bool has_zeros)
      : weights(k / group * kPanel *
                (nibbles ? (group + kRowsOfWord - 1) / kRowsOfWord * sizeof(std::uint32_t) : group)),
        factors(k / group * kPanel * sizeof(float)),
        all(weights + (has_zeros ? 2 : 1) * factors) {}
};

// The scales or zero points of a group.
SR_KERNEL_INLINE TwoVecs load_factors(const std::uint8_t* from) {
  const auto* const factors = reinterpret_cast<const float*>(from);
  return {Vec::load(factors), Vec::load(factors + kWidth)};
}

inline std::size_t grouped_panels(std::size_t n) {
  return (n + kPanel - 1) / kPanel;
}

inline std::size_t packed_grouped_bytes(const GroupedWeights& weights) {
  return grouped_panels(weights.n) *
         GroupedPanel(weights.k, weights.group, weights.nibbles, weights.zeros != nullptr).all;
}

inline void pack_grouped(const GroupedWeights& weights, std::uint8_t* packed) {
  const std::size_t groups = weights.k / weights.group;
  const auto element = [&](std::size_t l, std::size_t j) {
    return j < weights.n ? weights.b[static_cast<std::ptrdiff_t>(l) * weights.b_k +
                                     static_cast<std::ptrdiff_t>(j) * weights.b_n]
                         : std::int8_t{0};
  };
  const auto put_factors = [&](const float* factors, std::size_t column) {
    for (std::size_t g = 0; g < groups; ++g) {
      for (std::size_t j = 0; j < kPanel; ++j) {
        const float factor = column + j < weights.n ? factors[(column + j) * groups + g] : 0.0f;
        std::memcpy(packed, &factor, sizeof(factor));
        packed += sizeof(factor);
      }
    }
  };
  const auto put_bytes = [&](std::size_t l, std::size_t column) {
    for (std::size_t j = 0; j < kPanel; ++j) *packed++ = static_cast<std::uint8_t>(element(l, column + j));
  };
  const auto put_words = [&](std::size_t l, std::size_t rows, std::size_t column) {
    for (std::size_t j = 0; j < kPanel; ++j) {
      std::uint32_t word = 0;
      for (std::size_t i = 0; i < rows; ++i)
        word |= (static_cast<std::uint32_t>(element(l + i, column + j)) & 15U) << 4 * i;
      std::memcpy(packed, &word, sizeof(word));
      packed += sizeof(word);
    }
  };
  const std::size_t rows = weights.nibbles ? kRowsOfWord : 1;  // that are put at once
  for (std::size_t column = 0; column < weights.n; column += kPanel) {
    for (std::size_t begin = 0; begin < weights.k; begin += weights.group) {
      for (std::size_t l = 0; l < weights.group; l += rows) {
        const std::size_t left = weights.group - l;
        weights.nibbles ? put_words(begin + l, left < rows ? left : rows, column)
                        : put_bytes(begin + l, column);
      }
    }
    put_factors(weights.scales, column);
    if (weights.zeros != nullptr) put_factors(weights.zeros, column);
  }
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
