// Reductions and softmax over any dimension: over `count` rows element by element, or along one row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sr/kernels/inner_reductions.hpp>
#include <sr/kernels/math.hpp>
#include <sr/kernels/table.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// What a reduction does with one element, with two, and with a row of contiguous ones. The functions are
// wrapped in types: a function pointer would be called instead of inlined.
struct SumFold {
  static constexpr float first = 0;
  SR_KERNEL_INLINE static Vec map(Vec x) { return x; }
  SR_KERNEL_INLINE static Vec combine(Vec a, Vec b) { return a + b; }
  SR_KERNEL_INLINE static Vec done(Vec x) { return x; }
  SR_KERNEL_INLINE static float row(const float* x, std::size_t n) {
    return sum_row(x, n, [](Vec v) { return map(v); });
  }
};
struct SquaresFold : SumFold {
  SR_KERNEL_INLINE static Vec map(Vec x) { return x * x; }
  SR_KERNEL_INLINE static float row(const float* x, std::size_t n) {
    return sum_row(x, n, [](Vec v) { return map(v); });
  }
};
struct MagnitudesFold : SumFold {
  SR_KERNEL_INLINE static Vec map(Vec x) { return abs(x); }
  SR_KERNEL_INLINE static float row(const float* x, std::size_t n) {
    return sum_row(x, n, [](Vec v) { return map(v); });
  }
};
struct MaxFold {
  static constexpr float first = -kInfinity;
  SR_KERNEL_INLINE static Vec map(Vec x) { return x; }
  SR_KERNEL_INLINE static Vec combine(Vec a, Vec b) { return maximum(a, b); }
  SR_KERNEL_INLINE static Vec done(Vec x) { return x; }
  SR_KERNEL_INLINE static float row(const float* x, std::size_t n) {
    return largest_of_row(x, n, [](Vec v) { return map(v); });
  }
};
struct MinFold : MaxFold {  // the largest of what is negated
  SR_KERNEL_INLINE static Vec map(Vec x) { return -x; }
  SR_KERNEL_INLINE static Vec done(Vec x) { return -x; }
  SR_KERNEL_INLINE static float row(const float* x, std::size_t n) {
    return -largest_of_row(x, n, [](Vec v) { return map(v); });
  }
};

template <class Body>
SR_KERNEL_INLINE void each_group(const OuterReduction& columns, Body body) {
  for (std::size_t o = 0; o < columns.outer; ++o) {
    const auto group = static_cast<std::ptrdiff_t>(o);
    body(columns.in + group * columns.in_outer, columns.out + group * columns.out_outer);
  }
}

SR_KERNEL_INLINE Vec finished(const OuterReduction& columns, Vec x) {
  x = x / Vec(columns.divisor);
  return columns.root ? sqrt(x) : x;
}

// Partial results in registers.
template <class Fold, std::size_t kVecs>
struct Partial {
  Vec values[kVecs];

  SR_KERNEL_INLINE void clear() {
    unrolled<kVecs>([&](auto v) { values[v] = Vec(Fold::first); });
  }
  SR_KERNEL_INLINE void take(Partial& other) {
    unrolled<kVecs>([&](auto v) { values[v] = Fold::combine(values[v], other.values[v]); });
    other.clear();
  }
};

