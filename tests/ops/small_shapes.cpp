// Every operator that has a rule of layouts, a lowering or a fact, called with tensors of 0 to 6 dimensions
// of sizes 0, 1 and 2: what the interpreter answers, sr answers, on all paths. Rules and lowerings must not
// read a dimension that the operator's own checks allow to be missing. Under AddressSanitizer, reads beyond a
// list of sizes show.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <sr/registry/registry.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/drawn_arguments.hpp"
#include "support/values.hpp"

namespace sr::test::small_shapes_tests {

namespace {

// Crash or hang in LibTorch itself for such arguments, return uninitialised or random elements, or ask for a
// state that no signature describes.
const std::unordered_set<std::string>& excluded() {
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

struct Case {
  std::shared_ptr<torch::jit::Graph> graph = std::make_shared<torch::jit::Graph>();
  std::vector<c10::IValue> inputs;
};

// A graph of the one operator: tensors are its inputs, all else are constants. Nothing if LibTorch has no
// such node.
std::optional<Case> draw(const c10::FunctionSchema& schema, Random& random) {
  Case made;
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
Answer answer_of(const Case& of, const Call& call) {
  std::vector<c10::IValue> inputs;
  for (const c10::IValue& input : of.inputs) inputs.push_back(input.deepcopy());
  try {
    return {false, call(inputs)};
  } catch (const std::exception&) {
    return {true, {}};
  }
}

Answer interpreted(const Case& of, const c10::FunctionSchema& schema) {
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

std::string text_of(const c10::FunctionSchema& schema, const Case& of) {
  std::string text = c10::toString(schema) + "\n" + of.graph->toString();
  for (const c10::IValue& input : of.inputs) {
    each_tensor(input, [&](const at::Tensor& tensor) {
      text += c10::str(tensor.scalar_type(), tensor.sizes(), " strides ", tensor.strides(), "\n");
    });
  }
  return text;
}

void check(const c10::FunctionSchema& schema, const Case& of) {
  const Answer expected = interpreted(of, schema);
  for (const Numerics numerics : {Numerics::fast, Numerics::exact}) {
    std::optional<StaticRuntime<>> runtime;
    try {
      runtime.emplace(StaticModule(of.graph->copy(), {.numerics = numerics}));
    } catch (const std::exception&) {
      if (!expected.threw) FAIL_CHECK("sr refused\n" << text_of(schema, of));
      return;
    }
    for (int call = 0; call < 3; ++call) {
      const Answer answer =
          answer_of(of, [&](std::vector<c10::IValue>& inputs) { return (*runtime)(inputs); });
      std::string difference;
      if (answer.threw != expected.threw) {
        difference = expected.threw ? "only the interpreter threw" : "only sr threw";
      } else if (!answer.threw) {
        difference = compare_values(expected.result, answer.result, {.rtol = 1e-2, .atol = 1e-2}, "result");
      }
      if (!difference.empty()) {
        FAIL_CHECK("call " << call << ", " << (numerics == Numerics::fast ? "fast" : "exact") << ": "
                           << difference << "\n"
                           << text_of(schema, of));
        return;
      }
    }
  }
}

std::size_t cases_for_each() {
  const char* const wanted = std::getenv("SR_SMALL_SHAPES");
  return wanted == nullptr ? 6 : static_cast<std::size_t>(std::atoi(wanted));
}

}  // namespace

TEST_CASE("operators with tensors of any rank and of sizes 0, 1 and 2 answer as the interpreter",
          "[ops][shapes]") {
  std::unordered_set<std::string> keys;
  for (const OperatorSpec& spec : registry().operators()) {
    if (spec.layouts != nullptr || spec.to_kernel != nullptr || spec.to_iterator != nullptr ||
        spec.facts != 0)
      keys.insert(std::string(spec.key));
  }
  std::size_t checked = 0, answered = 0;
  for (const auto& op : torch::jit::getAllOperators()) {
    const c10::FunctionSchema& schema = op->schema();
    const std::string key = c10::toString(schema.operator_name());
    const bool is_out = std::ranges::any_of(schema.arguments(), &c10::Argument::is_out);
    if (!keys.contains(key) && !keys.contains(schema.name())) continue;
    if (!schema.name().starts_with("aten::") || is_out || excluded().contains(schema.name()) ||
        schema.name().find("dropout") != std::string::npos ||
        schema.name().find("lstm") != std::string::npos || schema.name().find("gru") != std::string::npos ||
        schema.name().find("rnn") != std::string::npos ||
        !c10::Dispatcher::singleton().findSchema(schema.operator_name()))
      continue;
    Random random(static_cast<unsigned>(std::hash<std::string>()(key)));
    for (std::size_t i = 0; i < cases_for_each(); ++i) {
      const std::optional<Case> drawn = draw(schema, random);
      if (!drawn) continue;
      if (std::getenv("SR_SHOW_SHAPES") != nullptr)
        std::fprintf(stderr, "%s\n", text_of(schema, *drawn).c_str());
      check(schema, *drawn);
      ++checked;
      answered += interpreted(*drawn, schema).threw ? 0 : 1;
    }
  }
  INFO(checked << " cases, of which " << answered << " are answered");
  CHECK(checked > 1000);
  CHECK(answered * 5 > checked);
}

}  // namespace sr::test::small_shapes_tests
