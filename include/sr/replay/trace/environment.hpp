// Modes of the process and of the thread that a plan may depend on beside its arguments. Each plan says which
// of them it has asked; only those are compared before it is replayed.
#pragma once

#include <cstdint>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/ScalarType.h>

namespace sr::replay {

struct Environment {
  // Bits of a set of them.
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
    return {c10::get_default_dtype_as_scalartype(), memory_is_filled(), flush_bits(), at::get_num_threads()};
  }

  // Whether the calling thread and the process are still so, in the parts of the set.
  bool holds(unsigned parts) const {
    return ((parts & default_dtype) == 0 || dtype == c10::get_default_dtype_as_scalartype()) &&
           ((parts & new_memory) == 0 || fills_memory == memory_is_filled()) &&
           ((parts & denormals) == 0 || flushes == flush_bits()) &&
           ((parts & threads) == 0 || thread_count == at::get_num_threads());
  }

  // As torch.use_deterministic_algorithms has it, unless told otherwise.
  static bool memory_is_filled() {
    const at::Context& context = at::globalContext();
    return context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory();
  }

 private:
  // Of the control register of the floating point unit.
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
