// Compiled with -O3 -march=native. Nothing from here may leak into other files, so it uses no templates of
// the standard library.
#include "peaks.hpp"

namespace sr::bench::peaks {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kBytes = 64;
#elif defined(__AVX__)
constexpr std::size_t kBytes = 32;
#else
constexpr std::size_t kBytes = 16;
#endif
using Floats [[gnu::vector_size(kBytes), gnu::may_alias]] = float;
using Bits [[gnu::vector_size(kBytes), gnu::may_alias]] = int;
constexpr std::size_t kWidth = kBytes / sizeof(float);

// Enough accumulators for two units with a latency of 4 to 6 cycles; with the operands they need at most 16
// registers.
constexpr std::size_t kSums = 12;
constexpr std::size_t kUnrolled = 8;
static_assert(kMultiple % (kUnrolled * kWidth) == 0);

const Floats* vectors(const float* x) {
  return reinterpret_cast<const Floats*>(x);
}
Floats* vectors(float* x) {
  return reinterpret_cast<Floats*>(x);
}

}  // namespace

std::size_t operations_a_pass() {
  return 2 * kSums * kWidth;
}

void multiply_add(std::int64_t passes, float* out) {
  Floats sums[kSums];
#pragma GCC unroll 12
  for (std::size_t i = 0; i < kSums; ++i) sums[i] = Floats{} + static_cast<float>(i);
  const Floats factor = Floats{} + 0.5f, term = factor + 0.25f;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
#pragma GCC unroll 12
    for (std::size_t i = 0; i < kSums; ++i) sums[i] = sums[i] * factor + term;
  }
#pragma GCC unroll 12
  for (std::size_t i = 1; i < kSums; ++i) sums[0] += sums[i];
  *vectors(out) = sums[0];
}

void divide(const float* in, float* out, std::size_t n) {
  const Floats dividend = Floats{} + 3.0f;
  for (std::size_t i = 0; i < n / kWidth; ++i) vectors(out)[i] = dividend / vectors(in)[i];
}

void take_root(const float* in, float* __restrict out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = __builtin_sqrtf(in[i]);
}

// Uses a bitwise "or", which more units can do than there are load ports.
void load(const float* in, std::size_t n, float* out) {
  const Bits* from = reinterpret_cast<const Bits*>(in);
  Bits seen[kUnrolled] = {};
  for (std::size_t i = 0; i < n / kWidth; i += kUnrolled) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kUnrolled; ++j) seen[j] |= from[i + j];
  }
#pragma GCC unroll 8
  for (std::size_t j = 1; j < kUnrolled; ++j) seen[0] |= seen[j];
  *reinterpret_cast<Bits*>(out) = seen[0];
}

void store(float value, float* out, std::size_t n) {
  const Floats all = Floats{} + value;
  for (std::size_t i = 0; i < n / kWidth; i += kUnrolled) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kUnrolled; ++j) vectors(out)[i + j] = all;
  }
}

void copy(const float* in, float* out, std::size_t n) {
  for (std::size_t i = 0; i < n / kWidth; i += kUnrolled) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kUnrolled; ++j) vectors(out)[i + j] = vectors(in)[i + j];
  }
}

}  // namespace sr::bench::peaks
