// Tensors on planned bytes, for steps that need real ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/base/borrowed.hpp>
#include <sr/base/identity.hpp>
#include <sr/replay/steps/fresh_tensor.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/steps/varying.hpp>

namespace sr::replay {

// The memory of a tensor whose elements lie in another owner's memory.
inline constexpr std::size_t kTensorBytes = sizeof(c10::TensorImpl) + sizeof(c10::StorageImpl);

// Tensors of a node that are bound to other bytes in each call.
class Wrappers {
 public:
  // A new tensor with this layout, whose bytes lie at `address` in each call.
  at::Tensor make(c10::ScalarType dtype, bool is_conj, Address address, VaryingDims dims) {
    at::Tensor wrapper =
        tensor_over(memory::borrow(nullptr), dtype, recorded(dims.sizes_of), recorded(dims.strides_of));
    if (is_conj) wrapper._set_conj(true);
    bind(wrapper, address, std::move(dims));
    return wrapper;
  }

  // Replaces the tensors of `from` in a value by new ones of this, which are bound to the same addresses. The
  // tensors of all its values must be replaced, one value after the other.
  c10::IValue clone(const c10::IValue& value, const Wrappers& from) {
    return sr::detail::with_tensors(value, [&](const at::Tensor& tensor) {
      const auto known = std::ranges::find(from.bound_, sr::detail::storage_of(tensor), &Bound::storage);
      if (known == from.bound_.end()) return tensor;
      at::Tensor wrapper =
          tensor_over(memory::borrow(nullptr), tensor.scalar_type(), tensor.sizes(), tensor.strides());
      if (tensor.is_conj()) wrapper._set_conj(true);
      const auto varying = std::ranges::find(from.varying_, tensor.unsafeGetTensorImpl(), &Varying::tensor);
      bind(wrapper, known->address, varying == from.varying_.end() ? VaryingDims() : varying->dims);
      return wrapper;
    });
  }

  std::size_t bytes() const { return bytes_of(bound_) + bytes_of(varying_) + bound_.size() * kTensorBytes; }

  // Gives the tensors the sizes and strides that they have in the current call.
  void settle(SizeValues& values) {
    for (Varying& each : varying_) {
      each.dims.settle(values);
      each.tensor->set_sizes_and_strides(each.dims.sizes, each.dims.strides);
      each.tensor->unsafe_storage().set_nbytes(extent_of(each.dims.sizes, each.dims.strides) *
                                               each.tensor->itemsize());
    }
  }

  void bind(std::byte* const* bases) const {
    for (const Bound& bound : bound_)
      bound.storage->set_data_ptr_noswap(memory::borrow(bound.address.in(bases)));
  }
  bool are_bound(std::byte* const* bases) const {
    return std::ranges::all_of(
        bound_, [&](const Bound& bound) { return bound.storage->data() == bound.address.in(bases); });
  }

 private:
  // The node's frame holds the wrappers.
  struct Bound {
    c10::StorageImpl* storage;
    Address address;
  };
  struct Varying {
    c10::TensorImpl* tensor;
    VaryingDims dims;
  };

  void bind(const at::Tensor& wrapper, Address address, VaryingDims dims) {
    bound_.push_back({wrapper.storage().unsafeGetStorageImpl(), address});
    if (dims.vary()) varying_.push_back({wrapper.unsafeGetTensorImpl(), std::move(dims)});
  }

  std::vector<Bound> bound_;
  std::vector<Varying> varying_;  // those whose sizes or strides differ between calls
};

}  // namespace sr::replay
