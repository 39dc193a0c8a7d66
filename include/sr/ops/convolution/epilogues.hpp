// Operators behind a convolution that its step computes before it writes the results: another image is added,
// and the sums are clamped.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <sr/ops/convolution/int8_depthwise_step.hpp>
#include <sr/ops/convolution/int8_image_step.hpp>
#include <sr/ops/convolution/steps.hpp>
#include <sr/ops/quantized/dequantized.hpp>
#include <sr/replay/lowering/draft.hpp>
#include <sr/replay/lowering/epilogues.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay::lower {

// The bounds of relu6, hardtanh and clamp, if they are numbers and the same in every call.
inline std::optional<std::pair<float, float>> bounds_of(const TracedNode& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (is_of_operator(node, "aten::relu6") || is_of_operator(node, "aten::relu6_"))
    return std::pair(0.0F, 6.0F);
  std::pair bounds(-kInfinity, kInfinity);
  for (const auto& [i, bound] :
       {std::pair(std::size_t{1}, &bounds.first), {std::size_t{2}, &bounds.second}}) {
    if (i >= node.inputs.size() || node.inputs[i].isNone()) continue;
    const std::optional<double> given = fixed_number(node, i);
    if (!given || std::isnan(*given)) return std::nullopt;
    *bound = static_cast<float>(*given);
  }
  return bounds;
}

inline const ConvolutionStep& step_of(const Draft& draft) {
  return static_cast<const ConvolutionStep&>(*draft.step.payload);
}

// Returns the draft of the convolution that makes `in`, if the results have the layout of `out`, are not
// finished and have no other reader. Returns null if there is none.
inline Draft* plain_convolution(Lowering& lowering, const Operand& in, const Operand& out) {
  if (!in.is_float() || !out.is_float() || !always_equal(in.sizes, out.sizes) ||
      !always_equal(in.strides, out.strides))
    return nullptr;
  Draft* const draft = lowering.sole_maker<ConvolutionStep>(in, 1);
  return draft == nullptr || step_of(*draft).is_finished() ? nullptr : draft;
}

// Returns the draft of the int8 convolution that makes `in`, under the same conditions. Its kernel must be
// one that applies epilogues. Returns null if there is none.
inline Draft* plain_int8_convolution(Lowering& lowering, const Operand& in, const Operand& out) {
  if (!in.is_float() || !out.is_float() || !always_equal(in.sizes, out.sizes) ||
      !always_equal(in.strides, out.strides))
    return nullptr;
  Draft* const draft = lowering.sole_maker<Int8ImageStep>(in, 1);
  if (draft == nullptr) return nullptr;
  const auto& step = static_cast<const Int8ImageStep&>(*draft->step.payload);
  return step.finishes && step.is_unbounded() ? draft : nullptr;
}

// relu6, hardtanh or clamp of a convolution
inline bool clamp_convolution_to_range(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  const auto bounds = bounds_of(node);
  if (!in || !bounds) return false;
  if (plain_int8_convolution(lowering, *in, out) != nullptr) {
    auto* const step = take_over<Int8ImageStep>(lowering, *in, out);
    if (step == nullptr) return false;
    step->finish.least = bounds->first;
    step->finish.most = bounds->second;
    return true;
  }
  if (plain_convolution(lowering, *in, out) == nullptr) return false;
  auto* const step = take_over<ConvolutionStep>(lowering, *in, out);
  if (step == nullptr) return false;
  step->shape.clamp_min = bounds->first;
  step->shape.clamp_max = bounds->second;
  return true;
}

// Makes the convolution whose results are `in` add `other`, which must be complete before it runs.
inline bool add_to_convolution(Lowering& lowering, const Operand& in, const Operand& other,
                               const Operand& out) {
  Draft* const draft = plain_convolution(lowering, in, out);
  if (draft == nullptr || step_of(*draft).has_added || other.storage == out.storage ||
      other.storage == in.storage || !other.is_float() || !always_equal(other.sizes, out.sizes) ||
      !always_equal(other.strides, out.strides))
    return false;
  const std::uint32_t made = lowering.maker_of(other.storage);
  if (made != kNone && made >= lowering.maker_of(in.storage)) return false;
  auto* const step = take_over<ConvolutionStep>(lowering, in, out);
  if (step == nullptr) return false;
  step->added = lowering.address(other);
  step->has_added = true;
  draft->reads.push_back(other.storage);
  return true;
}

