// The functions that lower operators, by key. Static initialisers fill the tables; building programs reads
// them.
#pragma once

#include <string>
#include <unordered_map>

#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay {

using LowerTable = std::unordered_map<std::string, LowerFunction>;  // by the key of the schema

// Our kernels are tried first, then LibTorch's on bound iterators.
struct LowerTables {
  LowerTable kernels, iterators;
};

inline LowerTables& lower_tables() {
  static LowerTables tables;
  return tables;
}

}  // namespace sr::replay
