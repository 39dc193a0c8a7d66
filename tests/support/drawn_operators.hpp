// Draws random calls of every operator that has a rule of layouts, a lowering or a fact.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <sr/registry/registry.hpp>
#include <sr/sr.hpp>

#include "support/drawn_arguments.hpp"
#include "support/oracle.hpp"
#include "support/values.hpp"

namespace sr::test {

// Operators that crash or hang in LibTorch itself for such arguments, return uninitialised or random
// elements, or read state that no signature describes.
inline const std::unordered_set<std::string>& excluded_operators() {
  static const std::unordered_set<std::string> names{"aten::empty",
                                                     "aten::empty_permuted",
                                                     "aten::empty_like",
                                                     "aten::new_empty",
                                                     "aten::empty_strided",
                                                     "aten::rand",
                                                     "aten::randn",
                                                     "aten::randint",
                                                     "aten::randperm",
                                                     "aten::rand_like",
                                                     "aten::randn_like",
                                                     "aten::bernoulli",
                                                     "aten::multinomial",
                                                     "aten::normal",
                                                     "aten::rrelu",
                                                     "aten::as_strided",
                                                     "aten::storage_offset",
                                                     "aten::_version",
                                                     "aten::is_set_to",
                                                     "aten::resize",
                                                     "aten::resize_",
                                                     "aten::resize_as",
                                                     "aten::resize_as_",
                                                     "aten::set_",
                                                     "aten::set_data",
                                                     "aten::embedding_bag",
                                                     "aten::binary_cross_entropy",
                                                     "aten::native_batch_norm",
                                                     "aten::_native_batch_norm_legit",
                                                     "aten::_batch_norm_impl_index",
                                                     "aten::new_empty_strided"};
  return names;
}

struct DrawnCase {
  std::shared_ptr<torch::jit::Graph> graph = std::make_shared<torch::jit::Graph>();
  std::vector<c10::IValue> inputs;
};

// Returns a graph with one node for the operator. Tensors are inputs of the graph, other arguments are
// constants. Returns nullopt if LibTorch does not select this overload for the arguments.
inline std::optional<DrawnCase> draw_case(const c10::FunctionSchema& schema, Random& random) {
  DrawnCase made;
  Drawing drawing(random);
  std::vector<torch::jit::Value*> values;
  for (const c10::Argument& argument : schema.arguments()) {
    c10::IValue value = argument.default_value() && below(random, 2) == 0
                            ? *argument.default_value()
                            : drawing.value(argument.type(), argument.name());
    if (value.isTensor()) {
      values.push_back(made.graph->addInput()->setType(c10::TensorType::get()));
      made.inputs.push_back(std::move(value));
    } else if (value.isTensorList()) {
      values.push_back(made.graph->addInput()->setType(c10::ListType::ofTensors()));
      made.inputs.push_back(std::move(value));
    } else if (const auto constant = torch::jit::tryInsertConstant(*made.graph, value)) {
      values.push_back(*constant);
    } else {
      return std::nullopt;
    }
  }
  torch::jit::Node* node = made.graph->insertNode(
      made.graph->create(c10::Symbol::fromQualString(schema.name()), values, schema.returns().size()));
  const c10::FunctionSchema* found = node->maybeSchema();
  if (found == nullptr || found->operator_name() != schema.operator_name()) return std::nullopt;
  for (std::size_t i = 0; i < schema.returns().size(); ++i) {
    node->output(i)->setType(schema.returns()[i].type());
    made.graph->registerOutput(node->output(i));
  }
  return made;
}

struct Answer {
  bool threw = false;
  c10::IValue result;
};

template <class Call>
Answer answer_of(const DrawnCase& of, const Call& call) {
  std::vector<c10::IValue> inputs = copy_inputs(of.inputs);
  try {
    return {false, call(inputs)};
  } catch (const std::exception&) {
    return {true, {}};
  }
}

inline Answer interpreted(const DrawnCase& of, const c10::FunctionSchema& schema) {
  return answer_of(of, [&](std::vector<c10::IValue>& inputs) {
    const at::NoGradGuard no_grad;
    torch::jit::Stack stack;
    std::size_t next = 0;
    const torch::jit::Node* node = *of.graph->nodes().rbegin();
    for (const torch::jit::Value* value : node->inputs())
      stack.push_back(value->node()->kind() == c10::prim::Constant ? *torch::jit::toIValue(value)
                                                                   : inputs[next++]);
    node->getOperation()(stack);
    return schema.returns().size() == 1 ? stack.back()
                                        : c10::IValue(c10::ivalue::Tuple::create(std::move(stack)));
  });
}

// Returns what differs, or an empty text.
inline std::string difference_of(const Answer& expected, const Answer& actual, const OracleOptions& options) {
  if (actual.threw != expected.threw) return expected.threw ? "only the interpreter threw" : "only sr threw";
  return actual.threw ? "" : compare_values(expected.result, actual.result, options, "result");
}

inline std::string text_of(const c10::FunctionSchema& schema, const DrawnCase& of) {
  std::string text = c10::toString(schema) + "\n" + of.graph->toString();
  for (const c10::IValue& input : of.inputs) {
    each_tensor(input, [&](const at::Tensor& tensor) {
      text += c10::str(tensor.scalar_type(), tensor.sizes(), " strides ", tensor.strides(), "\n");
    });
  }
  return text;
}

// Returns the number of cases for each operator: the value of the environment variable `variable`, or `usual`
// if it is not set.
inline std::size_t cases_for_each(const char* variable, std::size_t usual) {
  const char* const wanted = std::getenv(variable);
  return wanted == nullptr ? usual : static_cast<std::size_t>(std::atoi(wanted));
}

// Calls visit(schema, drawn_case, random) for `count` cases of each operator.
template <class Visit>
void each_drawn_case(std::size_t count, const Visit& visit) {
  std::unordered_set<std::string> keys;
  for (const OperatorParts& spec : registry().operators()) {
    if (spec.layouts != nullptr || spec.to_kernel != nullptr || spec.to_iterator != nullptr ||
        spec.facts != 0)
      keys.insert(std::string(spec.key));
  }
  for (const auto& op : torch::jit::getAllOperators()) {
    const c10::FunctionSchema& schema = op->schema();
    const std::string key = c10::toString(schema.operator_name());
    const bool is_out = std::ranges::any_of(schema.arguments(), &c10::Argument::is_out);
    if (!keys.contains(key) && !keys.contains(schema.name())) continue;
    if (!schema.name().starts_with("aten::") || is_out || excluded_operators().contains(schema.name()) ||
        schema.name().find("dropout") != std::string::npos ||
        schema.name().find("lstm") != std::string::npos || schema.name().find("gru") != std::string::npos ||
        schema.name().find("rnn") != std::string::npos ||
        !c10::Dispatcher::singleton().findSchema(schema.operator_name()))
      continue;
    Random random(static_cast<unsigned>(std::hash<std::string>()(key)));
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<DrawnCase> drawn = draw_case(schema, random);
      if (!drawn) continue;
      if (std::getenv("SR_SHOW_SHAPES") != nullptr)
        std::fprintf(stderr, "%s\n", text_of(schema, *drawn).c_str());
      visit(schema, *drawn, random);
    }
  }
}

}  // namespace sr::test
