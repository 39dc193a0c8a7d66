// Random models with state, as TorchScript.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/script.h>

#include "fuzz/random.hpp"

namespace sr::fuzz {

inline constexpr std::int64_t kWidth = 4;  // elements of an argument that fits

// An attribute with its type and first value.
struct StatefulAttribute {
  std::string name;
  c10::TypePtr type;
  c10::IValue value;
};

// `forward(self, x)`, for x of kWidth elements; for others, some models throw somewhere.
struct StatefulModel {
  std::string source;
  std::vector<StatefulAttribute> attributes;

  torch::jit::Module compile() const;
};

StatefulModel random_model(Random& random);

}  // namespace sr::fuzz
