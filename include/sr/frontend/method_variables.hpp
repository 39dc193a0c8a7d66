// Gives the graph of a method the variables of `forward`, so that both run on one state.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/error.hpp>
#include <sr/frontend/assigned_attributes.hpp>
#include <sr/frontend/weight_source.hpp>

namespace sr::detail {

inline AttributeKey attribute_of(const StateVariable& variable) {
  return {variable.source.object(), variable.source.attribute()};
}

inline std::set<AttributeKey> keys_of(const std::vector<StateVariable>& variables) {
  std::set<AttributeKey> keys;
  for (const StateVariable& variable : variables) keys.insert(attribute_of(variable));
  return keys;
}

// True if there are variables, and all are attributes.
inline bool are_attributes(const std::vector<StateVariable>& variables) {
  return !variables.empty() && std::ranges::all_of(variables, [](const StateVariable& variable) {
    return variable.source.object() != nullptr;
  });
}

// Makes the graph assign each variable to itself at its end: ThreadedAttributes then makes an input of it,
// whether the method reads, writes or ignores it. The graph must be inlined; its first input is the module.
inline void assign_to_themselves(torch::jit::Graph& graph, const std::vector<StateVariable>& variables) {
  const torch::jit::WithInsertPoint at_end(graph.return_node());
  for (const StateVariable& variable : variables) {
    torch::jit::Value* object = graph.inputs()[0];
    std::istringstream path(variable.source.name());
    std::string name;
    std::getline(path, name, '.');
    for (std::string next; std::getline(path, next, '.'); name = std::move(next))
      object = graph.insertGetAttr(object, name);
    torch::jit::Node* const assign =
        graph.create(c10::prim::SetAttr, {object, graph.insertGetAttr(object, name)}, /*num_outputs=*/0);
    assign->s_(c10::attr::name, name);
    graph.insertNode(assign);
  }
}

// Reorders the last inputs of a graph, which stand for `own`, so that they stand for `variables`. `assigned`
// are positions in `own`, and then in `variables`. Throws UnsupportedOpError if the method writes an
// attribute that is not among `variables`.
inline void take_variables(torch::jit::Graph& graph, const std::string& method,
                           const std::vector<StateVariable>& variables, std::vector<StateVariable>& own,
                           std::vector<std::size_t>& assigned) {
  const std::size_t first = graph.inputs().size() - own.size();
  std::vector<StateVariable> all = variables;
  std::vector<torch::jit::Value*> inputs;
  inputs.reserve(variables.size());
  for (const StateVariable& variable : variables)
    inputs.push_back(graph.addInput()->setType(
        variable.source.object()->type()->getAttribute(variable.source.attribute())));
  std::vector<std::size_t> moved;  // by position in `own`
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto found = std::ranges::find(variables, attribute_of(own[i]), attribute_of);
    if (found == variables.end()) {
      throw UnsupportedOpError("The method '" + method + "' writes the attribute '" + own[i].source.name() +
                               "', which `forward` does not write, so that it is no state of a session.");
    }
    moved.push_back(static_cast<std::size_t>(found - variables.begin()));
    all[moved.back()].is_written |= own[i].is_written;
    graph.inputs()[first + i]->replaceAllUsesWith(inputs[moved.back()]);
  }
  for (std::size_t i = 0; i < own.size(); ++i) graph.eraseInput(first);
  for (std::size_t& position : assigned) position = moved[position];
  own = std::move(all);
}

}  // namespace sr::detail
