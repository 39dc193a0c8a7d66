// Arguments of one batch size made into those of another.
#pragma once

#include <cstdint>
#include <string>

#include "inputs.hpp"

namespace sr::tool {

// Dimension 0 of the first argument is the batch. Every tensor argument whose dimension 0 is as long gets
// `batch` rows, those it has repeated in turn or left out from the end; the others stay as they are. Throws
// ArgumentError if the first argument is no tensor with rows.
ArgumentList with_batch(const ArgumentList& args, std::int64_t batch);

// "(Float[8, 50], Long[8], int)"
std::string text_of(const ArgumentList& args);

}  // namespace sr::tool
