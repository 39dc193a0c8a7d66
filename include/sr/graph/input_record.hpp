// Serialises everything that the metadata of a node's outputs can depend on, and compares it with the inputs
// of another run.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/graph/processed_node.hpp>

namespace sr {

namespace detail {

// True if this is a plain CPU tensor with sizes and strides, which kernels may be given as an out argument.
inline bool is_plain(const c10::TensorImpl* impl) {
  return impl->layout() == at::kStrided && impl->device_type() == at::kCPU && !impl->is_python_dispatch() &&
         !impl->key_set().has_any(c10::DispatchKeySet(
             {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative, c10::DispatchKey::ZeroTensor})) &&
         !impl->key_set().has_backend(c10::BackendComponent::MetaBit) &&
         !isQIntType(c10::typeMetaToScalarType(impl->dtype()));
}

// Calls sink(word, decides_category) for each word of the description. Returns false if the value cannot be
// described.
template <class Sink>
bool describe(const at::Tensor& tensor, Sink& sink) {
  if (!tensor.defined()) return sink(-1, true);
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (!is_plain(impl)) return false;
  const bool standard = has_standard_strides(impl);
  const auto sizes = impl->sizes();
  const auto kind = static_cast<std::int64_t>(c10::typeMetaToScalarType(impl->dtype())) |
                    (sizes.empty() ? 1 << 8 : 0) | (impl->is_wrapped_number() ? 1 << 9 : 0) |
                    (standard ? 1 << 10 : 0) | (std::int64_t{1} << 11);
  if (!sink(kind, true)) return false;
  if (!sink(static_cast<std::int64_t>(sizes.size()), false)) return false;
  for (const std::int64_t size : sizes) {
    if (!sink(size, false)) return false;
  }
  sink.standard &= standard;
  if (!standard) {
    for (const std::int64_t stride : impl->strides()) {
      if (!sink(stride, false)) return false;
    }
  }
  return true;
}

// `value_decides`: the integer means a dtype, layout, memory format or device.
template <class Sink>
bool describe(const c10::IValue& value, bool value_decides, Sink& sink) {
  constexpr std::int64_t kTag = std::int64_t{1} << 32;
  if (value.isTensor()) return describe(value.toTensor(), sink);
  if (value.isNone()) return sink(kTag, true);
  if (value.isInt()) return sink(kTag + 1, true) && sink(value.toInt(), value_decides);
  if (value.isBool()) return sink(kTag + 2, true) && sink(value.toBool() ? 1 : 0, true);
  if (value.isDouble()) {
    return sink(kTag + 3, true) && sink(std::bit_cast<std::int64_t>(value.toDouble()), false);
  }
  if (value.isIntList()) {
    const auto list = value.toIntList();
    if (!sink(kTag + 4, true) || !sink(static_cast<std::int64_t>(list.size()), false)) return false;
    for (const std::int64_t item : list) {
      if (!sink(item, false)) return false;
    }
    return true;
  }
  if (value.isTensorList()) {
    const auto list = value.toTensorList();
    if (!sink(kTag + 5, true) || !sink(static_cast<std::int64_t>(list.size()), true)) return false;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!describe(list.get(i), sink)) return false;
    }
    return true;
  }
  return false;
}

struct InputRecorder {
  NodeState& state;
  bool standard = true;
  bool operator()(std::int64_t word, bool decides_category) {
    state.exact.push_back(word);
    if (decides_category) state.category.push_back(word);
    return true;
  }
};

struct ExactMatcher {
  const std::int64_t* next;
  const std::int64_t* end;
  bool standard = true;
  bool operator()(std::int64_t word, bool) { return next != end && *next++ == word; }
};

struct CategoryMatcher {
  const std::int64_t* next;
  const std::int64_t* end;
  bool standard = true;
  bool operator()(std::int64_t word, bool decides_category) {
    return !decides_category || (next != end && *next++ == word);
  }
};

template <class Sink>
bool describe_inputs(const NodeView& view, Sink& sink) {
  for (const std::uint32_t i : view.processed().dynamic_inputs) {
    const auto& kinds = view.processed().kind_inputs;
    const bool value_decides = !kinds.empty() && std::find(kinds.begin(), kinds.end(), i) != kinds.end();
    if (!describe(view.input(i), value_decides, sink)) return false;
  }
  return true;
}

}  // namespace detail

// Remembers the inputs of a run that is about to allocate its outputs. Returns false if they hold something
// that cannot be compared (sparse or quantized tensors, dictionaries, objects); then every run has to
// allocate.
inline bool record_inputs(const NodeView& view, NodeState& state) {
  state.exact.clear();
  state.category.clear();
  detail::InputRecorder recorder{state};
  if (!detail::describe_inputs(view, recorder)) return false;
  state.all_standard = recorder.standard;
  return true;
}

inline NodeState::Change compare_inputs(const NodeView& view, const NodeState& state) {
  if (!state.valid) return NodeState::Change::everything;
  detail::ExactMatcher exact{state.exact.begin(), state.exact.end()};
  if (detail::describe_inputs(view, exact) && exact.next == exact.end) return NodeState::Change::none;
  detail::CategoryMatcher category{state.category.begin(), state.category.end()};
  if (detail::describe_inputs(view, category) && category.next == category.end)
    return NodeState::Change::sizes;
  return NodeState::Change::everything;
}

}  // namespace sr
