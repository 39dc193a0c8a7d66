// Chooses in which layout the images between the steps of a program lie. LibTorch's tensors are NCHW unless
// the caller's are not, while kernels of convolutions write and read NHWC faster: the channels of a pixel
// fill registers, and a window of adjacent pixels is one run of memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
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
#include <sr/replay/sizes/common_layouts.hpp>
#include <sr/replay/sizes/tensor_layout.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// Returns the layout of a view after its image was moved from NCHW to NHWC. `image` has the sizes of the
// image, which is dense and has elements. A view may merge rows and columns, divide channels, and permute
// dimensions. Returns nullopt if a dimension of the view crosses from one channel to the next within an
// image, or if its strides depend on the call.
inline std::optional<TensorLayout> view_with_channels_last(const Dims& image, const TensorLayout& view) {
  if (varies({image.begin() + 1, image.end()}) || varies(view.strides) || !view.offset.is_constant())
    return std::nullopt;
  const std::int64_t channels = image[1].recorded(), pixels = (image[2] * image[3]).recorded();
  std::int64_t last_channel = 0, last_pixel = 0;  // that the view reaches
  const auto moved = [&](std::int64_t distance, const Size& steps) -> std::optional<std::int64_t> {
    const std::int64_t of_channel = distance / pixels % channels, of_pixel = distance % pixels;
    if (of_channel + of_pixel != 0 && !steps.is_constant()) return std::nullopt;
    last_channel += of_channel * steps.recorded();
    last_pixel += of_pixel * steps.recorded();
    return distance / (channels * pixels) * channels * pixels + of_pixel * channels + of_channel;
  };
  const auto offset = moved(view.offset.recorded(), 1);
  if (!offset) return std::nullopt;
  TensorLayout layout{view.sizes, view.strides, *offset};
  for (std::size_t d = 0; d < view.sizes.size(); ++d) {
    if (view.sizes[d].is_constant() && view.sizes[d].recorded() <= 1) continue;  // its stride means nothing
    const auto stride = moved(view.strides[d].recorded(), view.sizes[d] - 1);
    if (!stride) return std::nullopt;
    layout.strides[d] = *stride;
  }
  return last_channel < channels && last_pixel < pixels ? std::optional(layout) : std::nullopt;
}

// The strides of a dense image NHWC, in the order NCHW of its sizes.
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

// An image is a dense tensor of floats or 8-bit integers with four dimensions that one node makes. Only nodes
// read it, directly or through views. Images that must have the same layout form a group. A group is stored
// in NHWC if a convolution makes or reads one of its images, and every node that uses one accepts NHWC.
class ImageLayouts {
 public:
  // `storages` are the storages of the program. Images whose storages are in `refused` stay in NCHW.
  ImageLayouts(const Trace& trace, std::vector<TracedStorage>& storages, const std::set<StorageId>& refused)
      : trace_(trace), storages_(storages), tensors_(trace.storages.size(), kNone), refused_(refused) {}

  // Marks the storages of images that lie in NHWC. Returns the sizes of those images, as NCHW.
  std::unordered_map<StorageId, Dims> choose() {
    find_images();
    group_of_.resize(tensors_.size());
    std::iota(group_of_.begin(), group_of_.end(), StorageId{0});
    is_refused_.assign(tensors_.size(), false);
    is_convolved_.assign(tensors_.size(), false);
    for (const TracedNode& node : trace_.nodes) join(node);
    for (const c10::IValue& result : trace_.results) refuse(result);
    for (const Commit& commit : trace_.commits) refuse(commit.from);
    for (const InitialBytes& initial : trace_.initial) is_refused_[root_of(initial.storage)] = true;
    for (const StorageId storage : refused_) is_refused_[root_of(storage)] = true;
    std::unordered_map<StorageId, Dims> chosen;
    for (StorageId id = 0; id < tensors_.size(); ++id) {
      if (tensors_[id] == kNone) continue;
      const StorageId group = root_of(id);
      storages_[id].channels_last = is_convolved_[group] && !is_refused_[group];
      if (storages_[id].channels_last) chosen.emplace(id, sizes_of(id));
    }
    return chosen;
  }

 private:
  static bool has_image_sizes(const TensorLayout& layout) {
    const Dims& sizes = layout.sizes;
    return sizes.size() == 4 && is_dense(layout) && sizes[0] != 0 &&
           !varies({sizes.begin() + 1, sizes.end()}) && sizes[1].recorded() > 1 &&
           sizes[2].recorded() * sizes[3].recorded() > 1;
  }

