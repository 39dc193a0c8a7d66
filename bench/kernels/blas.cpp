#include "blas.hpp"

#include <ATen/Parallel.h>
#include <ATen/native/CPUBlas.h>
#include <ATen/ops/_int_mm.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

// No header declares it. BLAS is column-major, so it sees a row-major matrix as its transpose.
extern "C" void sgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
                       const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                       const float* beta, float* c, const int* ldc);

namespace sr::bench::blas {

void sgemm(bool transposed, int m, int n, int k, const float* a, const float* b, float* out) {
  const float one = 1, zero = 0;
  sgemm_(transposed ? "T" : "N", "N", &n, &m, &k, &one, b, transposed ? &k : &n, a, &k, &zero, out, &n);
}

bool has_brgemm() {
  static const bool has = [] {
    const float a[16] = {}, b[16] = {};
    float out[1];
    try {
      brgemm(1, 1, 16, a, b, out);
      return true;
    } catch (const c10::Error&) {
      return false;
    }
  }();
  return has;
}

void brgemm(int m, int n, int k, const float* a, const float* b, float* out) {
  at::native::cpublas::brgemm(m, n, k, k, n, n, /*add_C=*/false, a, b, out, /*is_vnni=*/false);
}

std::function<void()> gemm_of_16_bits(bool is_float16, std::int64_t m, std::int64_t n, std::int64_t k,
                                      void* a, void* b, void* out) {
  const c10::InferenceMode guard;
  const at::ScalarType type = is_float16 ? at::kHalf : at::kBFloat16;
  return [left = at::from_blob(a, {m, k}, type), right = at::from_blob(b, {n, k}, type).t(),
          result = at::from_blob(out, {m, n}, type)]() mutable {
    const c10::InferenceMode inference;
    at::mm_out(result, left, right);
  };
}

std::function<void()> int8_gemm(std::int64_t m, std::int64_t n, std::int64_t k, void* a, void* b, void* out) {
  const c10::InferenceMode guard;
  return [left = at::from_blob(a, {m, k}, at::kChar), right = at::from_blob(b, {n, k}, at::kChar).t(),
          result = at::from_blob(out, {m, n}, at::kInt)]() mutable {
    const c10::InferenceMode inference;
    at::_int_mm_out(result, left, right);
  };
}

void use_one_thread() {
  at::set_num_threads(1);
}

std::string libtorch_version() {
  return TORCH_VERSION;
}

}  // namespace sr::bench::blas
