// Lowers bool(x), int(x), float(x) and x.item() to a step that reads the only element of the tensor. A replay
// then calls no operator of LibTorch to evaluate the condition of a loop or branch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay {

struct NumberStep final : ClonableStep<NumberStep> {
  std::string_view name() const override { return "read a number"; }
  Address from;
  ValueId to = kNone;

  template <class Element, class Number>
  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const NumberStep&>(payload);
    const Element element = *self.from.in<const Element>(context.bases);
    if constexpr (std::is_same_v<Number, bool>) {
      (*context.values)[self.to] = element != Element(0);
    } else {
      (*context.values)[self.to] = static_cast<Number>(element);
    }
  }
};

namespace lower {

// Stands for the type that x.item() returns: bool, int or float, depending on the dtype.
struct NumberOfDtype {};

namespace detail {

// Returns the function that reads an element of this dtype. Returns null for complex numbers, and for floats
// that become integers, because LibTorch checks their range.
template <class Number>
RunStep number_reader(c10::ScalarType dtype) {
  const auto reader = [](auto element, auto other) -> RunStep {
    using Element = decltype(element);
    using Result = std::conditional_t<std::is_same_v<Number, NumberOfDtype>, decltype(other), Number>;
    return &NumberStep::run<Element, Result>;
  };
  constexpr bool kTakesReals = !std::is_same_v<Number, std::int64_t>;
  switch (dtype) {
    case c10::kBool:
      return reader(bool(), bool());
    case c10::kByte:
      return reader(std::uint8_t(), std::int64_t());
    case c10::kChar:
      return reader(std::int8_t(), std::int64_t());
    case c10::kShort:
      return reader(std::int16_t(), std::int64_t());
    case c10::kInt:
      return reader(std::int32_t(), std::int64_t());
    case c10::kLong:
      return reader(std::int64_t(), std::int64_t());
    default:
      break;
  }
  if constexpr (kTakesReals) {
    switch (dtype) {
      case c10::kFloat:
        return reader(float(), double());
      case c10::kDouble:
        return reader(double(), double());
      case c10::kHalf:
        return reader(c10::Half(), double());
      case c10::kBFloat16:
        return reader(c10::BFloat16(), double());
      default:
        break;
    }
  }
  return nullptr;
}

}  // namespace detail

// `Number` is the type that the operator returns. Whether an operator throws depends on the number of
// elements, the dimensions and the dtype, which are those of the recorded call in each replay.
template <class Number>
bool read_number(Lowering& lowering, const TracedNode& node) {
  const std::optional<Operand> from = lowering.input(node, 0);
  if (!from || node.dynamic_inputs[0] != kNone) return false;
  const at::Tensor& tensor = node.inputs[0].toTensor();
  const RunStep run = detail::number_reader<Number>(from->dtype);
  if (run == nullptr || tensor.is_neg() || !Size::always_equal(from->count(), 1)) return false;
  const Trace& trace = lowering.trace();
  if (trace.tensors[trace.id_of(tensor)].any_sizes) return false;
  auto step = std::make_unique<NumberStep>();
  step->from = lowering.address(*from);
  step->to = node.dynamic_outputs[0];
  lowering.emit_owned(std::move(step), run, {from->storage}, {});
  return true;
}

}  // namespace lower
}  // namespace sr::replay
