// The inventory of operators that sr does not leave to the interpreter: the functor of each, and what a
// replay makes of it.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <torch/csrc/jit/runtime/operator.h>

#include <sr/graph/alias_rules.hpp>
#include <sr/registry/probe_node.hpp>
#include <sr/registry/registry.hpp>
#include <sr/replay/trace/classify.hpp>

namespace sr {

// The best that a replay can make of a node, if kernels take its dtypes and layouts.
enum class ReplayKind {
  kernel,    // of ours
  iterator,  // LibTorch's loop, prepared once
  call,      // the functor, into planned memory
  none,      // settled when the call was recorded: views, sizes, containers, numbers that no element decides
  interpreted,  // the functor, which makes its results anew
};

inline const char* name_of(ReplayKind kind) {
  switch (kind) {
    case ReplayKind::kernel:
      return "kernel";
    case ReplayKind::iterator:
      return "iterator";
    case ReplayKind::call:
      return "call";
    case ReplayKind::none:
      return "none";
    case ReplayKind::interpreted:
      return "interpreted";
  }
  return "?";
}

struct InventoryEntry {
  std::string key;
  NodeKind kind = NodeKind::native;
  std::string functor;
  ReplayKind replay = ReplayKind::interpreted;
};

namespace detail {

inline bool any_may_hold_tensor(const std::vector<c10::Argument>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const c10::Argument& argument) { return may_hold_tensor(argument.type()); });
}

// True if recording settles the results of a native functor.
inline bool is_settled(const c10::FunctionSchema& schema) {
  const c10::Symbol kind = c10::Symbol::fromQualString(schema.name());
  const bool is_dispatched = c10::Dispatcher::singleton().findSchema(schema.operator_name()).has_value();
  bool writes_tensor = false;
  each_written(schema, schema.arguments().size(), [&](std::size_t i) {
    writes_tensor |= schema.arguments()[i].type()->kind() == c10::TypeKind::TensorType;
  });
  if (writes_tensor) return false;
  if (!any_may_hold_tensor(schema.returns())) {
    return !any_may_hold_tensor(schema.arguments()) || has_fact(kind, Fact::reads_metadata_only) ||
           (!is_dispatched && has_fact(kind, Fact::moves_values));
  }
  return !is_dispatched ||
         std::any_of(schema.returns().begin(), schema.returns().end(),
                     [](const c10::Argument& result) { return result.alias_info() != nullptr; });
}

inline ReplayKind replay_of(const std::string& key, NodeKind kind, const c10::FunctionSchema* schema) {
  const OperatorParts spec = registry().operator_of(key);
  if (spec.to_kernel != nullptr) return ReplayKind::kernel;
  if (spec.to_iterator != nullptr) return ReplayKind::iterator;
  if (kind == NodeKind::out_variant) return ReplayKind::call;
  if (key == "prim::fork" || key == "aten::wait") return ReplayKind::interpreted;  // tasks of each call
  // Control flow and containers have no schema.
  return schema == nullptr || is_settled(*schema) ? ReplayKind::none : ReplayKind::interpreted;
}

}  // namespace detail

// Sorted by key: operators with a functor, then those with an `.out` overload of LibTorch.
inline std::vector<InventoryEntry> inventory() {
  std::unordered_map<std::string, c10::FunctionSchema> schemas;
  for (const auto& one : torch::jit::getAllOperators()) schemas.emplace(key_of(one->schema()), one->schema());
  std::vector<InventoryEntry> all;
  std::unordered_set<std::string> known;
  for (const OperatorEntry& entry : registry().entries()) {
    const std::string key(entry.key);
    const auto schema = schemas.find(key);
    all.push_back({key, entry.kind, functor_name(entry),
                   detail::replay_of(key, entry.kind, schema == schemas.end() ? nullptr : &schema->second)});
    known.insert(key);
  }
  for (const auto& [key, schema] : schemas) {
    if (known.count(key) != 0 || schema.is_mutable() || schema.is_vararg() || schema.is_varret()) continue;
    const OperatorSelection selection = select_operator(schema);
    if (selection.kind != NodeKind::out_variant) continue;
    all.push_back({key, selection.kind, selection.functor, detail::replay_of(key, selection.kind, &schema)});
  }
  std::ranges::sort(all, [](const InventoryEntry& a, const InventoryEntry& b) {
    return std::pair(a.key, a.kind) < std::pair(b.key, b.kind);
  });
  return all;
}

}  // namespace sr
