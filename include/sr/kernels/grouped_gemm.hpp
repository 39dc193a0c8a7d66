// Products of floats by weights of 8 or 4 bits whose scales differ between groups of k.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sr/kernels/bfloat16.hpp>
#include <sr/kernels/gemm.hpp>
#include <sr/kernels/gemm_tiles.hpp>
#include <sr/kernels/grouped_weights.hpp>
#include <sr/kernels/products.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// Converts signed 4-bit weights to floats. Each lane of `words` has eight weights; takes number `kRow` of
// each.
template <int kRow>
SR_KERNEL_INLINE Vec nibbles(Ints words) {
#if defined(SR_KERNEL_AVX512)
  // One instruction looks up 16 floats by the lowest 4 bits of each word.
  constexpr Floats kValues{0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
  const Ints lowest = words >> 4 * kRow;
  return Vec(_mm512_maskz_permutexvar_ps(kAllLanes, reinterpret_cast<__m512i>(lowest.lanes), kValues));
#else
  return to_floats((words << (28 - 4 * kRow)) >> 28);
#endif
}

// Eight rows of a panel of 4-bit weights.
struct NibbleRows {
  Ints first, second;

  SR_KERNEL_INLINE static NibbleRows load(const std::uint8_t* from) {
    NibbleRows rows;
    std::memcpy(&rows.first.lanes, from, sizeof(Int32s));
    std::memcpy(&rows.second.lanes, from + sizeof(Int32s), sizeof(Int32s));
    return rows;
  }
  template <int kRow>
  SR_KERNEL_INLINE TwoVecs row() const {
    return {nibbles<kRow>(first), nibbles<kRow>(second)};
  }
  // Makes the next row the first one.
  SR_KERNEL_INLINE void drop_row() {
    first = first >> 4;
    second = second >> 4;
  }
};
inline constexpr std::size_t kBytesOfNibbleRows = 2 * sizeof(Int32s);

SR_KERNEL_INLINE TwoVecs load_byte_row(const std::uint8_t* row) {
  const auto* const bytes = reinterpret_cast<const std::int8_t*>(row);
  return {load_widened(bytes), load_widened(bytes + kWidth)};
}

// Reads the rows of a panel one by one, as floats without scale and zero point.
template <bool kNibbles>
struct GroupedRows {
  const std::uint8_t* panel;
  NibbleRows rows = {};
  std::size_t left = 0;  // of `rows`

  SR_KERNEL_INLINE void begin_group() { left = 0; }
  SR_KERNEL_INLINE TwoVecs next() {
    if constexpr (!kNibbles) {
      const TwoVecs row = load_byte_row(panel);
      panel += kPanel;
      return row;
    }
    if (left == 0) {
      rows = NibbleRows::load(panel);
      panel += kBytesOfNibbleRows;
      left = kRowsOfWord;
    }
    --left;
    const TwoVecs row = rows.row<0>();
    rows.drop_row();
    return row;
  }
};

// Few rows: a group is summed up before it is scaled.
template <bool kNibbles, bool kZeros, std::size_t kRows>
[[gnu::flatten, gnu::noinline]] void grouped_rows(const GroupedGemm& product, const std::uint8_t* panel,
                                                  const float* a, const float* bias, float* out, AtMost first,
                                                  AtMost last) {
  // A register of sums waits 4 cycles for itself: with one row there are four of them.
  constexpr std::size_t kParts = kRows == 1 ? 2 : 1;
  const GroupedPanel parts(product.k, product.group, kNibbles, kZeros);
  const std::uint8_t* scales = panel + parts.weights;
  const std::uint8_t* zeros = scales + parts.factors;
  Vec totals[kRows][2];
  unrolled<kRows>([&](auto r) {
    totals[r][0] = bias == nullptr ? Vec(0.0f) : first.load(bias);
    totals[r][1] = bias == nullptr ? Vec(0.0f) : last.load(bias + kWidth);
  });
  for (std::size_t begin = 0; begin < product.k; begin += product.group) {
    Vec sums[kParts][kRows][2];
    unrolled<kParts>([&](auto part) {
      unrolled<kRows>([&](auto r) { sums[part][r][0] = sums[part][r][1] = Vec(0.0f); });
    });
    TwoVecs zero{};
    if constexpr (kZeros) zero = load_factors(zeros);
    const auto step = [&](auto part, TwoVecs columns, std::size_t l) __attribute__((always_inline)) {
      if constexpr (kZeros) columns = {columns.first - zero.first, columns.second - zero.second};
      unrolled<kRows>([&](auto r) {
        const Vec left(a[static_cast<std::ptrdiff_t>(r) * product.a_row + static_cast<std::ptrdiff_t>(l)]);
        sums[part][r][0] = fma(left, columns.first, sums[part][r][0]);
        sums[part][r][1] = fma(left, columns.second, sums[part][r][1]);
      });
    };
    const std::size_t end = begin + product.group;
    std::size_t l = begin;
    if constexpr (kNibbles) {
      for (; l + kRowsOfWord <= end; l += kRowsOfWord, panel += kBytesOfNibbleRows) {
        const NibbleRows rows = NibbleRows::load(panel);
        unrolled<kRowsOfWord>(
            [&](auto i) { step(Index<i % kParts>{}, rows.template row<static_cast<int>(i)>(), l + i); });
      }
      if (l < end) {
        NibbleRows rows = NibbleRows::load(panel);
        panel += kBytesOfNibbleRows;
        for (; l < end; ++l, rows.drop_row()) step(Index<0>{}, rows.row<0>(), l);
      }
    } else {
      for (; l + kParts <= end; l += kParts) {
        unrolled<kParts>([&](auto part) {
          step(part, load_byte_row(panel), l + part);
          panel += kPanel;
        });
      }
      if (l < end) {
        step(Index<0>{}, load_byte_row(panel), l);
        panel += kPanel;
      }
    }
    const TwoVecs scale = load_factors(scales);
    unrolled<kRows>([&](auto r) {
      if constexpr (kParts == 2) {
        sums[0][r][0] = sums[0][r][0] + sums[1][r][0];
        sums[0][r][1] = sums[0][r][1] + sums[1][r][1];
      }
      totals[r][0] = fma(sums[0][r][0], scale.first, totals[r][0]);
      totals[r][1] = fma(sums[0][r][1], scale.second, totals[r][1]);
    });
    scales += kPanel * sizeof(float);
    zeros += kPanel * sizeof(float);
  }
  unrolled<kRows>([&](auto r) {
    float* const row = out + static_cast<std::ptrdiff_t>(r) * product.out_row;
    first.store(first_max(Vec(product.clamp_min), totals[r][0]), row);  // NaN passes
    last.store(first_max(Vec(product.clamp_min), totals[r][1]), row + kWidth);
  });
}

// Many rows: some rows of the panel are widened and scaled on the stack, and multiplied as floats.
template <bool kNibbles, bool kZeros>
[[gnu::flatten, gnu::noinline]] void grouped_panel(const GroupedGemm& product, const std::uint8_t* panel,
                                                   std::size_t column, std::size_t columns) {
  constexpr std::size_t kBlock = 128;
  alignas(64) float widened[kBlock * kPanel];
  const GroupedPanel parts(product.k, product.group, kNibbles, kZeros);
  const std::uint8_t* factors = panel + parts.weights;
  GroupedRows<kNibbles> all{panel};
  TwoVecs scale{}, zero{};
  std::size_t left = 0;  // rows of the group
  for (std::size_t l = 0; l < product.k; l += kBlock) {
    const std::size_t rows = product.k - l < kBlock ? product.k - l : kBlock;
    for (std::size_t r = 0; r < rows; ++r) {
      if (left == 0) {
        scale = load_factors(factors);
        if constexpr (kZeros) zero = load_factors(factors + parts.factors);
        factors += kPanel * sizeof(float);
        left = product.group;
        all.begin_group();
      }
      --left;
      TwoVecs values = all.next();
      if constexpr (kZeros) values = {values.first - zero.first, values.second - zero.second};
      (values.first * scale.first).store(widened + r * kPanel);
      (values.second * scale.second).store(widened + r * kPanel + kWidth);
    }
    Gemm part;
    part.m = product.m;
    part.n = product.n;
    part.k = rows;
    part.a = product.a + l;
    part.a_row = product.a_row;
    part.bias = product.bias;
    part.out = product.out;
    part.out_row = product.out_row;
    const bool ends = l + rows == product.k;
    gemm_columns<true>(part,
                       {widened, static_cast<std::ptrdiff_t>(kPanel), rows, l != 0,
                        ends ? product.clamp_min : -kInfinity, widened},
                       column, columns);
  }
}

template <bool kNibbles, bool kZeros>
void grouped_gemm_of(const GroupedGemm& product) {
  constexpr std::size_t kFewRows = 2;
  const std::size_t panel_bytes = GroupedPanel(product.k, product.group, kNibbles, kZeros).all;
  for (std::size_t column = product.first_column; column < product.end_column; column += kPanel) {
    const std::uint8_t* const panel = product.b + column / kPanel * panel_bytes;
    const std::size_t columns = product.n - column < kPanel ? product.n - column : kPanel;
    if (product.m > kFewRows) {
      grouped_panel<kNibbles, kZeros>(product, panel, column, columns);
      continue;
    }
    const float* const bias = product.bias == nullptr ? nullptr : product.bias + column;
    const AtMost first{columns < kWidth ? columns : kWidth}, last{columns - first.count};
    by_row_tiles<kFewRows>(product.m, [&](std::size_t r, auto count) {
      const auto row = static_cast<std::ptrdiff_t>(r);
      grouped_rows<kNibbles, kZeros, count>(product, panel, product.a + row * product.a_row, bias,
                                            product.out + row * product.out_row + column, first, last);
    });
  }
}

inline void grouped_gemm(const GroupedGemm& product) {
  if (product.nibbles)
    return product.has_zeros ? grouped_gemm_of<true, true>(product) : grouped_gemm_of<true, false>(product);
  product.has_zeros ? grouped_gemm_of<false, true>(product) : grouped_gemm_of<false, false>(product);
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
