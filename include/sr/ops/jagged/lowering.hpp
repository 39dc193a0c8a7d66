// Lowers FBGEMM's operators on jagged tensors to kernels. They compute offsets from lengths, and pad
// sequences to one length.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <c10/core/ScalarType.h>

#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay {

// Computes the prefix sums of each row. With `is_complete`, a row of offsets has one more element, the sum of
// all lengths of the row.
struct OffsetsStep final : ClonableStep<OffsetsStep> {
  std::string_view name() const override { return "offsets"; }
  Size row_count, length_count;          // length_count: of one row
  std::size_t rows = 0, lengths_of = 0;  // in this call
  Address lengths, offsets;
  bool wide = true, is_complete = true, is_inclusive = false;

  RunStep settle(SizeValues& values) override {
    rows = values.count(row_count);
    lengths_of = values.count(length_count);
    return nullptr;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const OffsetsStep&>(payload);
    self.wide ? self.add<std::int64_t>(context) : self.add<std::int32_t>(context);
  }

 private:
  template <class T>
  void add(const Context& context) const {
    using Unsigned = std::make_unsigned_t<T>;  // sums wrap around
    const T* length = lengths.in<const T>(context.bases);
    T* offset = offsets.in<T>(context.bases);
    for (std::size_t row = 0; row < rows; ++row) {
      Unsigned sum = 0;
      for (std::size_t i = 0; i < lengths_of; ++i) {
        const Unsigned before = sum;
        sum += static_cast<Unsigned>(*length++);
        *offset++ = static_cast<T>(is_inclusive ? sum : before);
      }
      if (is_complete) *offset++ = static_cast<T>(sum);
    }
  }
};

// Copies each sequence to a row of the result, and fills the rest of the row with the padding value.
struct PadStep final : ClonableStep<PadStep> {
  std::string_view name() const override { return "pad sequences"; }
  bool may_fail() const override { return true; }  // offsets that are not in order, or out of range
  Size sequence_count, longest_size, value_count;
  std::int64_t sequences = 0, longest = 0, total = 0;  // in this call
  std::int64_t row_bytes = 0, element_bytes = 0;
  Address values, offsets, out;
  bool wide = true;
  std::uint64_t padding = 0;  // the bits of one element

  RunStep settle(SizeValues& values_of) override {
    sequences = values_of(sequence_count);
    longest = values_of(longest_size);
    total = values_of(value_count);
    return nullptr;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const PadStep&>(payload);
    const bool fits = self.wide ? self.pad<std::int64_t>(context) : self.pad<std::int32_t>(context);
    if (!fits) throw Deoptimized("An offset is out of range.", Deoptimized::Program::kept);
  }

 private:
  template <class Offset>
  bool pad(const Context& context) const {
    const auto* const offset = offsets.in<const Offset>(context.bases);
    for (std::int64_t i = 0; i < sequences; ++i) {
      if (offset[i] < 0 || offset[i] > offset[i + 1] || offset[i + 1] > total) return false;
    }
    const std::byte* const from = values.in(context.bases);
    std::byte* to = out.in(context.bases);
    for (std::int64_t i = 0; i < sequences; ++i) {
      const std::int64_t count = std::min<std::int64_t>(offset[i + 1] - offset[i], longest);
      if (count != 0)
        std::memcpy(to, from + offset[i] * row_bytes, static_cast<std::size_t>(count * row_bytes));
      to += count * row_bytes;
      for (std::int64_t left = (longest - count) * row_bytes; left > 0; left -= element_bytes) {
        std::memcpy(to, &padding, static_cast<std::size_t>(element_bytes));
        to += element_bytes;
      }
    }
    return true;
  }
};

