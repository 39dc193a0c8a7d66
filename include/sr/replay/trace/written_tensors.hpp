// Tensors that one node of a recorded call changes in place.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include <ATen/Functions.h>

#include <sr/graph/alias_rules.hpp>
#include <sr/graph/processed_node.hpp>
#include <sr/replay/trace/overlaps.hpp>
#include <sr/replay/trace/record.hpp>

namespace sr::replay {

class WrittenTensors {
 public:
  WrittenTensors(Record& record, const Frame& frame, const ProcessedNode& node)
      : record_(record), frame_(frame), node_(node) {}

  // Notes the tensors that the operator is about to write, with their metadata.
  void note() {
    sr::detail::each_written(node_.node->schema(), node_.inputs.size(),
                             [&](std::size_t i) { note(frame_.values[node_.inputs[i]]); });
  }
  // Notes tensors that the blocks of the node may write.
  void note(const c10::IValue& value) {
    sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
      if (record_.is_known(tensor)) note_tensor(tensor);
    });
  }

  // After an operator has run: the storages that it may change in a replay. Bails out if a replay cannot
  // repeat the write: it writes only tensors that it is given, in the program's own memory or in that of
  // variables and arguments, and makes no new ones.
  std::vector<StorageId> check() const {
    if (written_.empty()) record_.bail_out(*node_.node, "changes a tensor in place.");
    std::vector<StorageId> changed = check_storages();
    if (makes_new()) record_.bail_out(*node_.node, "changes a tensor in place and makes another value.");
    return changed;
  }
  // Does what check() does for a branch or loop, whose results may be new tensors.
  std::vector<StorageId> check_storages() const {
    std::vector<StorageId> changed;
    for (const Written& written : written_) {
      const TracedStorage& storage = record_.trace.storages[written.storage];
      if (storage.home == Home::weight)
        record_.bail_out(*node_.node, "changes a weight of the model in place.");
      if (storage.home == Home::input && !record_.trace.is_state(storage))
        record_.trace.written_arguments.insert(storage.leaf);
      if (is_foreign(storage))
        record_.bail_out(*node_.node, "changes the result of an operator of which nothing is known.");
      if (!is_same(written)) record_.bail_out(*node_.node, "changes the shape of a tensor in place.");
      changed.push_back(written.storage);
      guard_overlaps(written);
    }
    return changed;
  }

 private:
  struct Written {
    at::Tensor tensor;
    TensorMetadata metadata;
    std::int64_t offset = 0;
    StorageId storage = kNone;
  };

  void note_tensor(const at::Tensor& tensor) {
    const StorageId id = record_.trace.storage_id_of(tensor);
    TracedStorage& storage = record_.trace.storages[id];
    if (storage.home == Home::literal) {
      const std::int64_t count = storage.bytes.pin();
      at::Tensor bytes = at::empty({count}, at::kByte);
      if (count != 0)
        std::memcpy(bytes.mutable_data_ptr(), tensor.storage().data(), static_cast<std::size_t>(count));
      record_.trace.initial.push_back({id, std::move(bytes)});
      storage.home = Home::produced;
    }
    Written& written = written_.emplace_back();
    written.tensor = tensor;
    written.metadata.assign(tensor);
    written.offset = tensor.storage_offset();
    written.storage = id;
  }

  // The general path may need the value as it was.
  bool is_foreign(const TracedStorage& storage) const {
    return storage.home == Home::opaque && storage.producer < record_.trace.nodes.size() &&
           record_.trace.nodes[storage.producer].foreign;
  }

  bool is_same(const Written& written) const {
    return written.metadata.matches(written.tensor) && written.tensor.storage_offset() == written.offset &&
           record_.storage_of(written.tensor) == written.storage;
  }

  // With the other operands, also those that LibTorch does not compare.
  void guard_overlaps(const Written& written) const {
    if (!record_.has_symbols() || record_.has_bailed_out()) return;
    for (const Slot slot : node_.inputs) {
      if (record_.is_list_by_data(frame_.values[slot])) continue;
      sr::detail::each_tensor(frame_.values[slot], [&](const at::Tensor& other) {
        if (!other.defined() || other.is_same(written.tensor) || record_.storage_of(other) != written.storage)
          return;
        guard_overlap(record_.trace.layout_of(written.tensor), record_.trace.layout_of(other));
      });
    }
  }

  bool makes_new() const {
    bool makes_new = false;
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      const c10::IValue& value = frame_.values[node_.first_output + i];
      makes_new |= !value.isTensor() && !value.isTensorList() && !value.isNone();
      sr::detail::each_tensor(value,
                              [&](const at::Tensor& tensor) { makes_new |= !record_.is_known(tensor); });
    }
    return makes_new;
  }

  Record& record_;
  const Frame& frame_;
  const ProcessedNode& node_;
  std::vector<Written> written_;
};

}  // namespace sr::replay
