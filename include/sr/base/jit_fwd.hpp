// Names of LibTorch's TorchScript that the public headers pass on: their definitions take seconds to compile.
#pragma once

namespace c10 {
struct FunctionSchema;
}

namespace torch::jit {
struct Graph;
struct Module;
struct Node;
class Operation;
}  // namespace torch::jit
