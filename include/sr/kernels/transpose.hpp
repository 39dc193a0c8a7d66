// Transposes square blocks of floats and of bytes.
#pragma once

#include <cstddef>
#include <cstring>

#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// to[l * to_stride + j] = from[j * from_stride + l] for the registers of `rows` that `load(j)` gives and that
// `store(l, register)` takes. Each stage deals the rows like cards from two halves of the pack, so after
// log2(width) of them a row's elements are spread over all rows.
template <class Load, class Store>
SR_KERNEL_INLINE void transpose_registers(Load load, Store store) {
  Vec rows[kWidth];
  unrolled<kWidth>([&](auto j) __attribute__((always_inline)) { rows[j] = load(j); });
  const auto shuffle = [&]() __attribute__((always_inline)) {
    Vec next[kWidth];
    unrolled<kWidth / 2>([&](auto i) __attribute__((always_inline)) {
      next[2 * i] = zip_low(rows[i], rows[i + kWidth / 2]);
      next[2 * i + 1] = zip_high(rows[i], rows[i + kWidth / 2]);
    });
    unrolled<kWidth>([&](auto i) __attribute__((always_inline)) { rows[i] = next[i]; });
  };
  shuffle();
  shuffle();
  if constexpr (kWidth >= 8) shuffle();
  if constexpr (kWidth >= 16) shuffle();
  unrolled<kWidth>([&](auto l) __attribute__((always_inline)) { store(l, rows[l]); });
}

// A block of `rows` x `columns`, of which each may be less than the width. to[l * to_stride + j] for l <
// columns is written: all of a register if kPad (zeros from `rows` on), else j < rows.
template <bool kPad>
[[gnu::flatten]] inline void transpose_block(const float* from, std::ptrdiff_t from_stride, std::size_t rows,
                                             std::size_t columns, float* to, std::ptrdiff_t to_stride) {
  const auto row = [&](auto j) __attribute__((always_inline)) {
    return from + static_cast<std::ptrdiff_t>(j) * from_stride;
  };
  const auto column = [&](auto l) __attribute__((always_inline)) {
    return to + static_cast<std::ptrdiff_t>(l) * to_stride;
  };
  if (rows == kWidth && columns == kWidth) {
    transpose_registers(
        [&](auto j) __attribute__((always_inline)) { return Vec::load(row(j)); },
        [&](auto l, Vec x) __attribute__((always_inline)) { x.store(column(l)); });
    return;
  }
  const auto load = [&](auto j) __attribute__((always_inline)) {
    if (j >= rows) return Vec(0.0f);
    return columns == kWidth ? Vec::load(row(j)) : Vec::load(row(j), columns);
  };
  transpose_registers(
      load, [&](auto l, Vec x) __attribute__((always_inline)) {
        if (l >= columns) return;
        if (kPad || rows == kWidth) {
          x.store(column(l));
        } else {
          x.store(column(l), rows);
        }
      });
}

inline constexpr std::size_t kByteBlock = 16;

// to[l * to_stride + j] = from[j * from_stride + l] for kByteBlock rows and columns of bytes, in the stages
// of transpose_registers.
SR_KERNEL_INLINE void transpose_bytes(const char* from, std::ptrdiff_t from_stride, char* to,
                                      std::ptrdiff_t to_stride) {
  using Row [[gnu::vector_size(kByteBlock)]] = char;
  Row rows[kByteBlock], next[kByteBlock];
  unrolled<kByteBlock>([&](auto j) {
    std::memcpy(&rows[j], from + static_cast<std::ptrdiff_t>(j) * from_stride, kByteBlock);
  });
  const auto shuffle = [](const Row* before, Row* after) __attribute__((always_inline)) {
    unrolled<kByteBlock / 2>([&](auto i) {
      const Row a = before[i], b = before[i + kByteBlock / 2];
      after[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      after[2 * i + 1] =
          __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    });
  };
  shuffle(rows, next);
  shuffle(next, rows);
  shuffle(rows, next);
  shuffle(next, rows);
  unrolled<kByteBlock>(
      [&](auto l) { std::memcpy(to + static_cast<std::ptrdiff_t>(l) * to_stride, &rows[l], kByteBlock); });
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
