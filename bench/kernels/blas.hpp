// The matrix products that LibTorch exports, behind an interface without LibTorch's headers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace sr::bench::blas {

// out[m, n] = a[m, k] * b, all dense and row-major. b is [n, k] if `transposed`, like the weights of
// nn.Linear, else [k, n].
void sgemm(bool transposed, int m, int n, int k, const float* a, const float* b, float* out);

// at::native::cpublas::brgemm, with b [k, n]. A call shows whether CPU and LibTorch support it.
bool has_brgemm();
void brgemm(int m, int n, int k, const float* a, const float* b, float* out);

// at::mm on float16 or bfloat16, given as bits, with b [n, k]. The arrays must outlive the function.
std::function<void()> gemm_of_16_bits(bool is_float16, std::int64_t m, std::int64_t n, std::int64_t k,
                                      void* a, void* b, void* out);

// at::_int_mm on int8, with b [n, k] and out in int32. The arrays must outlive the function.
std::function<void()> int8_gemm(std::int64_t m, std::int64_t n, std::int64_t k, void* a, void* b, void* out);

void use_one_thread();
std::string libtorch_version();

}  // namespace sr::bench::blas
