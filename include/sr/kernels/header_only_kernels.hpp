// Kernels for programs that include headers and link none: compiled with the flags of the file that includes
// this.
#pragma once

#include <sr/kernels/kernel_set.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// Those of src/kernels, where they are linked, win in whichever order the two are initialised.
inline const bool own_kernels_offered = [] {
  if (chosen == nullptr) chosen = &kOwnKernels;
  return true;
}();

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
