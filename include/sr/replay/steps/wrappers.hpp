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
  // Returns a new tensor with this layout, whose bytes lie at `address` in each call. If `shares`, it has one
  // storage with all others of that base, so that LibTorch refuses writes to operands that overlap.
  at::Tensor make(c10::ScalarType dtype, bool is_conj, Address address, VaryingDims dims,
                  bool shares = false) {
    const Numbers sizes = recorded(dims.sizes_of), strides = recorded(dims.strides_of);
    return make(dtype, is_conj, address, {sizes, strides, std::move(dims)}, shares);
  }

  // Replaces the tensors of `from` in a value by new ones of this, which are bound to the same addresses. The
  // tensors of all its values must be replaced, one value after the other.
  c10::IValue clone(const c10::IValue& value, const Wrappers& from) {
    return sr::detail::with_tensors(value, [&](const at::Tensor& tensor) {
      const auto known = std::ranges::find(from.bound_, sr::detail::storage_of(tensor), &Bound::storage);
      if (known == from.bound_.end()) return tensor;
      c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
      const bool shares = std::ranges::find(from.sharing_, impl) != from.sharing_.end();
      Address address = known->address;
      if (shares) address.offset = tensor.storage_offset() * static_cast<std::int64_t>(tensor.itemsize());
      const auto varying = std::ranges::find(from.varying_, impl, &Varying::tensor);
      VaryingDims dims = varying == from.varying_.end() ? VaryingDims() : varying->dims;
      return make(tensor.scalar_type(), tensor.is_conj(), address,
                  {tensor.sizes(), tensor.strides(), std::move(dims)}, shares);
    });
  }

  std::size_t bytes() const { return bytes_of(bound_) + bytes_of(varying_) + bound_.size() * kTensorBytes; }

  // Gives the tensors the sizes and strides that they have in the current call.
  void settle(SizeValues& values) {
    for (Varying& each : varying_) {
      each.dims.settle(values);
      each.tensor->set_sizes_and_strides(each.dims.sizes, each.dims.strides);
      each.tensor->unsafe_storage().set_nbytes(bytes_up_to_end(*each.tensor));
    }
    if (!varying_.empty()) measure_shared();
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

  struct Layout {
    at::IntArrayRef sizes, strides;  // for now
    VaryingDims dims;
  };

  at::Tensor make(c10::ScalarType dtype, bool is_conj, Address address, Layout layout, bool shares) {
    const auto element = static_cast<std::int64_t>(c10::elementSize(dtype));
    shares = shares && address.offset >= 0 && address.offset % element == 0;
    at::Tensor wrapper;
    if (shares) {
      wrapper =
          tensor_on(storage_at(address.base), dtype, layout.sizes, layout.strides, address.offset / element);
      sharing_.push_back(wrapper.unsafeGetTensorImpl());
      measure_shared();
    } else {
      wrapper = tensor_over(memory::borrow(nullptr), dtype, layout.sizes, layout.strides);
      bound_.push_back({wrapper.storage().unsafeGetStorageImpl(), address});
    }
    if (is_conj) wrapper._set_conj(true);
    if (layout.dims.vary()) varying_.push_back({wrapper.unsafeGetTensorImpl(), std::move(layout.dims)});
    return wrapper;
  }

  // Returns the storage that tensors of this base share.
  c10::Storage storage_at(std::uint32_t base) {
    for (c10::TensorImpl* const known : sharing_) {
      const auto bound =
          std::ranges::find(bound_, known->unsafe_storage().unsafeGetStorageImpl(), &Bound::storage);
      if (bound->address.base == base) return known->storage();
    }
    const at::Tensor made = tensor_over(memory::borrow(nullptr), c10::kByte, {0}, {1});
    bound_.push_back({made.storage().unsafeGetStorageImpl(), {base, 0}});
    return made.storage();
  }

  static std::size_t bytes_up_to_end(const c10::TensorImpl& tensor) {
    const std::size_t extent = extent_of(tensor.sizes(), tensor.strides());
    return extent == 0 ? 0 : (static_cast<std::size_t>(tensor.storage_offset()) + extent) * tensor.itemsize();
  }
  // Each shared storage reaches as far as the elements of its tensors.
  void measure_shared() const {
    for (c10::TensorImpl* const tensor : sharing_) tensor->unsafe_storage().set_nbytes(std::size_t{0});
    for (c10::TensorImpl* const tensor : sharing_) {
      const c10::Storage& storage = tensor->unsafe_storage();
      storage.set_nbytes(std::max(storage.nbytes(), bytes_up_to_end(*tensor)));
    }
  }

  std::vector<Bound> bound_;
  std::vector<c10::TensorImpl*> sharing_;  // tensors whose storage may hold other tensors
  std::vector<Varying> varying_;           // those whose sizes or strides differ between calls
};

}  // namespace sr::replay
