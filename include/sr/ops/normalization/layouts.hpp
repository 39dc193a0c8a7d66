// Layouts of what normalization layers return.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <sr/replay/sizes/common_layouts.hpp>
#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/reshape.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// True if the arguments (x, normalized_shape, weight, bias, ...) of a norm over the last dimensions fit.
inline bool normalizes_last(LayoutRule& rule) {
  const Dims normalized = rule.integers(1);
  const auto ends_with = [&](const Dims& sizes) {
    if (sizes.size() < normalized.size()) return false;
    const std::size_t first = sizes.size() - normalized.size();
    for (std::size_t d = 0; d < normalized.size(); ++d) {
      if (!require(sizes[first + d] == normalized[d])) return false;
    }
    return true;
  };
  if (!ends_with(rule.tensor(0).sizes)) return false;
  for (std::size_t i = 2; i < rule.input_count(); ++i) {
    if (!rule.has_tensor(i)) continue;
    const Dims& scales = rule.tensor(i).sizes;
    if (scales.size() != normalized.size() || !ends_with(scales)) return false;
  }
  return true;
}

// layer_norm(x, normalized_shape, weight, bias, ...)
inline bool norm_of_last(LayoutRule& rule) {
  return normalizes_last(rule) && like_first(rule);
}

// rms_norm(x, normalized_shape, weight, eps), which is x * rsqrt(means of rows) * weight
inline bool rms_norm(LayoutRule& rule) {
  if (!normalizes_last(rule)) return false;
  const TensorLayout x = rule.tensor(0);
  if (is_dense(x)) return like_first(rule);
  Dims rows = x.sizes;
  for (std::size_t i = 1; i <= rule.integers(1).size(); ++i) rows[rows.size() - i] = 1;
  std::optional<TensorLayout> scaled = iterated_over({x, {rows, dense_strides(rows), 0}});
  if (scaled && rule.has_tensor(2)) scaled = iterated_over({*scaled, rule.tensor(2)});
  return rule.fresh_if_known(scaled);
}

// native_layer_norm(x, normalized_shape, weight, bias, eps), which also returns the mean and the reciprocal
// deviation of each row
inline bool native_layer_norm(LayoutRule& rule) {
  if (!norm_of_last(rule)) return false;
  Dims statistics = rule.tensor(0).sizes;
  std::fill(statistics.end() - static_cast<std::ptrdiff_t>(rule.integers(1).size()), statistics.end(),
            Size(1));
  rule.dense(statistics);
  rule.dense(statistics);
  return true;
}

// batch_norm(x, weight, bias, running_mean, running_var, ...): dimension 1 of x are the channels, and each
// further tensor has one element for each channel.
inline bool norm_of_channels(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  if (self.sizes.size() < 2) return false;
  for (std::size_t i = 1; i < rule.input_count(); ++i) {
    if (!rule.has_tensor(i)) continue;
    const Dims& of_channels = rule.tensor(i).sizes;
    if (of_channels.size() != 1 || !require(of_channels[0] == self.sizes[1])) return false;
  }
  // The strides of dimensions of one element count differently for each kernel of LibTorch.
  if (!is_dense(self) && std::ranges::any_of(self.sizes, [](const Size& size) { return size == 1; }))
    return false;
  return suggested_like_first(rule);
}

// instance_norm(x, weight, bias, running_mean, running_var, ...), whose result is contiguous
inline bool instance_norm(LayoutRule& rule) {
  const Dims sizes = rule.tensor(0).sizes;
  if (sizes.size() < 2) return false;
  for (std::size_t i = 1; i < rule.input_count(); ++i) {
    if (rule.has_tensor(i) &&
        !(rule.tensor(i).sizes.size() == 1 && require(rule.tensor(i).sizes[0] == sizes[1])))
      return false;
  }
  rule.dense(sizes);
  return true;
}

// _native_batch_norm_legit_no_training(x, weight, bias, running_mean, running_var, ...), which also returns
// two empty tensors
inline bool norm_of_channels_with_statistics(LayoutRule& rule) {
  if (!norm_of_channels(rule)) return false;
  rule.dense({0});
  rule.dense({0});
  return true;
}

// The rule of an operator that normalises x over groups of channels. Argument `of_groups` is the number of
// groups. Each tensor but x has one element for each channel.
inline bool norm_of_groups(LayoutRule& rule, std::size_t of_groups) {
  const std::int64_t groups = rule.integer(of_groups).pin();
  if (groups < 1 || rule.tensor(0).sizes.size() < 2) return false;
  return require(rule.tensor(0).sizes[1] % groups == 0) && norm_of_channels(rule);
}

// group_norm(x, groups, weight, bias, ...)
inline bool group_norm(LayoutRule& rule) {
  return norm_of_groups(rule, 1);
}

// native_group_norm(x, weight, bias, N, C, HxW, groups, eps) of an x with N images and C channels, which also
// returns the mean and the reciprocal deviation of each group
inline bool native_group_norm(LayoutRule& rule) {
  const Dims sizes = rule.tensor(0).sizes;
  if (sizes.size() < 2 || !require(rule.integer(3) == sizes[0]) || !require(rule.integer(4) == sizes[1]) ||
      !require(rule.integer(5) == product_of(c10::ArrayRef<Size>(sizes).slice(2))) ||
      !norm_of_groups(rule, 6))
    return false;
  const Dims statistics{sizes[0], rule.integer(6)};
  rule.dense(statistics);
  rule.dense(statistics);
  return true;
}

}  // namespace sr::replay::layouts
