// The free list of a linear scan: used and free blocks in order of offset. Free neighbours are always merged.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <sr/memory/placement.hpp>
#include <sr/memory/request.hpp>

namespace sr::memory {

class FreeList {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};

  // Starts as one free block of `capacity` bytes, and grows only when nothing fits.
  FreeList(Bytes capacity, std::size_t expected_blocks) : end_(capacity) {
    blocks_.reserve(expected_blocks);
    if (capacity != 0) set_free(insert(0, capacity, kNone, kNone));
  }

  Bytes offset(Index block) const { return blocks_[block].offset; }
  void set_lifetime_end(Index block, StepIndex lifetime_end) { blocks_[block].lifetime_end = lifetime_end; }

  // Best fit, the lowest offset on a tie. Inside the hole the block goes to the side whose neighbour lives
  // longer (the ends of the buffer live for ever), so that blocks that end soon are neighbours and their
  // holes merge.
  Index take(Bytes bytes, Bytes alignment, StepIndex lifetime_end) {
    const Index fit = best_fit(bytes, alignment);
    if (fit != kNone) unset_free(fit);
    const Index best = fit != kNone ? fit : grow(bytes, alignment);
    const Bytes low = blocks_[best].offset;
    const Bytes high = low + blocks_[best].bytes;
    const bool up = death_of(blocks_[best].after) > death_of(blocks_[best].before);
    const Bytes offset = up ? (high - bytes) & ~(alignment - 1) : align_up(low, alignment);
    if (offset > low) set_free(insert(low, offset - low, blocks_[best].before, best));
    if (offset + bytes < high) {
      set_free(insert(offset + bytes, high - offset - bytes, best, blocks_[best].after));
    }
    blocks_[best] = {offset, bytes, blocks_[best].before, blocks_[best].after, kNone, lifetime_end};
    return best;
  }

  void release(Index block) {
    if (const Index after = blocks_[block].after; is_free(after)) {
      unset_free(after);
      absorb_after(block);
    }
    if (const Index before = blocks_[block].before; is_free(before)) {
      unset_free(before);
      absorb_after(before);
      block = before;
    }
    set_free(block);
  }

  // Keeps the first `bytes` of a used block and frees the rest.
  void shrink(Index block, Bytes bytes) {
    const Bytes rest = blocks_[block].bytes - bytes;
    if (rest == 0) return;
    blocks_[block].bytes = bytes;
    release(insert(blocks_[block].offset + bytes, rest, block, blocks_[block].after));
  }

 private:
  struct Block {
    Bytes offset, bytes;
    Index before, after;
    Index slot;  // where in free_; kNone: in use
    StepIndex lifetime_end;
  };
  struct Free {
    Bytes bytes;
    Index block;
  };

  bool is_free(Index block) const { return block != kNone && blocks_[block].slot != kNone; }

  std::uint64_t death_of(Index block) const {
    return block == kNone ? std::numeric_limits<std::uint64_t>::max() : blocks_[block].lifetime_end;
  }

  // A linear search: there are rarely more than a few hundred holes, and nothing has to be kept sorted.
  Index best_fit(Bytes bytes, Bytes alignment) const {
    Index best = kNone;
    Bytes best_bytes = std::numeric_limits<Bytes>::max();
    for (const auto& [hole_bytes, hole] : free_) {
      if (hole_bytes < bytes || hole_bytes > best_bytes) continue;
      const Bytes offset = blocks_[hole].offset;
      if (align_up(offset, alignment) - offset > hole_bytes - bytes) continue;
      if (hole_bytes == best_bytes && best != kNone && blocks_[best].offset < offset) continue;
      best = hole;
      best_bytes = hole_bytes;
    }
    return best;
  }

  Index grow(Bytes bytes, Bytes alignment) {
    const bool extend = is_free(last_);
    const Index block = extend ? last_ : insert(end_, 0, last_, kNone);
    if (extend) unset_free(block);
    end_ = end_of(aligned_offset(blocks_[block].offset, alignment), bytes);
    blocks_[block].bytes = end_ - blocks_[block].offset;
    return block;
  }

  Index insert(Bytes offset, Bytes bytes, Index before, Index after) {
    Index block = static_cast<Index>(blocks_.size());
    if (spare_.empty()) {
      blocks_.emplace_back();
    } else {
      block = spare_.back();
      spare_.pop_back();
    }
    blocks_[block] = {offset, bytes, before, after, kNone, 0};
    if (before != kNone) blocks_[before].after = block;
    (after != kNone ? blocks_[after].before : last_) = block;
    return block;
  }

  void absorb_after(Index block) {
    const Index after = blocks_[block].after;
    blocks_[block].bytes += blocks_[after].bytes;
    blocks_[block].after = blocks_[after].after;
    (blocks_[after].after != kNone ? blocks_[blocks_[after].after].before : last_) = block;
    spare_.push_back(after);
  }

  void set_free(Index block) {
    blocks_[block].slot = static_cast<Index>(free_.size());
    free_.push_back({blocks_[block].bytes, block});
  }

  void unset_free(Index block) {
    const Index slot = blocks_[block].slot;
    free_[slot] = free_.back();
    blocks_[free_[slot].block].slot = slot;
    free_.pop_back();
    blocks_[block].slot = kNone;
  }

  std::vector<Block> blocks_;
  std::vector<Free> free_;
  std::vector<Index> spare_;  // entries of blocks_ to use again
  Index last_ = kNone;
  Bytes end_;
};

}  // namespace sr::memory
