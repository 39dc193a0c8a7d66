// The kernels for CPUs with AVX-512. Only kernels may be here, since the file is compiled with that flag.

#include <sr/kernels/compiled.hpp>
#include <sr/kernels/kernel_set.hpp>

namespace sr::kernels {

const Kernels& avx512_kernels() {
  return avx512::kKernels<true>;
}
const Kernels& halved_avx512_kernels() {
  return avx512::kKernels<false>;
}

}  // namespace sr::kernels
