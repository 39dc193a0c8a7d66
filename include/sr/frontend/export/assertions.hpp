// Run-time checks of an exported program: a branch that raises, as TorchScript represents assertions.
#pragma once

#include <string>

#include <torch/csrc/jit/ir/constants.h>

#include <sr/frontend/export/builder.hpp>

namespace sr::exported {

// `error` is the exception: "sr.ArgumentError" or "sr.Error".
inline void Builder::require(Value* condition, const std::string& message, const char* error) {
  if (torch::jit::toIValue(condition) == c10::IValue(true)) return;
  torch::jit::Node* choice = insert(c10::prim::If, {truth(condition)}, 0);
  choice->addBlock();
  const torch::jit::WithInsertPoint inside(choice->addBlock());
  insert(c10::prim::RaiseException, {constant(message), constant(std::string(error))}, 0);
}

}  // namespace sr::exported
