// Layouts of what convolutions, pooling and resampling return.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <c10/util/ArrayRef.h>

#include <sr/ops/convolution/named_padding.hpp>
#include <sr/replay/sizes/common_layouts.hpp>
#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// The parameters of a sliding window in one dimension, as convolutions and pools have them.
struct WindowSizes {
  Size kernel = 1, step = 1, pad = 0, dilation = 1;
};

// Replaces the size of a dimension by the number of windows. Returns false if no window fits.
inline bool slide(Size& size, const WindowSizes& window) {
  const Size left = size + window.pad * 2 - window.dilation * (window.kernel - 1) - 1;
  if (!require(left >= 0) || !require(window.step >= 1)) return false;
  size = left / window.step + 1;
  return true;
}

// Argument i as one integer for each of `count` dimensions; a single integer is for all of them. The integers
// are pinned, since the kernels of sr keep them as they were recorded.
inline Numbers for_dims(LayoutRule& rule, std::size_t i, std::size_t count) {
  Numbers numbers = pinned(rule.integers(i));
  if (numbers.size() == 1) numbers.resize(count, numbers[0]);
  return numbers;
}

// A new tensor in the memory format that LibTorch suggests for `like`, both of a batch, channels and a line,
// which LibTorch takes for an image of one row.
inline void suggested_line(LayoutRule& rule, const TensorLayout& like, Dims sizes) {
  if (sizes.size() != 3 || !is_channels_last(unsqueezed(like, 2))) return rule.dense(std::move(sizes));
  Dims strides{sizes[1] * sizes[2], 1, sizes[1]};
  rule.fresh({std::move(sizes), std::move(strides), 0});
}

// The padding of a convolution: argument 4, which is numbers or a name.
inline std::optional<std::vector<std::int64_t>> convolution_pads(LayoutRule& rule, const Numbers& dilations,
                                                                 const Dims& weight) {
  if (rule.value(4).isString()) {
    const Numbers kernels = pinned(c10::ArrayRef<Size>(weight).slice(2));
    return named_padding(rule.value(4).toStringRef(), dilations, kernels);
  }
  const Numbers pads = for_dims(rule, 4, dilations.size());
  return std::vector<std::int64_t>(pads.begin(), pads.end());
}

// The rule of a convolution with the arguments (x, weight, bias, stride, padding, dilation, ...). x has a
// batch, channels and `dims` more dimensions. Argument `of_groups` is the number of groups.
inline bool convolution_over(LayoutRule& rule, std::size_t dims, std::size_t of_groups) {
  const TensorLayout &self = rule.tensor(0), &weight = rule.tensor(1);
  if (self.sizes.size() != dims + 2 || weight.sizes.size() != dims + 2 || !is_dense(weight)) return false;
  // LibTorch uses other memory orders for lines of one element and for volumes that are not contiguous.
  if (dims != 2 && !is_dense(self) && (dims == 3 || self.sizes[2] == 1)) return false;
  const std::int64_t groups = rule.integer(of_groups).pin();
  if (groups < 1 || !require(self.sizes[1] == weight.sizes[1] * groups)) return false;
  if (!require(weight.sizes[0] % groups == 0)) return false;
  if (rule.has_tensor(2) && !require(rule.tensor(2).sizes[0] == weight.sizes[0])) return false;
  Dims sizes = self.sizes;
  sizes[1] = weight.sizes[0];
  const Numbers steps = for_dims(rule, 3, dims), dilations = for_dims(rule, 5, dims);
  const auto pads = convolution_pads(rule, dilations, weight.sizes);
  if (!pads) return false;
  for (std::size_t d = 0; d < dims; ++d) {
    if (!slide(sizes[2 + d], {weight.sizes[2 + d], steps[d], (*pads)[d], dilations[d]})) return false;
  }
  if (dims == 2) {
    suggested(rule, self, std::move(sizes));
  } else {
    rule.dense(std::move(sizes));
  }
  return true;
}

// conv1d, conv2d, conv3d(x, weight, bias, stride, padding, dilation, groups)
template <std::size_t kDims>
bool convolution(LayoutRule& rule) {
  return convolution_over(rule, kDims, 6);
}

// convolution, _convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups,
// ...), not transposed
inline bool convolution_either_way(LayoutRule& rule) {
  const std::size_t rank = rule.tensor(1).sizes.size();
  return !rule.value(6).toBool() && rank > 2 && convolution_over(rule, rank - 2, 8);
}

// conv_transpose1d, conv_transpose2d, conv_transpose3d(x, weight, bias, stride, padding, output_padding,
// groups, dilation)
template <std::size_t kDims>
bool transposed_convolution(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0), weight = rule.tensor(1);
  if (self.sizes.size() != kDims + 2 || weight.sizes.size() != kDims + 2 || !is_dense(weight)) return false;
  if (kDims != 2 && !is_dense(self) && (kDims == 3 || self.sizes[2] == 1)) return false;
  const std::int64_t groups = rule.integer(6).pin();
  if (groups < 1 || !require(self.sizes[1] == weight.sizes[0])) return false;
  const Numbers steps = for_dims(rule, 3, kDims), pads = for_dims(rule, 4, kDims),
                more = for_dims(rule, 5, kDims), dilations = for_dims(rule, 7, kDims);
  Dims sizes = self.sizes;
  sizes[1] = weight.sizes[1] * groups;
  if (rule.has_tensor(2) && !require(rule.tensor(2).sizes[0] == sizes[1])) return false;
  for (std::size_t d = 0; d < kDims; ++d) {
    Size& size = sizes[2 + d];
    size = (size - 1) * steps[d] - pads[d] * 2 + (weight.sizes[2 + d] - 1) * dilations[d] + more[d] + 1;
    if (!require(size >= 1)) return false;
  }
  if (kDims == 2) {
    suggested(rule, self, std::move(sizes));
  } else {
    rule.dense(std::move(sizes));
  }
  return true;
}

