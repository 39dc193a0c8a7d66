// What the planners share: how much a request reserves, sums that cannot overflow, the order of first steps,
// and when a request may be written over its input. `validate` deliberately uses none of this.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include <sr/memory/request.hpp>

namespace sr::memory {

// offset + bytes. Throws std::length_error if the sum overflows.
constexpr Bytes end_of(Bytes offset, Bytes bytes) {
  if (bytes > std::numeric_limits<Bytes>::max() - offset) {
    throw std::length_error("sr::memory: the requests need more bytes than can be addressed");
  }
  return offset + bytes;
}

constexpr Bytes aligned_offset(Bytes offset, Bytes alignment) {
  end_of(offset, alignment - 1);
  return align_up(offset, alignment);
}

// The bytes that a request takes from the buffer, rounded up so that the next one starts aligned.
constexpr Bytes reserved(const Request& request) {
  return aligned_offset(request.bytes, request.alignment);
}

// The end of a request's lifetime. A value that no node reads is still written by the node that makes it.
constexpr StepIndex lifetime_end(const Request& request) {
  return std::max(request.end, request.first + 1);
}

// For every request the input that it may be written over, or kNoRequest. A hint counts only if the input
// started earlier, ends exactly here and is not smaller. If several requests name one input, the largest gets
// it.
inline std::vector<std::uint32_t> dying_inputs(std::span<const Request> requests) {
  std::vector<std::uint32_t> inputs(requests.size(), kNoRequest);
  std::vector<std::uint32_t> reused_by(requests.size(), kNoRequest);
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    const Request& output = requests[i];
    if (output.may_reuse_input >= requests.size() || output.bytes == 0) continue;
    const Request& input = requests[output.may_reuse_input];
    const bool dies_here =
        input.first < output.first && output.first < output.end && input.end == output.first + 1;
    if (!dies_here || output.bytes > input.bytes || reserved(output) > reserved(input)) continue;
    std::uint32_t& reuser = reused_by[output.may_reuse_input];
    if (reuser != kNoRequest && reserved(requests[reuser]) >= reserved(output)) continue;
    if (reuser != kNoRequest) inputs[reuser] = kNoRequest;
    reuser = i;
    inputs[i] = output.may_reuse_input;
  }
  return inputs;
}

// Indices by first step, ties by index.
inline std::vector<std::uint32_t> birth_order(std::span<const Request> requests) {
  std::vector<std::uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t index) { return requests[index].first; });
  return order;
}

}  // namespace sr::memory
