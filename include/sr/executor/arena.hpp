// Binds a layout to the storages of the managed tensors of one block.
//
// A managed tensor stays in its slot between runs, and its storage points into the buffer. A kernel that
// needs more bytes than planned reallocates the storage itself; the arena notices this at the end of the run
// and plans again before the next one, with the largest sizes seen. Not thread-safe: it belongs to one
// runtime.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <c10/util/Exception.h>

#include <sr/base/borrowed.hpp>
#include <sr/base/config.hpp>
#include <sr/base/error.hpp>
#include <sr/executor/heap_buffer.hpp>
#include <sr/graph/block_info.hpp>
#include <sr/memory/no_reuse.hpp>
#include <sr/memory/planner_ops.hpp>
#include <sr/memory/validate.hpp>

namespace sr::memory {

class Arena {
 public:
  // Planner, block and frame must outlive the arena.
  Arena(const BlockInfo& block, Frame& frame, const PlannerOps& planner, bool optimize)
      : block_(&block),
        frame_(&frame),
        planner_(&planner),
        buffer_(make_buffer(planner)),
        optimize_(optimize),
        entries_(block.managed.size()),
        requests_(block.managed.size()),
        by_end_(block.managed.size()) {
    std::iota(by_end_.begin(), by_end_.end(), 0U);
    std::ranges::stable_sort(by_end_, {}, [&](std::uint32_t i) { return block.managed[i].end; });
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const ManagedValue& value = block.managed[i];
      requests_[i].first = value.first;
      requests_[i].end = value.end;
    }
  }

  // Must be called before a run: plans and binds again if the last run had sizes that the layout does not
  // cover. If there is no memory for the new layout, which may be that of a larger call that has failed, the
  // run has no layout, as the first run. Throws PlannerError, and has changed nothing then.
  void prepare() {
    if (stale_) {
      try {
        plan();
      } catch (const c10::Error&) {
        trim();
      } catch (const std::bad_alloc&) {
        trim();
      }
    }
    next_dead_ = 0;
  }

  // Must be called after each step of a run. Frees the bytes of a managed tensor that is not in the buffer,
  // as soon as no later step reads it. So a first run, which has no layout yet, does not hold all of them at
  // once.
  void end_step(StepIndex step) noexcept {
    for (; next_dead_ < by_end_.size() && block_->managed[by_end_[next_dead_]].end <= step + 1; ++next_dead_)
      free_beside(by_end_[next_dead_]);
  }