// max_pool and avg_pool(x, kernel_size, stride, padding, ...) over the last kDims dimensions. An empty stride
// means the kernel size. kDilation is the position of the argument `dilation`, or 0 if the operator has none.
// kCeiling is the position of the argument `ceil_mode`. The rule holds only if `ceil_mode` is False.
template <std::size_t kDims, std::size_t kDilation, std::size_t kCeiling>
bool pool(LayoutRule& rule) {
  const TensorLayout& self = rule.tensor(0);
  if (self.sizes.size() < kDims + 1 || rule.value(kCeiling).toBool()) return false;
  if (kDims == 3 && self.sizes.size() == 4 && !is_dense(self)) return false;  // its channels are no batch
  const Numbers kernels = for_dims(rule, 1, kDims), pads = for_dims(rule, 3, kDims);
  const Numbers steps = rule.integers(2).empty() ? kernels : for_dims(rule, 2, kDims);
  const Numbers dilations = kDilation == 0 ? Numbers(kDims, 1) : for_dims(rule, kDilation, kDims);
  Dims sizes = self.sizes;
  const std::size_t first = sizes.size() - kDims;
  for (std::size_t d = 0; d < kDims; ++d) {
    if (pads[d] * 2 > kernels[d]) return false;
    if (!slide(sizes[first + d], {kernels[d], steps[d], pads[d], dilations[d]})) return false;
  }
  if (kDims == 1 && kDilation == 0) {
    suggested_line(rule, self, std::move(sizes));
  } else if (kDims == 3 && kDilation == 0) {
    rule.dense(std::move(sizes));
  } else {
    suggested(rule, self, std::move(sizes));
  }
  return true;
}

// adaptive_avg_pool1d, adaptive_avg_pool2d(x, sizes)
inline bool adaptive_pool(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  Dims sizes = self.sizes;
  const Numbers wanted = pinned(rule.integers(1));
  if (wanted.size() > 2 || sizes.size() < wanted.size() + 1) return false;
  for (std::size_t d = 0; d < wanted.size(); ++d) sizes[sizes.size() - wanted.size() + d] = wanted[d];
  if (wanted.size() == 1) {
    suggested_line(rule, self, std::move(sizes));
  } else {
    suggested(rule, self, std::move(sizes));
  }
  return true;
}
// adaptive_max_pool1d, adaptive_max_pool2d(x, sizes): the values, and their indices
inline bool adaptive_pool_twice(LayoutRule& rule) {
  return adaptive_pool(rule) && adaptive_pool(rule);
}

// im2col(x, kernel_size, dilation, padding, stride)
inline bool columns_of_image(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  const std::size_t rank = sizes.size();
  if (rank != 3 && rank != 4) return false;
  const Numbers kernels = for_dims(rule, 1, 2), dilations = for_dims(rule, 2, 2), pads = for_dims(rule, 3, 2),
                steps = for_dims(rule, 4, 2);
  Size rows = sizes[rank - 2], columns = sizes[rank - 1];
  if (!slide(rows, {kernels[0], steps[0], pads[0], dilations[0]}) ||
      !slide(columns, {kernels[1], steps[1], pads[1], dilations[1]}))
    return false;
  sizes.pop_back();
  sizes[rank - 3] = sizes[rank - 3] * (kernels[0] * kernels[1]);
  sizes[rank - 2] = rows * columns;
  rule.dense(std::move(sizes));
  return true;
}

// grid_sampler(x, grid, ...): the sizes of the grid but for its last dimension, with the channels of x
inline bool grid_sampler(LayoutRule& rule) {
  const Dims &image = rule.tensor(0).sizes, &grid = rule.tensor(1).sizes;
  if (image.size() < 4 || grid.size() != image.size() || !require(image[0] == grid[0])) return false;
  if (!require(grid.back() == static_cast<std::int64_t>(image.size()) - 2)) return false;
  Dims sizes{image[0], image[1]};
  sizes.append(grid.begin() + 1, grid.end() - 1);
  rule.dense(std::move(sizes));
  return true;
}

// affine_grid_generator(theta, size, align_corners). The result has the coordinates of each output pixel.
inline bool affine_grid(LayoutRule& rule) {
  rule.tensor(0);
  Dims sizes = rule.integers(1);
  if (sizes.size() < 3) return false;
  sizes.erase(sizes.begin() + 1);  // the channels
  sizes.push_back(static_cast<std::int64_t>(sizes.size()) - 1);
  rule.dense(std::move(sizes));
  return true;
}

// upsample_nearest2d(x, output_size, scales) and the like. The batch may differ between calls, the image not.
inline bool upsample(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  Dims sizes = self.sizes;
  if (sizes.size() < 3) return false;
  const Numbers& made = rule.returned().sizes[0];
  if (made.size() != sizes.size()) return false;
  for (std::size_t d = 2; d < sizes.size(); ++d) {
    sizes[d].pin();
    sizes[d] = made[d];
  }
  suggested(rule, self, std::move(sizes));
  return true;
}

}  // namespace sr::replay::layouts
