// The kernels for CPUs with AVX512; compiled with its flags, so nothing but them may be in here.

#include <sr/kernels/compiled.hpp>
#include <sr/kernels/kernel_set.hpp>

namespace sr::kernels {

const Kernels& avx512_kernels() {
  return avx512::kOwnKernels;
}

}  // namespace sr::kernels
