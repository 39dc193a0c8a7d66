// Lowers `fbgemm::bounds_check_indices`, an operator that overwrites indices which are out of range. The step
// only reads the indices. If one is out of range, the step ends the replay, and the general path calls the
// operator. A replay therefore writes nothing that it might have to undo.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <c10/core/ScalarType.h>

#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay {

struct BoundsCheckStep final : ClonableStep<BoundsCheckStep> {
  std::string_view name() const override { return "check indices"; }
  bool may_fail() const override { return true; }
  Size table_count, index_count, offset_count;
  std::optional<Size> weight_count;              // of each index; nullopt: there are no weights
  std::int64_t tables = 0, bags = 0, count = 0;  // in this call; bags: of each table
  bool has_fitting_sizes = false;                // in this call
  Address rows, indices, offsets;                // rows: int64, of each table
  bool wide = true;                              // int64, else int32

  RunStep settle(SizeValues& values) override {
    tables = values(table_count);
    count = values(index_count);
    const std::int64_t ends = values(offset_count) - 1;
    has_fitting_sizes =
        tables > 0 && ends >= 0 && ends % tables == 0 && (!weight_count || values(*weight_count) == count);
    bags = has_fitting_sizes ? ends / tables : 0;
    return nullptr;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const BoundsCheckStep&>(payload);
    const bool are_right = self.has_fitting_sizes && (self.wide ? self.are_in_range<std::int64_t>(context)
                                                                : self.are_in_range<std::int32_t>(context));
    if (!are_right) throw Deoptimized("An index is out of range.", Deoptimized::Program::kept);
  }

 private:
  template <class Index>
  bool are_in_range(const Context& context) const {
    const auto* const rows_of = rows.in<const std::int64_t>(context.bases);
    const auto* const index = indices.in<const Index>(context.bases);
    const auto* const offset = offsets.in<const Index>(context.bases);
    if (offset[0] != 0 || offset[tables * bags] != count) return false;
    if (!std::is_sorted(offset, offset + tables * bags + 1)) return false;
    for (std::int64_t table = 0; table < tables; ++table) {
      // FBGEMM accepts the index -1, which refers to a pruned row.
      const std::int64_t limit = rows_of[table];
      bool are_right = true;
      for (std::int64_t i = offset[table * bags]; i < offset[(table + 1) * bags]; ++i)
        are_right &= index[i] >= -1 && index[i] < limit;
      if (!are_right) return false;
    }
    return true;
  }
};

namespace lower {

// bounds_check_indices(rows, indices, offsets, mode, warning, weights, and what batches of different sizes
// need). Returns false for modes other than to throw (0), to warn (1) and to correct silently (2).
inline bool bounds_check(Lowering& lowering, const TracedNode& node) {
  constexpr std::size_t kWeights = 5;
  if (node.inputs.size() < kWeights || node.inputs[3].toInt() < 0 || node.inputs[3].toInt() > 2) return false;
  for (std::size_t i = kWeights + 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i].isTensor()) return false;
  }
  const auto rows = lowering.input(node, 0), indices = lowering.input(node, 1),
             offsets = lowering.input(node, 2);
  if (!rows || !indices || !offsets || rows->dtype != c10::kLong || indices->dtype != offsets->dtype)
    return false;
  if (indices->dtype != c10::kLong && indices->dtype != c10::kInt) return false;
  if (rows->rank() != 1 || indices->rank() != 1 || offsets->rank() != 1) return false;
  BoundsCheckStep step;
  if (node.inputs.size() > kWeights && node.inputs[kWeights].isTensor()) {
    const auto weights = lowering.input(node, kWeights);
    if (!weights) return false;
    step.weight_count = weights->count();
  }
  const Operand limits = lowering.contiguous(*rows), checked = lowering.contiguous(*indices),
                ends = lowering.contiguous(*offsets);
  step.table_count = limits.sizes[0];
  step.index_count = checked.sizes[0];
  step.offset_count = ends.sizes[0];
  step.rows = lowering.address(limits);
  step.indices = lowering.address(checked);
  step.offsets = lowering.address(ends);
  step.wide = checked.dtype == c10::kLong;
  lowering.emit(std::move(step), {limits.storage, checked.storage, ends.storage}, {});
  return true;
}

}  // namespace lower
}  // namespace sr::replay
