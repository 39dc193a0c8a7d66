// The steps of sr::run_out_variant. In the first run the interpreter's own operator allocates the outputs;
// later runs write into them. A change that could affect their dtype or layout makes the operator allocate
// again.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <sr/base/identity.hpp>
#include <sr/base/through_autograd.hpp>
#include <sr/graph/input_record.hpp>
#include <sr/graph/processed_node.hpp>

namespace sr {

namespace detail {

// True if the tensor's elements are the conjugates or negatives of its bytes.
inline bool is_lazy(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() &&
         value.toTensor().key_set().has_any(
             c10::DispatchKeySet({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative}));
}

inline bool requires_gradient(const c10::IValue& value) {
  bool found = false;
  each_tensor(value, [&](const at::Tensor& tensor) { found |= tensor.defined() && tensor.requires_grad(); });
  return found;
}

// Calls run below autograd, where the dispatcher materialises lazy conjugates in front of a composite
// operator. With autograd's keys in front, the inner operators get them unchanged: a product with a conjugate
// then rounds as the interpreter's does.
class WithAutogradKeys {
 public:
  WithAutogradKeys()
      : guard_(c10::impl::tls_local_dispatch_key_set().included_,
               c10::impl::tls_local_dispatch_key_set().excluded_ - c10::autograd_dispatch_keyset) {}

 private:
  c10::impl::ForceDispatchKeyGuard guard_;
};

}  // namespace detail

// Calls LibTorch's own implementation of the node on copies of its inputs and stores the outputs.
// Throws what the operator throws.
inline void call_boxed(NodeView& view) {
  torch::jit::Stack& stack = view.frame().stack;
  stack.clear();
  const std::size_t inputs = view.input_count();
  for (std::size_t i = 0; i < inputs; ++i) stack.push_back(view.input(i));
  if (view.processed().is_vararg) stack.emplace_back(static_cast<std::int64_t>(inputs));
  std::optional<detail::ThroughAutograd> autograd;
  if (view.processed().asks_gradients && std::any_of(stack.begin(), stack.end(), &detail::requires_gradient))
    autograd.emplace();
  std::optional<detail::WithAutogradKeys> keys;
  if (std::any_of(stack.begin(), stack.end(), &detail::is_lazy)) keys.emplace();
  (*view.processed().interpreter)(stack);
  const std::size_t outputs = view.output_count();
  TORCH_INTERNAL_ASSERT(stack.size() >= outputs);
  for (std::size_t i = 0; i < outputs; ++i) view.output(i) = std::move(stack[stack.size() - outputs + i]);
  stack.clear();
}

namespace detail {

inline bool shares_storage(const c10::StorageImpl* storage, const c10::IValue& value) {
  if (value.isTensor()) return storage_of(value.toTensor()) == storage;
  if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (storage_of(tensor) == storage) return true;
    }
  }
  return false;
}

// The outputs of an out variant must be new tensors, but the functional operator that allocates them may have
// returned an input.
inline void own_outputs(NodeView& view) {
  for (std::size_t o = 0; o < view.output_count(); ++o) {
    if (!view.output(o).isTensor()) continue;
    const c10::StorageImpl* storage = storage_of(view.output(o).toTensor());
    if (storage == nullptr) continue;
    for (std::size_t i = 0; i < view.input_count(); ++i) {
      if (shares_storage(storage, view.input(i))) {
        view.output(o) = view.output(o).toTensor().clone();
        break;
      }
    }
  }
}

inline void shrink(const at::Tensor& tensor) {
  if (!tensor.defined()) return;
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  impl->set_storage_offset(0);
  impl->set_sizes_contiguous({0});
}

inline at::Tensor empty_like(const TensorMetadata& metadata) {
  return at::Tensor(at::detail::empty_strided_cpu(metadata.sizes, metadata.strides, metadata.dtype));
}

inline void make_outputs_anew(NodeView& view, NodeState& state) {
  state.valid = false;
  for (std::size_t i = 0; i < view.output_count(); ++i) view.output(i) = c10::IValue();
  const bool comparable = record_inputs(view, state);
  call_boxed(view);
  own_outputs(view);
  if (!comparable) return;
  state.outputs.resize(view.output_count());
  for (std::size_t i = 0; i < view.output_count(); ++i) {
    const at::Tensor& output = view.output(i).toTensor();
    if (!output.defined() || !is_plain(output.unsafeGetTensorImpl())) return;
    state.outputs[i].assign(output);
  }
  state.valid = true;
}

// Runs a node as LibTorch would, whatever function it was prepared with. Its outputs are not reused.
inline void run_by_interpreter(NodeView& view) {
  view.state().valid = false;
  for (std::size_t i = 0; i < view.output_count(); ++i) view.output(i) = c10::IValue();
  call_boxed(view);
  own_outputs(view);
}

// True if an output that lies on the bytes of its input will have exactly that input's sizes and layout,
// since the other inputs broadcast to it. Ops that may write in place are pointwise (OutTraits).
inline bool fills_dying_input(const NodeView& view) {
  const auto position = static_cast<std::size_t>(view.processed().traits.writes_in_place);
  const at::Tensor& target = view.input(position).toTensor();
  if (!target.is_contiguous()) return false;
  for (std::size_t i = 0; i < view.input_count(); ++i) {
    if (i == position || !view.input(i).isTensor()) continue;
    const at::Tensor& other = view.input(i).toTensor();
    if (!other.defined()) continue;
    if (!other.is_contiguous() || other.dim() > target.dim()) return false;
    for (std::int64_t d = 1; d <= other.dim(); ++d) {
      if (other.size(-d) != 1 && other.size(-d) != target.size(-d)) return false;
    }
  }
  return true;
}

// True if a kernel that is given outputs without elements will lay them out as the functional operator would.
inline bool may_resize(const NodeView& view, const NodeState& state) {
  if (!state.takes_no_elements) return false;
  if (state.placed_in_place && !fills_dying_input(view)) return false;
  if (view.processed().traits.keeps_strides) return true;
  if (!state.all_standard) return false;
  for (const TensorMetadata& output : state.outputs) {
    if (!output.standard) return false;
  }
  return true;
}

}  // namespace detail

}  // namespace sr
