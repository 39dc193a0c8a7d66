// Loops that do nothing but what a peak is of: as fast as this machine multiplies, divides, loads and stores.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sr::bench::peaks {

inline constexpr std::size_t kMultiple = 128;  // every `n` is one of it; addresses are 64-byte aligned

// Fused multiply-adds on registers; what comes out of them is written to `out`, a single register.
void multiply_add(std::int64_t passes, float* out);
std::size_t operations_a_pass();

void divide(const float* in, float* out, std::size_t n);
void take_root(const float* in, float* out, std::size_t n);
void load(const float* in, std::size_t n, float* out);  // writes no more than that, too
void store(float value, float* out, std::size_t n);
void copy(const float* in, float* out, std::size_t n);

}  // namespace sr::bench::peaks