// kVecs registers of results, as sums of partial sums of partial sums, so that errors grow with a fraction of
// the count. A single register has four partial sums, since each addition waits for the previous one.
template <class Fold, std::size_t kVecs, class Last>
SR_KERNEL_INLINE void fold_strip(const OuterReduction& columns, const float* in, float* out, Last last) {
  constexpr std::size_t kAtOnce = 128, kParts = kVecs == 1 ? 4 : 1;
  Partial<Fold, kVecs> total, many, sums[kParts];
  total.clear();
  many.clear();
  unrolled<kParts>([&](auto part) { sums[part].clear(); });
  const auto add_row = [&](auto part) __attribute__((always_inline)) {
    Partial<Fold, kVecs>& sum = sums[part];
    unrolled<kVecs - 1>(
        [&](auto v) { sum.values[v] = Fold::combine(sum.values[v], Fold::map(Vec::load(in + v * kWidth))); });
    constexpr std::size_t kLast = kVecs - 1;
    sum.values[kLast] = Fold::combine(sum.values[kLast], Fold::map(last.load(in + kLast * kWidth)));
    in += columns.in_row;
  };
  for (std::size_t begin = 0; begin < columns.count; begin += kAtOnce) {
    const std::size_t end = columns.count - begin < kAtOnce ? columns.count : begin + kAtOnce;
    std::size_t r = begin;
    for (; r + kParts <= end; r += kParts) unrolled<kParts>(add_row);
    for (; r < end; ++r) add_row(Index<0>{});
    unrolled<kParts - 1>([&](auto part) { sums[0].take(sums[part + 1]); });
    many.take(sums[0]);
    if (end % (kAtOnce * kAtOnce) == 0) total.take(many);
  }
  total.take(many);
  const auto result = [&](auto v) __attribute__((always_inline)) {
    return finished(columns, Fold::done(total.values[v]));
  };
  unrolled<kVecs - 1>([&](auto v) { result(v).store(out + v * kWidth); });
  last.store(result(Index<kVecs - 1>{}), out + (kVecs - 1) * kWidth);
}

template <class Fold>
[[gnu::flatten]] void reduce(const OuterReduction& columns) {
  if (columns.inner == 1) {
    return each_group(columns, [&](const float* in, float* out) {
      const float all = Fold::row(in, columns.count) / columns.divisor;
      *out = columns.root ? __builtin_sqrtf(all) : all;
    });
  }
  each_group(columns, [&](const float* in, float* out) {
    std::size_t i = 0;
    for (; i + 4 * kWidth <= columns.inner; i += 4 * kWidth)
      fold_strip<Fold, 4>(columns, in + i, out + i, Full{});
    over_row(columns.inner - i, [&](std::size_t at, auto part) {
      fold_strip<Fold, 1>(columns, in + i + at, out + i + at, part);
    });
  });
}

// In the order of Reduce.
inline constexpr std::array<void (*)(const OuterReduction& columns), kReduces> kReductions{
    reduce<SumFold>, reduce<MaxFold>, reduce<MinFold>, reduce<SquaresFold>, reduce<MagnitudesFold>};

// The best element of every lane, and its position, which is exact as a float.
struct Best {
  Vec value, at;

  SR_KERNEL_INLINE void see(Vec candidate, std::size_t where) {
    const Mask better = (candidate > value) | (is_nan(candidate) & !is_nan(value));
    value = select(better, candidate, value);
    at = select(better, Vec(static_cast<float>(where)), at);
  }
};

SR_KERNEL_INLINE bool comes_before(float value, float at, float best, float best_at) {
  const bool nan = value != value, best_nan = best != best;
  if (nan || best_nan) return nan && (!best_nan || at < best_at);
  return value > best || (value == best && at < best_at);
}

template <class Map>
SR_KERNEL_INLINE void extreme_of_row(const float* in, std::size_t n, Map map, float* out,
                                     std::int64_t* index) {
  Best best{n < kWidth ? map(Vec::load(in, n)) : map(Vec::load(in)), Vec(0.0f)};
  std::size_t i = kWidth;
  for (; i + kWidth <= n; i += kWidth) best.see(map(Vec::load(in + i)), i);
  if (i < n) best.see(select(first_lanes(n - i), map(Vec::load(in + i, n - i)), Vec(-kInfinity)), i);
  float values[kWidth], at[kWidth];
  best.value.store(values);
  best.at.store(at);
  std::size_t first = 0;
  for (std::size_t lane = 0; lane < kWidth && lane < n; ++lane) {
    at[lane] += static_cast<float>(lane);
    if (lane != 0 && comes_before(values[lane], at[lane], values[first], at[first])) first = lane;
  }
  *index = static_cast<std::int64_t>(at[first]);
  if (out != nullptr) *out = in[*index];
}

