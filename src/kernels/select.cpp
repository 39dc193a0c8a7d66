// Chooses the kernels for this CPU before main. ATEN_CPU_CAPABILITY lowers the choice, as in ATen.
#include <cstdlib>
#include <string_view>

#include <sr/kernels/compiled.hpp>
#include <sr/kernels/kernels.hpp>

namespace sr::kernels {
namespace {

const Kernels& best() {
#if defined(__x86_64__)
  __builtin_cpu_init();  // this may run before the constructor that calls it
  const char* variable = std::getenv("ATEN_CPU_CAPABILITY");
  const std::string_view limit = variable == nullptr ? "" : variable;
  if (limit != "default") {
    if (limit != "avx2" && has_avx512()) {
      narrower = &avx2_kernels();
      halves_registers = is_zen4();
      return fitting_avx512_kernels();
    }
    if (has_avx2()) return avx2_kernels();
  }
#endif
  return baseline_kernels();
}

const bool selected = (chosen = &best(), true);

}  // namespace
}  // namespace sr::kernels
