// Which operators return tensors whose sizes follow from elements.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>

namespace sr::detail {

// True if the sizes of the results depend on elements of the arguments. LibTorch tags most such operators.
// The untagged ones, composite overloads and operators of FBGEMM, are listed by name.
inline bool decides_sizes(const c10::OperatorHandle& handle) {
  if (handle.hasTag(at::Tag::dynamic_output_shape)) return true;
  static constexpr std::array<std::string_view, 5> kOfFbgemm = {
      "fbgemm::permute_1D_sparse_data", "fbgemm::permute_2D_sparse_data", "fbgemm::dense_to_jagged_forward",
      "fbgemm::jagged_index_select", "fbgemm::block_bucketize_sparse_features"};
  const c10::OperatorName& name = handle.operator_name();
  if (std::ranges::find(kOfFbgemm, name.name) != kOfFbgemm.end()) return true;
  return name.name == "aten::nonzero_numpy" ||
         (name.name == "aten::repeat_interleave" && name.overload_name == "self_Tensor");
}

}  // namespace sr::detail
