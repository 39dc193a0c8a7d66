// Records what depends on data in one node of a call: sizes of tensors, changed lists, and random numbers.
#pragma once

#include <algorithm>
#include <cstddef>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/replay/trace/classify.hpp>
#include <sr/replay/trace/recorded_node.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// All that the constructor is given must outlive it.
class RecordedByData : public RecordedNode {
 public:
  using RecordedNode::RecordedNode;

 protected:
  // Notes that a block may return the value: a list is then one by data, which later nodes may change.
  void note_returned(std::size_t position, const c10::IValue& value, ValueId dynamic) {
    if (value.isList() || value.isGenericDict()) change_list(position, value, dynamic);
  }

  // True if the node asks for what a replay compares of every tensor.
  bool asks_for_kind() const {
    const c10::Symbol kind = node_.node->kind();
    return kind == c10::aten::dim || kind == c10::prim::dtype || kind == c10::prim::device ||
           kind == c10::aten::is_floating_point || kind == c10::aten::is_complex;
  }

  // True if the node makes a container. Nodes that read it ask for the sizes of its tensors.
  bool makes_container() const {
    const c10::Symbol kind = node_.node->kind();
    return kind == c10::prim::TupleConstruct || kind == c10::prim::ListConstruct ||
           kind == c10::prim::DictConstruct;
  }

  // Notes that the node reads the tensors of the value, if any, whose sizes then are those of the recorded
  // call. A block is given tensors as they are in each replay, but writes those of the recorded call.
  void note_sizes_asked(const c10::IValue& value) {
    sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
      if (!record_.is_known(tensor)) return;
      TracedTensor& traced = record_.trace.tensors[record_.trace.id_of(tensor)];
      if (!traced.any_sizes || asks_for_kind() || makes_container()) return;
      if (traced.sizes_by_data && value.isTensor() && facts_.has(Fact::reads_metadata_only)) {
        asks_for_any_sizes_ = true;
      } else if (node_.sub_blocks.empty() || !value.isTensor()) {
        traced.any_sizes = false;
      }
    });
  }

  // Notes that the node changes a list by data. `position` is as in TracedNode::begins_lists.
  void change_list(std::size_t position, const c10::IValue& list, ValueId dynamic) {
    if (dynamic != kNone) return;
    const bool may_change = list.isIntList() || list.isDoubleList() || list.isBoolList() ||
                            (list.isTensorList() && list.toTensorVector().empty());
    if (!may_change || record_.trace.own.count(list.internalToPointer()) == 0)
      return bail_out("changes a list or dictionary by a value that the input data decide.");
    const ValueId id = record_.trace.value_count++;
    traced_.begins_lists.emplace_back(position, id);
    record_.trace.dynamic_containers[list.internalToPointer()] = id;
  }

  // True if the node draws random numbers, all of them from LibTorch's default generator.
  bool draws_from_default() const {
    const auto is_generator = [](const c10::IValue& value) { return value.isGenerator(); };
    return (facts_.is_random || blocks_draw_) && std::ranges::none_of(traced_.inputs, is_generator) &&
           std::ranges::none_of(traced_.captured, is_generator);
  }

  bool has_dynamic_inputs() const {
    return std::ranges::any_of(traced_.dynamic_inputs, [](ValueId id) { return id != kNone; });
  }
  bool data_decide_sizes() const {
    return facts_.data_decides && !detail::chooses_by_integers(node_.node->kind(), traced_.inputs);
  }

  // Records an append to a list of tensors that is an input of the block. A replay appends an undefined
  // tensor, and puts the tensor, which is a result of the block, in its place at the end.
  void append_tensor() {
    const c10::IValue& element = traced_.inputs[1];
    if (node_.node->kind() != c10::aten::append || traced_.dynamic_inputs[0] >= record_.inputs_by_value ||
        !element.isTensor() || !element.toTensor().defined() || home_of(element.toTensor()) == Home::weight)
      return bail_out("changes a list or dictionary by a value that the input data decide.");
    record_.trace.appended.push_back({traced_.dynamic_inputs[0], element.toTensor()});
    traced_.inputs[1] = at::Tensor();
  }

  bool blocks_draw_ = false;         // random numbers
  bool asks_for_any_sizes_ = false;  // of a tensor whose sizes may be others in each replay
};

}  // namespace sr::replay
