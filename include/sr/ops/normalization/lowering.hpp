// Normalisation in fp32, over the last dimensions and over groups of channels.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <sr/kernels/normal_rows.hpp>
#include <sr/ops/reduction/softmax_lowering.hpp>
#include <sr/replay/lowering/draft.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/steps/row_tail.hpp>
#include <sr/replay/steps/rows_step.hpp>

namespace sr::replay {

struct NormStep final : RowsStep<NormStep> {
  std::string_view name() const override { return "norm"; }
  enum class Kind : std::uint8_t { layer, root_mean_square, group };
  Kind kind = Kind::layer;
  Address gamma, beta;
  bool has_gamma = false, has_beta = false;
  std::size_t groups = 1, channels = 1;  // of a group
  float epsilon = 0;

  std::size_t rows_together() const { return kernels::kNormalRows * (kind == Kind::group ? groups : 1); }

  void run_on(const kernels::RowMatrix& rows, std::byte* const* bases) const {
    const kernels::Table& table = kernels::kernels().table;
    const float* const scales = has_gamma ? gamma.in<const float>(bases) : nullptr;
    const float* const shifts = has_beta ? beta.in<const float>(bases) : nullptr;
    switch (kind) {
      case Kind::layer:
        return table.layer_norm_rows(rows, scales, shifts, epsilon);
      case Kind::root_mean_square:
        return table.rms_norm_rows(rows, scales, epsilon);
      case Kind::group:
        return table.group_norm_rows(rows, groups, channels, scales, shifts, epsilon);
    }
  }
};

struct NormOfTile final : ClonableRowKernel<NormOfTile> {
  NormStep step;

  explicit NormOfTile(NormStep norm) : step(std::move(norm)) {}
  void run(const kernels::RowMatrix& rows, std::byte* const* bases) const override {
    step.run_on(rows, bases);
  }
};

namespace lower {

// True if the kernels can take gamma and beta, which are argument `scale` and the one after it, if present.
inline bool scales_fit(Lowering& lowering, const TracedNode& node, std::size_t scale, std::size_t scales) {
  for (std::size_t i = scale; i < scale + scales; ++i) {
    const auto operand = lowering.input(node, i);
    if (operand && (!operand->is_float() || !operand->is_contiguous())) return false;
  }
  return true;
}

// The addresses of gamma and beta, and the storages that are read.
inline std::vector<StorageId> read_scales(Lowering& lowering, const TracedNode& node, std::size_t scale,
                                          std::size_t scales, NormStep& step) {
  std::vector<StorageId> reads;
  for (std::size_t i = 0; i < scales; ++i) {
    const auto operand = lowering.input(node, scale + i);
    if (!operand) continue;
    (i == 0 ? step.gamma : step.beta) = lowering.address(*operand);
    (i == 0 ? step.has_gamma : step.has_beta) = true;
    reads.push_back(operand->storage);
  }
  return reads;
}

inline void emit_norm(Lowering& lowering, const TracedNode& node, const Operand& in, const Operand& out,
                      NormStep step, std::size_t scale, std::size_t scales) {
  std::vector<StorageId> reads = read_scales(lowering, node, scale, scales, step);
  reads.push_back(in.storage);
  step.in = lowering.address(in);
  step.out = lowering.address(out);
  lowering.emit(std::move(step), std::move(reads), {out.storage});
}

// Normalises over as many last dimensions as argument 1 has elements.
inline bool norm_of_last(Lowering& lowering, const TracedNode& node, NormStep step, std::size_t scales) {
  auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  const std::size_t row_rank = node.inputs[1].toIntVector().size();
  if (!in || out.count() == 0 || row_rank > in->rank() || lowering.reads_behind_first(node) ||
      !scales_fit(lowering, node, 2, scales)) {
    return false;
  }
  if (!lowering.exact() && in->sizes == out.sizes) {
    NormStep norm = step;
    const std::vector<StorageId> reads = read_scales(lowering, node, 2, scales, norm);
    GroupRows behind{
        .kernel = std::make_unique<NormOfTile>(norm), .in = *in, .out = out, .row_rank = row_rank};
    behind.out_columns = behind.columns();
    if (lowering.behind_group(std::move(behind), reads)) return true;
  }
  if (!shape_rows(lowering, *in, row_rank, out, step)) return false;
  emit_norm(lowering, node, *in, out, std::move(step), 2, scales);
  return true;
}

// layer_norm(x, normalized_shape, weight, bias, eps, ...)
inline bool layer_norm(Lowering& lowering, const TracedNode& node) {
  NormStep step;
  step.epsilon = static_cast<float>(node.inputs[4].toDouble());
  return norm_of_last(lowering, node, step, 2);
}

// rms_norm(x, normalized_shape, weight, eps)
inline bool rms_norm(Lowering& lowering, const TracedNode& node) {
  NormStep step;
  step.kind = NormStep::Kind::root_mean_square;
  step.epsilon = node.inputs[3].isNone() ? std::numeric_limits<float>::epsilon()
                                         : static_cast<float>(node.inputs[3].toDouble());
  return norm_of_last(lowering, node, step, 1);
}

// The weights are argument `scale` and the next one.
inline bool norm_of_groups(Lowering& lowering, const TracedNode& node, std::int64_t groups, std::size_t scale,
                           double epsilon) {
  auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (lowering.exact() || !in || !in->is_float() || !out.is_float() || out.count() == 0) return false;
  if (in->rank() < 2 || in->sizes != out.sizes || !out.is_contiguous()) return false;
  if (!scales_fit(lowering, node, scale, 2)) return false;
  *in = lowering.contiguous(*in);
  if (!in->is_contiguous()) return false;
  NormStep step;
  step.kind = NormStep::Kind::group;
  step.groups = static_cast<std::size_t>(groups);
  step.channels = static_cast<std::size_t>(in->sizes[1].pin() / groups);
  step.sizes.rows = in->sizes[0] * groups;
  step.sizes.columns = in->count() / step.sizes.rows;
  step.sizes.in_stride = step.sizes.out_stride = step.sizes.columns;
  step.epsilon = static_cast<float>(epsilon);
  emit_norm(lowering, node, *in, out, std::move(step), scale, 2);
  return true;
}

// group_norm(x, groups, weight, bias, eps, ...)
inline bool group_norm(Lowering& lowering, const TracedNode& node) {
  return norm_of_groups(lowering, node, node.inputs[1].toInt(), 2, node.inputs[4].toDouble());
}

// native_group_norm(x, weight, bias, N, C, HxW, groups, eps) of an x with N images and C channels, whose
// statistics nothing reads
inline bool native_group_norm(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  if (!in || in->rank() < 2 || lowering.reads_behind_first(node)) return false;
  const bool has_shape =
      node.inputs[3].toInt() == recorded(in->sizes)[0] && node.inputs[4].toInt() == recorded(in->sizes)[1];
  return has_shape && norm_of_groups(lowering, node, node.inputs[6].toInt(), 1, node.inputs[7].toDouble());
}

// instance_norm(x, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, ...): groups of
// one channel. With running statistics it would write those.
inline bool instance_norm(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  if (!in || in->rank() < 2 || lowering.input(node, 3) || lowering.input(node, 4)) return false;
  return node.inputs[5].toBool() &&
         norm_of_groups(lowering, node, in->sizes[1].pin(), 1, node.inputs[7].toDouble());
}

}  // namespace lower
}  // namespace sr::replay
