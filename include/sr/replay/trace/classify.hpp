// What recording has to know of a node: what it changes, and whether it may answer differently for the same
// metadata.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <ATen/core/enum_tag.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <sr/graph/alias_rules.hpp>
#include <sr/graph/each_node.hpp>
#include <sr/graph/operator_facts.hpp>
#include <sr/graph/processed_node.hpp>
#include <sr/graph/repeatable.hpp>
#include <sr/graph/sizes_by_data.hpp>

namespace sr::replay {

namespace detail {

// True if x[i, j] is indexed by integers only, so that the size of the result does not depend on data, as it
// does for masks.
inline bool chooses_by_integers(c10::Symbol kind, const std::vector<c10::IValue>& inputs) {
  if (kind != c10::aten::index || inputs.size() != 2 || !inputs[1].isList()) return false;
  bool any = false;
  for (const c10::IValue& index : inputs[1].toListRef()) {
    if (!index.isTensor() || !index.toTensor().defined()) continue;
    const at::ScalarType dtype = index.toTensor().scalar_type();
    if (dtype != at::kLong && dtype != at::kInt) return false;
    any = true;
  }
  return any;
}

}  // namespace detail

struct NodeFacts {
  bool foreign = false;  // neither the language's nor ATen's nor a functor of ours
  bool builtin = false;  // the language's own: containers, numbers, strings
  bool changes_tensor = false;
  bool changes_container = false;
  bool is_random = false;
  bool data_decides = false;  // sizes of the results depend on elements
  FactMask known = 0;         // what the operator's entry says

  bool has(Fact fact) const { return (known & mask_of(fact)) != 0; }
};

inline NodeFacts facts_of(const ProcessedNode& processed) {
  const torch::jit::Node& node = *processed.node;
  NodeFacts facts;
  const c10::Symbol kind = node.kind();
  facts.known = fact_table().of(kind);
  const c10::FunctionSchema* schema = node.maybeSchema();
  const auto handle = sr::detail::dispatched(node);
  facts.builtin = !handle && (kind.is_prim() || kind.is_aten());
  facts.foreign = kind == c10::prim::fork || kind == c10::aten::wait || kind == c10::prim::CallMethod ||
                  kind == c10::prim::CallFunction ||
                  (!kind.is_prim() && !kind.is_aten() && processed.kind == NodeKind::fallback &&
                   !facts.has(Fact::makes_new_results));
  if (schema != nullptr && schema->is_mutable())
    (handle ? facts.changes_tensor : facts.changes_container) = true;
  if (handle) {
    facts.data_decides = sr::detail::decides_sizes(*handle) || handle->hasTag(at::Tag::data_dependent_output);
  }
  facts.is_random = sr::detail::draws_random_numbers(node);
  return facts;
}

// True if the node looks for a key in its first input, a dictionary, and reads nothing else of it. Recording
// must not read the whole dictionary for it either, which may have any size.
inline bool looks_up_key(const torch::jit::Node& node) {
  if (node.inputs().empty() || node.input(0)->type()->kind() != c10::TypeKind::DictType) return false;
  static const c10::Symbol get = c10::Symbol::fromQualString("aten::get");
  const c10::Symbol kind = node.kind();
  return kind == c10::aten::__getitem__ || kind == c10::aten::__contains__ || kind == get ||
         kind == c10::aten::len;
}

// True if the node makes a tuple that is only returned, also within another one.
inline bool makes_returned_tuple(const torch::jit::Node& node) {
  return node.kind() == c10::prim::TupleConstruct &&
         std::ranges::all_of(node.output()->uses(), [&](const torch::jit::Use& use) {
           return use.user == node.owningGraph()->return_node() || makes_returned_tuple(*use.user);
         });
}

}  // namespace sr::replay
