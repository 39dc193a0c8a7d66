// The kernels for CPUs with AVX2. Only kernels may be here, since the file is compiled with that flag.

#include <sr/kernels/compiled.hpp>
#include <sr/kernels/kernel_set.hpp>

namespace sr::kernels {

const Kernels& avx2_kernels() {
  return avx2::kOwnKernels;
}

}  // namespace sr::kernels
