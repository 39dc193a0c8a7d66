// What steps of LibTorch's kernels know of sizes, strides and integers that differ between calls.
#pragma once

#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/graph/node_state.hpp>
#include <sr/replay/operand.hpp>
#include <sr/replay/sizes/values.hpp>

namespace sr::replay {

// Sizes and strides of a tensor, and their values in this call.
struct VaryingDims {
  Dims sizes_of, strides_of;
  Numbers sizes, strides;

  VaryingDims() = default;
  VaryingDims(Dims all_sizes, Dims all_strides)
      : sizes_of(std::move(all_sizes)), strides_of(std::move(all_strides)) {}
  bool vary() const { return replay::varies(sizes_of) || replay::varies(strides_of); }
  void settle(SizeValues& values) {
    values.fill(sizes_of, sizes);
    values.fill(strides_of, strides);
  }
};

// What is known of a result before the node runs.
struct ExpectedResult {
  TensorMetadata metadata;
  VaryingDims dims;

  ExpectedResult() = default;
  ExpectedResult(const at::Tensor& recorded, const Operand& operand) : dims{operand.sizes, operand.strides} {
    metadata.assign(recorded);
  }
  void settle(SizeValues& values) {
    if (!dims.vary()) return;
    dims.settle(values);
    metadata.sizes = dims.sizes;
    metadata.strides = dims.strides;
  }
};

// Integers that a node is given and that differ between calls.
struct VaryingNumbers {
  Dims values_of;
  Numbers values;  // in this call

  // As the node takes them: a list, or one integer.
  c10::IValue settled(SizeValues& of_call, bool is_list) {
    of_call.fill(values_of, values);
    return is_list ? c10::IValue(c10::IntArrayRef(values)) : c10::IValue(values[0]);
  }
};

}  // namespace sr::replay
