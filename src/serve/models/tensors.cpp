#include "tensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <ATen/EmptyTensor.h>
#include <ATen/Functions.h>

namespace sr::serve {
namespace {

using Dtype = std::pair<std::string_view, c10::ScalarType>;
constexpr std::array<Dtype, kDatatypes.size()> kDtypes{{{"BOOL", c10::ScalarType::Bool},
                                                        {"UINT8", c10::ScalarType::Byte},
                                                        {"UINT16", c10::ScalarType::UInt16},
                                                        {"UINT32", c10::ScalarType::UInt32},
                                                        {"UINT64", c10::ScalarType::UInt64},
                                                        {"INT8", c10::ScalarType::Char},
                                                        {"INT16", c10::ScalarType::Short},
                                                        {"INT32", c10::ScalarType::Int},
                                                        {"INT64", c10::ScalarType::Long},
                                                        {"FP16", c10::ScalarType::Half},
                                                        {"FP32", c10::ScalarType::Float},
                                                        {"FP64", c10::ScalarType::Double},
                                                        {"BF16", c10::ScalarType::BFloat16}}};

}  // namespace

std::string_view datatype_of(c10::ScalarType dtype) {
  const auto* const found = std::ranges::find(kDtypes, dtype, &Dtype::second);
  return found == kDtypes.end() ? std::string_view() : found->first;
}

at::Tensor tensor_of(const WireTensor& wire) {
  const c10::ScalarType dtype = std::ranges::find(kDtypes, wire.datatype, &Dtype::first)->second;
  const std::string_view bytes = wire.bytes;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % c10::elementSize(dtype) == 0;
  if (is_aligned && !bytes.empty() && dtype != c10::ScalarType::Bool) {
    // LibTorch has no tensors of constant bytes. A model that writes its arguments writes the request's.
    return at::from_blob(
        const_cast<char*>(bytes.data()), wire.shape, [owner = wire.owner](void*) {},
        at::device(at::kCPU).dtype(dtype));
  }
  at::Tensor tensor = at::detail::empty_cpu(wire.shape, dtype);
  auto* const to = static_cast<char*>(tensor.mutable_data_ptr());
  if (dtype == c10::ScalarType::Bool) {  // any byte but 0 is true; LibTorch's kernels trust in 0 and 1
    std::ranges::transform(bytes, to, [](char byte) { return static_cast<char>(byte != 0 ? 1 : 0); });
  } else if (!bytes.empty()) {
    std::memcpy(to, bytes.data(), bytes.size());
  }
  return tensor;
}

WireTensor wire_of(const std::string& name, const at::Tensor& tensor) {
  const std::string_view datatype = datatype_of(tensor.scalar_type());
  if (datatype.empty()) {
    throw RequestError(Status::unsupported, "The result '" + name + "' has the dtype " +
                                                c10::toString(tensor.scalar_type()) +
                                                ", for which the protocol has no datatype.");
  }
  auto dense = std::make_shared<const at::Tensor>(tensor.resolve_conj().resolve_neg().contiguous());
  const std::string_view bytes{static_cast<const char*>(dense->const_data_ptr()), dense->nbytes()};
  return {name, std::string(datatype), tensor.sizes().vec(), bytes, std::move(dense)};
}

}  // namespace sr::serve
