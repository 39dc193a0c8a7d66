// Between tensors of the protocol and LibTorch's.
#pragma once

#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "../protocol/message.hpp"

namespace sr::serve {

// Reads the bytes in place where they are aligned, and keeps their owner; else copies them. The tensor must
// have been checked.
at::Tensor tensor_of(const WireTensor& wire);

// `name` is that of the result. The tensor owns the bytes. Throws RequestError for a dtype that the protocol
// has no datatype for, such as complex numbers.
WireTensor wire_of(const std::string& name, const at::Tensor& tensor);

// Empty for a dtype that the protocol does not have.
std::string_view datatype_of(c10::ScalarType dtype);

}  // namespace sr::serve
