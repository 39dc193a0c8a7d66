// Which function lowers which operator. Filled by static initialisers of the operators' headers, read when
// plans are made.
#pragma once

#include <string>
#include <unordered_map>

#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay {

using LowerTable = std::unordered_map<std::string, LowerFunction>;  // by the key of the schema

// Kernels of ours come first, then LibTorch's on iterators that stay.
struct LowerTables {
  LowerTable kernels, iterators;
};

inline LowerTables& lower_tables() {
  static LowerTables tables;
  return tables;
}

}  // namespace sr::replay
