// What an exported program checks while it runs: a branch that raises, as TorchScript writes an assertion.
#pragma once

#include <string>

#include <torch/csrc/jit/ir/constants.h>

#include <sr/exported/builder.hpp>

namespace sr::exported {

inline void Builder::require(Value* condition, const std::string& message) {
  if (torch::jit::toIValue(condition) == c10::IValue(true)) return;
  torch::jit::Node* choice = insert(c10::prim::If, {truth(condition)}, 0);
  choice->addBlock();
  const torch::jit::WithInsertPoint inside(choice->addBlock());
  insert(c10::prim::RaiseException, {constant(message), constant(c10::IValue())}, 0);
}

}  // namespace sr::exported
