// Frees the bytes of tensors that no later node of a recorded call reads. The trace identifies tensors by
// their addresses and therefore keeps them all. Their bytes are not needed, and would be every intermediate
// result of the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/borrowed.hpp>
#include <sr/base/identity.hpp>
#include <sr/graph/alias_rules.hpp>
#include <sr/graph/block_info.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/replay/trace/classify.hpp>
#include <sr/replay/trace/record.hpp>

namespace sr::replay {

// A storage is dead when no later node reads a slot with a tensor on it. A storage that a container or
// unknown code may hold is never dead. The module and the record must outlive this.
class DeadMemory {
 public:
  DeadMemory(const PreparedModule& content, const Record& record)
      : record_(&record), held_(content.slot_count, kNone), dying_(content.blocks.size()) {
    for (std::size_t b = 0; b < dying_.size(); ++b) {
      const BlockInfo& block = content.blocks[b];
      dying_[b].resize(block.nodes.size());
      for (std::size_t step = 0; step < block.nodes.size(); ++step) dying_[b][step] = block.nodes[step].dying;
      for (const ManagedValue& value : block.managed) {
        if (value.end != 0 && value.end <= block.nodes.size()) dying_[b][value.end - 1].push_back(value.slot);
      }
    }
  }

  // Must be called when a slot gets a value.
  void hold(Slot slot, const c10::IValue& value) {
    held_[slot] = kNone;
    if (!value.isTensor()) return keep(value);
    if (const StorageId storage = storage_of(value.toTensor()); storage != kNone) {
      held_[slot] = storage;
      ++uses_[storage];
    }
  }

  // Must be called when a node has run and was recorded.
  void note(const ProcessedNode& node, const Frame& frame) {
    const bool may_hold_inputs =
        !looks_up_key(*node.node) &&  // what the dictionary holds was noted when it was made
        (!node.node->kind().is_aten() || !sr::detail::dispatched(*node.node));
    for (const Slot slot : node.inputs) {
      if (may_hold_inputs || has_other_storage(slot, frame.values[slot])) keep(frame.values[slot]);
    }
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const c10::IValue& output = frame.values[node.first_output + i];
      hold(node.first_output + i, output);
      if (!node.sub_blocks.empty()) keep(output);  // which a list may hold, too
    }
  }

  // Frees the storages that are dead after a step of a block.
  void release(std::size_t block, std::size_t step, Frame& frame) {
    for (const Slot slot : dying_[block][step]) {
      if (record_->has_bailed_out()) {  // then the trace keeps no new tensors
        frame.values[slot] = c10::IValue();
        continue;
      }
      const StorageId storage = held_[slot];
      if (storage == kNone) continue;
      held_[slot] = kNone;
      if (--uses_[storage] != 0) continue;
      const Home home = record_->trace.storages[storage].home;
      const at::Tensor& tensor = frame.values[slot].toTensor();
      const bool is_own = home == Home::produced || home == Home::opaque;
      if (is_own && record_->storage_of(tensor) == storage)  // unless the tensor was given another (set_)
        memory::free_bytes(*tensor.storage().unsafeGetStorageImpl());
    }
  }

 private:
  StorageId storage_of(const at::Tensor& tensor) {
    const StorageId storage = tensor.defined() ? record_->storage_of(tensor) : kNone;
    if (storage != kNone && storage >= uses_.size()) uses_.resize(storage + 1);
    return storage;
  }

  // True if Tensor.set_ has given the tensor another storage. Other slots may hold the same tensor.
  bool has_other_storage(Slot slot, const c10::IValue& value) {
    return held_[slot] != kNone && value.isTensor() && storage_of(value.toTensor()) != held_[slot];
  }

  // From now on the storages of all tensors in the value are never dead.
  void keep(const c10::IValue& value) {
    sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
      if (const StorageId storage = storage_of(tensor); storage != kNone) ++uses_[storage];
    });
  }

  const Record* record_;
  std::vector<std::uint32_t> uses_;                    // by storage
  std::vector<StorageId> held_;                        // by slot
  std::vector<std::vector<std::vector<Slot>>> dying_;  // by block and step
};

}  // namespace sr::replay
