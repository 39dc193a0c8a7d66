// Multiplies int8 activations by weights of 8 or 4 bits that have a scale for each group of inputs. The sum
// of a group has 32 bits; the kernel converts it to float and scales it. Packed weights are unsigned, with an
// offset (see int8_grouped_weights.hpp). Therefore the accumulator of a group begins with minus the offset
// times the sum of the group's activations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sr/kernels/gemm_tiles.hpp>
#include <sr/kernels/int8_dots.hpp>
#include <sr/kernels/int8_grouped_weights.hpp>
#include <sr/kernels/products.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// Rows that are computed together. Each has two registers of integers and two of floats.
#if defined(SR_KERNEL_AVX512)
inline constexpr std::size_t kInt8GroupedRows = 4;
#else
inline constexpr std::size_t kInt8GroupedRows = 2;
#endif

inline void sum_groups(const GroupSums& sums) {
  std::int32_t* to = sums.sums;
  for (std::size_t r = 0; r < sums.rows; ++r) {
    const std::int8_t* from = sums.in + static_cast<std::ptrdiff_t>(r) * sums.in_row;
    for (std::size_t begin = 0; begin < sums.columns; begin += sums.group, from += sums.group) {
      std::int32_t sum = 0;
      for (std::size_t l = 0; l < sums.group; ++l) sum += from[l];
      *to++ = sum;
    }
  }
}

// `row` is the first one of kRows, and `panel` has the columns from `column` on.
template <class Dot, bool kNibbles, std::size_t kRows>
[[gnu::flatten, gnu::noinline]] void int8_grouped_tile(const Int8GroupedGemm& product,
                                                       const std::uint8_t* panel, std::size_t row,
                                                       std::size_t column) {
  constexpr int kOffset = kNibbles ? 8 : 128;
  constexpr std::size_t kInWord = kNibbles ? 2 * kInGroup : kInGroup;
  const std::size_t groups = product.k / product.group;
  const std::int8_t* a = product.a + static_cast<std::ptrdiff_t>(row) * product.a_row;
  const std::int32_t* const group_sums = product.group_sums + row * groups;
  Vec totals[kRows][2];
  unrolled<kRows>([&](auto r) { totals[r][0] = totals[r][1] = Vec(0.0F); });
  for (std::size_t g = 0; g < groups; ++g) {
    Ints sums[kRows][2];
    unrolled<kRows>([&](auto r) { sums[r][0] = sums[r][1] = Ints(-kOffset * group_sums[r * groups + g]); });
    const auto add = [&](const Ints(&columns)[2], const std::int8_t* left) __attribute__((always_inline)) {
      const Dot rights[2] = {Dot::right(columns[0]), Dot::right(columns[1])};
      unrolled<kRows>([&](auto r) {
        std::int32_t elements = 0;
        std::memcpy(&elements, left + static_cast<std::ptrdiff_t>(r) * product.a_row, kInGroup);
        const Dot of_row = Dot::left(elements);
        unrolled<2>([&](auto v) { sums[r][v] = Dot::add(sums[r][v], of_row, rights[v]); });
      });
    };
    for (std::size_t l = 0; l < product.group; l += kInWord, a += kInWord, panel += kBytesOfWords) {
      const Ints words[2] = {load_ints(panel), load_ints(panel + kBytesOfWords / 2)};
      if constexpr (kNibbles) {
        const Ints low(0x0f0f0f0f);
        add({words[0] & low, words[1] & low}, a);
        add({(words[0] >> 4) & low, (words[1] >> 4) & low}, a + kInGroup);
      } else {
        add(words, a);
      }
    }
    const TwoVecs scale = load_factors(panel);
    panel += kBytesOfFactors;
    unrolled<kRows>([&](auto r) {
      totals[r][0] = fma(to_floats(sums[r][0]), scale.first, totals[r][0]);
      totals[r][1] = fma(to_floats(sums[r][1]), scale.second, totals[r][1]);
    });
  }
  const TwoVecs column_sums = load_factors(panel);
  const std::size_t columns = product.n - column < kPanel ? product.n - column : kPanel;
  const AtMost first{columns < kWidth ? columns : kWidth}, last{columns - first.count};
  const auto finish = [&](std::ptrdiff_t i, Vec total, Vec column_sum, AtMost access, std::size_t at)
      __attribute__((always_inline)) {
    if (product.zero != nullptr) total = total - Vec(product.zero[i * product.zero_stride]) * column_sum;
    total = total * Vec(product.row_factor[i * product.row_factor_stride]);
    if (product.bias != nullptr) total = total + access.load(product.bias + at);
    access.store(first_max(Vec(product.clamp_min), total),
                 product.out + i * product.out_row + at);  // NaN passes
  };
  unrolled<kRows>([&](auto r) {
    const auto i = static_cast<std::ptrdiff_t>(row + r);
    finish(i, totals[r][0], column_sums.first, first, column);
    finish(i, totals[r][1], column_sums.second, last, column + kWidth);
  });
}

template <class Dot, bool kNibbles>
void int8_grouped_gemm_of(const Int8GroupedGemm& product) {
  const std::size_t panel_bytes = packed_int8_panel_bytes(product.k, product.group, kNibbles);
  for (std::size_t column = product.first_column; column < product.end_column; column += kPanel) {
    const std::uint8_t* const panel = product.b + column / kPanel * panel_bytes;
    by_row_tiles<kInt8GroupedRows>(product.m, [&](std::size_t row, auto count) {
      int8_grouped_tile<Dot, kNibbles, count>(product, panel, row, column);
    });
  }
}

template <class Dot, class NibbleDot>
void int8_grouped_gemm(const Int8GroupedGemm& product) {
  if (product.nibbles) return int8_grouped_gemm_of<NibbleDot, true>(product);
  int8_grouped_gemm_of<Dot, false>(product);
}

#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
inline constexpr auto* kInt8GroupedGemmByBytes = &int8_grouped_gemm<DotOfBytes, DotOfBytes>;
#else
inline constexpr void (*kInt8GroupedGemmByBytes)(const Int8GroupedGemm& product) = nullptr;
#endif

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
