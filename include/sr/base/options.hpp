// What a caller can choose when a module is prepared.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include <sr/base/events.hpp>

namespace sr {

// fast: results of our kernels may differ from ATen's within stated bounds (ULPs); exact: results are
// bit-identical to the interpreter's.
enum class Numerics { fast, exact };

struct MemoryOptions {
  bool optimize = true;         // false: every managed value has its own bytes
  bool manage_outputs = false;  // true: output tensors are recycled once the caller has let go of them
  std::size_t max_plan_bytes = 1 << 20;  // that plans of a runtime take; the least recently used goes first

  friend bool operator==(const MemoryOptions&, const MemoryOptions&) = default;
};

// Where the weights of a loaded module lie.
enum class WeightMemory {
  copied,  // in memory of the process
  // In the file itself, whose pages all processes that map it share, and that the system may drop and read
  // again. The file must not change while the module lives, or results are wrong and the process may be
  // killed (SIGBUS). To replace it, rename another file to its name.
  mapped
};

struct WeightOptions {
  WeightMemory memory =
      WeightMemory::copied;  // for load() from a path; Python's keyword is map_weights of sr.load
  bool freeze = false;       // promises constant weights, so that values computed from them are folded
  bool updatable = false;    // true: StaticModule::update can replace weights read from a file, too
  bool spill = true;  // true: weights loaded from a file move to a temporary file once plans pack them all

  friend bool operator==(const WeightOptions&, const WeightOptions&) = default;
};

// For tests, and to find out which part of sr a difference comes from.
struct DebugOptions {
  bool enable_out_variant = true;  // false: native and fallback only, nothing is managed
  bool enable_replay = true;       // false: general path only
  bool enable_families = true;     // one plan serves calls that differ in sizes only, where that is possible
  std::size_t check_every = 0;     // compare every N-th replay with the interpreter; 0: as SR_CHECK=N says
  // A batch is computed image by image if the steps access at least this many bytes of an image on average.
  std::size_t least_image_bytes = 8192;
  std::vector<std::string> without_passes = {};  // names of passes::pipeline() that are left out

  // Every N-th replay is checked, where N is the returned number. 0 means that no replay is checked.
  std::size_t checks() const {
    const char* text = std::getenv("SR_CHECK");  // NOLINT(concurrency-mt-unsafe): sr never sets it
    if (check_every != 0 || text == nullptr) return check_every;
    return static_cast<std::size_t>(std::strtoull(text, nullptr, 10));
  }

  friend bool operator==(const DebugOptions&, const DebugOptions&) = default;
};

struct StaticModuleOptions {
  bool strict = false;  // true: refuse a model that needs the interpreter fallback
  Numerics numerics = Numerics::fast;
  MemoryOptions memory = {};
  WeightOptions weights = {};
  DebugOptions debug = {};
  EventHandler on_event = {};  // is told when plans are made, refused or dropped; keep it short

  friend bool operator==(const StaticModuleOptions&, const StaticModuleOptions&) = default;
};

// Calls visit(name, field) for each option that Python has, with the keyword that Python and
// docs/reference/options.md have for it.
template <class Options, class Visit>
void visit_options(Options& options, const Visit& visit) {
  visit("strict", options.strict);
  visit("numerics", options.numerics);
  visit("optimize_memory", options.memory.optimize);
  visit("manage_output_tensors", options.memory.manage_outputs);
  visit("max_plan_bytes", options.memory.max_plan_bytes);
  visit("freeze_weights", options.weights.freeze);
  visit("updatable_weights", options.weights.updatable);
  visit("spill_weights", options.weights.spill);
  visit("enable_out_variant", options.debug.enable_out_variant);
  visit("enable_replay", options.debug.enable_replay);
  visit("enable_families", options.debug.enable_families);
  visit("check_every", options.debug.check_every);
  visit("least_image_bytes", options.debug.least_image_bytes);
  visit("without_passes", options.debug.without_passes);
}

}  // namespace sr
