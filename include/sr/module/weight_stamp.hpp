// The stamp of a weight that ConstantStamp::suits rejects. It changes when the weight does: another tensor,
// another storage, other memory, a write, other sizes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/ivalue.h>
#include <c10/core/TensorImpl.h>

#include <sr/module/portable_stamp.hpp>

namespace sr {

// The storage of the tensor must outlive the stamp, and so must the object that holds the tensor or, for a
// constant, the tensor itself.
class WeightStamp {
 public:
  // `object` and `attribute` say where the caller's module keeps the tensor; `object` is null for a constant
  // of a graph.
  WeightStamp(const at::Tensor& tensor, const c10::ivalue::Object* object, std::size_t attribute)
      : object_(object), attribute_(attribute), tensor_(tensor), version_(version_of(*tensor_.impl())) {}

  // True if the weight has not changed. Every call of a runtime evaluates this for each such weight.
  bool holds() const {
    if (object_ != nullptr) {
      const c10::IValue& value = object_->getSlot(attribute_);
      if (!value.isTensor() || value.unsafeToTensorImpl() != tensor_.impl())
        return false;  // the tensor may have been freed
    }
    return version_of(*tensor_.impl()) == version_ && tensor_.holds();
  }

 private:
  // LibTorch does not count the writes to tensors made in inference mode.
  static std::uint32_t version_of(const c10::TensorImpl& impl) {
    const c10::VariableVersion& counter = impl.version_counter();
    return counter.enabled() ? counter.current_version() : 0;
  }

  const c10::ivalue::Object* object_;
  std::size_t attribute_;
  PortableStamp tensor_;
  std::uint32_t version_;
};

}  // namespace sr
