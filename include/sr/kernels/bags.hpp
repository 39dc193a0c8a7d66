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
inline constexpr std::size_t kCacheLine = 64;

// Rows of floats, from the first column of a block on.
struct FloatRows {
  const float* first;
  std::ptrdiff_t stride;

  struct Row {
    const float* values;

    template <class Part>
    SR_KERNEL_INLINE Vec load(std::size_t column, Part part) const {
      return part.load(values + column);
    }
    template <class Part>
    SR_KERNEL_INLINE Vec add(Vec total, std::size_t column, Part part) const {
      return total + load(column, part);
    }
    template <class Part>
    SR_KERNEL_INLINE Vec add_weighted(Vec total, Vec weight, std::size_t column, Part part) const {
      return fma(load(column, part), weight, total);
    }
  };

  SR_KERNEL_INLINE FloatRows(const Bags& bags, std::size_t at)
      : first(static_cast<const float*>(bags.table) + at), stride(bags.table_stride) {}
  static constexpr std::size_t kBehind = 0;  // bytes of a row after its elements
  static constexpr std::size_t bytes(std::size_t columns) { return columns * sizeof(float); }
  SR_KERNEL_INLINE Row row(std::int64_t index) const { return {first + index * stride}; }
  SR_KERNEL_INLINE void prefetch(std::int64_t index, std::size_t offset) const {
    __builtin_prefetch(reinterpret_cast<const std::byte*>(first + index * stride) + offset);
  }
};

// Columns of one bag from `at` to `end` in kCount registers, of which the last may overlap the one before.
// `part` is of the only one when a row is shorter than a register.
template <class Rows, std::size_t kCount, BagMode kMode, class Integer, class Part>
SR_KERNEL_INLINE void reduce_bag(const Bags& bags, std::int64_t from, std::int64_t to, std::size_t at,
                                 std::size_t end, float* out, Part part) {
  // From the first column on, so that all but the last register are at constant distances from it.
  const Rows table(bags, at);
  const std::size_t last = end - part.count - at;
  const auto column = [last](auto r) __attribute__((always_inline)) {
    return r + 1 == kCount ? last : r * kWidth;
  };
  const auto* const indices = static_cast<const Integer*>(bags.indices);
  const std::int64_t padding = bags.padding;
  const std::int64_t last_index = bags.indices_count - 1, distance = rows_ahead(bags.columns);
  Vec totals[kCount];
  unrolled<kCount>([&](auto r) __attribute__((always_inline)) { totals[r] = Vec(0.0f); });
  std::int64_t taken = 0;
  for (std::int64_t i = from; i < to; ++i) {
    const std::int64_t ahead = i + distance < last_index ? i + distance : last_index;
    const std::int64_t next = indices[ahead];
    unrolled<(Rows::bytes(kCount * kWidth) + Rows::kBehind + kCacheLine - 1) / kCacheLine>([&](
        auto line) __attribute__((always_inline)) { table.prefetch(next, line * kCacheLine); });
    const std::int64_t index = indices[i];
    if (index == padding) continue;
    const auto row = table.row(index);
    if constexpr (kMode == BagMode::max) {
      // The first row is always taken; a NaN in a later one is not larger.
      if (taken == 0) {
        unrolled<kCount>([&](auto r)
                             __attribute__((always_inline)) { totals[r] = row.load(column(r), part); });
      } else {
        unrolled<kCount>([&](auto r) __attribute__((always_inline)) {
          totals[r] = first_max(row.load(column(r), part), totals[r]);
        });
      }
    } else if constexpr (kMode == BagMode::weighted_sum) {
      const Vec weight(bags.weights[i]);
      unrolled<kCount>([&](auto r) __attribute__((always_inline)) {
        totals[r] = row.add_weighted(totals[r], weight, column(r), part);
      });
    } else {
      unrolled<kCount>([&](auto r) __attribute__((always_inline)) {
        totals[r] = row.add(totals[r], column(r), part);
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
template <class Rows, std::size_t kCount, BagMode kMode, class Integer>
SR_KERNEL_INLINE void reduce_last_columns(const Bags& bags, std::int64_t from, std::int64_t to,
                                          std::size_t at, float* out) {
  if constexpr (kCount > 1) {
    if (bags.columns - at <= (kCount - 1) * kWidth)
      return reduce_last_columns<Rows, kCount - 1, kMode, Integer>(bags, from, to, at, out);
  }
  reduce_bag<Rows, kCount, kMode, Integer>(bags, from, to, at, bags.columns, out, Full{});
}

template <class Rows, BagMode kMode, class Integer>
[[gnu::flatten]] inline void reduce_bags(const Bags& bags) {
  constexpr std::size_t kBlock = kBagRegisters * kWidth;
  const auto* const offsets = static_cast<const Integer*>(bags.offsets);
  for (std::size_t b = 0; b < bags.bags; ++b) {
    const auto bag = static_cast<std::int64_t>(b);
    std::int64_t from = bag * bags.bag_length, to = from + bags.bag_length;
    if (offsets != nullptr) {
      from = offsets[bag];
      to = bag + 1 < bags.offsets_count ? offsets[bag + 1] : bags.indices_count;
    }
    float* const out = bags.out + bag * bags.out_stride;
    if (bags.columns < kWidth) {
      reduce_bag<Rows, 1, kMode, Integer>(bags, from, to, 0, bags.columns, out, Part{bags.columns});
      continue;
    }
    std::size_t at = 0;
    for (; bags.columns - at > kBlock; at += kBlock)
      reduce_bag<Rows, kBagRegisters, kMode, Integer>(bags, from, to, at, at + kBlock, out, Full{});
    reduce_last_columns<Rows, kBagRegisters, kMode, Integer>(bags, from, to, at, out);
  }
}

template <class Integer>
inline void reduce_bags_by(const Bags& bags) {
  switch (bags.mode) {
    case BagMode::sum:
      return reduce_bags<FloatRows, BagMode::sum, Integer>(bags);
    case BagMode::mean:
      return reduce_bags<FloatRows, BagMode::mean, Integer>(bags);
    case BagMode::weighted_sum:
      return reduce_bags<FloatRows, BagMode::weighted_sum, Integer>(bags);
    case BagMode::max:
      return reduce_bags<FloatRows, BagMode::max, Integer>(bags);
  }
}

inline void reduce_bags(const Bags& bags) {
  if (bags.wide) return reduce_bags_by<std::int64_t>(bags);
  reduce_bags_by<std::int32_t>(bags);
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
