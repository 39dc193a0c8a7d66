// The kernels for CPUs with AVX2; compiled with its flags, so nothing but them may be in here.

#include <sr/kernels/compiled.hpp>
#include <sr/kernels/kernel_set.hpp>

namespace sr::kernels {

const Kernels& avx2_kernels() {
  return avx2::kOwnKernels;
}

}  // namespace sr::kernels
