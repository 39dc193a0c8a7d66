#include "tensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include <ATen/EmptyTensor.h>
#include <ATen/Functions.h>
#include <c10/core/ScalarType.h>

#include <sr/error.hpp>

namespace sr::c {
namespace {

struct KnownDtype {
  sr_dtype dlpack;
  c10::ScalarType dtype;
};
// The codes of DLPack: 0 int, 1 unsigned int, 2 float, 4 bfloat, 5 complex, 6 bool.
constexpr std::array<KnownDtype, 16> kDtypes{{{{2, 32, 1}, c10::ScalarType::Float},
                                              {{0, 64, 1}, c10::ScalarType::Long},
                                              {{0, 32, 1}, c10::ScalarType::Int},
                                              {{2, 64, 1}, c10::ScalarType::Double},
                                              {{2, 16, 1}, c10::ScalarType::Half},
                                              {{4, 16, 1}, c10::ScalarType::BFloat16},
                                              {{6, 8, 1}, c10::ScalarType::Bool},
                                              {{1, 8, 1}, c10::ScalarType::Byte},
                                              {{0, 8, 1}, c10::ScalarType::Char},
                                              {{0, 16, 1}, c10::ScalarType::Short},
                                              {{1, 16, 1}, c10::ScalarType::UInt16},
                                              {{1, 32, 1}, c10::ScalarType::UInt32},
                                              {{1, 64, 1}, c10::ScalarType::UInt64},
                                              {{5, 32, 1}, c10::ScalarType::ComplexHalf},
                                              {{5, 64, 1}, c10::ScalarType::ComplexFloat},
                                              {{5, 128, 1}, c10::ScalarType::ComplexDouble}}};

// Maps each dtype of LibTorch to that of DLPack. An entry with 0 bits means that DLPack has no such dtype.
constexpr auto kDlpackDtypes = [] {
  std::array<sr_dtype, static_cast<std::size_t>(c10::NumScalarTypes)> table{};
  for (const KnownDtype& known : kDtypes) table[static_cast<std::size_t>(known.dtype)] = known.dlpack;
  return table;
}();

sr_dtype dlpack_of(c10::ScalarType dtype) {
  return kDlpackDtypes[static_cast<std::size_t>(dtype)];
}

// The bytes of a number, of which a complex element has two.
std::size_t alignment_of(sr_dtype dtype) {
  return dtype.bits >> (dtype.code == 5 ? 4 : 3);
}

bool is_same(sr_dtype a, sr_dtype b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

[[noreturn]] void refuse(const char* name, const std::string& what) {
  throw ArgumentError("The tensor of the argument '" + std::string(name) + "' " + what, name);
}

c10::ScalarType dtype_of(sr_dtype given, const char* name) {
  for (const KnownDtype& known : kDtypes) {
    if (known.dlpack.code == given.code && known.dlpack.bits == given.bits && given.lanes == 1)
      return known.dtype;
  }
  refuse(name, "has the dtype code " + std::to_string(given.code) + ", bits " + std::to_string(given.bits) +
                   ", lanes " + std::to_string(given.lanes) + ", of which there is none.");
}

// A valid description of a tensor, as LibTorch needs it.
struct Checked {
  c10::ScalarType dtype;
  c10::IntArrayRef sizes, strides;  // no strides: dense
  std::size_t bytes;                // from the first element to the end of the last one
  void* data;
};

Checked checked(const sr_tensor& given, const char* name) {
  if (given.device.type != 1) {
    refuse(name, "is on a device of DLPack's type " + std::to_string(given.device.type) +
                     ", but sr runs on the CPU, which is type 1.");
  }
  constexpr std::int32_t kMostDims = 64;
  if (given.ndim < 0 || given.ndim > kMostDims)
    refuse(name, "has " + std::to_string(given.ndim) + " dimensions, but there may be 0 to 64.");
  if (given.ndim > 0 && given.shape == nullptr) refuse(name, "has no shape.");
  const auto dims = static_cast<std::size_t>(given.ndim);
  Checked result{dtype_of(given.dtype, name), {given.shape, dims}, {}, 0, nullptr};
  if (given.strides != nullptr) result.strides = {given.strides, dims};
  const auto is_negative = [](std::int64_t number) { return number < 0; };
  if (std::ranges::any_of(result.sizes, is_negative)) refuse(name, "has a negative size.");
  if (std::ranges::any_of(result.strides, is_negative))
    refuse(name, "has a negative stride, which LibTorch does not have.");
  const std::size_t element = c10::elementSize(result.dtype);
  result.bytes = given.strides == nullptr
                     ? at::detail::computeStorageNbytesContiguous(result.sizes, element)
                     : at::detail::computeStorageNbytes(result.sizes, result.strides, element);
  if (given.data == nullptr && result.bytes != 0) refuse(name, "has elements, but its data are null.");
  result.data = given.data == nullptr ? nullptr : static_cast<char*>(given.data) + given.byte_offset;
  if (reinterpret_cast<std::uintptr_t>(result.data) % alignment_of(given.dtype) != 0)
    refuse(name, "lies at an address that is no multiple of the size of its elements.");
  return result;
}

at::Tensor make(const Checked& checked) {
  const auto options = at::TensorOptions(at::kCPU).dtype(checked.dtype);
  if (checked.bytes == 0) {
    at::Tensor empty = at::empty({0}, options);
    empty.unsafeGetTensorImpl()->set_sizes_contiguous(checked.sizes);
    if (!checked.strides.empty())
      empty.unsafeGetTensorImpl()->set_sizes_and_strides(checked.sizes, checked.strides);
    return empty;
  }
  return checked.strides.empty() ? at::from_blob(checked.data, checked.sizes, options)
                                 : at::from_blob(checked.data, checked.sizes, checked.strides, options);
}

}  // namespace

at::Tensor tensor_of(const sr_tensor& described, const char* name) {
  return make(checked(described, name));
}

std::optional<sr_dtype> dlpack_dtype(c10::ScalarType dtype) {
  const sr_dtype known = dlpack_of(dtype);
  return known.bits == 0 ? std::nullopt : std::optional(known);
}

sr_tensor described(const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const sr_dtype dtype = dlpack_of(tensor.scalar_type());
  if (dtype.bits == 0 || impl.layout() != c10::kStrided || !impl.is_cpu()) {
    throw UnsupportedOpError("A result is a tensor of dtype " +
                             std::string(c10::toString(tensor.scalar_type())) + ", layout " +
                             c10::str(tensor.layout()) + " and device " + tensor.device().str() +
                             ", which this interface cannot describe.");
  }
  return {const_cast<void*>(impl.data()),
          {1, 0},
          static_cast<std::int32_t>(impl.dim()),
          dtype,
          const_cast<std::int64_t*>(impl.sizes().data()),
          const_cast<std::int64_t*>(impl.strides().data()),
          0};
}

bool place(const at::Tensor& tensor, const sr_tensor& described) {
  c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
  const c10::IntArrayRef sizes = impl->sizes();
  const sr_dtype dtype = dlpack_of(tensor.scalar_type());
  const auto address = reinterpret_cast<std::uintptr_t>(described.data) + described.byte_offset;
  if (described.device.type != 1 || described.data == nullptr || !is_same(dtype, described.dtype) ||
      (address & (alignment_of(dtype) - 1)) != 0 || impl->storage_offset() != 0 ||
      described.ndim != static_cast<std::int32_t>(sizes.size()) ||
      (described.ndim > 0 && described.shape == nullptr))
    return false;
  const auto is_as_wide = [&](const std::int64_t* own, const std::int64_t* given) {
    for (std::int32_t d = 0; d < described.ndim; ++d) {
      if (own[d] != given[d]) return false;
    }
    return true;
  };
  if (!is_as_wide(sizes.data(), described.shape)) return false;
  if (described.strides == nullptr ? !impl->is_contiguous()
                                   : !is_as_wide(impl->strides().data(), described.strides))
    return false;
  c10::StorageImpl* const storage = impl->unsafe_storage().unsafeGetStorageImpl();
  auto* const data = reinterpret_cast<void*>(address);
  if (storage->data() != data) storage->set_data_ptr_noswap(c10::DataPtr(data, c10::Device(c10::kCPU)));
  return true;
}

bool can_be_placed(const at::Tensor& tensor) {
  c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
  const c10::Storage& storage = impl->unsafe_storage();
  // The model may have resized the tensor, or made it require a gradient.
  return tensor.use_count() == 1 && storage.use_count() == 1 &&
         !storage.unsafeGetStorageImpl()->resizable() && !impl->requires_grad();
}

}  // namespace sr::c
