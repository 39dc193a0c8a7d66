// Loops that reach the peaks of this machine: multiplications, divisions, loads and stores.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sr::bench::peaks {

inline constexpr std::size_t kMultiple = 128;  // every `n` is a multiple of it; addresses are 64-byte aligned

// Fused multiply-adds on registers; writes only one register to `out`.
void multiply_add(std::int64_t passes, float* out);
std::size_t operations_a_pass();

void divide(const float* in, float* out, std::size_t n);
void take_root(const float* in, float* out, std::size_t n);
void load(const float* in, std::size_t n, float* out);  // also writes only one register
void store(float value, float* out, std::size_t n);
void copy(const float* in, float* out, std::size_t n);

}  // namespace sr::bench::peaks
