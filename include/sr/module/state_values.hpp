// Holds the values of a module's variables, which calls write or assign.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/EmptyTensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/SmallVector.h>

#include <sr/base/extent.hpp>
#include <sr/base/identity.hpp>
#include <sr/base/shared_pages.hpp>

namespace sr {

// Two objects share no memory and no containers. Variables of one object may.
class StateValues {
 public:
  StateValues() = default;
  // `self` is the object of a graph that reads and assigns attributes itself, or None, and
  // `owns_tensors_of_self` whether the graph may write its tensors.
  explicit StateValues(std::vector<c10::IValue> values, c10::IValue self = {},
                       bool owns_tensors_of_self = false)
      : values_(std::move(values)), self_(std::move(self)), owns_tensors_of_self_(owns_tensors_of_self) {
    find_shared();
  }

  const std::vector<c10::IValue>& variables() const { return values_; }
  std::vector<c10::IValue> take_variables() && { return std::move(values_); }
  const c10::IValue& self() const { return self_; }
  // True if two variables share memory or a container, so that a write to one changes the other.
  bool is_shared() const { return is_shared_; }

  // Gives the variables at `positions` new values.
  void assign(const std::vector<std::size_t>& positions, std::vector<c10::IValue> made) {
    for (std::size_t i = 0; i < made.size(); ++i) values_[positions[i]] = std::move(made[i]);
    if (!made.empty()) find_shared();
  }

  // Copies the variables at `positions` that share memory or containers with each other, but not with other
  // variables. Afterwards they share none. Results do not change if calls never write these variables in
  // place.
  void separate(const std::vector<std::size_t>& positions) {
    if (!is_shared_ || !self_.isNone()) return;
    std::unordered_set<const void*> of_others;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (std::ranges::find(positions, i) == positions.end()) detail::add_identities(values_[i], of_others);
    }
    for (const std::size_t i : positions) {
      std::unordered_set<const void*> own;
      detail::add_identities(values_[i], own);
      const auto is_others = [&](const void* identity) { return of_others.count(identity) != 0; };
      if (std::ranges::none_of(own, is_others)) values_[i] = detail::with_tensors(values_[i], copy_alone);
    }
    find_shared();
  }

  // Returns an object with these variables and the same self().
  StateValues with(std::vector<c10::IValue> variables) const {
    return StateValues(std::move(variables), self_, owns_tensors_of_self_);
  }

  // Returns the bytes that all tensors span. Memory that two tensors share counts twice.
  std::size_t bytes() const {
    std::size_t sum = 0;
    each_own_tensor([&](const at::Tensor& tensor) { sum += extent_in_bytes(tensor); });
    return sum;
  }

  // Returns copies, which share memory and containers with each other where the values do.
  StateValues copy() const { return copy_with(copy_alone); }
  // Returns a copy whose large tensors are SharedPages, so that copy_on_write() can share their pages.
  StateValues copy_to_pages() const {
    if (is_shared_ || !self_.isNone()) return copy();
    std::vector<std::span<const std::byte>> parts;
    each_large([&](const at::Tensor& tensor) {
      parts.emplace_back(static_cast<const std::byte*>(tensor.const_data_ptr()), extent_in_bytes(tensor));
    });
    const auto pages = detail::SharedPages::make(parts);
    if (pages == nullptr) return copy();
    std::size_t next = 0;
    return copy_with([&](const at::Tensor& tensor) {
      if (!is_large(tensor)) return copy_alone(tensor);
      const std::size_t offset = next;
      next = detail::SharedPages::offset_behind(offset, extent_in_bytes(tensor));
      return tensor_on(*pages, offset, tensor);
    });
  }
  // Returns a copy that shares the pages of large tensors with this object. A page is copied when either of
  // them writes it.
  StateValues copy_on_write() const {
    std::unordered_map<const detail::SharedPages*, detail::SharedPages::Pointer> copies;
    return copy_with([&](const at::Tensor& tensor) {
      detail::SharedPages* const pages =
          is_large(tensor) ? detail::SharedPages::of(tensor.storage().data_ptr()) : nullptr;
      if (pages == nullptr) return copy_alone(tensor);
      const auto [known, is_new] = copies.try_emplace(pages);
      if (is_new) known->second = pages->share();
      if (known->second == nullptr) return copy_alone(tensor);
      const auto* const data = static_cast<const std::byte*>(tensor.const_data_ptr());
      return tensor_on(*known->second, static_cast<std::size_t>(data - pages->data()), tensor);
    });
  }

