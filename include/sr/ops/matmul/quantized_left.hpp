// Makes the step of a product of 8-bit integers quantize its left operand itself.
#pragma once

#include <optional>
#include <vector>

#include <sr/ops/quantized/dequantized.hpp>
#include <sr/ops/quantized/quantized_rows.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::lower {

// What the m rows of k integers are the dynamic quantization of, if a step can repeat that.
inline std::optional<QuantizedFloats> quantized_left(const Lowering& lowering, const Operand& integers,
                                                     const Size& m, const Size& k) {
  if (integers.dtype != c10::kChar) return std::nullopt;
  std::optional<QuantizedFloats> source = find_quantized(lowering, integers);
  if (!source) return std::nullopt;
  const Size rows = as_rows(source->floats).first;
  if (rows < 0 || !Size::always_equal(rows, m) || !Size::always_equal(source->floats.size(-1), k))
    return std::nullopt;
  return source;
}

// Makes the step compute its left operand, and adds the storages that it then reads and writes.
template <class Step>
void quantize_in_step(Lowering& lowering, Step& step, const QuantizedFloats& source,
                      std::vector<StorageId>& reads, std::vector<StorageId>& writes) {
  const Operand integers = lowering.temporary({step.m, step.k}, c10::kChar);
  const Operand scales = lowering.temporary({step.m});
  step.rows.is_used = true;
  step.rows.in = lowering.address(source.floats);
  step.rows.in_stride = as_rows(source.floats).second;
  step.rows.out = step.a = lowering.address(integers);
  step.rows.scales = lowering.address(scales);
  step.rows.scales_of = source.scale.storage;
  step.rows.shape.divisor = static_cast<float>(source.divisor);
  step.rows.shape.least_scale = static_cast<float>(source.least_scale);
  step.rows.shape.low = static_cast<float>(source.low);
  step.rows.shape.high = static_cast<float>(source.high);
  step.a_row = step.k;
  reads.push_back(source.floats.storage);
  writes.insert(writes.end(), {integers.storage, scales.storage});
}

// True if `by` is all of the scales of m quantized rows, which lie in the storage `scales`, one for each row
// of `in`.
inline bool are_scales_of_rows(const Operand& by, StorageId scales, const Size& m, const Operand& in) {
  return by.storage == scales && Size::always_equal(by.offset, 0) && by.is_contiguous() &&
         Size::always_equal(by.count(), m) && distance_in_column(by, in).has_value();
}

// Makes the floats `a`, which are `rows`, the left operand of a step of m rows and k columns: their integers,
// or the floats that those are the dynamic quantization of; then the zero points and scales. Adds the
// storages that the step reads and writes for that.
template <class Step>
void multiply_dequantized(Lowering& lowering, Step& step, const Operand& a, const Dequantized& rows,
                          std::vector<StorageId>& reads, std::vector<StorageId>& writes) {
  step.has_zero = rows.zero.tensor || rows.zero.number != 0;
  if (!step.has_zero && rows.scale.tensor) {
    const auto source = quantized_left(lowering, rows.integers, step.m, step.k);
    if (source && are_scales_of_rows(*rows.scale.tensor, source->scale.storage, step.m, a)) {
      quantize_in_step(lowering, step, *source, reads, writes);
      step.row_factor = step.rows.scales;
      step.row_factor_stride = 1;
      return;
    }
  }
  step.a = lowering.address(rows.integers);
  step.a_row = step.k;
  reads.push_back(rows.integers.storage);
  if (step.has_zero) {
    step.zero = address_of(lowering, rows.zero, reads);
    step.zero_stride = rows.zero.distance;
    step.zero_varies = rows.zero.tensor.has_value();
  }
  step.row_factor = address_of(lowering, rows.scale, reads);
  step.row_factor_stride = rows.scale.distance;
}

}  // namespace sr::replay::lower
