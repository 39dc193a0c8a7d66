// Recognizes floats that were made of 8-bit integers, as PT2E writes them: (q - zero) * scale, or q * scale.
// A product of two such matrices is computed on the integers, and scaled afterwards. The sums of integers are
// exact, so the result is nearer to the exact one than that of the product of floats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ops/full.h>

#include <sr/registry/registry.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>
#include <sr/replay/lowering/program_storages.hpp>

namespace sr::replay::lower {

// The sizes of a product of matrices, and the strides of its right side.
struct ProductSizes {
  Size m, n, k, b_k, b_n;
};

// The distance between the floats of an operand that has one for each row of `in`.
inline std::optional<Size> distance_in_column(const Operand& operand, const Operand& in) {
  if (!operand.is_float() || operand.rank() != in.rank() || operand.rank() < 2) return std::nullopt;
  if (!Size::always_equal(operand.size(-1), 1)) return std::nullopt;
  const Operand rows = first_dims(operand, operand.rank() - 1);
  if (!always_equal(rows.sizes, first_dims(in, in.rank() - 1).sizes)) return std::nullopt;
  const auto [count, distance] = as_rows(rows, 0);
  return count < 0 ? std::nullopt : std::optional(distance);
}

inline bool is_of_operator(const TracedNode& node, std::string_view name) {
  const std::string key = key_of(*node.processed->node);
  return key == name || (key.starts_with(name) && key[name.size()] == '.');
}

// The node that computes a tensor by the operator, if no node writes it in place and its result has the same
// elements in the same order; else null. Sizes are compared last, because a comparison may add a guard.
inline const TracedNode* sole_writer(const Lowering& lowering, const Operand& operand,
                                     std::string_view name) {
  const Trace& trace = lowering.trace();
  if (operand.storage >= trace.storages.size()) return nullptr;
  const TracedStorage& storage = trace.storages[operand.storage];
  if (storage.home != Home::produced || storage.overwritten || storage.producer >= trace.nodes.size() ||
      lowering.is_written_in_place(operand.storage))
    return nullptr;
  const TracedNode& node = trace.nodes[storage.producer];
  if (node.role != Role::compute || !node.twin.empty() || node.outputs.size() != 1 ||
      !node.outputs[0].isTensor() || !is_of_operator(node, name))
    return nullptr;
  const Operand out = lowering.output(node);
  if (out == operand) return &node;
  const bool is_reshaped = Size::always_equal(out.offset, operand.offset) && out.dtype == operand.dtype &&
                           Size::always_equal(out.count(), operand.count()) && out.is_contiguous() &&
                           operand.is_contiguous();
  return is_reshaped ? &node : nullptr;
}

// A number, or a tensor of floats: one, or one for each row.
struct Parameter {
  double number = 0;
  std::optional<Operand> tensor;
  Size distance = 0;  // between the floats of two rows

  // Argument `i` of a node whose result is `out`.
  static std::optional<Parameter> of(const Lowering& lowering, const TracedNode& node, std::size_t i,
                                     const Operand& out) {
    const c10::IValue& value = node.inputs[i];
    if (value.isDouble()) return Parameter{value.toDouble(), std::nullopt};
    if (value.isInt() && node.dynamic_inputs[i] == kNone)
      return Parameter{static_cast<double>(value.toInt()), std::nullopt};
    std::optional<Operand> operand = lowering.input(node, i);
    if (!operand || !operand->is_float()) return std::nullopt;
    if (operand->rank() <= out.rank() && always_equal(operand->sizes, Dims(operand->rank(), 1)))
      return Parameter{0, std::move(operand)};
    const std::optional<Size> distance = distance_in_column(*operand, out);
    if (!distance) return std::nullopt;
    return Parameter{0, std::move(operand), *distance};
  }
};

// Floats that are (integers - zero) * scale, or integers * scale.
struct Dequantized {
  Operand integers;
  Parameter zero, scale;
};

inline std::optional<Dequantized> find_dequantized(const Lowering& lowering, const Operand& operand) {
  const TracedNode* const multiply = sole_writer(lowering, operand, "aten::mul");
  if (multiply == nullptr) return std::nullopt;
  const Operand floats = lowering.output(*multiply);
  const std::optional<Operand> centred = lowering.input(*multiply, 0);
  const auto scale = Parameter::of(lowering, *multiply, 1, floats);
  // Differences of 8-bit integers may wrap around.
  if (!centred || !scale || (!centred->is_float() && centred->dtype != c10::kLong)) return std::nullopt;
  std::optional<Operand> integers = centred;
  std::optional<Parameter> zero = Parameter{};
  if (const TracedNode* const subtract = sole_writer(lowering, *centred, "aten::sub")) {
    if (!is_one(subtract->inputs[2])) return std::nullopt;
    integers = lowering.input(*subtract, 0);
    zero = Parameter::of(lowering, *subtract, 1, floats);
  }
  if (!integers || !zero) return std::nullopt;
  if (integers->is_float()) {
    const TracedNode* const widen = sole_writer(lowering, *integers, "aten::to");
    if (widen == nullptr) return std::nullopt;
    integers = lowering.input(*widen, 0);
  }
  if (!integers || (integers->dtype != c10::kChar && integers->dtype != c10::kByte)) return std::nullopt;
  const Trace& trace = lowering.trace();
  if (integers->storage >= trace.storages.size() || trace.storages[integers->storage].overwritten ||
      lowering.is_written_in_place(integers->storage) || !always_equal(integers->sizes, floats.sizes) ||
      !always_equal(integers->strides, floats.strides))
    return std::nullopt;
  return Dequantized{*integers, *zero, *scale};
}

// The address of a parameter. A number becomes a constant of the program.
inline Address address_of(Lowering& lowering, const Parameter& parameter, std::vector<StorageId>& reads) {
  if (!parameter.tensor)
    return lowering.address(lowering.literal({1}, at::full({1}, parameter.number, at::kFloat)));
  reads.push_back(parameter.tensor->storage);
  return lowering.address(*parameter.tensor);
}

// The constant b [k, n], if its columns are the rows of a dequantized matrix.
inline std::optional<ProgramStorages::DequantizedMatrix> dequantized_columns(const Lowering& lowering,
                                                                             const Operand& b,
                                                                             const ProductSizes& sizes) {
  auto weight = lowering.dequantized(b);
  const bool is_whole = weight && Size::always_equal(b.offset, 0) &&
                        Size::always_equal(sizes.n, weight->rows()) &&
                        Size::always_equal(sizes.k, weight->groups() * weight->group()) &&
                        Size::always_equal(sizes.b_k, 1) && Size::always_equal(sizes.b_n, sizes.k);
  if (!is_whole) weight.reset();
  return weight;
}

}  // namespace sr::replay::lower