namespace lower {

inline bool emit_offsets(Lowering& lowering, const TracedNode& node, bool in_rows, bool is_complete,
                         bool is_inclusive) {
  const auto given = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (!given || given->rank() == 0 || (in_rows && given->rank() > 2) || !out.is_contiguous()) return false;
  if (given->dtype != c10::kLong && given->dtype != c10::kInt) return false;
  const Operand lengths = lowering.contiguous(*given);
  OffsetsStep step;
  step.row_count = in_rows && lengths.rank() == 2 ? lengths.sizes[0] : Size(1);
  step.length_count = in_rows ? lengths.sizes.back() : lengths.count();
  step.lengths = lowering.address(lengths);
  step.offsets = lowering.address(out);
  step.wide = lengths.dtype == c10::kLong;
  step.is_complete = is_complete;
  step.is_inclusive = is_inclusive;
  lowering.emit(std::move(step), {lengths.storage}, {out.storage});
  return true;
}
inline bool complete_cumsum(Lowering& lowering, const TracedNode& node) {
  return emit_offsets(lowering, node, /*in_rows=*/true, /*is_complete=*/true, /*is_inclusive=*/false);
}
template <bool kInclusive>
bool flat_cumsum(Lowering& lowering, const TracedNode& node) {
  return emit_offsets(lowering, node, /*in_rows=*/false, /*is_complete=*/false, kInclusive);
}

// Returns the bits of a number as float, double, int32 or int64. Returns nullopt for other dtypes, and for
// numbers that an integer dtype cannot represent.
inline std::optional<std::uint64_t> bits_of(double number, c10::ScalarType dtype) {
  std::uint64_t bits = 0;
  const auto store = [&]<class T>(T value) {
    std::memcpy(&bits, &value, sizeof(T));
    return static_cast<double>(value) == number || number != number;
  };
  if (dtype == c10::kFloat) {
    store(static_cast<float>(number));
    return bits;
  }
  if (dtype == c10::kDouble) {
    store(number);
    return bits;
  }
  constexpr double kLargest = 1 << 30;
  if (!(number >= -kLargest && number <= kLargest)) return std::nullopt;
  if (dtype == c10::kLong && store(static_cast<std::int64_t>(number))) return bits;
  if (dtype == c10::kInt && store(static_cast<std::int32_t>(number))) return bits;
  return std::nullopt;
}

inline bool emit_padding(Lowering& lowering, const TracedNode& node, const std::optional<Operand>& offsets_of,
                         double padding) {
  const auto given = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (!given || !offsets_of || offsets_of->rank() != 1 || given->rank() == 0 || given->rank() > 2)
    return false;
  if (!out.is_contiguous() || out.rank() != given->rank() + 1 || out.dtype != given->dtype) return false;
  if (offsets_of->dtype != c10::kLong && offsets_of->dtype != c10::kInt) return false;
  const auto bits = bits_of(padding, out.dtype);
  if (!bits) return false;
  const Operand values = lowering.contiguous(*given), offsets = lowering.contiguous(*offsets_of);
  PadStep step;
  step.sequence_count = out.sizes[0];
  step.longest_size = out.sizes[1];
  step.value_count = values.sizes[0];
  step.element_bytes = static_cast<std::int64_t>(c10::elementSize(out.dtype));
  step.row_bytes = (values.rank() == 2 ? values.sizes[1].pin() : 1) * step.element_bytes;
  step.values = lowering.address(values);
  step.offsets = lowering.address(offsets);
  step.out = lowering.address(out);
  step.wide = offsets.dtype == c10::kLong;
  step.padding = *bits;
  lowering.emit(std::move(step), {values.storage, offsets.storage}, {out.storage});
  return true;
}

// jagged_to_padded_dense(values, offsets, max_lengths, padding) of one jagged dimension.
inline bool jagged_to_padded_dense(Lowering& lowering, const TracedNode& node) {
  const std::vector<at::Tensor> offsets = node.inputs[1].toTensorVector();
  if (offsets.size() != 1) return false;
  return emit_padding(lowering, node, lowering.operand(offsets[0]), node.inputs[3].toDouble());
}
// jagged_1d_to_dense(values, offsets, max_sequence_length, padding), and jagged_2d_to_dense without padding.
inline bool jagged_rows_to_dense(Lowering& lowering, const TracedNode& node) {
  const double padding = node.inputs.size() > 3 ? static_cast<double>(node.inputs[3].toInt()) : 0.0;
  return emit_padding(lowering, node, lowering.input(node, 1), padding);
}

}  // namespace lower
}  // namespace sr::replay
