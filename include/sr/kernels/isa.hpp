// The instruction set that this translation unit is compiled for. All code that depends on it is in an inline
// namespace of that name, so that the linker never merges functions of different instruction sets.
#pragma once

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && \
    defined(__FMA__) && defined(__F16C__)
#define SR_KERNEL_ISA avx512
#define SR_KERNEL_AVX512 1
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define SR_KERNEL_ISA avx2
#define SR_KERNEL_AVX2 1
#else
#define SR_KERNEL_ISA baseline
#endif

#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
#include <immintrin.h>
#endif

// Forces inlining at any level of optimisation: vectors stay in registers only if the calls around them are
// inlined.
#define SR_KERNEL_INLINE [[gnu::always_inline]] inline

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

#if defined(SR_KERNEL_AVX512)
inline constexpr const char* kIsaName = "avx512";
#elif defined(SR_KERNEL_AVX2)
inline constexpr const char* kIsaName = "avx2";
#else
inline constexpr const char* kIsaName = "baseline";
#endif

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
