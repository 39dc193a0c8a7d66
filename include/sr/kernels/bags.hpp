// Sums, means and maxima of rows of a table that indices choose.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sr/kernels/math.hpp>
#include <sr/kernels/table.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// Rows of a table are seldom in the cache, and only the indices know which row comes next.
// Where more lines are asked for than the processor waits for at once, it stands still: of rows of 128 floats
// in memory, 8 ahead take 0.86 of the time of 16 (Zen 3); of 64 floats 12 take 0.93, where 8 are too late for
// L3.
SR_KERNEL_INLINE std::int64_t rows_ahead(std::size_t columns) {
  return columns > 64 ? 8 : 12;
}
inline constexpr std::size_t kCacheLine = 64 / sizeof(float);

// Columns of one bag from `at` to `end` in kCount registers, of which the last may overlap the one before.
// `part` is of the only one when a row is shorter than a register.
template <std::size_t kCount, BagMode kMode, class Integer, class Part>
SR_KERNEL_INLINE void reduce_bag(const Bags& bags, std::int64_t from, std::int64_t to, std::size_t at,
                                 std::size_t end, float* out, Part part) {
  // From the first column on, so that all but the last register are at constant distances from it.
  const float* const table = bags.table + at;
  const std::size_t last = end - part.count - at;
  const auto column = [last](auto r) __attribute__((always_inline)) {
    return r + 1 == kCount ? last : r * kWidth;
  };
  const auto* const indices = static_cast<const Integer*>(bags.indices);
  const std::int64_t stride = bags.table_stride, padding = bags.padding;
  const std::int64_t last_index = bags.indices_count - 1, distance = rows_ahead(bags.columns);
  Vec totals[kCount];
  unrolled<kCount>([&](auto r) __attribute__((always_inline)) { totals[r] = Vec(0.0f); });
  std::int64_t taken = 0;
  for (std::int64_t i = from; i < to; ++i) {
    const std::int64_t ahead = i + distance < last_index ? i + distance : last_index;
    const float* const next = table + indices[ahead] * stride;
    unrolled<(kCount * kWidth + kCacheLine - 1) / kCacheLine>([&](auto line) __attribute__((always_inline)) {
      __builtin_prefetch(next + line * kCacheLine);
    });
    const std::int64_t index = indices[i];
    if (index == padding) continue;
    const float* const row = table + index * stride;
    if constexpr (kMode == BagMode::max) {
      // The first row is always taken; a NaN in a later one is not larger.
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
  out += at;
  unrolled<kCount>([&](auto r) __attribute__((always_inline)) { part.store(totals[r], out + column(r)); });
}

inline constexpr std::size_t kBagRegisters = 8;

// The columns from `at` on, in kCount registers or fewer.
template <std::size_t kCount, BagMode kMode, class Integer>
SR_KERNEL_INLINE void reduce_last_columns(const Bags& bags, std::int64_t from, std::int64_t to,
                                          std::size_t at, float* out) {
  if constexpr (kCount > 1) {
    if (bags.columns - at <= (kCount - 1) * kWidth)
      return reduce_last_columns<kCount - 1, kMode, Integer>(bags, from, to, at, out);
  }
  reduce_bag<kCount, kMode, Integer>(bags, from, to, at, bags.columns, out, Full{});
}

template <BagMode kMode, class Integer>
[[gnu::flatten]] inline void reduce_bags(const Bags& bags) {
  constexpr std::size_t kBlock = kBagRegisters * kWidth;
  const auto* const offsets = static_cast<const Integer*>(bags.offsets);
  for (std::size_t b = 0; b < bags.bags; ++b) {
    const auto bag = static_cast<std::int64_t>(b);
    const std::int64_t from = offsets[bag];
    const std::int64_t to = bag + 1 < bags.offsets_count ? offsets[bag + 1] : bags.indices_count;
    float* const out = bags.out + bag * bags.out_stride;
    if (bags.columns < kWidth) {
      reduce_bag<1, kMode, Integer>(bags, from, to, 0, bags.columns, out, Part{bags.columns});
      continue;
    }
    std::size_t at = 0;
    for (; bags.columns - at > kBlock; at += kBlock)
      reduce_bag<kBagRegisters, kMode, Integer>(bags, from, to, at, at + kBlock, out, Full{});
    reduce_last_columns<kBagRegisters, kMode, Integer>(bags, from, to, at, out);
  }
}

template <class Integer>
inline void reduce_bags_by(const Bags& bags) {
  switch (bags.mode) {
    case BagMode::sum:
      return reduce_bags<BagMode::sum, Integer>(bags);
    case BagMode::mean:
      return reduce_bags<BagMode::mean, Integer>(bags);
    case BagMode::weighted_sum:
      return reduce_bags<BagMode::weighted_sum, Integer>(bags);
    case BagMode::max:
      return reduce_bags<BagMode::max, Integer>(bags);
  }
}

inline void reduce_bags(const Bags& bags) {
  if (bags.wide) return reduce_bags_by<std::int64_t>(bags);
  reduce_bags_by<std::int32_t>(bags);
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
