// The kernel sets that src/kernels compiles. Those of avx2 and avx512 may be called only if the CPU has the
// instructions.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace sr::kernels {

struct Kernels;

const Kernels& baseline_kernels();
#if defined(__x86_64__)
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
const Kernels& halved_avx512_kernels();  // for processors of which `halves_registers` is true

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
inline bool has_avx512_vnni() {
  return has_avx512() && __builtin_cpu_supports("avx512vnni");
}
// Family 0x19 is that of Zen 3, which has no AVX-512, and of Zen 4 (AMD, Processor Programming Reference).
inline bool is_zen4() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kBase = 0xf, kExtended = 0xa;
  return has_avx512() && __builtin_cpu_is("amd") != 0 && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 &&
         ((eax >> 8U) & 0xfU) == kBase && ((eax >> 20U) & 0xffU) == kExtended;
}
// Those for this processor, if it has AVX-512.
inline const Kernels& fitting_avx512_kernels() {
  return is_zen4() ? halved_avx512_kernels() : avx512_kernels();
}
// Clang 14 does not know the names of these two.
inline bool has_avx_vnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return has_avx2() && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & (1U << 4U)) != 0;
}
// AMX-INT8. Asks Linux for the tiles' registers, which a process may not use otherwise (Linux, Using XSTATE
// features in user space applications).
inline bool has_amx() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kTiles = 1U << 24U, kInt8 = 1U << 25U;
  if (!has_avx512() || __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  if ((edx & kTiles) == 0 || (edx & kInt8) == 0) return false;
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}
#else
inline bool has_avx512_vnni() {
  return false;
}
inline bool has_avx_vnni() {
  return false;
}
inline bool has_amx() {
  return false;
}
#endif

}  // namespace sr::kernels
