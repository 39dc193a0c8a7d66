// How far the results of two models are apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>

namespace sr::quantization {

// Over any number of results.
class Loss {
 public:
  // Compares each tensor with its twin. Throws QuantizationError if they have different sizes or dtypes, as
  // of a model whose sizes depend on values.
  void add(const c10::IValue& expected, const c10::IValue& result) {
    std::vector<at::Tensor> tensors;
    sr::detail::each_tensor(result, [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
    std::size_t at = 0;
    sr::detail::each_tensor(expected, [&](const at::Tensor& tensor) {
      if (at == tensors.size() || tensors[at].sizes() != tensor.sizes() ||
          tensors[at].scalar_type() != tensor.scalar_type()) {
        throw QuantizationError(
            "The quantized model returns tensors of other sizes than the float model for the same input: its "
            "sizes depend on values. Compare the models with a loss of your own, outside of quantize().");
      }
      add(tensor, tensors[at++]);
    });
  }

  double largest() const { return largest_; }
  double mean() const { return elements_ == 0 ? 0 : sum_ / static_cast<double>(elements_); }
  double cosine() const { return cosine_; }
  double unequal() const { return others_ == 0 ? 0 : unequal_ / static_cast<double>(others_); }

 private:
  void add(const at::Tensor& expected, const at::Tensor& result) {
    if (expected.numel() == 0) return;
    if (!expected.is_floating_point()) {
      others_ += expected.numel();
      unequal_ += (expected != result).sum().item<double>();
      return;
    }
    const at::Tensor a = expected.reshape({-1}).to(at::kDouble), b = result.reshape({-1}).to(at::kDouble);
    // Equal infinities and NaNs are no loss.
    const at::Tensor is_same = (a == b).logical_or(a.isnan().logical_and(b.isnan()));
    const at::Tensor apart = (a - b).abs().masked_fill(is_same, 0);
    const double largest = apart.max().item<double>();
    largest_ = std::max(largest_, std::isnan(largest) ? std::numeric_limits<double>::infinity() : largest);
    sum_ += apart.sum().item<double>();
    elements_ += expected.numel();
    const at::Tensor is_finite = a.isfinite().logical_and(b.isfinite());
    const at::Tensor x = a.masked_fill(is_finite.logical_not(), 0),
                     y = b.masked_fill(is_finite.logical_not(), 0);
    const double lengths = x.norm().item<double>() * y.norm().item<double>();
    cosine_ = std::min(cosine_, lengths > 0 ? x.dot(y).item<double>() / lengths : (x.equal(y) ? 1.0 : 0.0));
  }

  double largest_ = 0, sum_ = 0, cosine_ = 1, unequal_ = 0;
  std::int64_t elements_ = 0, others_ = 0;
};

}  // namespace sr::quantization