 private:
  static constexpr std::size_t kLeastOfPages = std::size_t{256} << 10;  // bytes; copying less is as fast

  template <class CopyTensor>
  StateValues copy_with(const CopyTensor& copy_tensor) const {
    StateValues made;
    made.values_.reserve(values_.size());
    made.owns_tensors_of_self_ = owns_tensors_of_self_;
    made.is_shared_ = is_shared_;
    if (!is_shared_ && self_.isNone()) {
      for (const c10::IValue& value : values_)
        made.values_.push_back(detail::with_tensors(value, copy_tensor));
      return made;
    }
    std::unordered_set<const void*> all;
    for (const c10::IValue& value : values_) detail::add_identities(value, all);
    detail::FreshCopies copies(all);
    each_own_tensor([&](const at::Tensor& tensor) { copies.copy_only_parts_of(tensor); });
    for (const c10::IValue& value : values_) made.values_.push_back(copies(value));
    if (!self_.isNone()) made.self_ = copies.copy_object(self_, owns_tensors_of_self_);
    return made;
  }

  // Returns a copy of the bytes that the tensor spans, made without the dispatcher.
  static at::Tensor copy_alone(const at::Tensor& tensor) {
    if (!detail::can_be_copied_as_bytes(tensor)) return tensor.clone();
    at::Tensor made = at::detail::empty_strided_cpu(tensor.sizes(), tensor.strides(), tensor.scalar_type());
    const std::size_t bytes = extent_in_bytes(tensor);
    if (bytes != 0) std::memcpy(made.mutable_data_ptr(), tensor.const_data_ptr(), bytes);
    return made;
  }

  static bool is_large(const at::Tensor& tensor) {
    return detail::can_be_copied_as_bytes(tensor) && extent_in_bytes(tensor) >= kLeastOfPages;
  }
  template <class Visit>
  void each_large(const Visit& visit) const {
    for (const c10::IValue& value : values_) {
      detail::each_tensor(value, [&](const at::Tensor& tensor) {
        if (is_large(tensor)) visit(tensor);
      });
    }
  }

  // Returns a tensor with the layout of `like` on the pages.
  static at::Tensor tensor_on(detail::SharedPages& pages, std::size_t offset, const at::Tensor& like) {
    auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(),
                                                         extent_in_bytes(like), pages.memory(offset),
                                                         c10::GetCPUAllocator(), /*resizable=*/true);
    at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(std::move(storage)), c10::DispatchKeySet(c10::DispatchKey::CPU), like.dtype());
    made.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), 0);
    return made;
  }

  template <class Visit>
  void each_own_tensor(const Visit& visit) const {
    for (const c10::IValue& value : values_) detail::each_tensor(value, visit);
    if (self_.isNone() || !owns_tensors_of_self_) return;
    self_.visit([&](const c10::IValue& value) {
      if (value.isTensor() && value.toTensor().defined()) visit(value.toTensor());
      return false;
    });
  }

  void find_shared() {
    is_shared_ = false;
    c10::SmallVector<const void*, 16> seen;
    const auto note = [&](const void* identity) {
      if (identity == nullptr) return;
      is_shared_ |= std::ranges::find(seen, identity) != seen.end();
      seen.push_back(identity);
    };
    for (const c10::IValue& value : values_) {
      if (!value.isTensor()) note(detail::identity_of(value));
      detail::each_tensor(value, [&](const at::Tensor& tensor) { note(detail::storage_of(tensor)); });
    }
  }

  std::vector<c10::IValue> values_;
  c10::IValue self_;
  bool owns_tensors_of_self_ = false;
  bool is_shared_ = false;
};

}  // namespace sr
