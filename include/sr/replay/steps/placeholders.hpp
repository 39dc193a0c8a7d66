// Placeholder tensors, on which a TensorIterator is built: they have the dtype, sizes and strides of an
// operand, but not its elements.
#pragma once

#include <cstdlib>
#include <new>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/TensorOptions.h>

#include <sr/base/borrowed.hpp>
#include <sr/replay/steps/fresh_tensor.hpp>
#include <sr/replay/trace/operand.hpp>

namespace sr::replay {

// A placeholder of an operand. It has bytes, all zero, since LibTorch may convert operands to another dtype
// while it builds the iterator. `is_number`: the operand takes part in type promotion as a Python number
// does.
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

// A placeholder of a result. It has no bytes, since nothing reads it.
inline at::Tensor result_placeholder(c10::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides) {
  return tensor_over(memory::borrow(nullptr), dtype, sizes, strides);
}

// A placeholder that a structured kernel asks for: without strides, the memory format of the options decides.
inline at::Tensor result_placeholder(at::IntArrayRef sizes, at::IntArrayRef strides,
                                     const at::TensorOptions& options) {
  const c10::ScalarType dtype = c10::typeMetaToScalarType(options.dtype());
  const auto format = options.memory_format_opt();
  if (strides.size() == sizes.size()) return result_placeholder(dtype, sizes, strides);
  if (format == at::MemoryFormat::ChannelsLast && sizes.size() == 4)
    return result_placeholder(dtype, sizes, c10::get_channels_last_strides_2d(sizes));
  if (format == at::MemoryFormat::ChannelsLast3d && sizes.size() == 5)
    return result_placeholder(dtype, sizes, c10::get_channels_last_strides_3d(sizes));
  return result_placeholder(dtype, sizes, recorded(dense_strides(constant_dims(sizes))));
}

}  // namespace sr::replay
