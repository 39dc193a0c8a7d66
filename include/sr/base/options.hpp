// What a caller can choose when a module is prepared.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sr {

// fast: results of our kernels may differ from ATen's within stated bounds (ULPs); exact: results are
// bit-identical to the interpreter's.
enum class Numerics { fast, exact };

struct StaticModuleOptions {
  bool enable_out_variant = true;      // false: native and fallback only, nothing is managed
  bool optimize_memory = true;         // false: every managed value has its own bytes
  bool manage_output_tensors = false;  // true: output tensors are recycled once the caller has let go of them
  bool enable_replay = true;           // false: general path only
  std::size_t max_plan_bytes = 1 << 20;  // that plans of a runtime take; the least recently used goes first
  std::size_t check_every = 0;     // compare every N-th replay with the interpreter; 0: as SR_CHECK=N says
  bool enable_families = true;     // one plan serves calls that differ in sizes only, where that is possible
  bool freeze_weights = false;     // promises constant weights, so that values computed from them are folded
  bool updatable_weights = false;  // true: StaticModule::update can replace weights read from a file, too
  // true: weights loaded from a file move to a temporary file once all steps of a plan read them in packed
  // form
  bool spill_weights = true;
  bool strict = false;  // true: refuse a model that needs the interpreter fallback
  Numerics numerics = Numerics::fast;
  std::vector<std::string> without_passes = {};  // names of passes::pipeline() that are left out

  friend bool operator==(const StaticModuleOptions&, const StaticModuleOptions&) = default;
};

}  // namespace sr
