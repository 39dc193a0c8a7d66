// What an operator passes to the registry. All of it is constant, so that registering an operator is one
// call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <typeinfo>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/base/config.hpp>
#include <sr/base/jit_fwd.hpp>
#include <sr/base/node_kind.hpp>
#include <sr/graph/op_traits.hpp>
#include <sr/graph/processed_function.hpp>
#include <sr/graph/processed_node.hpp>
#include <sr/kernels/table.hpp>

namespace sr {

// The fields are described at OpEntry (sr/registry/registry.hpp).
struct OpSpec {
  std::string_view key;
  std::string_view schema;
  NodeKind kind = NodeKind::native;
  const std::type_info* functor = nullptr;
  ProcessedFunction function;
  ProcessedFunction write;
  const kernels::VectorLoops* vector_op = nullptr;
  bool (*accepts)(const torch::jit::Node&) = nullptr;
  OutTraits traits;
  std::size_t argument_count = 0;
};

// Throws RegistryError if another functor has the key.
void register_op(const OpSpec& spec);

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
