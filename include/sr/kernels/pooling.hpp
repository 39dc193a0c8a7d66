// Maxima and means over windows of planes: first down the columns of a window, then along its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

struct PoolMax {
  static constexpr float kNothing = -kInfinity;
  SR_KERNEL_INLINE static Vec join(Vec so_far, Vec next) { return maximum(next, so_far); }
};
struct PoolSum {
  static constexpr float kNothing = 0.0f;
  SR_KERNEL_INLINE static Vec join(Vec so_far, Vec next) { return so_far + next; }
};

// The joined rows of one window, padded on both sides with the neutral element and split into phases: element
// i of the padded row is columns[i % step][i / step].
template <class Join>
SR_KERNEL_INLINE void join_rows(const Pooling& pool, const float* plane, std::ptrdiff_t first, float* joined,
                                float* columns) {
  const auto width = static_cast<std::size_t>(pool.x.in);
  float* const inside = joined + pool.x.pad;
  bool any = false;
  for (std::ptrdiff_t i = 0; i < pool.y.kernel; ++i) {
    const std::ptrdiff_t y = first + i * pool.y.dilation;
    if (y < 0 || y >= pool.y.in) continue;
    const float* const row = plane + y * pool.x.in;
    over_row(
        width, [&](std::size_t x, auto part) __attribute__((always_inline)) {
          const Vec next = part.load(row + x);
          part.store(any ? Join::join(part.load(inside + x), next) : next, inside + x);
        });
    any = true;
  }
  if (!any) {
    for (std::size_t x = 0; x < width; ++x) inside[x] = Join::kNothing;
  }
  if (pool.x.step == 1) return;
  for (std::ptrdiff_t phase = 0; phase < pool.x.step; ++phase) {
    float* const to = columns + phase * pool.phase_width;
    const float* const from = joined + phase;
    if (pool.x.step == 2) {  // for the compiler to shuffle: 1.2 times as fast
      for (std::ptrdiff_t x = 0; x < pool.phase_width; ++x) to[x] = from[2 * x];
    } else {
      for (std::ptrdiff_t x = 0; x < pool.phase_width; ++x) to[x] = from[x * pool.x.step];
    }
  }
}

// Windows of two columns that do not overlap, without padding at the sides, computed in registers. `first`
// and `second` load the elements of the results, and `last` stores those.
template <class Join, class First, class Second, class Last, class Finish>
SR_KERNEL_INLINE void pool_pairs(const Pooling& pool, const float* plane, std::ptrdiff_t y, std::ptrdiff_t x,
                                 First first, Second second, Last last, Finish finish, float* out) {
  Vec low(Join::kNothing), high(Join::kNothing);
  for (std::ptrdiff_t i = 0; i < pool.y.kernel; ++i) {
    const std::ptrdiff_t row = y * pool.y.step - pool.y.pad + i * pool.y.dilation;
    if (row < 0 || row >= pool.y.in) continue;
    const float* const from = plane + row * pool.x.in + 2 * x;
    low = Join::join(low, first.load(from));
    high = Join::join(high, second.load(from + kWidth));
  }
  const Vec result = Join::join(every_second<0>(low, high), every_second<1>(low, high));
  last.store(finish(result, static_cast<std::size_t>(x), y), out + x);
}

struct NoPart {
  SR_KERNEL_INLINE Vec load(const float*) const { return Vec(0.0f); }
};

template <class Join, class Finish>
[[gnu::flatten]] void pool_planes_by_pairs(const Pooling& pool, Finish finish) {
  constexpr auto width = static_cast<std::ptrdiff_t>(kWidth);
  const float* plane = pool.in;
  float* out = pool.out;
  for (std::size_t p = 0; p < pool.planes; ++p, plane += pool.y.in * pool.x.in) {
    for (std::ptrdiff_t y = 0; y < pool.y.out; ++y, out += pool.x.out) {
      std::ptrdiff_t x = 0;
      for (; x + width <= pool.x.out; x += width)
        pool_pairs<Join>(pool, plane, y, x, Full{}, Full{}, Full{}, finish, out);
      const auto left = static_cast<std::size_t>(pool.x.out - x);
      if (left == 0) continue;
      if (2 * left > kWidth) {
        pool_pairs<Join>(pool, plane, y, x, Full{}, Part{2 * left - kWidth}, Part{left}, finish, out);
      } else if (2 * left == kWidth) {
        pool_pairs<Join>(pool, plane, y, x, Full{}, NoPart{}, Part{left}, finish, out);
      } else {
        pool_pairs<Join>(pool, plane, y, x, Part{2 * left}, NoPart{}, Part{left}, finish, out);
      }
    }
  }
}

