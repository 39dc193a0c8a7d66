// Attention and dropout, called without boxing.
#pragma once

#include <ATen/Functions.h>

#include <sr/ops/attention/layouts.hpp>
#include <sr/ops/attention/lowering.hpp>
#include <sr/ops/parts.hpp>
#include <sr/ops/views/layouts.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

struct ScaledDotProductAttention {
  static constexpr OutTraits traits{.makes_new_tensor = true};
  at::Tensor operator()(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const std::optional<at::Tensor>& mask, double dropout, bool causal,
                        std::optional<double> scale, bool grouped) const {
    return at::scaled_dot_product_attention(query, key, value, mask, dropout, causal, scale, grouped);
  }
};

// Outside of training it returns its input.
struct Dropout {
  at::Tensor operator()(const at::Tensor& input, double p, bool train) const {
    return at::dropout(input, p, train);
  }
};

namespace registered {

inline const Native<
    "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float "
    "dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    ScaledDotProductAttention, Lower<&lower::attention>, Layouts<&layouts::attention>>
    scaled_dot_product_attention;
inline const Native<"aten::dropout(Tensor input, float p, bool train) -> Tensor", Dropout,
                    Layouts<&layouts::unchanged>, InPlace<at::_ops::dropout_>>
    dropout;

}  // namespace registered
}  // namespace sr::ops
