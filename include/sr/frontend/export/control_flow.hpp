// Higher-order operators: cond becomes prim::If; while_loop, scan and map become prim::Loop, with their
// graphs inlined.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/frontend/export/argument_values.hpp>
#include <sr/frontend/export/builder.hpp>
#include <sr/graph/own_operators.hpp>

namespace sr::exported {

inline void Builder::add_higher_order(const Json& node, const std::string& name) {
  if (name == "cond") return add_cond(node);
  if (name == "while_loop") return add_while_loop(node);
  if (name == "scan") return add_scan(node);
  if (name == "map_impl") return add_map(node);
  if (name == "wrap_with_set_grad_enabled") return add_region(node, 1);
  if (name == "wrap_with_autocast") return add_autocast(node);
  unsupported(
      "is a higher-order operator that sr does not read (cond, while_loop, scan, map, torch.no_grad and "
      "torch.autocast are); exported_program.run_decompositions() before it is saved removes some of them");
}

inline const Json& Builder::input(const Json& node, std::size_t position) const {
  const Json& inputs = items_of(node, "inputs", where_);
  if (position >= inputs.size()) malformed(where_, "has too few inputs");
  return member(inputs[position], "arg", where_);
}

inline const Json& Builder::sub_graph(const Json& node, std::size_t position) const {
  const auto [tag, value] = tagged(input(node, position), where_);
  if (tag != "as_graph") malformed(where_, "has something else where a graph is expected");
  return member(value, "graph", where_);
}

// Inserts the nodes of a graph at the insertion point, with these values as inputs.
inline std::vector<Value*> Builder::inlined(const Json& graph, const Values& operands) {
  const std::string outer = where_;
  const torch::jit::SourceRange outer_range = range_;
  const Json& inputs = items_of(graph, "inputs", where_);
  if (inputs.size() != operands.size()) {
    malformed(where_, "gives " + std::to_string(operands.size()) + " values to a graph of " +
                          std::to_string(inputs.size()) + " inputs");
  }
  Scope scope;
  Scope* const enclosing = std::exchange(scope_, &scope);
  for (std::size_t i = 0; i < operands.size(); ++i) define_result(inputs[i], operands[i]);
  scope_ = enclosing;
  Values results = add_graph(graph, scope);
  where_ = outer;
  range_ = outer_range;
  return results;
}

inline void Builder::add_cond(const Json& node) {
  Value* condition = truth(argument(input(node, 0), c10::AnyType::get()));
  const Values operands = elements(tagged(input(node, 3), where_));
  torch::jit::Node* choice = insert(c10::prim::If, {condition}, 0);
  for (const std::size_t branch : {1U, 2U}) {
    torch::jit::Block* block = choice->addBlock();
    const torch::jit::WithInsertPoint inside(block);
    for (Value* result : inlined(sub_graph(node, branch), operands)) block->registerOutput(result);
  }
  const auto first = choice->blocks()[0]->outputs(), second = choice->blocks()[1]->outputs();
  if (first.size() != second.size()) malformed(where_, "has branches with different numbers of results");
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto type = c10::unifyTypes(first[i]->type(), second[i]->type(), /*default_to_union=*/false);
    if (!type) unsupported("has branches whose results are of different types");
    choice->addOutput()->setType(*type);
  }
  define_results(node, choice->outputs().vec());
}

inline void Builder::add_while_loop(const Json& node) {
  const Json& condition = sub_graph(node, 0);
  const Json& body = sub_graph(node, 1);
  const Values carried = elements(tagged(input(node, 2), where_));
  const Values captured = elements(tagged(input(node, 3), where_));
  // A condition is inlined twice, so the graph would double with each loop inside a condition.
  constexpr int kDeepest = 4;
  if (conditions_ == kDeepest) malformed(where_, "is a loop inside the conditions of 4 other loops");
  const auto goes_on = [&](Values values) {
    values.insert(values.end(), captured.begin(), captured.end());
    ++conditions_;
    const Values results = inlined(condition, values);
    --conditions_;
    if (results.size() != 1) malformed(where_, "has a condition that is not one value");
    return truth(results[0]);
  };
  Value* const most = constant(std::numeric_limits<std::int64_t>::max());
  Values inputs{most, goes_on(carried)};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  torch::jit::Node* loop = insert(c10::prim::Loop, inputs, 0);
  torch::jit::Block* block = loop->addBlock();
  block->addInput()->setType(c10::IntType::get());
  Values values;
  for (Value* value : carried) values.push_back(block->addInput()->setType(value->type()));
  {
    const torch::jit::WithInsertPoint inside(block);
    Values operands = values;
    operands.insert(operands.end(), captured.begin(), captured.end());
    Values results = inlined(body, operands);
    if (results.size() != carried.size())
      malformed(where_, "has a body that returns another number of values");
    for (std::size_t i = 0; i < results.size(); ++i) results[i] = coerce(results[i], carried[i]->type());
    block->registerOutput(goes_on(results));
    for (Value* result : results) block->registerOutput(result);
  }
  for (Value* value : carried) loop->addOutput()->setType(value->type());
  define_results(node, loop->outputs().vec());
}