  // Must be called after a run, also after one that threw. No slot but its own may then refer to a managed
  // tensor.
  void finish() noexcept {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = entries_[i];
      const c10::IValue& value = frame_->values[block_->managed[i].slot];
      if (entry.tensor != nullptr && value.isTensor() && value.unsafeToTensorImpl() == entry.tensor &&
          entry.tensor->unsafe_storage().unsafeGetStorageImpl() == entry.storage &&
          entry.storage->data() == entry.address && value.use_count() == 1 &&
          entry.tensor->unsafe_storage().use_count() == 1) {
        continue;
      }
      observe(i);
    }
  }

  // Must be called after a run that threw: outputs that may overwrite their input are allocated anew, since
  // their sizes may be those of an earlier run.
  void interrupt() noexcept {
    for (const ManagedValue& value : block_->managed) {
      if (value.reuses != kNoRequest) frame_->states[block_->nodes[value.first].state].valid = false;
    }
  }

  // Frees all memory. The next run starts as the first one did.
  void trim() {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      frame_->values[block_->managed[i].slot] = c10::IValue();
      frame_->states[block_->nodes[block_->managed[i].first].state].valid = false;
      entries_[i] = Entry{};
      requests_[i].bytes = 0;
    }
    layout_ = Layout{};
    buffer_ = make_buffer(*planner_);
    stale_ = false;
  }

  AnyBuffer& buffer() { return *buffer_; }
  const AnyBuffer& buffer() const { return *buffer_; }
  bool has_own_buffer() const { return planner_->make_buffer != nullptr; }
  const std::vector<Request>& requests() const { return requests_; }
  const Layout& layout() const { return layout_; }
  Bytes bytes() const { return layout_.total; }
  // True if the layout places the value now. It does not if the value shares its storage with another, or if
  // a caller holds it.
  bool is_placed(std::size_t i) const { return i < layout_.offsets.size() && !entries_[i].excluded; }

 private:
  struct Entry {
    c10::TensorImpl* tensor = nullptr;  // what the slot held when it was last bound
    c10::StorageImpl* storage = nullptr;
    const void* address = nullptr;
    bool bound = false;     // the storage points into the buffer
    bool excluded = false;  // shares its storage with another value: never placed again
  };

  // Handles a value that changed during the run.
  void observe(std::size_t i) noexcept {
    Entry& entry = entries_[i];
    c10::IValue& value = frame_->values[block_->managed[i].slot];
    if (!value.isTensor() || !value.toTensor().defined() || !value.unsafeToTensorImpl()->has_storage()) {
      forget(i);
      return;
    }
    c10::TensorImpl* tensor = value.unsafeToTensorImpl();
    c10::StorageImpl* storage = tensor->unsafe_storage().unsafeGetStorageImpl();
    if (value.use_count() != 1 || tensor->unsafe_storage().use_count() != 1) {
      // An op kept a reference, although its schema says otherwise. It keeps the tensor, with bytes of its
      // own, and the slot gets a new one.
      if (entry.bound && storage->data() == entry.address) detach(*storage);
      value = c10::IValue();
      forget(i);
      entry.excluded = true;
      return;
    }
    if (entry.excluded || !storage->resizable() || storage->device_type() != at::kCPU) {
      value = c10::IValue();
      forget(i);
      return;
    }
    const bool moved = storage != entry.storage || storage->data() != entry.address;
    entry.tensor = tensor;
    entry.storage = storage;
    entry.address = storage->data();
    if (moved) entry.bound = false;
    const Bytes needed = storage->nbytes();
    if (moved || needed > requests_[i].bytes) stale_ = true;
    requests_[i].bytes = std::max(requests_[i].bytes, needed);
  }

  void free_beside(std::size_t i) noexcept {
    const Entry& entry = entries_[i];
    const c10::IValue& value = frame_->values[block_->managed[i].slot];
    if (!value.isTensor() || value.use_count() != 1 || !value.toTensor().defined()) return;
    const c10::Storage& storage = value.unsafeToTensorImpl()->unsafe_storage();
    if (!storage || storage.use_count() != 1) return;
    if (entry.bound && storage.unsafeGetStorageImpl()->data() == entry.address) return;
    free_bytes(*storage.unsafeGetStorageImpl());
    forget(i);  // so that finish() observes the value, and the next run gives it bytes
  }

  void forget(std::size_t i) noexcept { entries_[i] = Entry{.excluded = entries_[i].excluded}; }

  void plan() {
    std::vector<Request> requests = requests_;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (entries_[i].excluded) requests[i].bytes = 0;
      requests[i].may_reuse_input = may_write_in_place(i) ? block_->managed[i].reuses : kNoRequest;
    }
    Layout layout = optimize_ ? planner_->plan(requests) : NoReuse::plan(requests);
    if constexpr (kCheckPlans) {
      if (const auto fault = validate(requests, layout)) {
        throw PlannerError("The planner '" + std::string(planner_->name) +
                           "' returned a wrong layout: " + *fault);
      }
    }
    buffer_->commit(requests, layout);
    requests_ = std::move(requests);
    layout_ = std::move(layout);
    for (std::size_t i = 0; i < entries_.size(); ++i) bind(i);
    for (std::size_t i = 0; i < entries_.size(); ++i) mark_in_place(i);
    stale_ = false;
  }

  void bind(std::size_t i) {
    Entry& entry = entries_[i];
    if (entry.tensor == nullptr || entry.excluded || requests_[i].bytes == 0) return;
    void* address = buffer_->address(i);
    entry.storage->set_data_ptr_noswap(borrow(address));
    entry.storage->set_nbytes(requests_[i].bytes);
    entry.address = address;
    entry.bound = true;
  }

  // Dtype, sizes and strides are equal now; a run in which they differ allocates the output anew (NodeState).
  bool may_write_in_place(std::size_t i) const {
    const std::uint32_t reused = block_->managed[i].reuses;
    if (reused == kNoRequest || entries_[i].tensor == nullptr || entries_[reused].tensor == nullptr)
      return false;
    if (entries_[i].excluded || entries_[reused].excluded || requests_[i].bytes != requests_[reused].bytes)
      return false;
    const c10::TensorImpl& output = *entries_[i].tensor;
    const c10::TensorImpl& input = *entries_[reused].tensor;
    return output.dtype() == input.dtype() && output.sizes().equals(input.sizes()) &&
           output.strides().equals(input.strides()) && output.storage_offset() == 0 &&
           input.storage_offset() == 0;
  }

  void mark_in_place(std::size_t i) {
    const std::uint32_t reused = block_->managed[i].reuses;
    if (reused == kNoRequest) return;
    const ProcessedNode& node = block_->nodes[block_->managed[i].first];
    frame_->states[node.state].placed_in_place =
        requests_[i].may_reuse_input == reused && layout_.offsets[i] == layout_.offsets[reused];
  }

  const BlockInfo* block_;
  Frame* frame_;
  const PlannerOps* planner_;
  std::unique_ptr<AnyBuffer> buffer_;
  bool optimize_;
  std::vector<Entry> entries_;
  std::vector<Request> requests_;  // sizes: the largest seen
  Layout layout_;
  std::vector<std::uint32_t> by_end_;  // values in the order in which they die
  std::size_t next_dead_ = 0;          // the first in it that this run may still read
  bool stale_ = false;
};

}  // namespace sr::memory
