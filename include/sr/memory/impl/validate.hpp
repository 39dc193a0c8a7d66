// Definitions of <sr/memory/validate.hpp>. Quadratic and obvious, and deliberately shares no code with the
// planners.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include <sr/base/build.hpp>
#include <sr/memory/request.hpp>
#include <sr/memory/validate.hpp>

namespace sr::memory {

namespace validation {

inline std::string range(Bytes from, Bytes to) {
  return "[" + std::to_string(from) + ", " + std::to_string(to) + ")";
}

// "request 3 at bytes [64, 128), alive in steps [2, 5)"
inline std::string describe(std::span<const Request> requests, const Layout& layout, std::size_t index) {
  const Request& request = requests[index];
  return "request " + std::to_string(index) + " at bytes " +
         range(layout.offsets[index], layout.offsets[index] + request.bytes) + ", alive in steps " +
         range(request.first, request.end);
}

inline std::optional<std::string> fault_of_one(std::span<const Request> requests, const Layout& layout,
                                               std::size_t index) {
  const Request& request = requests[index];
  const Bytes offset = layout.offsets[index];
  const std::string who = "request " + std::to_string(index);
  if (!std::has_single_bit(request.alignment)) {
    return who + " asks for an alignment of " + std::to_string(request.alignment) +
           ", which is not a power of two.";
  }
  if (request.end < request.first) {
    return who + " is alive in steps " + range(request.first, request.end) + ", which ends before it begins.";
  }
  if (offset % request.alignment != 0) {
    return who + " is at offset " + std::to_string(offset) + ", which is not a multiple of its alignment " +
           std::to_string(request.alignment) + ".";
  }
  if (request.bytes > std::numeric_limits<Bytes>::max() - offset) {
    return who + " is at offset " + std::to_string(offset) + " with " + std::to_string(request.bytes) +
           " bytes: its end overflows the address space.";
  }
  if (offset + request.bytes > layout.total) {
    return describe(requests, layout, index) + ", is outside the buffer of " + std::to_string(layout.total) +
           " bytes.";
  }
  return std::nullopt;
}

// Why `output` may not overwrite `input` although it asks for it; empty if it may.
inline std::string why_not_in_place(std::span<const Request> requests, const Layout& layout,
                                    std::size_t output, std::size_t input) {
  if (requests[input].first >= requests[output].first) return "the input is not born before the output";
  if (requests[input].end != requests[output].first + 1)
    return "the input does not die where the output is born";
  if (requests[output].bytes > requests[input].bytes) return "the output is larger than the input";
  if (layout.offsets[output] != layout.offsets[input]) return "the offsets differ";
  return {};
}

inline std::optional<std::string> fault_of_pair(std::span<const Request> requests, const Layout& layout,
                                                std::size_t a, std::size_t b) {
  const Request& ra = requests[a];
  const Request& rb = requests[b];
  if (ra.bytes == 0 || rb.bytes == 0) return std::nullopt;
  if (std::max(ra.first, rb.first) >= std::min(ra.end, rb.end)) return std::nullopt;
  const Bytes oa = layout.offsets[a];
  const Bytes ob = layout.offsets[b];
  if (std::max(oa, ob) >= std::min(oa + ra.bytes, ob + rb.bytes)) return std::nullopt;

  std::string fault = describe(requests, layout, a) + ", overlaps " + describe(requests, layout, b);
  if (rb.may_reuse_input == a || ra.may_reuse_input == b) {
    const std::string reason = rb.may_reuse_input == a ? why_not_in_place(requests, layout, b, a)
                                                       : why_not_in_place(requests, layout, a, b);
    if (reason.empty()) return std::nullopt;
    fault += "; it may not be written in place because " + reason;
  }
  return fault + ".";
}

}  // namespace validation

SR_INLINE std::optional<std::string> validate(std::span<const Request> requests, const Layout& layout) {
  if (layout.offsets.size() != requests.size()) {
    return "the layout has " + std::to_string(layout.offsets.size()) + " offsets for " +
           std::to_string(requests.size()) + " requests.";
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (auto fault = validation::fault_of_one(requests, layout, i)) return fault;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (std::size_t j = i + 1; j < requests.size(); ++j) {
      if (auto fault = validation::fault_of_pair(requests, layout, i, j)) return fault;
    }
  }
  return std::nullopt;
}

}  // namespace sr::memory