  // Notes the image in each storage. It is the first tensor there; others are names or views of it.
  void find_images() {
    for (TensorId id = 0; id < trace_.tensors.size(); ++id) {
      const TracedTensor& tensor = trace_.tensors[id];
      const TracedStorage& storage = trace_.storages[tensor.storage];
      TensorId& image = tensors_[tensor.storage];
      if (image == kNotAnImage) continue;
      const c10::ScalarType type = tensor.recorded.scalar_type();
      if (image != kNone) {
        const bool is_view = type == trace_.tensors[image].recorded.scalar_type() &&
                             view_with_channels_last(sizes_of(tensor.storage), tensor.layout);
        if (!is_view) image = kNotAnImage;
        continue;
      }
      const bool is_image =
          (type == c10::kFloat || type == c10::kByte || type == c10::kChar) &&
          storage.home == Home::produced && has_image_sizes(tensor.layout) && tensor.layout.offset == 0 &&
          Size::always_equal(product_of(tensor.layout.sizes) * tensor.recorded.element_size(), storage.bytes);
      image = is_image ? id : kNotAnImage;
    }
    std::ranges::replace(tensors_, kNotAnImage, kNone);
  }

  // True if the tensor, which is an image or a view of one, is dense if the image lies in NHWC.
  bool is_dense_then(const at::Tensor& tensor) const {
    const auto layout =
        view_with_channels_last(sizes_of(trace_.storage_id_of(tensor)), trace_.layout_of(tensor));
    return layout && is_dense(*layout);
  }

  void join(const TracedNode& node) {
    if (node.role == Role::nothing) return;
    std::vector<StorageId> images;
    std::vector<at::Tensor> others;
    const bool is_plain = node.role == Role::compute && node.changed.empty() &&
                          std::ranges::none_of(node.numbers, &NumberInput::is_operand);
    const ImageUse use = is_plain ? use_of(node) : ImageUse{};
    bool is_refused = false, joins = false;
    const auto add = [&](const at::Tensor& tensor, bool is_read) {
      const StorageId storage = trace_.storage_id_of(tensor);
      const TensorLayout& layout = trace_.layout_of(tensor);
      if (tensors_[storage] == kNone) {
        if (has_image_sizes(layout)) others.push_back(tensor);
        return;
      }
      images.push_back(storage);
      if (use.mixes_layouts) return;
      // A view that is contiguous is welcome everywhere.
      const bool is_contiguous = is_plain && is_read && is_dense_then(tensor);
      is_refused |= !is_contiguous && !(use.takes_channels_last && layout.sizes.size() == 4);
      joins |= !is_contiguous;
    };
    for (const c10::IValue& output : node.outputs)
      sr::detail::each_tensor(output, [&](const at::Tensor& tensor) { add(tensor, false); });
    for (const c10::IValue& input : node.inputs)
      sr::detail::each_tensor(input, [&](const at::Tensor& tensor) { add(tensor, true); });
    for (const c10::IValue& value : node.captured)
      sr::detail::each_tensor(value, [&](const at::Tensor& tensor) { add(tensor, false); });
    if (images.empty()) return;
    // Weights of convolutions are no images.
    const auto is_fixed = [&](const at::Tensor& tensor) {
      const Home home = trace_.storages[trace_.storage_id_of(tensor)].home;
      const bool is_constant = home == Home::weight || home == Home::literal;
      return !is_constant || always_equal(trace_.layout_of(tensor).sizes, sizes_of(images.front()));
    };
    is_refused |= joins && std::ranges::any_of(others, is_fixed);
    for (const StorageId image : images) {
      if (is_refused) is_refused_[root_of(image)] = true;
      if (use.convolves) is_convolved_[root_of(image)] = true;
      if (joins) unite(images.front(), image);
    }
  }

  ImageUse use_of(const TracedNode& node) const {
    const OperatorParts parts =
        registry().operator_of(node.twin.empty() ? key_of(*node.processed->node) : node.twin);
    if (parts.images != nullptr) return parts.images(trace_, node);
    // Not every operator that is pointwise has LibTorch's tag.
    const auto handle = sr::detail::dispatched(*node.processed->node);
    const bool says_so =
        parts.layouts == &layouts::pointwise || (handle && handle->hasTag(at::Tag::pointwise));
    const bool is_pointwise = node.processed->vector_op != nullptr || (parts.to_kernel != nullptr && says_so);
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
  std::vector<TensorId> tensors_;  // by storage: an image; kNone: it holds none
  const std::set<StorageId>& refused_;
  std::vector<StorageId> group_of_;              // by storage: another one of the group, or itself
  std::vector<bool> is_refused_, is_convolved_;  // by storage that stands for its group
};

}  // namespace sr::replay
