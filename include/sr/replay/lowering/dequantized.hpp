// Products of floats that were made of 8-bit integers, as PT2E writes them: (q - zero) * scale on both sides.
// The product is then one of the integers themselves, scaled afterwards. Its sums are exact, so it is nearer
// to the exact result than the product of floats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ops/full.h>

#include <sr/kernels/int8_forms.hpp>
#include <sr/kernels/kernels.hpp>
#include <sr/registry/registry.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>
#include <sr/replay/steps/int8_gemm_step.hpp>

namespace sr::replay::lower {

// Floats of a register from which on it pays to widen weights of 8 or 16 bits in a product.
inline constexpr std::size_t kLeastToWiden = 8;

// The sizes of a product of matrices, and the strides of its right side.
struct ProductSizes {
  Size m, n, k, b_k, b_n;
};

// The number of multiply-adds of 8-bit integers from which several threads may share a product.
inline std::int64_t least_shared_of_int8() {
  return kernels::int8_form().is_fast ? 4 * kLeastShared : kLeastShared;
}

// The product of a, rows of int8 or uint8, with a constant b of int8. The caller sets where it writes, and
// the distances between rows.
inline Int8GemmStep int8_product(Lowering& lowering, const Operand& a, const Operand& b,
                                 const ProductSizes& sizes) {
  Int8GemmStep step;
  step.m = sizes.m;
  step.n = sizes.n;
  step.k = sizes.k;
  step.row_factor_stride = 0;
  step.zero_stride = 0;
  step.shape.a_signed = a.dtype == c10::kChar;
  step.multiply = kernels::int8_form().multiply;
  step.a = lowering.address(a);
  step.panels.least_shared = least_shared_of_int8();
  step.weight = {.data = static_cast<const std::int8_t*>(lowering.constant_bytes(b)),
                 .n = static_cast<std::size_t>(step.n.pin()),
                 .k = static_cast<std::size_t>(step.k.pin()),
                 .b_k = sizes.b_k.pin(),
                 .b_n = sizes.b_n.pin(),
                 .of_module = lowering.of_module(b)};
  return step;
}

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

// Floats that are (integers - zero) * scale.
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
  const TracedNode* const subtract = sole_writer(lowering, *centred, "aten::sub");
  if (subtract == nullptr || !is_one(subtract->inputs[2])) return std::nullopt;
  std::optional<Operand> integers = lowering.input(*subtract, 0);
  const auto zero = Parameter::of(lowering, *subtract, 1, floats);
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

// a [..., k], whose leading dimensions are rows, times b [k, n]. Emits nothing and returns false if one of
// them was not made of 8-bit integers. Rows of `out` must be contiguous.
inline bool gemm_of_dequantized(Lowering& lowering, const Operand& a, const Operand& b,
                                const ProductSizes& sizes, const std::optional<Operand>& bias,
                                const Operand& out, const Size& out_row) {
  if (!a.is_contiguous() || sizes.k > Int8GemmStep::kLongestWithZero) return false;
  const auto weight = dequantized_columns(lowering, b, sizes);
  if (!weight || weight->groups() != 1 || weight->zeros.defined()) return false;
  const Operand& integers = weight->integers;
  const std::optional<Dequantized> rows = find_dequantized(lowering, a);
  if (!rows || (!rows->zero.tensor && !Int8GemmStep::is_zero_point(rows->zero.number))) return false;
  Int8GemmStep step = int8_product(lowering, rows->integers, integers, sizes);
  step.a_row = sizes.k;
  step.out_row = out_row;
  step.out = lowering.address(out);
  std::vector<StorageId> reads{rows->integers.storage, integers.storage};
  if (rows->zero.tensor || rows->zero.number != 0) {
    step.zero = address_of(lowering, rows->zero, reads);
    step.zero_stride = rows->zero.distance;
    step.has_zero = true;
    step.zero_varies = rows->zero.tensor.has_value();
  }
  step.row_factor = address_of(lowering, rows->scale, reads);
  step.row_factor_stride = rows->scale.distance;
  step.has_row_factor = true;
  step.column_factor = lowering.address(lowering.literal({sizes.n}, weight->scales.values.reshape({-1})));
  step.has_column_factor = true;
  step.stage = Int8GemmStep::Stage::by_columns;
  if (bias) {
    step.bias = lowering.address(*bias);
    step.has_bias = true;
    step.stage = Int8GemmStep::Stage::with_bias;
    reads.push_back(bias->storage);
  }
  lowering.emit(std::move(step), std::move(reads), {out.storage});
  return true;
}

}  // namespace sr::replay::lower
