// Finds runs of steps that can compute a batch image by image.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/programs/image_loops.hpp>
#include <sr/replay/steps/image_accesses.hpp>

namespace sr::replay {

// Finds the loops of a program.
class ImageLoopSearch {
 public:
  // A run becomes a loop only if its steps access at least `least_bytes` of an image on average. For smaller
  // images, the additional calls of steps would cost more time than the loop saves.
  ImageLoopSearch(Lowering& lowering, const std::vector<bool>& is_result, std::size_t least_bytes)
      : lowering_(lowering),
        is_result_(is_result),
        least_bytes_(static_cast<std::int64_t>(least_bytes)),
        used_(lowering.storages().size()) {
    const std::vector<Draft>& drafts = lowering.drafts();
    for (std::uint32_t d = 0; d < drafts.size(); ++d) {
      for (const auto* const storages : {&drafts[d].reads, &drafts[d].writes}) {
        for (const StorageId storage : *storages) used_[storage].add(d);
      }
    }
    for (const DerivedBase& derived : lowering.derived()) {
      used_[derived.base].has_alias = true;
      used_[derived.from].has_alias = true;
    }
  }

  // Returns the loops. Makes each step of a loop compute one image, and shrinks the storages that only the
  // loop uses to the size of one image.
  std::vector<ImageLoop> find() {
    const auto count = static_cast<std::uint32_t>(lowering_.drafts().size());
    for (std::uint32_t d = 0; d < count; ++d) {
      ImageAccesses step;
      const Payload* const payload = lowering_.drafts()[d].step.payload;
      const bool is_of_images = payload != nullptr && payload->list_accesses(step);
      if (is_of_images && add(d, step)) continue;
      finish(d);
      if (is_of_images) add(d, step);
    }
    finish(count);
    return std::move(loops_);
  }

 private:
  // Weights that are read anew for each image should not come from memory.
  static constexpr std::size_t kMostWeights = std::size_t{2} << 20;  // bytes

  // Where a storage is used.
  struct Used {
    std::uint32_t first = kNone, last = 0;  // drafts
    bool has_alias = false;

    void add(std::uint32_t draft) {
      first = std::min(first, draft);
      last = std::max(last, draft);
    }
  };
  // How the steps of a run use a storage.
  struct OfRun {
    std::int64_t next = 0;
    bool is_written = false;
    bool is_apart = true;  // no image reaches into the next one

    bool is_possible() const { return !is_written || (is_apart && next > 0); }
  };

  // Makes the step a part of the run, and returns true if it can be one.
  bool add(std::uint32_t draft, const ImageAccesses& step) {
    const bool is_first = run_.empty();
    if (Size::always_equal(step.images, 1) || step.weight_bytes > kMostWeights ||
        !(is_first || Size::always_equal(step.images, images_)))
      return false;
    std::map<StorageId, OfRun> run = run_;
    for (const ImageAccess& use : step.all) {
      if (!is_movable(use.storage)) return false;
      const auto [known, is_new] = run.try_emplace(use.storage, OfRun{.next = use.next});
      OfRun& all = known->second;
      all.is_written |= use.writes;
      all.is_apart &= use.begin >= 0 && use.end <= use.next;
      if (all.next != use.next || !all.is_possible()) return false;
    }
    for (const auto* const storages : {&lowering_.drafts()[draft].reads, &lowering_.drafts()[draft].writes}) {
      for (const StorageId storage : *storages) {
        if (!run.contains(storage) && !is_for_step(storage)) return false;
      }
    }
    if (is_first) {
      first_ = draft;
      images_ = step.images;
    }
    run_ = std::move(run);
    convolves_ |= step.convolves;
    for (const ImageAccess& use : step.all) bytes_ += use.end - use.begin;
    return true;
  }

  bool is_movable(StorageId storage) const {
    return lowering_.storages()[storage].home != Home::opaque && !used_[storage].has_alias;
  }
  // True if the storage is a constant, or serves one step only.
  bool is_for_step(StorageId storage) const {
    return lowering_.is_constant(storage) ||
           (used_[storage].first == used_[storage].last && !outlives(storage));
  }
  bool outlives(StorageId storage) const {
    return is_result_[storage] || lowering_.storages()[storage].home != Home::produced;
  }

  void finish(std::uint32_t end) {
    if (convolves_ && end - first_ > 1 && bytes_ >= least_bytes_ * (end - first_)) {
      lowering_.threads();  // the program depends on their number
      ImageLoop loop;
      loop.first = first_;
      loop.end = end;
      loop.images_of = images_;
      for (const auto& [storage, all] : run_) {
        if (all.next == 0) continue;
        if (outlives(storage) || used_[storage].first < first_ || used_[storage].last >= end) {
          loop.moved.push_back({storage, all.next});
        } else {
          lowering_.storages()[storage].bytes = all.next;
          loop.own.push_back({storage, kNone});
        }
      }
      for (std::uint32_t d = first_; d < end; ++d) {
        lowering_.drafts()[d].step.payload->keep_one_image();
        for (const StorageId storage : lowering_.drafts()[d].writes) {
          if (!run_.contains(storage)) loop.own.push_back({storage, kNone});
        }
      }
      loops_.push_back(std::move(loop));
    }
    run_.clear();
    convolves_ = false;
    bytes_ = 0;
  }

  Lowering& lowering_;
  const std::vector<bool>& is_result_;
  const std::int64_t least_bytes_;
  std::vector<Used> used_;
  std::uint32_t first_ = 0;  // of the run
  Size images_ = 0;
  std::map<StorageId, OfRun> run_;
  bool convolves_ = false;
  std::int64_t bytes_ = 0;  // that its steps access of an image
  std::vector<ImageLoop> loops_;
};

}  // namespace sr::replay
