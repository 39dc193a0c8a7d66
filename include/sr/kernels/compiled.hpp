// The kernel sets that src/kernels compiles. Those of avx2 and avx512 may be called only if the CPU has the
// instructions.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace sr::kernels {

struct Kernels;

const Kernels& baseline_kernels();
#if defined(__x86_64__)
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();

// Clang 14 has no __builtin_cpu_supports("f16c").
inline bool has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
inline bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}
inline bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
inline bool has_vnni() {
  return has_avx512() && __builtin_cpu_supports("avx512vnni");
}
#else
inline bool has_vnni() {
  return false;
}
#endif

}  // namespace sr::kernels
