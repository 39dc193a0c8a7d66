// Results of interpreted nodes that may be one of the node's inputs or a view of one: a loop that makes no
// step returns what it is given. A recording goes on with a copy of such a result, as long as no one can
// tell.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_set>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>

#include <sr/base/extent.hpp>
#include <sr/base/identity.hpp>
#include <sr/registry/selection.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// A copy with the sizes and strides of `tensor`, whose elements begin `offset` elements behind the beginning
// of its storage. Elements that share memory still do.
inline at::Tensor copy_at(const at::Tensor& tensor, std::int64_t offset) {
  const auto extent = static_cast<std::int64_t>(extent_of(tensor.sizes(), tensor.strides()));
  const at::Tensor storage = at::empty({offset + extent}, tensor.options());
  if (extent != 0) {
    const auto bytes = static_cast<std::size_t>(tensor.element_size());
    std::memcpy(
        static_cast<std::byte*>(storage.mutable_data_ptr()) + static_cast<std::size_t>(offset) * bytes,
        tensor.const_data_ptr(), static_cast<std::size_t>(extent) * bytes);
  }
  return storage.as_strided(tensor.sizes(), tensor.strides(), offset);
}

// Decides for each interpreted node of a complete trace whether a copy can stand for a result that is an
// input: the result is not returned, and no later node writes it or an input of the node. If a copy was made
// that can be told from the input, bails out of this call, which then has to be made once more.
class AliasedResults {
 public:
  explicit AliasedResults(Trace& trace) : trace_(trace), last_change_(trace.storages.size(), 0) {}

  void decide() {
    if (!trace_.bailout.empty()) return;  // what became of copies after that was not recorded
    bool is_told = false;
    for (std::uint32_t i = 0; i < trace_.nodes.size(); ++i) {
      for (const StorageId storage : trace_.nodes[i].changed) last_change_[storage] = i + 1;
    }
    for (const c10::IValue& result : trace_.results) add_storages(result, returned_);
    for (std::uint32_t i = 0; i < trace_.nodes.size(); ++i) {
      TracedNode& node = trace_.nodes[i];
      if (!node.may_return_inputs) continue;
      node.may_return_inputs = is_hidden(node, i);
      if (node.may_return_inputs || !node.returned_input) continue;
      is_told = true;
      if (!trace_.bailout.empty()) continue;
      trace_.bailout = sr::detail::place_of(*node.processed->node) +
                       " returned one of its inputs, which this call then " +
                       "returned or changed. A call of the same sizes that does not is recorded.";
      trace_.bailout_is_of_call = true;
    }
    trace_.answers_otherwise = is_told;
  }

 private:
  using Storages = std::unordered_set<StorageId>;

  void add_storages(const c10::IValue& value, Storages& storages) const {
    sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
      if (const auto id = trace_.ids.find(tensor.unsafeGetTensorImpl()); id != trace_.ids.end())
        storages.insert(trace_.tensors[id->second].storage);
    });
  }

  bool is_hidden(const TracedNode& node, std::uint32_t i) const {
    Storages made, read;
    for (const c10::IValue& output : node.outputs) add_storages(output, made);
    for (const c10::IValue& input : node.inputs) add_storages(input, read);
    for (const c10::IValue& value : node.captured) add_storages(value, read);
    const auto is_changed = [&](StorageId storage) { return last_change_[storage] > i + 1; };
    return std::ranges::none_of(made,
                                [&](StorageId id) { return returned_.contains(id) || is_changed(id); }) &&
           std::ranges::none_of(read, is_changed);
  }

  Trace& trace_;
  std::vector<std::uint32_t> last_change_;  // by storage: 1 + the last node that writes it; 0: none does
  Storages returned_;
};

}  // namespace sr::replay
