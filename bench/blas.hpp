// The matrix products that LibTorch exports, behind an interface without LibTorch's headers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace sr::bench::blas {

// out[m, n] = a[m, k] * b, all dense and by rows. b is [n, k] where it is `transposed`, as the weights of
// nn.Linear are, else [k, n].
void sgemm(bool transposed, int m, int n, int k, const float* a, const float* b, float* out);

// at::native::cpublas::brgemm, with b [k, n]. Whether CPU and LibTorch have it shows when it is called.
bool has_brgemm();
void brgemm(int m, int n, int k, const float* a, const float* b, float* out);

// at::mm on bfloat16, whose bits the arrays hold, with b [n, k]; they must stay as long as the function.
std::function<void()> bfloat16_gemm(std::int64_t m, std::int64_t n, std::int64_t k, void* a, void* b,
                                    void* out);

void use_one_thread();
std::string libtorch_version();

}  // namespace sr::bench::blas
