// Selects the function of each node: an out variant, else a native functor, else LibTorch's own operator.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <sr/base/options.hpp>
#include <sr/registry/boxed_op.hpp>
#include <sr/registry/registry.hpp>

namespace sr {

struct Selected : NodeFunctions {
  std::string declined;                          // functors that were asked before and declined
  torch::jit::Operation* interpreter = nullptr;  // stateless, though its call operator is not const
  bool asks_gradients = false;                   // see ProcessedNode
};

namespace detail {

// "aten::foo (model.py:12)": how messages name a node.
inline std::string place_of(const torch::jit::Node& node) {
  std::string place = key_of(node);
  if (const auto line = node.sourceRange().file_line_col()) {
    place += " (" + std::get<0>(*line) + ":" + std::to_string(std::get<1>(*line)) + ")";
  }
  return place;
}

// Adds the node's place to the exception of its operator. The messages of prim::RaiseException are the
// model's own and stay as they are. Control flow adds nothing: the node inside of it has done so.
inline void add_place(c10::Error& error, const torch::jit::Node& node) {
  if (node.kind() != c10::prim::RaiseException && node.blocks().empty())
    error.add_context("while sr ran " + place_of(node));
}

inline bool outputs_are_tensors(const torch::jit::Node& node) {
  const auto outputs = node.outputs();
  return !outputs.empty() && std::all_of(outputs.begin(), outputs.end(), [](const torch::jit::Value* output) {
    return output->type()->kind() == c10::TypeKind::TensorType;
  });
}

inline bool fits(const OperatorEntry& entry, const torch::jit::Node& node) {
  if (!entry.schema.empty() && entry.argument_count != node.inputs().size()) return false;
  return entry.accepts == nullptr || entry.accepts(node);
}

// Positions of the arguments that are integers and mean a dtype, layout, memory format or device.
inline std::vector<std::uint32_t> kind_inputs(const torch::jit::Node& node) {
  std::vector<std::uint32_t> positions;
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (schema == nullptr) return positions;
  for (std::uint32_t i = 0; i < schema->arguments().size() && i < node.inputs().size(); ++i) {
    c10::TypePtr type = schema->arguments()[i].real_type();
    if (type->kind() == c10::TypeKind::OptionalType) type = type->containedType(0);
    switch (type->kind()) {
      case c10::TypeKind::ScalarTypeType:
      case c10::TypeKind::LayoutType:
      case c10::TypeKind::MemoryFormatType:
        positions.push_back(i);
        break;
      default:
        break;
    }
  }
  return positions;
}

// True if other operators implement this one, each of which is called through the dispatcher.
inline bool is_composite(const torch::jit::Node& node) {
  const auto handle = dispatched(node);
  return handle && handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

inline void add_dispatcher_traits(const torch::jit::Node& node, OutTraits& traits) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (schema == nullptr) return;
  if (const auto handle = c10::Dispatcher::singleton().findSchema(schema->operator_name())) {
    traits.data_dependent_shape |= handle->hasTag(at::Tag::dynamic_output_shape);
  }
}

}  // namespace detail

// Why a node cannot be run.
struct Refusal {
  std::string op;        // the node's kind, such as "aten::add"
  std::string sentence;  // names the node and its source line
};

// Selects a function for every node. Adds to `refusals` for each node that cannot be run. The
// boxed ops that it makes live in `interpreted`, whose elements must not move.
class Selector {
 public:
  Selector(const StaticModuleOptions& options, std::deque<BoxedOp>& interpreted,
           std::vector<Refusal>& refusals)
      : options_(options), interpreted_(interpreted), refusals_(refusals) {}

  Selected select(const torch::jit::Node& node) {
    Selected chosen;
    chosen.asks_gradients = options_.numerics == Numerics::exact && detail::is_composite(node);
    BoxedOp* own = make_interpreted(node);
    if (own != nullptr && own->operation) chosen.interpreter = &own->operation;
    const std::string key = key_of(node);
    // The interpreter's operator allocates the outputs of an out variant: without it there is no out variant.
    if (options_.debug.enable_out_variant && chosen.interpreter != nullptr &&
        detail::outputs_are_tensors(node)) {
      if (offer(key, NodeKind::out_variant, node, chosen)) {
        detail::add_dispatcher_traits(node, chosen.traits);
        return chosen;
      }
    }
    if (offer(key, NodeKind::native, node, chosen)) return chosen;
    if (own == nullptr) {
      refuse(node);
      return chosen;
    }
    chosen.function.op = own;
    if (options_.debug.enable_out_variant) own->out_overload = detail::find_out_overload(node);
    if (own->out_overload) {
      chosen.kind = NodeKind::out_variant;
      chosen.function.run = &BoxedOp::run_generic_out;
      chosen.write = {&BoxedOp::call_out_overload, own};
      detail::add_dispatcher_traits(node, chosen.traits);
      return chosen;
    }
    chosen.function = {&BoxedOp::run_fallback, own};
    return chosen;
  }

 private:
  static bool offer(const std::string& key, NodeKind kind, const torch::jit::Node& node, Selected& chosen) {
    const OperatorEntry* const entry = registry().find(key, kind);
    if (entry == nullptr) return false;
    if (!detail::fits(*entry, node)) {
      chosen.declined += (chosen.declined.empty() ? "" : ", ") + functor_name(*entry);
      return false;
    }
    static_cast<NodeFunctions&>(chosen) = *entry;
    return true;
  }

  // Returns null if LibTorch has no operator for the node (control flow, attributes, and nodes that the
  // interpreter inlines).
  BoxedOp* make_interpreted(const torch::jit::Node& node) {
    const torch::jit::Operator* found = node.maybeOperator();
    if (found == nullptr || !found->hasOperation() || !node.blocks().empty()) return nullptr;
    BoxedOp& op = interpreted_.emplace_back();
    op.operation = node.getOperation();
    return &op;
  }

  void refuse(const torch::jit::Node& node) {
    refusals_.push_back(
        {node.kind().toQualString(),
         detail::place_of(node) +
             (node.maybeOperator() == nullptr
                  ? " is not an operator that this LibTorch or sr knows; load the library that registers it."
                  : " has no implementation outside the interpreter.")});
  }

  const StaticModuleOptions& options_;
  std::deque<BoxedOp>& interpreted_;
  std::vector<Refusal>& refusals_;
};

}  // namespace sr
