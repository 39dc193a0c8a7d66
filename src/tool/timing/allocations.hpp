// Counts the allocations of a call by origin.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>

namespace sr::tool {

// `operator new` and `posix_memalign` (tensor data) of the calling thread.
struct AllocationCounts {
  double own = 0;                       // called by the code of this program: sr and what it inlines
  double library = 0;                   // called by LibTorch: its kernels and what sr asks of it
  double results = 0;                   // by either, for what the call returned
  std::vector<std::string> own_places;  // where those of `own` are made, for addr2line

  double total() const { return own + library + results; }
};

// Average over the calls call(0) ... call(calls - 1). prepare(i) goes before each one and is not counted.
// Allocations of other threads (intra-op workers) are not seen.
AllocationCounts count_allocations(std::size_t calls, const std::function<void(std::size_t)>& prepare,
                                   const std::function<c10::IValue(std::size_t)>& call);

}  // namespace sr::tool
