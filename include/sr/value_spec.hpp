// What a model takes and returns, for programs that load models they do not know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

namespace sr {

// A size of a tensor: a number, or the name of a size that may vary between calls ('s0'). Equal names stand
// for equal sizes.
using SizeSpec = std::variant<std::int64_t, std::string>;

// An argument or a result of a model.
struct ValueSpec {
  std::string name;                            // of a result: may be empty
  std::string type;                            // as TorchScript writes it: "Tensor", "Optional[int]"
  std::optional<c10::ScalarType> dtype;        // of a tensor, unless the model leaves it open
  std::optional<std::vector<SizeSpec>> sizes;  // of a tensor, unless the model leaves them open
  std::optional<c10::IValue> default_value;    // of an argument that may be left out
};

}  // namespace sr
