// The arguments and operands of convolutions with constant weights.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <sr/ops/convolution/windows.hpp>
#include <sr/ops/matmul/gemm_lowering.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::lower {

// The arguments of convolutions of one and two dimensions.
struct ConvolutionArguments {
  const c10::IValue &stride, &padding, &dilation;
  std::int64_t groups;

  std::array<Axis, 2> axes(std::size_t rank) const {
    std::array<Axis, 2> axes;
    read_axes(stride, rank, &Axis::step, axes);
    read_axes(padding, rank, &Axis::pad, axes);
    read_axes(dilation, rank, &Axis::dilation, axes);
    return axes;
  }
};

inline constexpr std::int64_t kMostPixels = 65536;  // of a result

// The operands of a convolution, as images of two dimensions.
struct Convolved {
  Operand in, weight, out;
  std::optional<Operand> bias;
  Axis y, x;
  std::int64_t groups = 1;

  std::int64_t group_in() const { return weight.size(1).pin(); }
  std::int64_t group_out() const { return weight.size(0).pin() / groups; }
  std::int64_t taps() const { return group_in() * y.kernel * x.kernel; }
  Size work() const { return out.count() * taps(); }
};

// Restricts the program to the caller's number of threads if a call may have at least `least` multiply-adds,
// since the step then divides the work by that number.
inline void note_threads(Lowering& lowering, const Size& work, std::int64_t least) {
  if (!work.is_constant() || work.recorded() >= least) lowering.threads();
}

inline std::optional<Convolved> read_convolution(const Lowering& lowering, const TracedNode& node,
                                                 const ConvolutionArguments& arguments) {
  const auto in = lowering.input(node, 0), weight = lowering.input(node, 1);
  if (lowering.exact() || !in || !weight) return std::nullopt;
  Convolved all{*in, *weight, lowering.output(node), lowering.input(node, 2), {}, {}, arguments.groups};
  if (!all_float({&all.in, &all.weight, &all.out})) return std::nullopt;
  if (all.bias && (!all.bias->is_float() || !all.bias->is_contiguous())) return std::nullopt;
  if (!lowering.is_constant(all.weight) || !all.weight.is_contiguous()) return std::nullopt;
  const std::size_t rank = weight->rank() - 2;  // of the image
  if (rank < 1 || rank > 2 || in->rank() < rank + 1) return std::nullopt;
  if (lowering.keeps_open(last_dims(*in, in->rank() - rank).sizes)) return std::nullopt;
  if (rank == 1) {
    for (Operand* operand : {&all.in, &all.weight, &all.out}) add_row_dimension(*operand);
  }
  const auto [y, x] = arguments.axes(rank);
  all.y = y, all.x = x;
  all.y.in = all.in.size(-2).pin(), all.x.in = all.in.size(-1).pin();
  all.y.out = all.out.size(-2).pin(), all.x.out = all.out.size(-1).pin();
  all.y.kernel = all.weight.size(-2).pin(), all.x.kernel = all.weight.size(-1).pin();
  return all;
}

// How convolve() takes the images of convolution(image, weight, ...) with constant weights.
inline ImageUse images_of_convolution(const Trace& trace, const TracedNode& node) {
  const at::Tensor &image = node.inputs[0].toTensor(), &weight = node.inputs[1].toTensor();
  if (image.dim() != 4 || weight.dim() != 4 || weight.size(1) == 0) return {};
  const std::int64_t groups = image.size(1) / weight.size(1);
  const auto least = static_cast<std::int64_t>(kernels::kernels().table.min_pixel_channels);
  const Dims& results = trace.layout_of(node.outputs[0].toTensor()).sizes;
  if (groups == 0 || (results[2] * results[3]).recorded() > kMostPixels) return {};
  if (weight.size(1) == 1 && weight.size(0) == groups)
    return {.takes_channels_last = groups >= least, .convolves = true};
  return {.takes_channels_last = weight.size(0) / groups >= least, .mixes_layouts = true, .convolves = true};
}

}  // namespace sr::replay::lower
