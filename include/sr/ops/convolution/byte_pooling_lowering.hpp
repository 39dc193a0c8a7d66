// Max pooling of floats that were made of 8-bit integers, as PT2E writes them: pooling of the integers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <sr/ops/convolution/walks.hpp>
#include <sr/ops/convolution/windows.hpp>
#include <sr/ops/quantized/dequantized.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/image_accesses.hpp>

namespace sr::replay {

struct BytePoolStep final : ClonableStep<BytePoolStep> {
  std::string_view name() const override { return "pooling"; }
  Size images_of;
  kernels::BytePooling shape;  // `images` are those of this call
  Address in, out;

  RunStep settle(SizeValues& values) override {
    shape.images = values.count(images_of);
    return nullptr;
  }
  bool list_accesses(ImageAccesses& accesses) const override {
    const auto channels = static_cast<std::int64_t>(shape.channels);
    const std::int64_t read = channels * shape.y.in * shape.x.in, made = channels * shape.y.out * shape.x.out;
    accesses.images = images_of;
    accesses.add(in, read, read, /*writes=*/false, 1);
    accesses.add(out, made, made, /*writes=*/true, 1);
    return true;
  }
  void keep_one_image() override { images_of = 1; }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const BytePoolStep&>(payload);
    kernels::BytePooling pool = self.shape;
    pool.in = self.in.in<const std::uint8_t>(context.bases);
    pool.out = self.out.in<std::uint8_t>(context.bases);
    kernels::kernels().table.max_pool_bytes(pool);
  }
};

namespace lower {

// Emits the maxima of the integers behind `in`, and what makes the floats `out` of them. Emits nothing and
// returns false if that is not possible. Scaling with a positive factor keeps the order of numbers.
inline bool max_pool_of_bytes(Lowering& lowering, const Operand& in, const Operand& out,
                              const std::array<Axis, 2>& axes) {
  if (!is_dense_by_pixels(in) || !is_dense_by_pixels(out)) return false;
  const auto image = find_dequantized(lowering, in);
  if (!image || image->scale.tensor || image->zero.tensor || !(image->scale.number > 0)) return false;
  BytePoolStep step;
  step.shape.channels = static_cast<std::size_t>(in.size(1).pin());
  step.shape.y = axes[0];
  step.shape.x = axes[1];
  step.shape.y.in = in.size(2).pin(), step.shape.x.in = in.size(3).pin();
  step.shape.y.out = out.size(2).pin(), step.shape.x.out = out.size(3).pin();
  const auto has_pixels = [](const Axis& axis) {
    return axis.dilation == 1 && axis.pad < axis.kernel && (axis.out - 1) * axis.step - axis.pad < axis.in;
  };
  if (!has_pixels(step.shape.y) || !has_pixels(step.shape.x)) return false;
  step.images_of = in.size(0);
  Operand maxima = lowering.temporary(out.sizes, image->integers.dtype);
  maxima.strides = out.strides;
  step.in = lowering.address(image->integers);
  step.out = lowering.address(maxima);
  step.shape.is_signed = image->integers.dtype == c10::kChar;
  lowering.emit(std::move(step), {image->integers.storage}, {maxima.storage});
  Operand centred = lowering.temporary(out.sizes);
  centred.strides = out.strides;
  lowering.pointwise(kernels::loops<vector_ops::Sub>(), {maxima, image->zero.number}, centred);
  lowering.pointwise(kernels::loops<vector_ops::Mul>(), {centred, image->scale.number}, out);
  return true;
}

}  // namespace lower
}  // namespace sr::replay
