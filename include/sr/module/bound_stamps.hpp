// What the tensors of a bound call were when a program was bound to them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/TensorImpl.h>

#include <sr/module/portable_stamp.hpp>
#include <sr/module/tensor_stamp.hpp>

namespace sr {

class BoundStamps {
 public:
  void add(const at::Tensor& tensor) {
    if (TensorStamp::suits(tensor)) {
      plain_.emplace_back(tensor);
    } else {
      others_.emplace_back(tensor);
    }
  }
  void clear() {
    plain_.clear();
    others_.clear();
  }

  // True if all tensors are as they were.
  [[gnu::always_inline]] bool hold() const { return all_hold(plain_) && (others_.empty() || others_hold()); }
  // True if these are the tensors, and as they were. Needs none of the tensors that were added, which may
  // have been freed. False if any of them was not plain.
  [[gnu::always_inline]] bool hold_for(c10::ArrayRef<c10::IValue> first,
                                       c10::ArrayRef<at::Tensor> second) const {
    return has_tensors(first, second) && all_hold(plain_);
  }

 private:
  [[gnu::always_inline]] bool has_tensors(c10::ArrayRef<c10::IValue> first,
                                          c10::ArrayRef<at::Tensor> second) const {
    if (plain_.size() != first.size() + second.size() || !others_.empty()) return false;
    const TensorStamp* stamp = plain_.data();
    for (const c10::IValue& value : first) {
      if (!value.isTensor() || value.unsafeToTensorImpl() != (stamp++)->impl()) return false;
    }
    for (const at::Tensor& tensor : second) {
      if (tensor.unsafeGetTensorImpl() != (stamp++)->impl()) return false;
    }
    return true;
  }
  [[gnu::noinline]] bool others_hold() const {
    return std::ranges::all_of(others_, [](const PortableStamp& stamp) { return stamp.holds(); });
  }

  std::vector<TensorStamp> plain_;
  std::vector<PortableStamp> others_;
};

}  // namespace sr