template <class Map, class Access>
SR_KERNEL_INLINE void extreme_of_strip(const OuterReduction& columns, const float* in, Map map, float* out,
                                       std::int64_t* index, Access access) {
  Best best{map(access.load(in)), Vec(0.0f)};
  for (std::size_t r = 1; r < columns.count; ++r)
    best.see(map(access.load(in + static_cast<std::ptrdiff_t>(r) * columns.in_row)), r);
  float at[kWidth];
  best.at.store(at);
  for (std::size_t lane = 0; lane < access.count; ++lane) index[lane] = static_cast<std::int64_t>(at[lane]);
  if (out != nullptr) access.store(map(best.value), out);
}

// `map` is its own inverse.
template <class Map>
SR_KERNEL_INLINE void extremes(const OuterReduction& columns, std::int64_t* index, Map map) {
  const float* in = columns.in;
  float* out = columns.out;
  for (std::size_t o = 0; o < columns.outer; ++o) {
    if (columns.inner == 1) {
      extreme_of_row(in, columns.count, map, out, index);
    } else {
      over_row(columns.inner, [&](std::size_t i, auto part) {
        extreme_of_strip(columns, in + i, map, out == nullptr ? nullptr : out + i, index + i, part);
      });
    }
    in += columns.in_outer;
    index += columns.out_outer;
    if (out != nullptr) out += columns.out_outer;
  }
}

[[gnu::flatten]] inline void extreme(const OuterReduction& columns, bool smallest, std::int64_t* index) {
  if (smallest) return extremes(columns, index, [](Vec x) { return -x; });
  extremes(columns, index, [](Vec x) { return x; });
}

// Calls body(in, out, access) for every register of results of every group.
template <class Body>
SR_KERNEL_INLINE void each_strip(const OuterReduction& columns, Body body) {
  each_group(columns, [&](const float* in, float* out) {
    over_row(columns.inner, [&](std::size_t i, auto part) { body(in + i, out + i, part); });
  });
}

template <class Access>
SR_KERNEL_INLINE Vec largest_of_strip(const OuterReduction& columns, const float* in, Access access) {
  Vec largest(-kInfinity);
  for (std::size_t r = 0; r < columns.count; ++r)
    largest = first_max(largest, access.load(in + static_cast<std::ptrdiff_t>(r) * columns.in_row));
  return largest;
}

[[gnu::flatten]] inline void softmax_columns(const OuterReduction& columns) {
  each_strip(columns, [&](const float* in, float* out, auto access) {
    const Vec largest = largest_of_strip(columns, in, access);
    Vec total(0.0f);
    for (std::size_t r = 0; r < columns.count; ++r) {
      const auto row = static_cast<std::ptrdiff_t>(r);
      const Vec power = exp(access.load(in + row * columns.in_row) - largest);
      access.store(power, out + row * columns.out_row);
      total = total + power;
    }
    for (std::size_t r = 0; r < columns.count; ++r) {
      float* to = out + static_cast<std::ptrdiff_t>(r) * columns.out_row;
      access.store(access.load(to) / total, to);
    }
  });
}

[[gnu::flatten]] inline void log_softmax_columns(const OuterReduction& columns) {
  each_strip(columns, [&](const float* in, float* out, auto access) {
    const Vec largest = largest_of_strip(columns, in, access);
    Vec total(0.0f);
    for (std::size_t r = 0; r < columns.count; ++r)
      total = total + exp(access.load(in + static_cast<std::ptrdiff_t>(r) * columns.in_row) - largest);
    const Vec log_scale = log(total);
    for (std::size_t r = 0; r < columns.count; ++r) {
      const auto row = static_cast<std::ptrdiff_t>(r);
      access.store(access.load(in + row * columns.in_row) - largest - log_scale, out + row * columns.out_row);
    }
  });
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
