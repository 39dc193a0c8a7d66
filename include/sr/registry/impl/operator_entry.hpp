// Definitions of <sr/registry/operator_entry.hpp>.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/registry/operator_entry.hpp>
#include <sr/registry/operator_parts.hpp>
#include <sr/registry/out_protocol.hpp>
#include <sr/registry/registry.hpp>

namespace sr {

namespace detail {

[[gnu::noinline]] SR_INLINE void put(c10::IValue& slot, at::Tensor&& value) {
  slot = std::move(value);
}
[[gnu::noinline]] SR_INLINE void put(c10::IValue& slot, std::int64_t value) {
  slot = value;
}
[[gnu::noinline]] SR_INLINE void put(c10::IValue& slot, double value) {
  slot = value;
}
[[gnu::noinline]] SR_INLINE void put(c10::IValue& slot, bool value) {
  slot = value;
}
[[gnu::noinline]] SR_INLINE void put(c10::IValue& slot, c10::IValue&& value) {
  slot = std::move(value);
}

}  // namespace detail

SR_INLINE void register_op(const OperatorEntry& entry) {
  registry().add(entry);
  if (entry.kind == NodeKind::out_variant || entry.traits.makes_new_tensor)
    fact_table().add_new_results(entry.key);
}

SR_INLINE void register_operator(const OperatorParts& spec) {
  registry().add(spec);
  if (spec.facts != 0) {
    const std::string name(spec.key.substr(0, spec.key.find('.')));
    fact_table().add(c10::Symbol::fromQualString(name), spec.facts);
  }
  if (spec.register_in_place != nullptr) spec.register_in_place(spec.key);
}

SR_INLINE void run_out_variant(NodeView& view, void (*call)(const void* op, NodeView& view), const void* op) {
  NodeState& state = view.state();
  NodeState::Change change = compare_inputs(view, state);
  if (change == NodeState::Change::sizes && !detail::may_resize(view, state)) {
    change = NodeState::Change::everything;
  }
  if (change == NodeState::Change::everything) {
    detail::make_outputs_anew(view, state);
    return;
  }
  const bool shrink_first =
      change == NodeState::Change::sizes || view.processed().traits.data_dependent_shape;
  const std::size_t outputs = view.output_count();
  bool emptied = false;
  for (std::size_t i = 0; i < outputs; ++i) {
    c10::IValue& output = view.output(i);
    if (!output.isTensor()) {
      output = detail::empty_like(state.outputs[i]);
    } else if (output.toTensor().scalar_type() != state.outputs[i].dtype) {
      output =
          detail::empty_like(state.outputs[i]);  // an in-place op of the graph swapped the tensor's insides
    }
    if (shrink_first || !state.outputs[i].matches(output.toTensor())) {
      detail::shrink(output.toTensor());
      emptied = true;
    }
  }
  if (change == NodeState::Change::none) {
    call(op, view);
    return;
  }
  state.valid = false;
  record_inputs(view, state);
  try {
    call(op, view);
  } catch (const c10::Error&) {
    if (!emptied || state.placed_in_place) throw;
    // Some `.out` overloads take outputs of the right sizes alone (aten::_int_mm). Where it was something
    // else, the interpreter's operator throws it, too.
    detail::make_outputs_anew(view, state);
    state.takes_no_elements = false;
    return;
  }
  for (std::size_t i = 0; i < outputs; ++i) state.outputs[i].assign(view.output(i).toTensor());
  state.valid = true;
}

}  // namespace sr
