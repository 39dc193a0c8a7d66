// The kernels for any CPU.

#include <sr/kernels/compiled.hpp>
#include <sr/kernels/kernel_set.hpp>

namespace sr::kernels {

const Kernels& baseline_kernels() {
  return baseline::kOwnKernels;
}

}  // namespace sr::kernels