// torch.ops.higher_order.scan(graph, initial values, sequences, captured values).
inline void Builder::add_scan(const Json& node) {
  const Values carried = elements(tagged(input(node, 1), where_));
  Values results = for_each_element(sub_graph(node, 0), carried, elements(tagged(input(node, 2), where_)),
                                    elements(tagged(input(node, 3), where_)));
  for (std::size_t i = carried.size(); i < results.size(); ++i)
    results[i] = call("aten::contiguous", {results[i], constant(at::MemoryFormat::Contiguous)});
  define_results(node, results);
}

// torch.ops.higher_order.map_impl(graph, sequences, captured values).
inline void Builder::add_map(const Json& node) {
  define_results(node, for_each_element(sub_graph(node, 0), {}, elements(tagged(input(node, 1), where_)),
                                        elements(tagged(input(node, 2), where_))));
}

// A loop over the first dimension of the sequences, which are tensors of at least one element. In each turn
// the body takes `carried`, an element of each sequence and `captured`; it returns what is carried to the
// next turn, and then results. Returns what is carried last, and each result of all turns, stacked.
inline std::vector<Value*> Builder::for_each_element(const Json& body, const Values& carried,
                                                     const Values& sequences, const Values& captured) {
  const std::size_t outputs = items_of(body, "outputs", where_).size();
  if (outputs < carried.size()) malformed(where_, "has a body that returns too few values");
  if (sequences.empty()) unsupported("has no tensor whose elements it could take");
  Value* const first = constant(0);
  Value* const count = call("aten::size", {sequences[0], first});
  require(call("aten::gt", {count, first}), where_ + " takes the elements of a tensor that has none.",
          "sr.Error");
  Values lists;
  for (std::size_t i = carried.size(); i < outputs; ++i) lists.push_back(list({}, c10::TensorType::get()));
  Values inputs{count, constant(true)};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  torch::jit::Node* loop = insert(c10::prim::Loop, inputs, 0);
  torch::jit::Block* block = loop->addBlock();
  Value* const turn = block->addInput()->setType(c10::IntType::get());
  Values operands;
  for (Value* value : carried) operands.push_back(block->addInput()->setType(value->type()));
  {
    const torch::jit::WithInsertPoint inside(block);
    for (Value* sequence : sequences) operands.push_back(call("aten::select", {sequence, first, turn}));
    operands.insert(operands.end(), captured.begin(), captured.end());
    const Values results = inlined(body, operands);
    block->registerOutput(constant(true));
    for (std::size_t i = 0; i < carried.size(); ++i)
      block->registerOutput(coerce(results[i], carried[i]->type()));
    for (std::size_t i = carried.size(); i < outputs; ++i)
      call("aten::append", {lists[i - carried.size()], results[i]});
  }
  for (Value* value : carried) loop->addOutput()->setType(value->type());
  Values results = loop->outputs().vec();
  for (Value* each : lists) results.push_back(call("aten::stack", {each, first}));
  return results;
}

// Inlines the graph that is input `position` of the node. The inputs behind it are the inputs of the graph.
// Regions of torch.no_grad and torch.enable_grad are such nodes, since calls never compute gradients.
inline void Builder::add_region(const Json& node, std::size_t position) {
  Values operands;
  for (std::size_t i = position + 1; i < items_of(node, "inputs", where_).size(); ++i) {
    operands.push_back(argument(input(node, i), c10::AnyType::get()));
  }
  define_results(node, inlined(sub_graph(node, position), operands));
}

// The inputs are the device type, the dtype, whether autocast is enabled, whether casts are cached, the
// graph, and the inputs of the graph. A region that disables autocast is inlined, and refuses calls under
// autocast, which would reach its operators.
inline void Builder::add_autocast(const Json& node) {
  const std::string& device = as_string(tagged(input(node, 0), where_).value, where_);
  if (device == "cpu" && as_bool(tagged(input(node, 2), where_).value, where_)) {
    unsupported(
        "is a region with autocast, whose casts depend on the operators inside; "
        "exported_program.run_decompositions() before it is saved writes the casts into the program");
  }
  const bool is_for_cpu = device == "cpu";
  for (std::size_t i = 5; is_for_cpu && i < items_of(node, "inputs", where_).size(); ++i) {
    Value* const operand = argument(input(node, i), c10::AnyType::get());
    if (operand->type()->kind() != c10::TypeKind::TensorType) continue;
    sr::detail::register_own_operators();
    require(call("sr::autocast_is_off", {operand}),
            "The program was exported with a region in which autocast is off, and is called under autocast. "
            "Call it outside of torch.autocast, or within torch.autocast('cpu', enabled=False).",
            "sr.ArgumentError");
    break;
  }
  add_region(node, 4);
}

}  // namespace sr::exported
