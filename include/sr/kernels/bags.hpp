// Sums, means and maxima of rows of a table that indices choose.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sr/kernels/math.hpp>
#include <sr/kernels/table.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// 32 or 64 bits by a branch that always goes one way, so that nothing is compiled twice for them.
SR_KERNEL_INLINE std::int64_t index_at(const void* indices, bool wide, std::int64_t i) {
  return wide ? static_cast<const std::int64_t*>(indices)[i] : static_cast<const std::int32_t*>(indices)[i];
}

// Rows of a table are seldom in the cache, and their order is known to nobody but the indices.
inline constexpr std::int64_t kRowsAhead = 16;
inline constexpr std::size_t kCacheLine = 64 / sizeof(float);

// Columns of one bag from `at` to `end` in kCount registers, of which the last may overlap the one before.
// `part` is of the only one when a row is shorter than a register.
template <std::size_t kCount, BagMode kMode, class Part>
SR_KERNEL_INLINE void reduce_bag(const Bags& bags, std::int64_t from, std::int64_t to, std::size_t at,
                                 std::size_t end, float* out, Part part) {
  const std::size_t last = end - part.count;
  const auto column = [&](std::size_t r) { return r + 1 == kCount ? last : at + r * kWidth; };
  Vec totals[kCount];
  unrolled<kCount>([&](auto r) __attribute__((always_inline)) { totals[r] = Vec(0.0f); });
  std::int64_t taken = 0;
  for (std::int64_t i = from; i < to; ++i) {
    const std::int64_t ahead = i + kRowsAhead < bags.indices_count ? i + kRowsAhead : bags.indices_count - 1;
    const float* const next = bags.table + index_at(bags.indices, bags.wide, ahead) * bags.table_stride;
    unrolled<(kCount * kWidth + kCacheLine - 1) / kCacheLine>([&](auto line) __attribute__((always_inline)) {
      __builtin_prefetch(next + at + line * kCacheLine);
    });
    const std::int64_t index = index_at(bags.indices, bags.wide, i);
    if (index == bags.padding) continue;
    const float* const row = bags.table + index * bags.table_stride;
    if constexpr (kMode == BagMode::max) {
      // The first is taken whatever it is; a NaN behind it is not larger.
      if (taken == 0) {
        unrolled<kCount>([&](auto r)
                             __attribute__((always_inline)) { totals[r] = part.load(row + column(r)); });
      } else {
        unrolled<kCount>([&](auto r) __attribute__((always_inline)) {
          totals[r] = first_max(part.load(row + column(r)), totals[r]);
        });
      }
    } else if constexpr (kMode == BagMode::weighted_sum) {
      const Vec weight(bags.weights[i]);
      unrolled<kCount>([&](auto r) __attribute__((always_inline)) {
        totals[r] = fma(part.load(row + column(r)), weight, totals[r]);
      });
    } else {
      unrolled<kCount>([&](auto r) __attribute__((always_inline)) {
        totals[r] = totals[r] + part.load(row + column(r));
      });
    }
    ++taken;
  }
  if (kMode == BagMode::mean && taken > 1) {
    const Vec count(static_cast<float>(taken));
    unrolled<kCount>([&](auto r) __attribute__((always_inline)) { totals[r] = totals[r] / count; });
  }
  unrolled<kCount>([&](auto r) __attribute__((always_inline)) { part.store(totals[r], out + column(r)); });
}

inline constexpr std::size_t kBagRegisters = 8;

// The columns from `at` in kCount registers, or in fewer if those are enough.
template <std::size_t kCount, BagMode kMode>
SR_KERNEL_INLINE void reduce_last_columns(const Bags& bags, std::int64_t from, std::int64_t to,
                                          std::size_t at, float* out) {
  if constexpr (kCount > 1) {
    if (bags.columns - at <= (kCount - 1) * kWidth)
      return reduce_last_columns<kCount - 1, kMode>(bags, from, to, at, out);
  }
  reduce_bag<kCount, kMode>(bags, from, to, at, bags.columns, out, Full{});
}

template <BagMode kMode>
[[gnu::flatten]] inline void reduce_bags(const Bags& bags) {
  constexpr std::size_t kBlock = kBagRegisters * kWidth;
  for (std::size_t b = 0; b < bags.bags; ++b) {
    const auto bag = static_cast<std::int64_t>(b);
    const std::int64_t from = index_at(bags.offsets, bags.wide, bag);
    const std::int64_t to =
        bag + 1 < bags.offsets_count ? index_at(bags.offsets, bags.wide, bag + 1) : bags.indices_count;
    float* const out = bags.out + bag * bags.out_stride;
    if (bags.columns < kWidth) {
      reduce_bag<1, kMode>(bags, from, to, 0, bags.columns, out, Part{bags.columns});
      continue;
    }
    std::size_t at = 0;
    for (; bags.columns - at > kBlock; at += kBlock)
      reduce_bag<kBagRegisters, kMode>(bags, from, to, at, at + kBlock, out, Full{});
    reduce_last_columns<kBagRegisters, kMode>(bags, from, to, at, out);
  }
}

inline void reduce_bags(const Bags& bags) {
  switch (bags.mode) {
    case BagMode::sum:
      return reduce_bags<BagMode::sum>(bags);
    case BagMode::mean:
      return reduce_bags<BagMode::mean>(bags);
    case BagMode::weighted_sum:
      return reduce_bags<BagMode::weighted_sum>(bags);
    case BagMode::max:
      return reduce_bags<BagMode::max>(bags);
  }
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
