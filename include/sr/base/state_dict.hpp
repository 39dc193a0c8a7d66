// Parameters and buffers by name, as `torch.nn.Module.state_dict` gives them.
#pragma once

#include <string>
#include <unordered_map>

#include <ATen/core/TensorBody.h>

namespace sr {

using StateDict = std::unordered_map<std::string, at::Tensor>;

}  // namespace sr
