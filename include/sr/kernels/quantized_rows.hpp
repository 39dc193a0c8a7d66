// Quantizes rows of floats to int8, each row with its own scale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sr/kernels/conversions.hpp>
#include <sr/kernels/inner_reductions.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

using SignedBytes [[gnu::vector_size(kWidth)]] = std::int8_t;

// Whole numbers of 8 bits; NaN gives 0, as the conversion of a single float does.
SR_KERNEL_INLINE void store_as_int8(Vec whole, std::int8_t* to) {
  const auto bytes = __builtin_convertvector(to_ints(whole).lanes, SignedBytes);
  std::memcpy(to, &bytes, sizeof(bytes));
}

[[gnu::flatten]] inline void quantize_rows(const RowQuantization& rows) {
  for (std::size_t r = 0; r < rows.rows; ++r) {
    const float* const in = rows.in + static_cast<std::ptrdiff_t>(r) * rows.in_stride;
    std::int8_t* const out = rows.out + r * rows.columns;
    const float quotient = largest_of_row(in, rows.columns, [](Vec x) { return abs(x); }) / rows.divisor;
    const float scale = quotient < rows.least_scale ? rows.least_scale : quotient;  // NaN stays
    rows.scales[r] = scale;
    const Vec inverse(1.0F / scale), low(rows.low), high(rows.high);
    const auto rounded = [&](Vec x) { return first_min(high, first_max(low, round_even(x * inverse))); };
    std::size_t i = 0;
    for (; i + kWidth <= rows.columns; i += kWidth) store_as_int8(rounded(Vec::load(in + i)), out + i);
    if (i == rows.columns) continue;
    std::int8_t last[kWidth];
    store_as_int8(rounded(Vec::load(in + i, rows.columns - i)), last);
    std::memcpy(out + i, last, rows.columns - i);
  }
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
