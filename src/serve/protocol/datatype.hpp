// Datatypes of the Open Inference Protocol. Strings (BYTES) are not among them: models here take numbers.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace sr::serve {

struct Datatype {
  std::string_view name;
  std::size_t bytes;  // of an element
};

inline constexpr std::array<Datatype, 13> kDatatypes{{{"BOOL", 1},
                                                      {"UINT8", 1},
                                                      {"UINT16", 2},
                                                      {"UINT32", 4},
                                                      {"UINT64", 8},
                                                      {"INT8", 1},
                                                      {"INT16", 2},
                                                      {"INT32", 4},
                                                      {"INT64", 8},
                                                      {"FP16", 2},
                                                      {"FP32", 4},
                                                      {"FP64", 8},
                                                      {"BF16", 2}}};

}  // namespace sr::serve
