// The step that adds the windows of a transposed convolution to its result, image by image.
#pragma once

#include <cstdint>
#include <string_view>

#include <sr/kernels/kernels.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

struct TransposedConvolutionStep final : ClonableStep<TransposedConvolutionStep> {
  kernels::TransposedConvolution shape;  // without addresses
  Size images;
  std::int64_t columns_of_image = 0, out_of_image = 0;  // elements
  Address columns, factors, bias, out;
  bool has_factors = false, has_bias = false;

  std::string_view name() const override { return "transposed convolution"; }

  RunStep settle(SizeValues& values) override {
    count = values(images);
    return nullptr;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const TransposedConvolutionStep&>(payload);
    kernels::TransposedConvolution all = self.shape;
    all.columns = self.columns.in<const float>(context.bases);
    all.out = self.out.in<float>(context.bases);
    if (self.has_factors) all.factors = self.factors.in<const float>(context.bases);
    if (self.has_bias) all.bias = self.bias.in<const float>(context.bases);
    for (std::int64_t i = 0; i < self.count; ++i) {
      kernels::kernels().table.add_windows(all);
      all.columns += self.columns_of_image;
      all.out += self.out_of_image;
    }
  }

 private:
  std::int64_t count = 0;  // of images in this call
};

}  // namespace sr::replay
