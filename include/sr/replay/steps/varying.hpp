// Sizes, strides and integers that differ between calls, as steps with LibTorch's kernels keep them.
#pragma once

#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/graph/node_state.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/trace/operand.hpp>

namespace sr::replay {

// The sizes and strides of a tensor as expressions, and their values in the current call.
struct VaryingDims {
  Dims sizes_of, strides_of;
  Numbers sizes, strides;

  VaryingDims() = default;
  VaryingDims(Dims all_sizes, Dims all_strides)
      : sizes_of(std::move(all_sizes)), strides_of(std::move(all_strides)) {}
  bool vary() const { return varies(sizes_of, strides_of); }
  void settle(SizeValues& values) {
    values.fill(sizes_of, sizes);
    values.fill(strides_of, strides);
  }
};

// The dtype, sizes and strides that a node's result must have. They are known before the node runs.
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

// An integer argument of a node, or a list of integers, that differs between calls.
struct VaryingNumbers {
  Dims values_of;
  Numbers values;  // in this call

  // The argument for the current call: a list of integers, or one integer.
  c10::IValue settled(SizeValues& of_call, bool is_list) {
    of_call.fill(values_of, values);
    return is_list ? c10::IValue(c10::IntArrayRef(values)) : c10::IValue(values[0]);
  }
};

}  // namespace sr::replay
