// The stamps of weights that LibTorch keeps as it keeps most tensors.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/ivalue.h>

#include <sr/module/tensor_stamp.hpp>

namespace sr {

// Equivalent to a WeightStamp of a constant, but compared in half of the instructions. LibTorch must count
// writes to the tensor. The storage of the tensor must outlive the stamp, and so must the tensor.
class ConstantStamp {
 public:
  static bool suits(const at::Tensor& tensor) {
    return TensorStamp::suits(tensor) && tensor.unsafeGetTensorImpl()->version_counter().enabled();
  }

  explicit ConstantStamp(const at::Tensor& tensor)
      : tensor_(tensor), version_(tensor_.impl()->version_counter().current_version()) {}

  const c10::TensorImpl* impl() const { return tensor_.impl(); }

  // Returns false if the weight has changed, or else adds what differs. Every call of a runtime evaluates
  // this for each weight.
  [[gnu::always_inline]] bool compare(TensorDifferences& differ) const {
    differ.word |= tensor_.impl()->version_counter().current_version() ^ version_;
    return tensor_.compare(differ);
  }

 private:
  TensorStamp tensor_;
  std::uint32_t version_;
};

// Stamps an attribute of an object, which must outlive the stamp.
class AttributeStamp {
 public:
  AttributeStamp(const at::Tensor& tensor, const c10::ivalue::Object* object, std::size_t attribute)
      : object_(object), attribute_(attribute), tensor_(tensor) {}

  [[gnu::always_inline]] bool compare(TensorDifferences& differ) const {
    const c10::IValue& value = object_->getSlot(attribute_);
    if (!value.isTensor() || value.unsafeToTensorImpl() != tensor_.impl()) [[unlikely]]
      return false;  // the tensor may have been freed
    return tensor_.compare(differ);
  }

 private:
  const c10::ivalue::Object* object_;
  std::size_t attribute_;
  ConstantStamp tensor_;
};

}  // namespace sr
