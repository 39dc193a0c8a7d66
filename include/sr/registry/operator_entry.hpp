// The record of an operator in the registry. All of it is constant, so that registering an operator is one
// call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/base/config.hpp>
#include <sr/base/jit_fwd.hpp>
#include <sr/graph/node_functions.hpp>
#include <sr/graph/processed_node.hpp>

namespace sr {

// The registry keeps the views: what they point to is a constant of the program or library that registers it.
struct OperatorEntry : NodeFunctions {
  std::string_view key;     // "name.overload" of the schema, or the kind of a prim:: node
  std::string_view schema;  // the literal; empty for prim:: kinds
  bool (*accepts)(const torch::jit::Node&) = nullptr;  // null: every node
  std::size_t argument_count = 0;                      // of the schema; not checked for prim:: kinds
};

// Throws RegistryError if another functor has the key.
void register_op(const OperatorEntry& entry);

// Runs one out-variant node. `call` unpacks the inputs and writes into the output slots. These hold tensors
// of the right dtype, either with the right sizes and strides or without elements. Throws what `call` and
// LibTorch's operator throw.
void run_out_variant(NodeView& view, void (*call)(const void* op, NodeView& view), const void* op);

namespace detail {

// Stores a result in its slot. Not inline: g++ 12 gives a false warning (-Wstringop-overflow) where it
// inlines the destructor of an IValue.
void put(c10::IValue& slot, at::Tensor&& value);
void put(c10::IValue& slot, std::int64_t value);
void put(c10::IValue& slot, double value);
void put(c10::IValue& slot, bool value);
void put(c10::IValue& slot, c10::IValue&& value);

}  // namespace detail

}  // namespace sr
