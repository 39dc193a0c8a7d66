// The requests that are placed in a buffer, in order of offset, and the gaps between those that are alive at
// the same time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <sr/memory/placement.hpp>
#include <sr/memory/request.hpp>

namespace sr::memory {

// A structure of arrays: the search for requests that are alive at the same time reads the steps alone.
class GapIndex {
 public:
  static constexpr Bytes kNowhere = std::numeric_limits<Bytes>::max();

  void insert(const Request& request, Bytes offset, std::uint32_t index) {
    const auto at = std::ranges::upper_bound(blocks_, offset, {}, &Block::offset) - blocks_.begin();
    firsts_.insert(firsts_.begin() + at, request.first);
    lasts_.insert(lasts_.begin() + at, lifetime_end(request));
    blocks_.insert(blocks_.begin() + at, Block{offset, offset + reserved(request), index});
  }

  // Positions of the requests whose lifetimes overlap the given one, in order of offset. Valid until the next
  // call.
  std::span<const std::uint32_t> meeting(const Request& request) {
    meeting_.resize(blocks_.size());
    const StepIndex first = request.first;
    const StepIndex last = lifetime_end(request);
    const StepIndex* const firsts = firsts_.data();
    const StepIndex* const lasts = lasts_.data();
    std::uint32_t* const positions = meeting_.data();
    std::size_t count = 0;
    // Without a branch, which would be mispredicted half of the time: lifetimes come in no order.
    for (std::size_t at = 0; at < meeting_.size(); ++at) {
      positions[count] = static_cast<std::uint32_t>(at);
      count += static_cast<std::size_t>(firsts[at] < last) & static_cast<std::size_t>(first < lasts[at]);
    }
    return {positions, count};
  }

  // The offset of the smallest gap that fits, the lowest one on a tie; the end of all blocks if none fits.
  Bytes best_gap(std::span<const std::uint32_t> meeting, Bytes bytes, Bytes alignment) const {
    Bytes best = kNowhere;
    Bytes smallest = kNowhere;
    Bytes free_from = 0;  // aligned end of what lies below
    for (const std::uint32_t at : meeting) {
      const Block& block = blocks_[at];
      const Bytes gap = block.offset - free_from;
      if ((block.offset >= free_from) & (gap >= bytes) & (gap < smallest)) {
        best = free_from;
        smallest = gap;
      }
      free_from = std::max(free_from, aligned_offset(block.end, alignment));
    }
    return best != kNowhere ? best : free_from;
  }

  // True if the bytes are free. The two requests of the same reuse pairs may lie there, at exactly this
  // offset.
  bool is_clear(std::span<const std::uint32_t> meeting, Bytes offset, Bytes bytes, std::uint32_t input,
                std::uint32_t reuser) const {
    return std::ranges::none_of(meeting, [&](std::uint32_t at) {
      const Block& block = blocks_[at];
      const bool partner = block.offset == offset && (block.index == input || block.index == reuser);
      return !partner && block.offset < offset + bytes && offset < block.end;
    });
  }

 private:
  struct Block {
    Bytes offset;
    Bytes end;
    std::uint32_t index;
  };
  std::vector<StepIndex> firsts_;
  std::vector<StepIndex> lasts_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> meeting_;
};

}  // namespace sr::memory
