// Makes random models with state, as TorchScript.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/script.h>

#include "fuzz/random.hpp"

namespace sr::fuzz {

inline constexpr std::int64_t kWidth = 4;  // elements of an argument that fits

// Describes an attribute: its type and initial value.
struct StatefulAttribute {
  std::string name;
  c10::TypePtr type;
  c10::IValue value;
};

// Returns the source of `forward(self, x)` for x of kWidth elements. Some models throw for other sizes.
struct StatefulModel {
  std::string source;
  std::vector<StatefulAttribute> attributes;

  torch::jit::Module compile() const;
};

StatefulModel random_model(Random& random);

}  // namespace sr::fuzz
