// The step that multiplies int8 activations by weights of 8 or 4 bits that have a scale for each group of
// inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <ATen/core/Tensor.h>

#include <sr/kernels/kernels.hpp>
#include <sr/kernels/packed_weights.hpp>
#include <sr/ops/matmul/int8_gemm_step.hpp>
#include <sr/ops/matmul/product_sizes.hpp>
#include <sr/ops/matmul/row_quantizer.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/panel_shares.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

struct Int8GroupedGemmStep final : ClonableStep<Int8GroupedGemmStep> {
  Size m, n, k, a_row, out_row, zero_stride, row_factor_stride;  // see kernels::Int8GroupedGemm
  void (*multiply)(const kernels::Int8GroupedGemm& product) = nullptr;
  Address a, out, zero, row_factor, bias;
  Address group_sums;  // a temporary of the step
  bool has_zero = false, has_bias = false;
  bool zero_varies = false;  // differs between calls
  Int8GroupedMatrix weight;  // its scales are those of the next one, until it is packed
  at::Tensor scales;
  std::shared_ptr<const Aligned<std::uint8_t>> packed;
  kernels::Int8GroupedGemm shape;  // in this call, and `clamp_min`
  RowQuantizer rows;               // if used, it computes the left operand
  PanelShares panels;

  bool has_small_weights() const override { return true; }
  std::string_view name() const override {
    return shape.nibbles ? "packed int4 gemm of int8 rows" : "packed int8 gemm of int8 rows";
  }
  bool may_fail() const override { return zero_varies; }

  static constexpr std::size_t kFewRows = 2;
  // The number of results.
  Size results() const { return m * n; }

  void pack_weights(PackedWeights& shared) override {
    packed = shared.find_or_pack(weight);
    scales.reset();
  }
  const void* packed_from() const override { return weight.weights.b; }

  Shares* shared_work() override { return &panels.shares; }

  RunStep settle(SizeValues& values) override {
    settle_product(*this, values);
    shape.end_column = shape.n;
    shape.zero_stride = values(zero_stride);
    shape.row_factor_stride = values(row_factor_stride);
    rows.settle(values, shape.m, shape.k);
    // The time of few rows is that in which weights are read.
    panels.least_shared = shape.m <= kFewRows ? kLeastShared / 4 : kLeastShared;
    panels.cut(shape.m, shape.n, shape.k);
    return &run;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const Int8GroupedGemmStep&>(payload);
    self.rows.run(context.bases);
    const kernels::Int8GroupedGemm product = self.bound(context.bases);
    kernels::kernels().table.sum_groups({.rows = product.m,
                                         .columns = product.k,
                                         .group = product.group,
                                         .in = product.a,
                                         .in_row = product.a_row,
                                         .sums = self.group_sums.in<std::int32_t>(context.bases)});
    if (self.panels.shares.count() > 1) {
      self.panels.each(product, self.multiply);
    } else {
      self.multiply(product);
    }
  }

 private:
  kernels::Int8GroupedGemm bound(std::byte* const* bases) const {
    kernels::Int8GroupedGemm product = shape;
    product.a = a.in<const std::int8_t>(bases);
    product.group_sums = group_sums.in<const std::int32_t>(bases);
    product.row_factor = row_factor.in<const float>(bases);
    product.b = packed->data;
    product.out = out.in<float>(bases);
    if (has_zero) product.zero = zero.in<const float>(bases);
    if (zero_varies) require_zero_points(product.zero, product.zero_stride, product.m);
    if (has_bias) product.bias = bias.in<const float>(bases);
    return product;
  }
};

}  // namespace sr::replay
