// Switches and differences between versions of LibTorch. No other file looks at a version.
#pragma once

#include <torch/version.h>

#include <sr/base/build.hpp>

#if TORCH_VERSION_MAJOR < 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 12)
#error "sr needs LibTorch 2.12 or newer: pip install torch==2.13.0, or point -Dtorch= at a newer LibTorch."
#endif

namespace sr {

// Debug builds check every plan with memory::validate before it is used; release builds trust the planners,
// which the tests check. -DSR_CHECK_PLANS=1 turns the check on in any build.
#ifndef SR_CHECK_PLANS
#ifdef NDEBUG
#define SR_CHECK_PLANS 0
#else
#define SR_CHECK_PLANS 1
#endif
#endif
inline constexpr bool kCheckPlans = SR_CHECK_PLANS != 0;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SR_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define SR_THREAD_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SR_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define SR_THREAD_SANITIZER 1
#endif

// The address sanitizer finds uses of a freed result only if its memory is really freed.
#ifdef SR_ADDRESS_SANITIZER
inline constexpr bool kReusesBlocks = false;
#else
inline constexpr bool kReusesBlocks = true;
#endif

#ifdef SR_THREAD_SANITIZER
inline constexpr bool kUnderThreadSanitizer = true;
#else
inline constexpr bool kUnderThreadSanitizer = false;
#endif

}  // namespace sr
