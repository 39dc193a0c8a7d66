// Lowers nodes to steps that run them by their functions on planned memory.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/graph/node_state.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/steps/interpreted_step.hpp>
#include <sr/replay/steps/number_function_step.hpp>
#include <sr/replay/steps/out_variant_step.hpp>

namespace sr::replay::lower {

// A tensor for a step that stands for this one of the trace. Constants are passed as they are, except for
// views of them that differ between calls. Adds the storage to `touched`. `shares` is that of Wrappers::make.
inline at::Tensor wrap(Lowering& lowering, Wrappers& wrappers, const at::Tensor& tensor,
                       std::vector<StorageId>& touched, bool shares = false) {
  const Operand operand = lowering.operand(tensor);
  touched.push_back(operand.storage);
  const bool is_same = operand.offset.is_constant() && !varies(operand.sizes, operand.strides);
  if (is_same && lowering.is_constant(operand)) {
    // A new tensor: the recorded view may also be a result, whose metadata the caller may change.
    const Trace& trace = lowering.trace();
    return trace.tensors[trace.id_of(tensor)].given ? tensor : same_view(tensor);
  }
  return wrappers.make(operand.dtype, tensor.is_conj(), lowering.address(operand),
                       {operand.sizes, operand.strides}, shares);
}
inline c10::IValue wrap(Lowering& lowering, Wrappers& wrappers, const c10::IValue& value,
                        std::vector<StorageId>& touched, bool shares = false) {
  return sr::detail::with_tensors(
      value, [&](const at::Tensor& tensor) { return wrap(lowering, wrappers, tensor, touched, shares); });
}

// Emits the out variant of the node. Returns false if it has none.
inline bool call_out_variant(Lowering& lowering, const TracedNode& traced) {
  if (traced.processed->write.run == nullptr) return false;
  auto step = std::make_unique<OutVariantStep>();
  step->take(*traced.processed);
  std::vector<StorageId> reads, writes;
  for (std::size_t i = 0; i < traced.inputs.size(); ++i)
    step->frame.values[i] = wrap(lowering, step->wrappers, traced.inputs[i], reads);
  for (std::size_t i = 0; i < traced.outputs.size(); ++i) {
    step->frame.values[step->node.first_output + i] =
        wrap(lowering, step->wrappers, traced.outputs[i], writes);
    const at::Tensor& recorded = traced.outputs[i].toTensor();
    step->results.emplace_back(recorded, lowering.operand(recorded));
  }
  for (const NumberInput& number : traced.numbers)
    step->numbers.push_back({number.input, {number.values, {}}});
  lowering.emit_owned(std::move(step), &OutVariantStep::run, std::move(reads), std::move(writes));
  return true;
}

inline bool is_number(const torch::jit::Value* value) {
  const c10::TypePtr& type = value->type();
  return type->isSubtypeOf(*c10::NumberType::get()) || type->kind() == c10::TypeKind::BoolType;
}

// Emits sr's own function of an operator on numbers. `traced` is interpreted and returns one number that
// depends on data. Returns false if LibTorch's operator runs the node, or if it takes anything but numbers.
inline bool call_number_function(Lowering& lowering, const TracedNode& traced) {
  const ProcessedNode& processed = *traced.processed;
  if (processed.kind != NodeKind::native || traced.foreign || traced.draws) return false;
  if (!std::ranges::all_of(processed.node->inputs(), &is_number) || !is_number(processed.node->output()))
    return false;
  auto step = std::make_unique<NumberFunctionStep>();
  step->take(processed);
  for (std::size_t i = 0; i < traced.inputs.size(); ++i) {
    const auto slot = static_cast<Slot>(i);
    step->frame.values[slot] = traced.inputs[i];
    if (traced.dynamic_inputs[i] != kNone) step->from_table.push_back({slot, traced.dynamic_inputs[i]});
  }
  for (const NumberInput& number : traced.numbers)
    step->from_sizes.push_back({static_cast<Slot>(number.input), {number.values, {}}});
  step->to = traced.dynamic_outputs[0];
  lowering.emit_owned(std::move(step), &NumberFunctionStep::run, {}, {});
  return true;
}

// The storages of the constants among `among`, sorted. If `among` is null, of all constants: blocks read
// values that are not their inputs.
inline std::vector<const c10::StorageImpl*> constants_of(const Lowering& lowering,
                                                         const std::vector<StorageId>* among) {
  std::vector<const c10::StorageImpl*> found;
  const auto add = [&](StorageId id) {
    if (lowering.is_constant(id)) found.push_back(sr::detail::storage_of(lowering.tensor_of(id)));
  };
  if (among != nullptr) {
    for (const StorageId id : *among) add(id);
  } else {
    for (StorageId id = 0; id < lowering.trace().storages.size(); ++id) add(id);
  }
  std::ranges::sort(found);
  return found;
}

inline InterpretedStep::Result expected_result(Lowering& lowering, const TracedNode& traced, std::size_t i,
                                               std::vector<StorageId>& writes) {
  InterpretedStep::Result result;
  const c10::IValue& output = traced.outputs[i];
  if (!output.isTensor()) {
    result.value = traced.dynamic_outputs[i];
  } else if (output.toTensor().defined()) {
    const at::Tensor& tensor = output.toTensor();
    const Operand operand = lowering.operand(tensor);
    result.expected = ExpectedResult(tensor, operand);
    result.offset = tensor.storage_offset();
    result.any_sizes = lowering.trace().tensors[lowering.trace().id_of(tensor)].any_sizes;
    result.storage = operand.storage;
    lowering.storages()[result.storage].home = Home::opaque;
    writes.push_back(result.storage);
  }
  return result;
}

inline void add_result(InterpretedStep& step, InterpretedStep::Result result) {
  const auto is_on_same = [&](const InterpretedStep::Result& other) {
    return result.storage != kNone && other.storage == result.storage;
  };
  result.first =
      static_cast<std::size_t>(std::ranges::find_if(step.results, is_on_same) - step.results.begin());
  step.results.push_back(std::move(result));
}

// The storages that interpreted nodes in front of this one have made.
inline std::vector<StorageId> earlier_opaque_storages(Lowering& lowering) {
  const std::vector<TracedStorage>& traced = lowering.trace().storages;
  std::vector<StorageId> found;
  for (StorageId id = 0; id < traced.size(); ++id) {
    if (lowering.storages()[id].home == Home::opaque && traced[id].producer < lowering.node())
      found.push_back(id);
  }
  return found;
}

// Emits the node's own function. Control flow that data decide runs its blocks on `blocks`.
inline void interpret(Lowering& lowering, const TracedNode& traced, Frame* blocks) {
  auto step = std::make_unique<InterpretedStep>();
  std::vector<StorageId> reads, writes;
  step->copies_inputs = traced.foreign;
  step->may_return_inputs = traced.may_return_inputs;
  step->changes_lists = traced.changes_lists;
  if (traced.processed->sub_blocks.empty()) {
    step->take(*traced.processed);
  } else {
    step->node = *traced.processed;
    step->shared = blocks;
  }
  // The recorder has seen all writes of a node, but not those of blocks.
  const bool shares = step->shared != nullptr && !traced.changed.empty();
  const auto add = [&](Slot slot, const c10::IValue& value, ValueId dynamic) {
    // Control flow may be given a value twice, or its blocks may also read it: the count of a loop, say.
    if (step->has_input(slot)) return;
    const Trace& trace = lowering.trace();
    if (value.isTensor() && value.toTensor().defined() &&
        trace.tensors[trace.id_of(value.toTensor())].any_sizes) {
      reads.push_back(lowering.operand(value.toTensor()).storage);
      return step->add_whole(slot, reads.back());
    }
    step->add_input(slot,
                    dynamic == kNone ? wrap(lowering, step->wrappers, value, reads, shares) : c10::IValue(),
                    dynamic);
  };
  const std::vector<std::uint32_t>& dynamic_inputs = traced.processed->dynamic_inputs;
  for (std::size_t i = 0; i < traced.inputs.size(); ++i) {
    // Control flow runs on a frame that holds the constants already.
    if (step->shared != nullptr && std::ranges::find(dynamic_inputs, i) == dynamic_inputs.end()) continue;
    add(step->node.inputs[i], traced.inputs[i], traced.dynamic_inputs[i]);
  }
  for (const NumberInput& number : traced.numbers) step->vary(step->node.inputs[number.input], number.values);
  for (std::size_t i = 0; i < traced.captured.size(); ++i)
    add(traced.captured_slots[i], traced.captured[i], traced.dynamic_captured[i]);
  for (const auto& [position, value] : traced.begins_lists) {
    const std::size_t inputs = traced.inputs.size();
    step->begin_list(
        position < inputs ? step->node.inputs[position] : traced.captured_slots[position - inputs], value);
  }
  for (const NumberInput& number : traced.captured_numbers)
    step->vary(traced.captured_slots[number.input], number.values);
  if (step->may_read_results()) step->earlier = earlier_opaque_storages(lowering);
  for (std::size_t i = 0; i < traced.outputs.size(); ++i)
    add_result(*step, expected_result(lowering, traced, i, writes));
  writes.insert(writes.end(), traced.changed.begin(), traced.changed.end());
  step->constants = constants_of(lowering, step->shared != nullptr ? nullptr : &reads);
  lowering.emit_owned(std::move(step), &InterpretedStep::run, std::move(reads), std::move(writes));
}

}  // namespace sr::replay::lower
