// The input and the output of memory planning. Without LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sr::memory {

using Bytes = std::size_t;
using StepIndex = std::uint32_t;  // position of a node in run order

inline constexpr Bytes kAlignment = 64;  // a cache line, and what LibTorch's allocator gives
inline constexpr std::uint32_t kNoRequest = ~std::uint32_t{0};

// Bytes wanted while steps [first, end) run. A value that node i makes and node j reads last is [i, j + 1),
// so the inputs and outputs of one node overlap in time.
struct Request {
  Bytes bytes = 0;
  Bytes alignment = kAlignment;  // a power of two
  StepIndex first = 0;
  StepIndex end = 0;
  // Index of a request that ends where this one begins and that it may overwrite: this request may then have
  // exactly the same offset, if it is not larger. kNoRequest if there is none.
  std::uint32_t may_reuse_input = kNoRequest;

  friend bool operator==(const Request&, const Request&) = default;
};

// offsets[i] is the place of requests[i] in a buffer of `total` bytes.
struct Layout {
  std::vector<Bytes> offsets;
  Bytes total = 0;

  friend bool operator==(const Layout&, const Layout&) = default;
};

constexpr Bytes align_up(Bytes bytes, Bytes alignment = kAlignment) {
  return (bytes + alignment - 1) & ~(alignment - 1);
}

}  // namespace sr::memory
