// Protects constants that compare equal but differ in their bits (0.0 and -0.0) or in their strides.
// LibTorch's passes merge constants that compare equal, although 1 / 0.0 is not 1 / -0.0.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/graph/each_node.hpp>

namespace sr::passes {

namespace detail {

inline c10::Symbol bits_name() {
  static const c10::Symbol name = c10::Symbol::attr("sr_bits");
  return name;
}

inline bool is_plain(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && !tensor.is_quantized() && tensor.is_cpu() &&
         tensor.numel() != 0 && !sr::detail::needs_memory(tensor);
}

inline bool has_negative_zero(const at::Tensor& tensor) {
  if (!is_plain(tensor)) return false;
  const c10::InferenceMode without_autograd;
  if (tensor.is_complex()) return has_negative_zero(at::view_as_real(tensor.resolve_conj().detach()));
  if (!tensor.is_floating_point()) return false;
  const at::Tensor dense = tensor.detach().resolve_neg().contiguous();
  const auto any_is = [&]<class Bits>(Bits) {
    constexpr Bits kNegativeZero = Bits{1} << (sizeof(Bits) * 8 - 1);
    const std::span elements(static_cast<const Bits*>(dense.const_data_ptr()),
                             static_cast<std::size_t>(dense.numel()));
    return std::ranges::find(elements, kNegativeZero) != elements.end();
  };
  switch (dense.element_size()) {
    case 1:
      return any_is(std::uint8_t{});
    case 2:
      return any_is(std::uint16_t{});
    case 4:
      return any_is(std::uint32_t{});
    default:
      return any_is(std::uint64_t{});
  }
}

inline bool has_negative_zero(const c10::IValue& value) {
  const auto is_one = [](double number) { return number == 0 && std::signbit(number); };
  if (value.isDouble()) return is_one(value.toDouble());
  if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    return is_one(number.real()) || is_one(number.imag());
  }
  if (value.isTensor()) return has_negative_zero(value.toTensor());
  if (value.isTuple()) {
    return std::ranges::any_of(value.toTupleRef().elements(),
                               [](const c10::IValue& element) { return has_negative_zero(element); });
  }
  if (value.isDoubleList()) return std::ranges::any_of(value.toDoubleVector(), is_one);
  bool found = false;
  sr::detail::each_tensor(value, [&](const at::Tensor& tensor) { found |= has_negative_zero(tensor); });
  return found;
}

// What tensors that are equal have in common and is cheap to read: weights may lie in a file that no one has
// read yet.
using TensorSample = std::tuple<c10::ScalarType, std::vector<std::int64_t>, double>;

inline TensorSample sample_of(const at::Tensor& tensor) {
  double last = 0;
  if (tensor.is_floating_point()) {
    const c10::InferenceMode without_autograd;
    at::Tensor element = tensor.detach();
    while (element.dim() != 0) element = element.select(0, -1);
    last = element.item<double>() + 0.0;  // -0.0 becomes 0.0
  }
  return {tensor.scalar_type(), tensor.sizes().vec(), std::isnan(last) ? 0.0 : last};
}

// True if a tensor that compares equal to this one may still have other bits or strides.
inline bool is_special(const at::Tensor& tensor) {
  return !tensor.is_contiguous() || tensor.is_conj() || tensor.is_neg() || has_negative_zero(tensor);
}

}  // namespace detail

// Marks each special constant that may have an equal one with a unique attribute: nodes with different
// attributes are not equal. Constants without one are equal only if their bits and strides are, since NaN
// equals nothing.
inline void mark_constants(torch::jit::Graph& graph) {
  static std::atomic<std::int64_t> count = 0;
  std::map<detail::TensorSample, std::vector<std::pair<torch::jit::Node*, at::Tensor>>> alike;
  const auto mark = [&](torch::jit::Node* node) {
    if (!node->hasAttribute(detail::bits_name())) node->i_(detail::bits_name(), ++count);
  };
  sr::detail::each_node<sr::detail::Forks::enter>(graph.block(), [&](torch::jit::Node* node) {
    if (node->kind() != c10::prim::Constant) return;
    const auto value = torch::jit::toIValue(node->output());
    if (!value) return;
    if (value->isTensor()) {
      const at::Tensor& tensor = value->toTensor();
      if (detail::is_plain(tensor)) alike[detail::sample_of(tensor)].emplace_back(node, tensor);
    } else if (detail::has_negative_zero(*value)) {
      mark(node);
    }
  });
  for (const auto& [sample, constants] : alike) {
    if (constants.size() < 2) continue;
    for (const auto& [node, tensor] : constants) {
      if (detail::is_special(tensor)) mark(node);
    }
  }
}

inline void unmark_constants(torch::jit::Graph& graph) {
  sr::detail::each_node<sr::detail::Forks::enter>(graph.block(), [](torch::jit::Node* node) {
    if (node->hasAttribute(detail::bits_name())) node->removeAttribute(detail::bits_name());
  });
}

}  // namespace sr::passes
