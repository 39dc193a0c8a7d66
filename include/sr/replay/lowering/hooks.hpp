// What families of operators add to lowering besides the functions of their entries. The engine calls these
// functions without including a family.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sr/registry/operator_parts.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// A function that is called at one point of lowering. Families define inline constants of this type, so that
// all functions are registered before main() starts. They must not depend on the order of their calls.
template <class Point>
class Hook {
 public:
  explicit Hook(typename Point::Function function) { functions().push_back(function); }

  static std::span<const typename Point::Function> all() { return functions(); }

 private:
  static std::vector<typename Point::Function>& functions() {
    static std::vector<typename Point::Function> registered;
    return registered;
  }
};

// Called once for each program, before its first node is lowered.
struct BeforeLowering {
  using Function = void (*)(Lowering& lowering);
};

// Called for each node after it has been lowered. `runs_kernel` is true if sr's or LibTorch's kernels compute
// the node. Returns a sentence for the report, or nullopt.
struct Remark {
  using Function = std::optional<std::string> (*)(const Lowering& lowering, const TracedNode& node,
                                                  bool runs_kernel);
};

// The operators that the step of a product can compute before it writes its results.
enum class Epilogue : std::uint8_t { add, multiply, relu, clamp, convert };

// Called for a node with such an operator. Returns true if the step that makes the node's input now computes
// the node's result, too. Returns false, having changed nothing, if it cannot.
template <Epilogue kOperator>
struct Absorb {
  using Function = LowerFunction;
};

namespace lower {

// Lowers a node to an epilogue of the step that makes its input. If no step can absorb the node, calls
// `kOtherwise`.
template <Epilogue kOperator, LowerFunction kOtherwise>
bool absorbed_or(Lowering& lowering, const TracedNode& node) {
  for (const LowerFunction absorb : Hook<Absorb<kOperator>>::all()) {
    if (absorb(lowering, node)) return true;
  }
  return kOtherwise(lowering, node);
}

}  // namespace lower
}  // namespace sr::replay
