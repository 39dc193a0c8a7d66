// The kernels of every instruction set of this CPU.
#pragma once

#include <vector>

#include <sr/kernels/compiled.hpp>
#include <sr/kernels/kernels.hpp>

namespace sr::test {

inline std::vector<const kernels::Kernels*> kernel_sets() {
  std::vector<const kernels::Kernels*> result{&kernels::baseline_kernels()};
#if defined(__x86_64__)
  if (kernels::has_avx2()) result.push_back(&kernels::avx2_kernels());
  if (kernels::has_avx512()) {
    result.push_back(&kernels::avx512_kernels());
    result.push_back(&kernels::halved_avx512_kernels());
  }
#endif
  return result;
}

}  // namespace sr::test
