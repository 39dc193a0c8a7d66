// Tensors of LibTorch on memory of a caller, and descriptions of LibTorch's tensors.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "sr.h"

namespace sr::c {

// Returns a tensor on the caller's memory. `name` is that of the argument, for messages. Throws ArgumentError
// for a description that is no dense or strided tensor on the CPU.
at::Tensor tensor_of(const sr_tensor& described, const char* name);

// Places a tensor that tensor_of has made for an earlier call on the caller's memory, which takes a tenth of
// the time. Returns false if it has another dtype, other sizes or other strides, or if the description is
// wrong.
bool place(const at::Tensor& tensor, const sr_tensor& described);

// True if nothing but the caller refers to the tensor and its storage, so that it can be placed elsewhere.
bool can_be_placed(const at::Tensor& tensor);

// Returns the dtype as DLPack has it; nothing if there is no such one.
std::optional<sr_dtype> dlpack_dtype(c10::ScalarType dtype);

// Describes the tensor, which must outlive the description and keep its sizes. Throws UnsupportedOpError if
// DLPack has no such dtype, or if the tensor is sparse or elsewhere.
sr_tensor described(const at::Tensor& tensor);

}  // namespace sr::c
