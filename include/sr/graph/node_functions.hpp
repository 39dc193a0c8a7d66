// How a node is run: what its operator registered, or what stands in for it.
#pragma once

#include <string>
#include <typeinfo>

#include <c10/util/Type.h>

#include <sr/base/node_kind.hpp>
#include <sr/graph/op_traits.hpp>
#include <sr/graph/processed_function.hpp>
#include <sr/kernels/table.hpp>

namespace sr {

// The base of an operator's entry in the registry, and of a node that has chosen one.
struct NodeFunctions {
  NodeKind kind = NodeKind::fallback;
  ProcessedFunction function;
  // Writes into outputs that have their memory already, without the out protocol. Null for other operators.
  ProcessedFunction write;
  const kernels::VectorLoops* vector_op = nullptr;  // of a pointwise out variant that brings one, for replays
  OutTraits traits;
  const std::type_info* functor = nullptr;  // null: LibTorch's operator runs the node
};

// The demangled type of the functor, or what runs the node instead of one.
inline std::string functor_name(const NodeFunctions& functions) {
  if (functions.functor != nullptr) return c10::demangle(functions.functor->name());
  return functions.kind == NodeKind::out_variant ? "generic out variant" : "interpreter";
}

}  // namespace sr
