// Every operator that has a rule of layouts, a lowering or a fact, called with tensors of 0 to 6 dimensions
// of sizes 0, 1 and 2: what the interpreter answers, sr answers, on all paths. Rules and lowerings must not
// read a dimension that the operator's own checks allow to be missing. Under AddressSanitizer, reads beyond a
// list of sizes show.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <sr/registry/registry.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/values.hpp"

namespace sr::test::small_shapes_tests {

namespace {

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t limit) {
  return random() % limit;
}

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

// The sizes of one call's tensors: mostly the same, since most operators want tensors that fit.
class Drawing {
 public:
  explicit Drawing(Random& random) : random_(random), common_(sizes(below(random, 7))) {}

  at::Tensor tensor(const std::string& name) {
    const std::size_t chance = below(random_, 10);
    std::vector<std::int64_t> drawn = common_;
    if (chance >= 6) drawn = sizes(below(random_, 7));
    if (chance == 5 && !drawn.empty()) drawn.pop_back();
    if (chance == 4) drawn = {common_.size() > 1 ? common_[1] : std::int64_t{1}};  // as norms take weights
    at::Tensor made = at::rand(drawn).add_(0.25);
    const bool is_index = name.find("ind") != name.npos || name == "offsets" || name == "repeats" ||
                          name.find("bound") != name.npos;
    if (is_index && below(random_, 8) != 0) return at::zeros(drawn, at::kLong);
    if ((name == "mask" || name == "condition") && below(random_, 8) != 0) return made > 0.7;
    switch (below(random_, 12)) {
      case 0:
        return made.to(at::kDouble);
      case 1:
        return (made * 3).to(at::kLong);
      case 2:
        return made > 0.7;
      case 3:
        return made.to(at::kBFloat16);
      case 4:
        return drawn.size() > 1 ? made.transpose(0, static_cast<std::int64_t>(drawn.size()) - 1) : made;
      default:
        return made;
    }
  }

  c10::IValue value(const c10::TypePtr& type, const std::string& name) {
    switch (type->kind()) {
      case c10::TypeKind::TensorType:
        return tensor(name);
      case c10::TypeKind::OptionalType:
        return below(random_, 2) == 0 ? c10::IValue() : value(type->containedType(0), name);
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType:
        return integer(name);
      case c10::TypeKind::NumberType:
        return below(random_, 2) == 0 ? c10::IValue(integer(name)) : c10::IValue(0.5);
      case c10::TypeKind::FloatType:
        return 0.5;
      case c10::TypeKind::BoolType:
        return below(random_, 2) == 0;
      case c10::TypeKind::StringType: {
        static const std::vector<std::string> texts{"none",     "mean",    "sum",  "floor",
                                                    "constant", "reflect", "same", "ij"};
        return texts[below(random_, texts.size())];
      }
      case c10::TypeKind::ListType:
        return list(type->containedType(0), name);
      default:
        return {};
    }
  }

 private:
  std::vector<std::int64_t> sizes(std::size_t rank) {
    std::vector<std::int64_t> drawn(rank);
    for (std::int64_t& size : drawn)
      size = static_cast<std::int64_t>(std::min<std::size_t>(below(random_, 5), 2));
    if (below(random_, 3) != 0) std::ranges::replace(drawn, 0, 2);
    return drawn;
  }

  std::int64_t integer(const std::string& name) {
    if (name == "dtype") {
      static const c10::ScalarType dtypes[] = {at::kFloat, at::kDouble, at::kLong, at::kBool, at::kBFloat16};
      return static_cast<std::int64_t>(dtypes[below(random_, std::size(dtypes))]);
    }
    if (name == "memory_format") return static_cast<std::int64_t>(below(random_, 3));
    if (name == "dim" || name.starts_with("dim")) return static_cast<std::int64_t>(below(random_, 4)) - 2;
    return static_cast<std::int64_t>(below(random_, 4)) - (below(random_, 6) == 0 ? 1 : 0);
  }

  c10::IValue list(const c10::TypePtr& element, const std::string& name) {
    const std::size_t count = below(random_, 2) == 0 ? below(random_, 4) : common_.size();
    if (element->kind() == c10::TypeKind::TensorType) {
      c10::List<at::Tensor> tensors;
      for (std::size_t i = 0; i < std::min<std::size_t>(count, 3); ++i) tensors.push_back(tensor(name));
      return tensors;
    }
    if (element->kind() == c10::TypeKind::IntType || element->kind() == c10::TypeKind::SymIntType) {
      std::vector<std::int64_t> numbers;
      for (std::size_t i = 0; i < count; ++i) numbers.push_back(integer(name));
      if (name.find("size") != name.npos || name.find("shape") != name.npos) {
        if (below(random_, 2) == 0) return common_;
      }
      return numbers;
    }
    if (element->kind() == c10::TypeKind::OptionalType) {
      c10::List<std::optional<at::Tensor>> tensors;
      for (std::size_t i = 0; i < std::min<std::size_t>(count, 3); ++i) {
        tensors.push_back(
            below(random_, 4) == 0
                ? std::optional<at::Tensor>()
                : std::optional(at::zeros({static_cast<std::int64_t>(below(random_, 3))}, at::kLong)));
      }
      return tensors;
    }
    return {};
  }

  Random& random_;
  std::vector<std::int64_t> common_;
};

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
