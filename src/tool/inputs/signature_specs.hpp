// Arguments that the signature of a model describes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/function_schema.h>

namespace sr::tool {

// Specifications as random_argument reads them, one for each required argument: tensors of the dtype and the
// sizes that torch.export wrote, with `open` for a size that may vary. Integers are drawn from 0 and 1, which
// every table of embeddings has. Empty if the schema leaves an argument's dtype or rank open, as that of a
// scripted module does.
std::vector<std::string> specs_of(const c10::FunctionSchema& schema, std::int64_t open);

}  // namespace sr::tool