template <class Join, class Finish>
[[gnu::flatten]] void pool_planes_by_rows(const Pooling& pool, Finish finish) {
  float* const joined = pool.scratch;
  const std::ptrdiff_t padded = pool.phase_width * pool.x.step;
  float* const columns = pool.x.step == 1 ? joined : joined + padded;
  for (std::ptrdiff_t x = 0; x < padded; ++x) joined[x] = Join::kNothing;
  float* out = pool.out;
  for (std::size_t p = 0; p < pool.planes; ++p) {
    const float* const plane = pool.in + static_cast<std::ptrdiff_t>(p) * pool.y.in * pool.x.in;
    for (std::ptrdiff_t y = 0; y < pool.y.out; ++y, out += pool.x.out) {
      join_rows<Join>(pool, plane, y * pool.y.step - pool.y.pad, joined, columns);
      over_row(
          static_cast<std::size_t>(pool.x.out), [&](std::size_t x, auto part) __attribute__((always_inline)) {
            Vec result(Join::kNothing);
            for (std::ptrdiff_t i = 0; i < pool.x.kernel; ++i) {
              const std::ptrdiff_t at = i * pool.x.dilation;
              const float* const from = columns + at % pool.x.step * pool.phase_width + at / pool.x.step;
              const Vec next = part.load(from + x);
              result = i == 0 ? next : Join::join(result, next);
            }
            part.store(finish(result, x, y), out + x);
          });
    }
  }
}

// Images whose channels lie last: registers hold channels.
template <class Join, class Finish>
[[gnu::flatten]] void pool_pixels(const Pooling& pool, Finish finish) {
  const auto channels = static_cast<std::ptrdiff_t>(pool.channels), row = pool.x.in * channels;
  const float* image = pool.in;
  float* out = pool.out;
  const auto pixel = [&](std::ptrdiff_t y, std::ptrdiff_t x) __attribute__((always_inline)) {
    const std::ptrdiff_t first_row = y * pool.y.step - pool.y.pad, first = x * pool.x.step - pool.x.pad;
    over_row(
        pool.channels, [&](std::size_t c, auto part) __attribute__((always_inline)) {
          Vec result(Join::kNothing);
          for (std::ptrdiff_t j = 0; j < pool.x.kernel; ++j) {
            const std::ptrdiff_t column = first + j * pool.x.dilation;
            if (column < 0 || column >= pool.x.in) continue;
            const float* const from = image + column * channels + c;
            Vec of_column(Join::kNothing);
            for (std::ptrdiff_t i = 0; i < pool.y.kernel; ++i) {
              const std::ptrdiff_t at = first_row + i * pool.y.dilation;
              if (at >= 0 && at < pool.y.in) of_column = Join::join(of_column, part.load(from + at * row));
            }
            result = Join::join(result, of_column);
          }
          part.store(finish(result, static_cast<std::size_t>(x), y), out + c);
        });
  };
  for (std::size_t p = 0; p < pool.planes; ++p, image += pool.y.in * row) {
    for (std::ptrdiff_t y = 0; y < pool.y.out; ++y) {
      for (std::ptrdiff_t x = 0; x < pool.x.out; ++x, out += channels) pixel(y, x);
    }
  }
}

