// Quantized embeddings and layers. LibTorch does not export their kernels: each op finds the dispatcher's
// typed handle once. Layers with fp32 results write into planned tensors.
#pragma once

#include <optional>
#include <string_view>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/quantized/PackedParams.h>

#include <sr/ops/embedding/layouts.hpp>
#include <sr/ops/embedding/lowering.hpp>
#include <sr/ops/parts.hpp>
#include <sr/registry/argument_of_handle.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/registry/op.hpp>
#include <sr/replay/sizes/common_layouts.hpp>

namespace sr::ops {

namespace detail {

// Calls the operator of that name without boxing.
template <FixedString Name, class Signature>
struct NamedHandle;
template <FixedString Name, class R, class... P>
struct NamedHandle<Name, R(P...)> {
  static R call(P... arguments) {
    static const auto handle = c10::Dispatcher::singleton()
                                   .findSchemaOrThrow(std::string(Name.view()).c_str(), "")
                                   .template typed<R(P...)>();
    return handle.call(arguments...);
  }
};

}  // namespace detail

using LinearParams = c10::intrusive_ptr<LinearPackedParamsBase>;

inline LinearPackedParamsBase& linear_params(const c10::IValue& packed) {
  return *packed.toCustomClass<LinearPackedParamsBase>();
}

// Weights in fp16, activations in fp32.
struct LinearFp16 {
  void operator()(const at::Tensor& input, const c10::IValue& packed, at::Tensor& out) const {
    linear_params(packed).apply_dynamic_out(input, out, /*reduce_range=*/false);
  }
};
struct LinearReluFp16 {
  void operator()(const at::Tensor& input, const c10::IValue& packed, at::Tensor& out) const {
    linear_params(packed).apply_dynamic_relu_out(input, out, /*reduce_range=*/false);
  }
};

// Weights in int8; activations are quantized dynamically.
struct LinearDynamic {
  static constexpr OutTraits traits{.makes_new_tensor = true};
  at::Tensor operator()(const at::Tensor& input, const c10::IValue& packed, bool reduce_range) const {
    return linear_params(packed).apply_dynamic(input, reduce_range);
  }
};
struct LinearReluDynamic {
  static constexpr OutTraits traits{.makes_new_tensor = true};
  at::Tensor operator()(const at::Tensor& input, const c10::IValue& packed, bool reduce_range) const {
    return linear_params(packed).apply_dynamic_relu(input, reduce_range);
  }
};

// Quantized results are not planned: only plain tensors are.
struct QuantizedLinear {
  static constexpr OutTraits traits{.makes_new_tensor = true};
  at::Tensor operator()(const at::Tensor& input, const c10::IValue& packed, double scale,
                        std::int64_t zero_point) const {
    return linear_params(packed).apply(input, scale, zero_point);
  }
};
struct QuantizedLinearRelu {
  static constexpr OutTraits traits{.makes_new_tensor = true};
  at::Tensor operator()(const at::Tensor& input, const c10::IValue& packed, double scale,
                        std::int64_t zero_point) const {
    return linear_params(packed).apply_relu(input, scale, zero_point);
  }
};

template <bool WithRelu>
struct QuantizedConvolution2d {
  static constexpr OutTraits traits{.makes_new_tensor = true};
  at::Tensor operator()(const at::Tensor& input, const c10::IValue& packed, double scale,
                        std::int64_t zero_point) const {
    auto params = packed.toCustomClass<ConvPackedParamsBase<2>>();
    return WithRelu ? params->apply_relu(input, scale, zero_point) : params->apply(input, scale, zero_point);
  }
};

template <FixedString Name>
struct QuantizedBinary {
  static constexpr OutTraits traits{.makes_new_tensor = true};
  at::Tensor operator()(const at::Tensor& a, const at::Tensor& b, double scale,
                        std::int64_t zero_point) const {
    return detail::NamedHandle<Name, at::Tensor(at::Tensor, at::Tensor, double, std::int64_t)>::call(
        a, b, scale, zero_point);
  }
};

template <FixedString Name>
struct QuantizedBag {
  static constexpr OutTraits traits{.makes_new_tensor = true};
  at::Tensor operator()(const at::Tensor& weight, const at::Tensor& indices,
                        const std::optional<at::Tensor>& offsets, bool scale_grad, std::int64_t mode,
                        bool pruned, const std::optional<at::Tensor>& sample_weights,
                        const std::optional<at::Tensor>& mapping, bool include_last) const {
    using Bag =
        at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, bool, std::int64_t,
                   bool, const std::optional<at::Tensor>&, const std::optional<at::Tensor>&, bool);
    return detail::NamedHandle<Name, Bag>::call(weight, indices, offsets, scale_grad, mode, pruned,
                                                sample_weights, mapping, include_last);
  }
};

template <FixedString Name>
struct RepackedBag {
  static constexpr OutTraits traits{.makes_new_tensor = true};
  at::Tensor operator()(const at::Tensor& weight) const {
    return detail::NamedHandle<Name, at::Tensor(const at::Tensor&)>::call(weight);
  }
};

