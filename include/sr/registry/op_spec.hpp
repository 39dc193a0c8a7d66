// What an operator hands to the registry: constants of the program, so that registering one is one call.
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

// OpEntry (sr/registry.hpp) explains the fields.
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

// Throws RegistryError when another functor has the key already.
void register_op(const OpSpec& spec);

// Runs one out-variant node. `call` unpacks the inputs and writes into the output slots, which hold tensors
// of the right dtype: with the right sizes and strides already, or with no elements. Throws what `call` and
// LibTorch's operator throw.
void run_out_variant(NodeView& view, void (*call)(const void* op, NodeView& view), const void* op);

namespace detail {

// A result into its slot. Not inline: where g++ 12 sees through the destructor of an IValue it warns of an
// overflow that is none (-Wstringop-overflow).
void put(c10::IValue& slot, at::Tensor&& value);
void put(c10::IValue& slot, std::int64_t value);
void put(c10::IValue& slot, double value);
void put(c10::IValue& slot, bool value);
void put(c10::IValue& slot, c10::IValue&& value);

}  // namespace detail

}  // namespace sr