template <class Join, class Finish>
SR_KERNEL_INLINE void pool_planes(const Pooling& pool, Finish finish) {
  const bool pairs = pool.x.kernel == 2 && pool.x.step == 2 && pool.x.dilation == 1 && pool.x.pad == 0 &&
                     2 * pool.x.out <= pool.x.in;
  if (pairs) return pool_planes_by_pairs<Join>(pool, finish);
  pool_planes_by_rows<Join>(pool, finish);
}

inline void max_pool(const Pooling& pool) {
  const auto finish = [](Vec result, std::size_t, std::ptrdiff_t) { return result; };
  pool.channels != 0 ? pool_pixels<PoolMax>(pool, finish) : pool_planes<PoolMax>(pool, finish);
}

template <class Byte>
[[gnu::flatten]] void max_pool_bytes_of(const BytePooling& pool) {
  using Bytes [[gnu::vector_size(4 * kWidth)]] = Byte;
  const auto channels = static_cast<std::ptrdiff_t>(pool.channels), row = pool.x.in * channels;
  const std::uint8_t* image = pool.in;
  std::uint8_t* out = pool.out;
  // Returns the first row or column of a window that is inside the image, and the one behind the last.
  const auto part = [](const Axis& axis, std::ptrdiff_t at) {
    const std::ptrdiff_t begin = at * axis.step - axis.pad, end = begin + axis.kernel;
    return std::pair(begin < 0 ? 0 : begin, end < axis.in ? end : axis.in);
  };
  const auto pixel = [&](std::ptrdiff_t y, std::ptrdiff_t x) __attribute__((always_inline)) {
    const auto [first_row, end_row] = part(pool.y, y);
    const auto [first, end] = part(pool.x, x);
    for (std::ptrdiff_t c = 0; c < channels; c += sizeof(Bytes)) {
      const auto left = static_cast<std::size_t>(channels - c);
      const std::size_t count = left < sizeof(Bytes) ? left : sizeof(Bytes);
      const auto load = [&](std::ptrdiff_t i, std::ptrdiff_t j) __attribute__((always_inline)) {
        Bytes bytes{};
        const std::uint8_t* const from = image + i * row + j * channels + c;
        count == sizeof(Bytes) ? std::memcpy(&bytes, from, sizeof(Bytes)) : std::memcpy(&bytes, from, count);
        return bytes;
      };
      Bytes result = load(first_row, first);
      for (std::ptrdiff_t i = first_row; i < end_row; ++i) {
        for (std::ptrdiff_t j = first; j < end; ++j) {
          const Bytes next = load(i, j);
          result = next > result ? next : result;
        }
      }
      count == sizeof(Bytes) ? std::memcpy(out + c, &result, sizeof(Bytes))
                             : std::memcpy(out + c, &result, count);
    }
  };
  for (std::size_t p = 0; p < pool.images; ++p, image += pool.y.in * row) {
    for (std::ptrdiff_t y = 0; y < pool.y.out; ++y) {
      for (std::ptrdiff_t x = 0; x < pool.x.out; ++x, out += channels) pixel(y, x);
    }
  }
}

inline void max_pool_bytes(const BytePooling& pool) {
  pool.is_signed ? max_pool_bytes_of<std::int8_t>(pool) : max_pool_bytes_of<std::uint8_t>(pool);
}

// `divisors` are y.out rows of x.out numbers: how many elements of each window count.
inline void mean_pool(const Pooling& pool, const float* divisors) {
  if (pool.channels != 0) {
    return pool_pixels<PoolSum>(
        pool, [&](Vec result, std::size_t x, std::ptrdiff_t y) __attribute__((always_inline)) {
          return result / Vec(divisors[y * pool.x.out + static_cast<std::ptrdiff_t>(x)]);
        });
  }
  pool_planes<PoolSum>(
      pool, [&](Vec result, std::size_t x, std::ptrdiff_t y) __attribute__((always_inline)) {
        const float* const row = divisors + y * pool.x.out + static_cast<std::ptrdiff_t>(x);
        const std::size_t left = static_cast<std::size_t>(pool.x.out) - x;
        return result / (left < kWidth ? Vec::load(row, left, Vec(1.0f)) : Vec::load(row));
      });
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