// Makes the int8 convolution whose results are `in` add `other`. If `other` was dequantized, the step reads
// the 8-bit integers and dequantizes them itself.
inline bool add_to_int8_convolution(Lowering& lowering, const Operand& in, const Operand& other,
                                    const Operand& out) {
  using Added = kernels::Int8Finish::Added;
  Draft* draft = plain_int8_convolution(lowering, in, out);
  if (draft == nullptr || other.storage == out.storage || other.storage == in.storage || !other.is_float() ||
      !always_equal(other.sizes, out.sizes) || !always_equal(other.strides, out.strides) ||
      static_cast<const Int8ImageStep&>(*draft->step.payload).adds() ||
      dynamic_cast<const Int8DepthwiseStep*>(draft->step.payload) != nullptr)
    return false;
  const auto integers = find_dequantized(lowering, other);
  const bool is_of_bytes = integers && !integers->scale.tensor && !integers->zero.tensor;
  const Operand& added = is_of_bytes ? integers->integers : other;
  if (added.storage == out.storage) return false;
  const std::uint32_t made = lowering.maker_of(added.storage);
  // What the step reads is constant or integers that are never overwritten.
  if (made != kNone && made >= lowering.maker_of(in.storage)) draft = &lowering.postpone(*draft);
  auto* const step = take_over<Int8ImageStep>(lowering, in, out);
  if (step == nullptr) return false;
  step->added = lowering.address(added);
  step->finish.kind = Added::floats;
  if (is_of_bytes) {
    step->finish.kind = added.dtype == c10::kByte ? Added::uint8 : Added::int8;
    step->finish.added_zero = static_cast<float>(integers->zero.number);
    step->finish.added_scale = static_cast<float>(integers->scale.number);
  }
  draft->reads.push_back(added.storage);
  return true;
}

inline bool add_to_convolutions(Lowering& lowering, const TracedNode& node) {
  const auto first = lowering.input(node, 0), second = lowering.input(node, 1);
  const Operand out = lowering.output(node);
  if (!first || !second || !is_one(node.inputs[2])) return false;
  return add_to_convolution(lowering, *first, *second, out) ||
         add_to_convolution(lowering, *second, *first, out) ||
         add_to_int8_convolution(lowering, *first, *second, out) ||
         add_to_int8_convolution(lowering, *second, *first, out);
}

// relu(convolution)
inline bool clamp_convolutions(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const auto* const maker =
      in ? dynamic_cast<const ConvolutionStep*>(lowering.payload_of_maker(in->storage)) : nullptr;
  if (maker != nullptr && maker->is_finished()) return false;
  const auto* const of_integers =
      in ? dynamic_cast<const Int8ImageStep*>(lowering.payload_of_maker(in->storage)) : nullptr;
  if (of_integers == nullptr) return clamp_results<c10::kFloat, ConvolutionStep>(lowering, node);
  const Operand out = lowering.output(node);
  if (!of_integers->is_unbounded() || !out.is_float() || !always_equal(in->sizes, out.sizes) ||
      !always_equal(in->strides, out.strides))
    return false;
  auto* const step = take_over<Int8ImageStep>(lowering, *in, out);
  if (step != nullptr) step->finish.least = 0;
  return step != nullptr;
}

// The conversion of a convolution's results, as of quantized ones, to 8-bit integers
inline bool convert_convolution(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (!in || !in->is_float() || (out.dtype != c10::kByte && out.dtype != c10::kChar) ||
      !always_equal(in->sizes, out.sizes) || !always_equal(in->strides, out.strides))
    return false;
  const kernels::Convert convert =
      kernels::kernels().table.convert[static_cast<std::size_t>(*element_of(in->dtype))]
                                      [static_cast<std::size_t>(*element_of(out.dtype))];
  if (const Draft* const draft = lowering.sole_maker<Int8ImageStep>(*in, 1)) {
    const auto& maker = static_cast<const Int8ImageStep&>(*draft->step.payload);
    if (!maker.has_channels_last() || maker.writes_bytes()) return false;
    auto* const step = take_over<Int8ImageStep>(lowering, *in, out);
    if (step == nullptr) return false;
    step->write_bytes(convert, out.dtype == c10::kChar);
    lowering.storages()[step->scratch.base].bytes =
        step->scratch_floats() * static_cast<std::int64_t>(sizeof(float));
    return true;
  }
  Draft* const draft = lowering.sole_maker<ConvolutionStep>(*in, 1);
  if (draft == nullptr || !step_of(*draft).may_convert()) return false;
  auto* const step = take_over<ConvolutionStep>(lowering, *in, out);
  if (step == nullptr) return false;
  step->behind.write_bytes(convert, out.dtype == c10::kChar);
  step->block_count = step->results_of_block();
  const Operand block = lowering.temporary({step->block_count});
  step->block_of_floats = lowering.address(block);
  draft->writes.push_back(block.storage);
  return true;
}

}  // namespace sr::replay::lower