namespace registered {

inline const OutVariant<
    "quantized::linear_dynamic_fp16(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase "
    "W_prepack) -> Tensor Y",
    LinearFp16>
    linear_dynamic_fp16;
inline const OutVariant<
    "quantized::linear_relu_dynamic_fp16(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase "
    "W_prepack) -> Tensor Y",
    LinearReluFp16>
    linear_relu_dynamic_fp16;
inline const Native<
    "quantized::linear_dynamic(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack, "
    "bool reduce_range=False) -> Tensor Y",
    LinearDynamic>
    linear_dynamic;
inline const Native<
    "quantized::linear_relu_dynamic(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase "
    "W_prepack, bool reduce_range=False) -> Tensor Y",
    LinearReluDynamic>
    linear_relu_dynamic;
inline const Native<
    "quantized::linear(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack, float "
    "Y_scale_i, int Y_zero_point_i) -> Tensor Y",
    QuantizedLinear>
    quantized_linear;
inline const Native<
    "quantized::linear_relu(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack, "
    "float Y_scale_i, int Y_zero_point_i) -> Tensor Y",
    QuantizedLinearRelu>
    quantized_linear_relu;
inline const Native<
    "quantized::conv2d.new(Tensor qx, __torch__.torch.classes.quantized.Conv2dPackedParamsBase "
    "packed_weight, float output_scale, int output_zero_point) -> Tensor",
    QuantizedConvolution2d<false>>
    quantized_conv2d;
inline const Native<
    "quantized::conv2d_relu.new(Tensor qx, __torch__.torch.classes.quantized.Conv2dPackedParamsBase "
    "packed_weight, float output_scale, int output_zero_point) -> Tensor",
    QuantizedConvolution2d<true>>
    quantized_conv2d_relu;
inline const Native<"quantized::add(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
                    QuantizedBinary<"quantized::add">>
    quantized_add;
inline const Native<"quantized::add_relu(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
                    QuantizedBinary<"quantized::add_relu">>
    quantized_add_relu;
inline const Native<"quantized::mul(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
                    QuantizedBinary<"quantized::mul">>
    quantized_mul;
inline const Native<
    "quantized::embedding_bag_byte_rowwise_offsets(Tensor weight, Tensor indices, Tensor? offsets=None, bool "
    "scale_grad_by_freq=False, int mode=0, bool pruned_weights=False, Tensor? per_sample_weights=None, "
    "Tensor? compressed_indices_mapping=None, bool include_last_offset=False) -> Tensor",
    QuantizedBag<"quantized::embedding_bag_byte_rowwise_offsets">, Lower<&lower::quantized_embedding_bag<8>>,
    Layouts<&layouts::quantized_embedding_bag<8>>>
    embedding_bag_byte;
inline const Native<
    "quantized::embedding_bag_4bit_rowwise_offsets(Tensor weight, Tensor indices, Tensor? offsets=None, bool "
    "scale_grad_by_freq=False, int mode=0, bool pruned_weights=False, Tensor? per_sample_weights=None, "
    "Tensor? compressed_indices_mapping=None, bool include_last_offset=False) -> Tensor",
    QuantizedBag<"quantized::embedding_bag_4bit_rowwise_offsets">, Lower<&lower::quantized_embedding_bag<4>>,
    Layouts<&layouts::quantized_embedding_bag<4>>>
    embedding_bag_4bit;
inline const Native<"quantized::embedding_bag_byte_prepack(Tensor weight) -> Tensor",
                    RepackedBag<"quantized::embedding_bag_byte_prepack">>
    embedding_bag_byte_prepack;
inline const Native<"quantized::embedding_bag_byte_unpack(Tensor weight) -> Tensor",
                    RepackedBag<"quantized::embedding_bag_byte_unpack">>
    embedding_bag_byte_unpack;

inline const NewTensorsOf<at::_ops::quantize_per_tensor> quantize_per_tensor;

inline const NewTensorsOf<at::_ops::quantize_per_tensor_tensor_qparams> quantize_per_tensor_tensor_qparams;

inline const NewTensorsOf<at::_ops::quantize_per_channel> quantize_per_channel;

inline const NewTensorsOf<at::_ops::dequantize_self> dequantize_self;

inline const NewTensorsOf<at::_ops::fake_quantize_per_tensor_affine, Layouts<&replay::layouts::copy_in_order>>
    fake_quantize_per_tensor_affine;

inline const NewTensorsOf<at::_ops::fake_quantize_per_tensor_affine_tensor_qparams,
                          Layouts<&replay::layouts::filled>>
    fake_quantize_per_tensor_affine_tensor_qparams;

inline const NewTensorsOf<at::_ops::fake_quantize_per_channel_affine> fake_quantize_per_channel_affine;

}  // namespace registered
}  // namespace sr::ops
