// Batch norm in evaluation, in fp32 and with constant statistics. It is folded into the weights of the
// product or convolution that makes its input, or else becomes a multiply-add.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include <sr/kernels/weight_forms.hpp>
#include <sr/ops/convolution/steps.hpp>
#include <sr/ops/matmul/gemm_lowering.hpp>
#include <sr/ops/matmul/gemm_step.hpp>
#include <sr/replay/lowering/draft.hpp>
#include <sr/replay/lowering/epilogues.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay::lower {

// x * scale[c] + shift[c], both computed as ATen does.
struct ChannelNorm {
  std::size_t channels = 0;
  ChannelScale by;
  const float *mean = nullptr, *beta = nullptr;
  bool of_module = true;  // all of it

  at::Tensor scale() const {
    return tensor([&](std::size_t c) { return by(c); });
  }
  at::Tensor shift() const {
    return tensor([&](std::size_t c) { return (beta == nullptr ? 0 : beta[c]) - mean[c] * by(c); });
  }
  // For a result to which `bias` was added before; null if none was.
  at::Tensor shift_after(const float* bias) const {
    return tensor([&](std::size_t c) {
      const float before = bias == nullptr ? 0 : bias[c];
      return (beta == nullptr ? 0 : beta[c]) + (before - mean[c]) * by(c);
    });
  }

 private:
  template <class Value>
  at::Tensor tensor(const Value& value) const {
    at::Tensor made = at::empty({static_cast<std::int64_t>(channels)});
    for (std::size_t c = 0; c < channels; ++c) made.mutable_data_ptr<float>()[c] = value(c);
    return made;
  }
};

// (x, weight, bias, mean, variance, ...)
inline std::optional<ChannelNorm> read_norm(const Lowering& lowering, const TracedNode& node,
                                            const Operand& in, double epsilon) {
  ChannelNorm norm{.channels = static_cast<std::size_t>(in.size(1).pin()), .by = {}};
  const auto read = [&](std::size_t i, const float*& data) {
    const auto operand = lowering.input(node, i);
    if (!operand) return true;
    if (!operand->is_float() || !operand->is_contiguous() || !lowering.is_constant(*operand)) return false;
    norm.of_module &= lowering.of_module(*operand);
    data = lowering.constant_data(*operand);
    return true;
  };
  const bool known =
      read(1, norm.by.gamma) && read(2, norm.beta) && read(3, norm.mean) && read(4, norm.by.variance);
  if (!known || norm.mean == nullptr || norm.by.variance == nullptr) return std::nullopt;
  norm.by.epsilon = static_cast<float>(epsilon);
  return norm;
}

// True if the second dimension of `in` is the columns of the product or the channels of the convolution.
inline bool lies(const Operand& in, std::int64_t d, const Size& size, const Size& stride) {
  return in.size(d) == size && (size == 1 || in.stride(d) == stride);
}
inline bool makes_channels(const GemmStep& step, const Operand& in) {
  return step.weight.data != nullptr && in.rank() == 2 && lies(in, 0, step.m, step.out_row) &&
         lies(in, 1, step.n, 1);
}
inline bool makes_channels(const ConvolutionStep& step, const Operand& in) {
  return lies(in, 0, step.images_of, step.out_image) &&
         lies(in, 1, step.groups * step.shape.channels, step.shape.out_channel);
}

// True if the results of the step are sums to which at most a bias was added.
template <class P>
bool is_bare(const P& step) {
  if constexpr (std::is_same_v<P, ConvolutionStep>) {
    return !step.has_added && !step.is_finished();
  } else {
    return step.shape.clamp_min == -std::numeric_limits<float>::infinity();
  }
}

// Makes the step of type P that makes `in` write the normalised result instead.
template <class P>
bool scale_weights(Lowering& lowering, const ChannelNorm& norm, const Operand& in, const Operand& out) {
  const Draft* const draft = lowering.sole_maker<P>(in, 1);
  if (draft == nullptr) return false;
  const auto& made = static_cast<const P&>(*draft->step.payload);
  if (!is_bare(made) || made.weight.scale.variance != nullptr || !makes_channels(made, in)) return false;
  const float* bias = nullptr;
  if (made.has_bias) {
    if (!lowering.is_constant(made.bias.base)) return false;
    bias = reinterpret_cast<const float*>(
        static_cast<const std::byte*>(lowering.constant_base(made.bias.base)) + made.bias.offset);
  }
  at::Tensor shift = norm.shift_after(bias);
  // Infinite weights would turn sums that are zero into NaN.
  if (!norm.scale().isfinite().all().template item<bool>()) return false;
  P* const step = take_over<P>(lowering, in, out);
  if (step == nullptr) return false;
  step->weight.scale = norm.by;
  step->weight.of_module &= norm.of_module;
  step->bias = lowering.address(lowering.literal({in.size(1)}, std::move(shift)));
  step->has_bias = true;
  return true;
}

inline bool norm_of_channels(Lowering& lowering, const TracedNode& node, double epsilon) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  // LibTorch normalises an empty tensor without a second dimension, too.
  if (lowering.exact() || !in || !all_float({&*in, &out}) || in->rank() < 2) return false;
  const auto norm = read_norm(lowering, node, *in, epsilon);
  if (!norm) return false;
  if (out.count() == 0) return true;
  if (always_equal(in->strides, out.strides) && (scale_weights<GemmStep>(lowering, *norm, *in, out) ||
                                                 scale_weights<ConvolutionStep>(lowering, *norm, *in, out))) {
    return true;
  }
  Dims sizes(in->rank() - 1, 1);
  sizes[0] = in->size(1);
  return emit<vector_ops::AddScaled>(
      lowering, node, {lowering.literal(sizes, norm->shift()), *in, lowering.literal(sizes, norm->scale())});
}

// batch_norm(x, weight, bias, mean, variance, training, momentum, eps, cudnn)
inline bool batch_norm(Lowering& lowering, const TracedNode& node) {
  return !node.inputs[5].toBool() && norm_of_channels(lowering, node, node.inputs[7].toDouble());
}

// _native_batch_norm_legit_no_training(x, weight, bias, mean, variance, momentum, eps). What it returns
// besides is empty.
inline bool batch_norm_without_training(Lowering& lowering, const TracedNode& node) {
  return norm_of_channels(lowering, node, node.inputs[6].toDouble());
}

}  // namespace sr::replay::lower
