// The step that multiplies floats by weights of 8 or 4 bits whose scales differ between groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <ATen/core/Tensor.h>

#include <sr/kernels/kernels.hpp>
#include <sr/kernels/packed_weights.hpp>
#include <sr/ops/matmul/product_sizes.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/panel_shares.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

struct GroupedGemmStep final : ClonableStep<GroupedGemmStep> {
  using Product = kernels::GroupedGemm;
  Size m, n, k, a_row, out_row;  // see kernels::GroupedGemm
  Address a, out, bias;
  bool has_bias = false;
  GroupedMatrix weight;  // its numbers are those of the next two, until it is packed
  at::Tensor scales, zeros;
  std::shared_ptr<const Aligned<std::uint8_t>> packed;
  Product shape;   // in this call, and `clamp_min`
  Product frozen;  // with addresses; see freeze
  PanelShares panels;

  bool has_small_weights() const override { return true; }
  std::string_view name() const override {
    return shape.nibbles ? "packed int4 weights" : "packed int8 weights";
  }
  static constexpr std::size_t kFewRows = 2;
  // The number of results.
  Size results() const { return m * n; }

  void pack_weights(PackedWeights& shared) override {
    packed = shared.find_or_pack(weight);
    scales.reset();
    zeros.reset();
  }
  const void* packed_from() const override { return weight.weights.b; }

  Shares* shared_work() override { return &panels.shares; }

  RunStep settle(SizeValues& values) override {
    settle_product(*this, values);
    shape.end_column = shape.n;
    // The weights of few rows are widened anew for each: that takes the time of four times as many products.
    panels.least_shared = shape.m <= kFewRows ? kLeastShared / 4 : kLeastShared;
    panels.cut(shape.m, shape.n, shape.k);
    return nullptr;
  }

  RunStep freeze(std::byte* const* bases) override {
    if (panels.shares.count() > 1) return nullptr;
    frozen = bound(bases);
    return [](const Payload& payload, Context&) {
      multiply(static_cast<const GroupedGemmStep&>(payload).frozen);
    };
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const GroupedGemmStep&>(payload);
    self.multiply_all(self.bound(context.bases));
  }

  static void multiply(const Product& product) { kernels::kernels().table.grouped_gemm(product); }
  // On several threads if it is large. `product` is what bound() returns, also with other addresses and
  // distances of rows.
  void multiply_all(const Product& product) const {
    if (panels.shares.count() > 1) {
      panels.each(product, &multiply);
    } else {
      multiply(product);
    }
  }

  // The shape with the addresses of a call.
  Product bound(std::byte* const* bases) const {
    Product product = shape;
    product.a = a.in<const float>(bases);
    product.b = packed->data;
    product.out = out.in<float>(bases);
    if (has_bias) product.bias = bias.in<const float>(bases);
    return product;
  }
};

}  // namespace sr::replay
