// What a runtime remembers of the last run of an out-variant node, to know whether the output tensors in its
// slots already have the right dtype, sizes and strides.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

namespace sr {

// True if the strides are those of a new tensor of these sizes. This is stricter than contiguous: the stride
// of a dimension of size 1 does not matter for the elements, but decides which memory format LibTorch
// suggests for results.
inline bool has_standard_strides(const c10::TensorImpl* impl) {
  const auto sizes = impl->sizes();
  const auto strides = impl->strides();
  std::int64_t expected = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (strides[d] != expected) return false;
    expected *= std::max<std::int64_t>(sizes[d], 1);
  }
  return true;
}

// The metadata of a defined, plain tensor.
struct TensorMetadata {
  c10::SmallVector<std::int64_t, 4> sizes;
  c10::SmallVector<std::int64_t, 4> strides;
  at::ScalarType dtype = at::kFloat;
  bool standard = true;  // has_standard_strides

  void assign(const at::Tensor& tensor);
  bool matches(const at::Tensor& tensor) const;
};

struct NodeState {
  enum class Change : std::uint8_t {
    none,       // same metadata: outputs are right as they stand
    sizes,      // same dtypes and kinds, other sizes or strides: shrink the outputs, the kernel resizes them
    everything  // nothing may be assumed: make the outputs anew with the interpreter's own operator
  };

  bool valid = false;                          // false: never ran, or the last run threw
  bool all_standard = false;                   // strides of all tensor inputs of the last run
  bool takes_no_elements = true;               // the kernel resizes outputs it is given without elements
  bool placed_in_place = false;                // the planner put output 0 on the bytes of a dying input
  c10::SmallVector<std::int64_t, 16> exact;    // serialised metadata and values of the dynamic inputs
  c10::SmallVector<std::int64_t, 8> category;  // the part of it that dtypes and memory formats depend on
  c10::SmallVector<TensorMetadata, 1> outputs;
  at::Tensor derived;  // what an op made of a constant input once (a transposed weight), and of which
  const c10::TensorImpl* derived_from = nullptr;

  // Makes the next run allocate new outputs.
  void forget_weights() {
    valid = false;
    derived.reset();
    derived_from = nullptr;
  }
};

inline void TensorMetadata::assign(const at::Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const auto impl_sizes = impl->sizes();
  const auto impl_strides = impl->strides();
  sizes.assign(impl_sizes.begin(), impl_sizes.end());
  strides.assign(impl_strides.begin(), impl_strides.end());
  dtype = tensor.scalar_type();
  standard = has_standard_strides(impl);
}

inline bool TensorMetadata::matches(const at::Tensor& tensor) const {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const auto impl_sizes = impl->sizes();
  if (impl->dtype() != c10::scalarTypeToTypeMeta(dtype) || impl_sizes.size() != sizes.size()) return false;
  const auto impl_strides = impl->strides();
  // A loop, since std::equal would call memcmp for these few numbers.
  for (std::size_t d = 0; d < impl_sizes.size(); ++d) {
    if (impl_sizes[d] != sizes[d] || impl_strides[d] != strides[d]) return false;
  }
  return true;
}

}  // namespace sr
