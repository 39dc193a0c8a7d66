// Modes of process and thread that a program may depend on. Each program states which of them it has read;
// only those are compared before a replay.
#pragma once

#include <cstdint>

#include <ATen/Context.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/ScalarType.h>

#include <sr/base/intra_op_width.hpp>

namespace sr::replay {

struct Environment {
  // The modes as bits of a set.
  enum Part : unsigned {
    default_dtype = 1,  // dtypes of results that no floating point tensor decides
    new_memory = 2,     // whether it is filled with NaN (torch.use_deterministic_algorithms)
    denormals = 4,      // whether results that are none of the normal numbers become zero
    threads = 8         // intra-op threads of the calling thread
  };

  c10::ScalarType dtype = c10::ScalarType::Float;
  bool fills_memory = false;
  std::uint32_t flushes = 0;
  int thread_count = 0;

  static Environment now() {
    return {c10::get_default_dtype_as_scalartype(), memory_is_filled(), flush_bits(), libtorch_threads()};
  }

  // True if the modes in the set still have these values.
  bool holds(unsigned parts) const {
    return ((parts & default_dtype) == 0 || dtype == c10::get_default_dtype_as_scalartype()) &&
           ((parts & new_memory) == 0 || fills_memory == memory_is_filled()) &&
           ((parts & denormals) == 0 || flushes == flush_bits()) &&
           ((parts & threads) == 0 || thread_count == libtorch_threads());
  }

  // True if LibTorch fills new memory with NaN, as it does by default under
  // torch.use_deterministic_algorithms.
  static bool memory_is_filled() {
    const at::Context& context = at::globalContext();
    return context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory();
  }

 private:
  // The bits of the floating point control register that flush denormal numbers.
  static std::uint32_t flush_bits() {
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & 0x8040U;  // flush to zero, denormals are zero
#elif defined(__aarch64__)
    std::uint64_t control = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    return static_cast<std::uint32_t>(control & (1U << 24));
#else
    return 0;
#endif
  }
};

}  // namespace sr::replay
