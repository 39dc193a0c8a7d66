// The step that multiplies matrices of 8-bit integers, and scales the sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <sr/kernels/kernels.hpp>
#include <sr/kernels/packed_weights.hpp>
#include <sr/ops/matmul/product_sizes.hpp>
#include <sr/ops/matmul/row_quantizer.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/panel_shares.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

// Zero points of 8-bit integers. Beyond them, or in longer rows, sums may not fit into 32 bits.
inline constexpr std::int64_t kMostZero = 255, kLongestWithZero = 32'000;
inline bool is_zero_point(double zero) {
  return zero == std::trunc(zero) && std::abs(zero) <= static_cast<double>(kMostZero);
}
// Throws Deoptimized if one of `rows` zero points, `stride` floats apart, is none.
inline void require_zero_points(const float* zeros, std::ptrdiff_t stride, std::size_t rows) {
  const std::size_t count = stride == 0 ? std::min<std::size_t>(rows, 1) : rows;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_zero_point(zeros[static_cast<std::ptrdiff_t>(i) * stride]))
      throw Deoptimized("A zero point is not one of 8-bit integers.", Deoptimized::Program::kept);
  }
}

struct Int8GemmStep final : ClonableStep<Int8GemmStep> {
  // What is done to the sums before they are written. Each may follow any before it.
  enum class Stage { none, as_floats, by_rows, by_columns, with_bias, clamped };

  Size m, n, k, a_row, out_row, zero_stride, row_factor_stride;  // see kernels::Int8Gemm
  void (*multiply)(const kernels::Int8Gemm& product) = nullptr;
  Address a, out, zero, row_factor, column_factor, bias;
  bool has_zero = false, has_row_factor = false, has_column_factor = false, has_bias = false;
  bool zero_varies = false;  // differs between calls
  Stage stage = Stage::none;
  Int8Matrix weight;
  std::shared_ptr<const Aligned<std::uint8_t>> packed;  // `weight`
  kernels::Int8Gemm shape;                              // in this call, and `a_signed` and `clamp_min`
  kernels::Int8Gemm frozen;                             // with addresses; see freeze
  RowQuantizer rows;                                    // if used, it computes the left operand
  kernels::RowQuantization frozen_rows;
  PanelShares panels;

  bool has_small_weights() const override { return true; }
  std::string_view name() const override {
    return rows.is_used ? "packed int8 gemm of floats" : "packed int8 gemm";
  }
  bool may_fail() const override { return zero_varies; }

  // The number of results.
  Size results() const { return m * n; }

  void pack_weights(PackedWeights& shared) override { packed = shared.find_or_pack(weight); }
  const void* packed_from() const override { return weight.data; }

  Shares* shared_work() override { return &panels.shares; }

  RunStep settle(SizeValues& values) override {
    settle_product(*this, values);
    shape.end_column = shape.n;
    shape.zero_stride = values(zero_stride);
    shape.row_factor_stride = values(row_factor_stride);
    rows.settle(values, shape.m, shape.k);
    return panels.cut(shape.m, shape.n, shape.k) ? &run_by_panels : &run;
  }

  RunStep freeze(std::byte* const* bases) override {
    if (panels.shares.count() > 1 || rows.is_shared() || zero_varies) return nullptr;
    frozen = bound(bases);
    if (rows.is_used) {
      frozen_rows = rows.bound(bases);
      return [](const Payload& payload, Context&) {
        const auto& self = static_cast<const Int8GemmStep&>(payload);
        kernels::kernels().table.quantize_rows(self.frozen_rows);
        self.multiply(self.frozen);
      };
    }
    return [](const Payload& payload, Context&) {
      const auto& self = static_cast<const Int8GemmStep&>(payload);
      self.multiply(self.frozen);
    };
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const Int8GemmStep&>(payload);
    self.rows.run(context.bases);
    self.multiply(self.bound(context.bases));
  }

 private:
  static void run_by_panels(const Payload& payload, Context& context) {
    const auto& self = static_cast<const Int8GemmStep&>(payload);
    self.rows.run(context.bases);
    self.panels.each(self.bound(context.bases), self.multiply);
  }

  kernels::Int8Gemm bound(std::byte* const* bases) const {
    kernels::Int8Gemm product = shape;
    product.a = a.in<const std::uint8_t>(bases);
    product.b = packed->data;
    if (has_zero) product.zero = zero.in<const float>(bases);
    if (zero_varies) require_zero_points(product.zero, product.zero_stride, product.m);
    if (has_row_factor) product.row_factor = row_factor.in<const float>(bases);
    if (has_column_factor) product.column_factor = column_factor.in<const float>(bases);
    if (has_bias) product.bias = bias.in<const float>(bases);
    if (stage == Stage::none) {
      product.sums = out.in<std::int32_t>(bases);
    } else {
      product.out = out.in<float>(bases);
    }
    return product;
  }
};

}  // namespace sr::replay
