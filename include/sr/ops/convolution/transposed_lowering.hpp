// Lowers transposed convolutions with constant weights in fp32. A product computes the window of each
// position, and a step adds the windows to the result. If each group has one input channel, there is no
// product: the step multiplies the channel by the weights while it adds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/ops/from_blob.h>

#include <sr/kernels/kernels.hpp>
#include <sr/ops/convolution/lowering.hpp>
#include <sr/ops/convolution/transposed_step.hpp>
#include <sr/ops/convolution/windows.hpp>
#include <sr/ops/matmul/gemm_lowering.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::lower {

namespace detail {

// The largest number of elements that the windows of one image may have. LibTorch runs larger convolutions.
inline constexpr std::int64_t kMostWindows = 4'000'000;

// Multiplies the transposed weights of each group with its channels of each image: [images, channels x taps,
// positions]. Returns nothing, having emitted nothing, where LibTorch's product is better or there are too
// many.
inline std::optional<Operand> emit_windows(Lowering& lowering, const Convolved& all, const Size& images) {
  const std::int64_t positions = all.y.in * all.x.in, channels = all.weight.size(0).pin();
  const std::int64_t k = channels / all.groups, m = all.weight.size(1).pin() * all.y.kernel * all.x.kernel;
  if (k * positions > kMostUnpacked || all.groups * m * positions > kMostWindows) return std::nullopt;
  const at::Tensor weight =
      at::from_blob(const_cast<void*>(lowering.constant_bytes(all.weight)), {all.groups, k, m}, at::kFloat);
  const Operand transposed = lowering.literal({all.groups, m, k}, weight.transpose(1, 2).contiguous());
  const Operand windows = lowering.temporary({images, all.groups * m, positions});
  Matrices matrices{.a = transposed, .b = all.in, .out = windows, .m = m, .n = positions, .k = k};
  matrices.a_row = k;
  matrices.out_row = matrices.b_k = positions;
  matrices.b_n = 1;
  Batches<3> batches{{images, Size(all.groups)},
                     {Dims{0, m * k}, Dims{channels * positions, k * positions},
                      Dims{all.groups * m * positions, m * positions}}};
  batches.merge();
  emit_gemm<float>(lowering, matrices, std::nullopt, batches);
  return windows;
}

}  // namespace detail

// True if the caller has several threads and the images are too large for the cache; LibTorch's kernels are
// faster then. With one thread the program is valid for any amount of work.
inline bool is_left_to_threads(Lowering& lowering, const Size& work) {
  constexpr std::int64_t kMost = 1'000'000'000;  // multiply-adds
  if (work.is_constant()) return work > kMost && lowering.threads() != 1;
  return lowering.threads() != 1 && work > kMost;
}

inline bool convolve_transposed(Lowering& lowering, const TracedNode& node,
                                const ConvolutionArguments& arguments) {
  auto read = read_convolution(lowering, node, arguments);
  if (!read) return false;
  Convolved& all = *read;
  const std::int64_t channels = all.weight.size(0).pin(), multiplier = all.weight.size(1).pin();
  const Size images = all.in.rank() == 4 ? all.in.size(0) : Size(1);
  const Size work = images * (channels * multiplier * all.y.kernel * all.x.kernel * all.y.in * all.x.in);
  if (images < 1 || work < 1 || all.out.count() < 1 || is_left_to_threads(lowering, work)) return false;
  all.in = lowering.contiguous(all.in);
  if (!all.in.is_contiguous()) return false;
  const bool by_channel = all.groups == channels;
  const auto windows = by_channel ? std::optional(all.in) : detail::emit_windows(lowering, all, images);
  if (!windows) return false;
  const std::int64_t positions = all.y.in * all.x.in, taps = all.y.kernel * all.x.kernel;
  const Operand out = lowering.made_contiguous(all.out);
  TransposedConvolutionStep step;
  step.shape.channels = static_cast<std::size_t>(all.groups * multiplier);
  step.shape.y = all.y, step.shape.x = all.x;
  step.shape.channel_stride = by_channel ? positions : taps * positions;
  step.shape.tap_stride = by_channel ? 0 : positions;
  step.shape.outputs = by_channel ? multiplier : 1;
  step.images = images;
  step.columns_of_image = by_channel ? channels * positions : all.groups * multiplier * taps * positions;
  step.out_of_image = all.groups * multiplier * all.y.out * all.x.out;
  step.columns = lowering.address(*windows);
  step.out = lowering.address(out);
  std::vector<StorageId> reads{windows->storage};
  if (by_channel) {
    step.has_factors = true;
    step.factors = lowering.address(all.weight);
    reads.push_back(all.weight.storage);
  }
  if (all.bias) {
    step.has_bias = true;
    step.bias = lowering.address(*all.bias);
    reads.push_back(all.bias->storage);
  }
  lowering.emit(std::move(step), std::move(reads), {out.storage});
  return out == all.out || emit_copies(lowering, {{out, all.out}});
}

// conv_transpose1d, conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)
inline bool transposed_convolution(Lowering& lowering, const TracedNode& node) {
  return convolve_transposed(lowering, node,
                             {node.inputs[3], node.inputs[4], node.inputs[7], node.inputs[6].toInt()});
}

// _convolution, convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding,
// groups)
inline bool convolution_of_any_kind(Lowering& lowering, const TracedNode& node) {
  const ConvolutionArguments arguments{node.inputs[3], node.inputs[4], node.inputs[5],
                                       node.inputs[8].toInt()};
  return node.inputs[6].toBool() ? convolve_transposed(lowering, node, arguments)
                                 : convolve(lowering, node, arguments);
}

inline ImageUse images_of_any_convolution(const Trace& trace, const TracedNode& node) {
  return node.inputs[6].toBool() ? ImageUse{} : images_of_convolution(trace, node);
}

}  // namespace sr::replay::lower
