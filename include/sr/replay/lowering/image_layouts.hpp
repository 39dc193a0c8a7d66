// Chooses in which layout the images between the steps of a program lie. LibTorch's tensors are NCHW unless
// the caller's are not, while kernels of convolutions write and read NHWC faster: the channels of a pixel
// fill registers, and a window of adjacent pixels is one run of memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/ivalue.h>

#include <sr/base/identity.hpp>
#include <sr/graph/alias_rules.hpp>
#include <sr/graph/processed_node.hpp>
#include <sr/registry/registry.hpp>
#include <sr/replay/sizes/arithmetic.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// The strides of a dense image with these sizes, NCHW, whose channels lie last.
inline Dims strides_with_channels_last(const Dims& sizes) {
  const Size &channels = sizes[1], &rows = sizes[2], &columns = sizes[3];
  return {channels * rows * columns, 1, columns * channels, channels};
}

namespace lower {

// For kernels that take images as NHWC, all of a node alike.
inline ImageUse images_of_one_layout(const Trace&, const TracedNode&) {
  return {.takes_channels_last = true};
}
// For kernels that take images of any strides.
inline ImageUse images_of_any_layout(const Trace&, const TracedNode&) {
  return {.takes_channels_last = true, .mixes_layouts = true};
}

}  // namespace lower

// An image is a dense tensor of floats with four dimensions that one node makes and only nodes read, as a
// whole. Images that a node needs in one layout form a group. A group lies in NHWC if a convolution makes or
// reads one of its images and nothing needs one in NCHW.
class ImageLayouts {
 public:
  // `storages` are those of the program; sets the layout of each.
  ImageLayouts(const Trace& trace, std::vector<TracedStorage>& storages)
      : trace_(trace), storages_(storages), tensors_(trace.storages.size(), kNone) {}

  void choose() {
    find_images();
    group_of_.resize(tensors_.size());
    std::iota(group_of_.begin(), group_of_.end(), StorageId{0});
    is_refused_.assign(tensors_.size(), false);
    is_convolved_.assign(tensors_.size(), false);
    for (const TracedNode& node : trace_.nodes) join(node);
    for (const c10::IValue& result : trace_.results) refuse(result);
    for (const Commit& commit : trace_.commits) refuse(commit.from);
    for (StorageId id = 0; id < tensors_.size(); ++id) {
      if (tensors_[id] == kNone) continue;
      const StorageId group = root_of(id);
      storages_[id].channels_last = is_convolved_[group] && !is_refused_[group];
    }
  }

 private:
  static bool has_image_sizes(const TensorLayout& layout) {
    const Dims& sizes = layout.sizes;
    return sizes.size() == 4 && is_dense(layout) && sizes[1] != 1 && sizes[2] * sizes[3] != 1 &&
           sizes[0] != 0 && !varies({sizes.begin() + 1, sizes.end()});
  }

  // Notes one tensor for each storage that holds an image. Others with the same sizes are further names of
  // it.
  void find_images() {
    for (TensorId id = 0; id < trace_.tensors.size(); ++id) {
      const TracedTensor& tensor = trace_.tensors[id];
      const TracedStorage& storage = trace_.storages[tensor.storage];
      TensorId& first = tensors_[tensor.storage];
      if (first == kNotAnImage) continue;
      const bool is_image =
          storage.home == Home::produced && !storage.overwritten &&
          tensor.recorded.scalar_type() == c10::kFloat && has_image_sizes(tensor.layout) &&
          tensor.layout.offset == 0 &&
          Size::always_equal(product_of(tensor.layout.sizes) * 4, storage.bytes) &&
          (first == kNone || always_equal(trace_.tensors[first].layout.sizes, tensor.layout.sizes));
      if (!is_image) {
        first = kNotAnImage;
      } else if (first == kNone) {
        first = id;
      }
    }
    std::ranges::replace(tensors_, kNotAnImage, kNone);
  }

  void join(const TracedNode& node) {
    if (node.role == Role::nothing) return;
    std::vector<StorageId> images;
    std::vector<at::Tensor> others;
    const auto add = [&](const at::Tensor& tensor) {
      const StorageId storage = trace_.storage_id_of(tensor);
      if (tensors_[storage] != kNone) {
        images.push_back(storage);
      } else if (has_image_sizes(trace_.layout_of(tensor))) {
        others.push_back(tensor);
      }
    };
    for (const c10::IValue& output : node.outputs) sr::detail::each_tensor(output, add);
    for (const c10::IValue& input : node.inputs) sr::detail::each_tensor(input, add);
    for (const c10::IValue& value : node.captured) sr::detail::each_tensor(value, add);
    if (images.empty()) return;
    const ImageUse use = use_of(node);
    // Weights of convolutions are no images.
    const auto is_fixed = [&](const at::Tensor& tensor) {
      const Home home = trace_.storages[trace_.storage_id_of(tensor)].home;
      const bool is_constant = home == Home::weight || home == Home::literal;
      return !is_constant || always_equal(trace_.layout_of(tensor).sizes, sizes_of(images.front()));
    };
    const bool is_refused =
        !use.takes_channels_last || (!use.mixes_layouts && std::ranges::any_of(others, is_fixed));
    for (const StorageId image : images) {
      if (is_refused) is_refused_[root_of(image)] = true;
      if (use.convolves) is_convolved_[root_of(image)] = true;
      if (!use.mixes_layouts) unite(images.front(), image);
    }
  }

  ImageUse use_of(const TracedNode& node) const {
    if (node.role != Role::compute || !node.changed.empty() ||
        std::ranges::any_of(node.numbers, &NumberInput::is_operand))
      return {};
    const OperatorParts parts =
        registry().operator_of(node.twin.empty() ? key_of(*node.processed->node) : node.twin);
    if (parts.images != nullptr) return parts.images(trace_, node);
    const auto handle = sr::detail::dispatched(*node.processed->node);
    const bool is_pointwise = node.processed->vector_op != nullptr ||
                              (parts.to_kernel != nullptr && handle && handle->hasTag(at::Tag::pointwise));
    return {.takes_channels_last = is_pointwise};
  }

  const Dims& sizes_of(StorageId image) const { return trace_.tensors[tensors_[image]].layout.sizes; }

  void refuse(const c10::IValue& value) {
    sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
      const StorageId storage = trace_.storage_id_of(tensor);
      if (tensors_[storage] != kNone) is_refused_[root_of(storage)] = true;
    });
  }

  StorageId root_of(StorageId id) {
    while (group_of_[id] != id) id = group_of_[id] = group_of_[group_of_[id]];
    return id;
  }
  void unite(StorageId a, StorageId b) {
    const StorageId to = root_of(a), from = root_of(b);
    group_of_[from] = to;
    is_refused_[to] = is_refused_[to] || is_refused_[from];
    is_convolved_[to] = is_convolved_[to] || is_convolved_[from];
  }

  static constexpr TensorId kNotAnImage = kNone - 1;

  const Trace& trace_;
  std::vector<TracedStorage>& storages_;
  std::vector<TensorId> tensors_;                // by storage: an image; kNone: it holds none
  std::vector<StorageId> group_of_;              // by storage: another one of the group, or itself
  std::vector<bool> is_refused_, is_convolved_;  // by storage that stands for its group
};

}  // namespace sr::replay
