// Tensors with the metadata of a node's operands, on which iterators are built.
#pragma once

#include <cstdlib>
#include <new>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/TensorOptions.h>

#include <sr/base/borrowed.hpp>
#include <sr/replay/fresh_tensor.hpp>
#include <sr/replay/operand.hpp>

namespace sr::replay {

// A tensor of zeros, which an iterator may convert while it is built; its bytes are freed when it is bound.
// `is_number`: it takes part in the promotion of dtypes as a number does.
inline at::Tensor placeholder(c10::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides,
                              bool is_number = false) {
  const std::size_t bytes = extent_of(sizes, strides) * c10::elementSize(dtype);
  at::DataPtr data = memory::borrow(nullptr);
  if (bytes != 0) {
    void* const block = std::calloc(bytes, 1);  // NOLINT(cppcoreguidelines-no-malloc)
    if (block == nullptr) throw std::bad_alloc();
    data = {block, block, &std::free, at::Device(at::kCPU)};
  }
  at::Tensor tensor = tensor_over(std::move(data), dtype, sizes, strides);
  if (is_number) tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

// Of a result for which an iterator asks; without strides it is laid out as the memory format says.
inline at::Tensor result_placeholder(at::IntArrayRef sizes, at::IntArrayRef strides,
                                     const at::TensorOptions& options) {
  const c10::ScalarType dtype = c10::typeMetaToScalarType(options.dtype());
  const auto format = options.memory_format_opt();
  if (strides.size() == sizes.size()) return placeholder(dtype, sizes, strides);
  if (format == at::MemoryFormat::ChannelsLast && sizes.size() == 4)
    return placeholder(dtype, sizes, c10::get_channels_last_strides_2d(sizes));
  if (format == at::MemoryFormat::ChannelsLast3d && sizes.size() == 5)
    return placeholder(dtype, sizes, c10::get_channels_last_strides_3d(sizes));
  return placeholder(dtype, sizes, recorded(dense_strides(constant_dims(sizes))));
}

}  // namespace sr::replay
