// Which nodes draw random numbers or call unknown code, so that they must run exactly once.
#pragma once

#include <ATen/core/enum_tag.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/alias_rules.hpp>
#include <sr/graph/operator_facts.hpp>

namespace sr {

namespace detail {

// Recurrent networks, attention and dropout draw random numbers only in training and with a dropout
// probability above 0, although the tags of their schemas say that they always do.
inline bool drops_nothing(const torch::jit::Node& node, const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  for (std::size_t i = 0; i < arguments.size() && i < node.inputs().size(); ++i) {
    const std::string& name = arguments[i].name();
    const auto value = torch::jit::toIValue(node.input(i));
    if (!value) continue;
    const bool idle =
        (name == "train" || name == "training")
            ? value->isBool() && !value->toBool()
            : (name == "dropout" || name == "dropout_p") && value->isDouble() && value->toDouble() == 0;
    if (idle) return true;
  }
  return false;
}

inline bool draws_random_numbers(const torch::jit::Node& node) {
  const auto handle = dispatched(node);
  if (!handle) return node.isNondeterministic();
  return handle->hasTag(at::Tag::nondeterministic_seeded) && !drops_nothing(node, handle->schema());
}

}  // namespace detail

// True if the node calls no unknown code, and has no effect but on values that it is given and on generators.
inline bool is_known_code(const torch::jit::Node& node) {
  const c10::Symbol kind = node.kind();
  const bool is_known = kind.is_prim() || kind.is_aten() || kind.domainString() == std::string_view("sr") ||
                        has_fact(kind, Fact::makes_new_results);
  return is_known && kind != c10::prim::fork && kind != c10::prim::CallMethod &&
         kind != c10::prim::CallFunction &&
         (!has_fact(kind, Fact::unrepeatable) || has_fact(kind, Fact::asks_hidden_state));  // it only asks
}

// True if the node draws no random numbers either.
inline bool is_repeatable(const torch::jit::Node& node) {
  return is_known_code(node) && !detail::draws_random_numbers(node);
}

}  // namespace sr
