// The instruction set that this translation unit is compiled for. Everything that depends on it lives in an
// inline namespace of that name, so that the linker never takes code of one set for that of another.
#pragma once

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && \
    defined(__FMA__)
#define SR_KERNEL_ISA avx512
#define SR_KERNEL_AVX512 1
#elif defined(__AVX2__) && defined(__FMA__)
#define SR_KERNEL_ISA avx2
#define SR_KERNEL_AVX2 1
#else
#define SR_KERNEL_ISA baseline
#endif

#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
#include <immintrin.h>
#endif

// Vectors stay in registers only where the calls around them disappear, at any level of optimisation.
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
