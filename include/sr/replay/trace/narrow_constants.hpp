// Constants that were computed of int8 tensors, (integers - zeros) * scales, or converted from 16-bit floats.
// Products can read the narrower tensor in their place.
#pragma once

#include <optional>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>

#include <sr/replay/trace/operand.hpp>
#include <sr/replay/trace/record.hpp>

namespace sr::replay {

namespace detail {

inline bool has_same_order(const at::Tensor& made, const at::Tensor& of) {
  return made.is_non_overlapping_and_dense() && made.sizes() == of.sizes() &&
         made.strides() == of.strides() && made.storage_offset() == 0;
}

// What the elements of the tensor are.
inline std::optional<NarrowConstant> narrow_constant(const Record& record, const at::Tensor& tensor) {
  if (!record.is_known(tensor)) return std::nullopt;
  const bool is_narrow = tensor.scalar_type() == at::kChar || is_16_bit_float(tensor.scalar_type());
  if (is_narrow && tensor.is_non_overlapping_and_dense())
    return NarrowConstant{record.trace.id_of(tensor), {}, {}};
  const auto found = record.trace.narrow.find(record.storage_of(tensor));
  if (found == record.trace.narrow.end() ||
      !has_same_order(tensor, record.trace.tensor(found->second.narrow)))
    return std::nullopt;
  return found->second;
}

// The leading dimensions along which the zero points and scales of a tensor may vary; see NarrowConstant.
inline at::IntArrayRef numbered_sizes(const at::Tensor& integers) {
  return integers.sizes().slice(0, integers.dim() == 4 ? 1 : static_cast<std::size_t>(integers.dim()) - 1);
}

// A number for each index in the numbered sizes, if the elements of `integers` that do not differ in it are
// combined with the same number; else undefined.
inline GroupNumbers numbers_of_groups(const Record& record, const c10::IValue& value,
                                      const at::Tensor& integers) {
  if (integers.dim() < 2 || integers.dim() > 4 || !integers.is_contiguous()) return {};
  const at::IntArrayRef groups = numbered_sizes(integers);
  if (value.isDouble()) return {at::full(groups, value.toDouble(), at::kFloat)};
  if (value.isInt()) return {at::full(groups, value.toInt(), at::kFloat)};
  if (!value.isTensor() || !value.toTensor().defined() || value.toTensor().is_complex()) return {};
  at::Tensor numbers = value.toTensor();
  const StorageId storage = record.storage_of(numbers);
  const bool is_given = storage != kNone && record.trace.storages[storage].home == Home::weight;
  const void* const given = is_given ? numbers.const_data_ptr() : nullptr;
  if (numbers.dim() > integers.dim()) return {};
  for (auto d = static_cast<std::int64_t>(groups.size()); d < integers.dim() && numbers.dim() != 0; ++d) {
    if (numbers.size(-1) != 1) return {};
    numbers = numbers.squeeze(-1);
  }
  if (!at::is_expandable_to(numbers.sizes(), groups)) return {};
  return {numbers.to(at::kFloat).expand(groups).contiguous(), given};
}

inline bool is_zero(const c10::IValue& value) {
  if (value.isInt()) return value.toInt() == 0;
  return value.isTensor() && value.toTensor().defined() && !value.toTensor().any().item<bool>();
}

}  // namespace detail

// Notes what the result of a node without inputs of the call was computed of.
inline void note_narrow_constant(Record& record, const TracedNode& node, const c10::IValue& output) {
  const c10::Symbol kind = node.processed->node->kind();
  const bool converts = kind == c10::aten::to || kind == c10::aten::_to_copy;
  if ((!converts && kind != c10::aten::sub && kind != c10::aten::mul) || !node.inputs[0].isTensor() ||
      !output.isTensor())
    return;
  const at::Tensor &in = node.inputs[0].toTensor(), &out = output.toTensor();
  // Results in 8 bits are integers themselves; differences may have wrapped around.
  if (c10::elementSize(out.scalar_type()) == 1 || c10::isComplexType(out.scalar_type()) ||
      record.storage_of(out) == kNone || !detail::has_same_order(out, in))
    return;
  std::optional<NarrowConstant> of = detail::narrow_constant(record, in);
  if (!of) return;
  const at::Tensor& narrow = record.trace.tensor(of->narrow);
  if (is_16_bit_float(narrow.scalar_type())) {
    // A conversion to another dtype may round.
    if (!converts || (out.scalar_type() != at::kFloat && out.scalar_type() != at::kDouble)) return;
  } else if (converts) {
    if (of->scales.defined() && !c10::isFloatingType(out.scalar_type())) return;
  } else if (kind == c10::aten::sub) {
    if (of->scales.defined() || of->zeros.defined() || !node.inputs[2].isInt() || node.inputs[2].toInt() != 1)
      return;
    if (!detail::is_zero(node.inputs[1])) {
      of->zeros = detail::numbers_of_groups(record, node.inputs[1], narrow);
      if (!of->zeros.defined()) return;
    }
  } else {
    if (of->scales.defined() || !c10::isFloatingType(out.scalar_type())) return;
    of->scales = detail::numbers_of_groups(record, node.inputs[1], narrow);
    if (!of->scales.defined()) return;
  }
  record.trace.narrow[record.storage_of(out)] = *std::move(of);
}

}  // namespace sr::replay
