// What kernels that multiply matrices are given.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sr::kernels {

// A bfloat16.
struct Bfloat16Bits {
  std::uint16_t bits;  // of the float that it is, the upper ones
};
// A float16: binary16 of IEEE 754.
struct Float16Bits {
  std::uint16_t bits;
};

// out[i][j] = max(clamp_min, sum over l of a[i][l] * b[l][j] + bias[j]); bias may be null, and clamp_min = 0
// is a relu. Rows of `a` and of `out` are contiguous. Accumulated in fp32 with the bias; results of 16 bits
// are rounded once, to the nearest. Weights of T, which is float, bfloat16, float16 or int8, are widened to
// fp32.
template <class T, class Result>
struct GemmOf {
  std::size_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  std::ptrdiff_t a_row = 0;
  const T* b = nullptr;         // packed: what `pack` wrote; else the matrix itself
  std::ptrdiff_t b_k = 0;       // not packed only: distance of b[l + 1][j] from b[l][j]
  std::ptrdiff_t b_n = 0;       // not packed only: distance of b[l][j + 1] from b[l][j]
  const float* bias = nullptr;  // n floats
  float clamp_min = -__builtin_inff();
  Result* out = nullptr;
  std::ptrdiff_t out_row = 0;
  bool continues = false;  // packed only: the panel behind these is likely to be multiplied next
};
using Gemm = GemmOf<float, float>;

// A product of 8-bit integers: sum[i][j] is the sum over l of (a[i][l] - zero[i]) * b[l][j] in 32 bits,
// modulo 2^32, without the zero points if `zero` is null. They are whole numbers of at most 24 bits. If
// `sums` is not null, the kernel writes the sums there. Otherwise it converts each sum to float, multiplies
// it by row_factor[i], multiplies it by column_factor[j], adds bias[j], takes the maximum with clamp_min, and
// writes the result to `out`. It rounds after each operation, and leaves out those whose array is null. Rows
// are contiguous.
struct Int8Gemm {
  std::size_t m = 0, n = 0, k = 0;
  std::size_t first_column = 0,
              end_column = 0;  // which to compute; the first is a multiple of 2 * Table::width
  const std::uint8_t* a = nullptr;
  std::ptrdiff_t a_row = 0;
  bool a_signed = true;             // int8, else uint8
  const std::uint8_t* b = nullptr;  // what `pack_int8` wrote of int8
  const float* zero = nullptr;
  std::ptrdiff_t zero_stride = 0;
  const float* row_factor = nullptr;
  std::ptrdiff_t row_factor_stride = 1;
  const float* column_factor = nullptr;
  const float* bias = nullptr;
  float clamp_min = -__builtin_inff();
  std::int32_t* sums = nullptr;
  float* out = nullptr;
  std::ptrdiff_t out_row = 0;
};

// The scale of a row is its largest magnitude over `divisor`, and at least `least_scale`; the row becomes
// max(low, min(high, x * (1 / scale) rounded to the nearest whole number, ties to even)). A row with a NaN
// has the scale NaN. Rows of `in` are `in_stride` floats apart, those of `out` follow each other.
struct RowQuantization {
  std::size_t rows = 0, columns = 0;
  const float* in = nullptr;
  std::ptrdiff_t in_stride = 0;
  float divisor = 127, least_scale = 0, low = -127, high = 127;  // within int8
  std::int8_t* out = nullptr;
  float* scales = nullptr;
};

// out[i] = max(clamp_min, sum over l of a[i][l] * b[i][l] + *bias); bias may be null. Rows of `a` and of `b`
// are contiguous; strides are between rows, in elements, and may be 0.
struct BatchedDot {
  std::size_t count = 0, k = 0;
  const float* a = nullptr;
  std::ptrdiff_t a_row = 0;
  const float* b = nullptr;
  std::ptrdiff_t b_row = 0;
  const float* bias = nullptr;
  float clamp_min = -__builtin_inff();
  float* out = nullptr;
  std::ptrdiff_t out_stride = 0;
};
using BatchedDotKernel = void (*)(const BatchedDot& dots);

// A quantized k x n matrix: its element (l, j) is (b[l][j] - zeros[j][g]) * scales[j][g], where g = l /
// group. `scales` and `zeros` have k / group numbers for each column, and the zeros may be null. If
// `nibbles`, all are from -8 to 7, and take 4 bits when they are packed.
struct GroupedWeights {
  std::size_t n = 0, k = 0, group = 1;  // a divisor of k
  bool nibbles = false;
  const std::int8_t* b = nullptr;
  std::ptrdiff_t b_k = 0, b_n = 0;
  const float* scales = nullptr;
  const float* zeros = nullptr;
};

// out[i][j] = max(clamp_min, sum over l of a[i][l] * weight[l][j] + bias[j]); bias may be null. Rows of `a`
// and of `out` are contiguous.
struct GroupedGemm {
  std::size_t m = 0, n = 0, k = 0, group = 1;
  bool nibbles = false, has_zeros = false;
  std::size_t first_column = 0,
              end_column = 0;  // which to compute; the first is a multiple of 2 * Table::width
  const float* a = nullptr;
  std::ptrdiff_t a_row = 0;
  const std::uint8_t* b = nullptr;  // what `pack_grouped` wrote
  const float* bias = nullptr;
  float clamp_min = -__builtin_inff();
  float* out = nullptr;
  std::ptrdiff_t out_row = 0;
};

// A product of rows of int8 by weights of 8 or 4 bits whose scales differ between groups of k:
// out[i][j] = max(clamp_min, row_factor[i] * (sum over l of (a[i][l] - zero[i]) * weight[l][j]) + bias[j]).
// `bias` and `zero` may be null. A group has a multiple of 8 elements, at most 32,000, whose sum is exact;
// sums of groups are scaled and added as floats. Rows of `a` and of `out` are contiguous.
struct Int8GroupedGemm {
  std::size_t m = 0, n = 0, k = 0, group = 8;
  bool nibbles = false;
  std::size_t first_column = 0,
              end_column = 0;  // which to compute; the first is a multiple of 2 * Table::width
  const std::int8_t* a = nullptr;
  std::ptrdiff_t a_row = 0;
  const std::int32_t* group_sums = nullptr;  // of `a`: what `sum_groups` wrote, m rows of k / group
  const float* zero = nullptr;
  std::ptrdiff_t zero_stride = 0;
  const float* row_factor = nullptr;
  std::ptrdiff_t row_factor_stride = 0;
  const std::uint8_t* b = nullptr;  // what `pack_int8_grouped` wrote
  const float* bias = nullptr;
  float clamp_min = -__builtin_inff();
  float* out = nullptr;
  std::ptrdiff_t out_row = 0;
};

// Writes the sum of each group of columns of each row to `sums`, rows * columns / group of them.
struct GroupSums {
  std::size_t rows = 0, columns = 0, group = 1;  // a divisor of columns
  const std::int8_t* in = nullptr;
  std::ptrdiff_t in_row = 0;
  std::int32_t* sums = nullptr;
};

}  // namespace sr::kernels
