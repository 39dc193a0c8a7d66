// Makes a private, frozen, functionalised graph of the caller's Module or Graph, which are not changed.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/freeze_module.h>

#include <sr/base/error.hpp>
#include <sr/base/options.hpp>
#include <sr/frontend/fork_inputs.hpp>
#include <sr/frontend/hidden_weights.hpp>
#include <sr/frontend/interface_calls.hpp>
#include <sr/frontend/kept_constants.hpp>
#include <sr/frontend/known_attributes.hpp>
#include <sr/frontend/method_variables.hpp>
#include <sr/frontend/private_clone.hpp>
#include <sr/frontend/private_self.hpp>
#include <sr/frontend/state_entry.hpp>
#include <sr/frontend/threaded_attributes.hpp>
#include <sr/frontend/weight_source.hpp>
#include <sr/graph/alias_rules.hpp>
#include <sr/graph/each_node.hpp>
#include <sr/passes/barriers/barriers.hpp>
#include <sr/passes/barriers/peephole.hpp>
#include <sr/passes/constant_bits.hpp>
#include <sr/passes/grad_modes.hpp>
#include <sr/passes/known_operators.hpp>
#include <sr/passes/pipeline.hpp>

namespace sr {

struct LoadedGraph {
  std::shared_ptr<torch::jit::Graph> graph;
  c10::FunctionSchema schema;  // of a call, without `self`
  c10::IValue self;  // the private module when the graph still reads or writes attributes, else None
  // Storages and containers of the caller's module and graph that a result may share. Other constants were
  // folded, or pooled with an equal folded constant.
  std::unordered_set<const void*> known = {};
  // Weights that the caller may change, in the order of the graph's first constants, which stand for them.
  // Empty if the module alone holds its weights.
  std::vector<WeightSource> weights = {};
  // What the graph may write or assign, in the order of its inputs behind the arguments.
  std::vector<StateVariable> variables = {};
  std::vector<std::size_t> assigned = {};  // by output behind the results: the variable that it is
  // Tensors that required gradients in the caller's module.
  std::set<detail::TensorIdentity> with_gradients = {};
  // The module and the owner of its weights, if other methods of the module can run on the variables.
  std::optional<std::pair<torch::jit::Module, WeightOwner>> source = {};
  // The state of the caller's module; none if the graph has no module, or if its weights were folded.
  std::optional<std::vector<StateEntry>> state = {};
};

// Throws ArgumentError if the options contradict each other.
inline WeightOwner weight_owner(const StaticModuleOptions& options) {
  if (options.weights.freeze && options.weights.updatable) {
    throw ArgumentError(
        "The options freeze_weights and updatable_weights were both given; weights that never change cannot "
        "be "
        "updated. Leave one out.");
  }
  return options.weights.freeze ? WeightOwner::module : WeightOwner::caller;
}

namespace detail {

inline c10::FunctionSchema without_self(const c10::FunctionSchema& schema) {
  std::vector<c10::Argument> arguments(schema.arguments().begin() + 1, schema.arguments().end());
  return schema.cloneWithArguments(std::move(arguments));
}

// Removes the dtypes and sizes that tracing noted: they are those of the example, and calls may have others.
inline c10::FunctionSchema schema_of(const torch::jit::Graph& graph) {
  std::vector<c10::Argument> arguments;
  for (const torch::jit::Value* input : graph.inputs()) {
    const bool is_tensor = input->type()->kind() == c10::TypeKind::TensorType;
    arguments.emplace_back(input->debugNameBase().empty() ? input->debugName() : input->debugNameBase(),
                           is_tensor ? c10::TensorType::get() : input->type());
  }
  std::vector<c10::Argument> returns;
  for (const torch::jit::Value* output : graph.outputs()) returns.emplace_back("", output->type());
  return {"graph", "", std::move(arguments), std::move(returns)};
}

// The path of an attribute of the graph's first input, such as "layer.running_mean"; empty for other values.
inline std::string attribute_path(const torch::jit::Value* value) {
  std::string path;
  for (; value->node()->kind() == c10::prim::GetAttr; value = value->node()->input(0)) {
    path = value->node()->s(c10::attr::name) + (path.empty() ? "" : ".") + path;
  }
  const bool is_self = value->node()->kind() == c10::prim::Param && value->offset() == 0 &&
                       value->node()->owningBlock()->owningNode() == nullptr;
  return is_self ? path : std::string();
}

// Attributes that operators write although no schema says so, and that freezing would turn into constants.
inline std::vector<std::string> trained_statistics(const torch::jit::Block* block) {
  std::vector<std::string> paths;
  each_node(block, [&](const torch::jit::Node* node) {
    if (!may_train_statistics(*node)) return;
    for (const std::size_t i : {3, 4}) {
      if (std::string path = attribute_path(node->input(i)); !path.empty()) paths.push_back(std::move(path));
    }
  });
  return paths;
}

// Attributes that the graph writes are kept in a deep copy: calls must not change the caller's module.
// Freezing does not fold the attributes at the paths in `kept`.
inline torch::jit::Module freeze(const torch::jit::Module& module, const std::string& method,
                                 const torch::jit::Block* entry, const std::vector<std::string>& kept) {
  try {
    std::vector<std::string> preserved = trained_statistics(entry);
    if (method != "forward") preserved.push_back(method);
    preserved.insert(preserved.end(), kept.begin(), kept.end());
    return torch::jit::freeze_module(module, preserved);
  } catch (const std::exception&) {
    // Freezing fails for some modules (reassigned interfaces, modules that return themselves). They run
    // without freezing, and read their attributes at run time.
    return module;
  }
}

// Folds what freezing would fold, and marks the constants that it must not merge. `drop_unchanged` makes
// numbers constants that the folded graph does not assign any more; returns whether there were any.
template <class DropUnchanged>
void fold_before_freezing(std::shared_ptr<torch::jit::Graph> graph, const c10::IValue& self,
                          const DropUnchanged& drop_unchanged) {
  if (calls_methods(graph->block())) return;  // those may write attributes
  const KnownAttributes known(graph, self);
  const bool may_fold = passes::all_operators_are_known(graph->block());
  do {
    if (may_fold) torch::jit::ConstantPropagation(graph);
  } while (drop_unchanged() && may_fold);
  passes::mark_constants(*graph);
}

// Inlines calls in the bodies of forks, too.
inline void inline_calls(torch::jit::Block* block) {
  torch::jit::Inline(*block->owningGraph());
  inline_forks(block);
}

inline std::shared_ptr<torch::jit::Graph> inlined(const torch::jit::Module& module,
                                                  const std::string& method) {
  std::shared_ptr<torch::jit::Graph> graph =
      torch::jit::toGraphFunction(module.get_method(method).function()).graph();
  inline_calls(graph->block());
  inline_interface_calls(graph, module, [&] { inline_calls(graph->block()); });
  passes::remove_grad_modes(graph->block());
  return graph;
}

inline void run_passes(std::shared_ptr<torch::jit::Graph>& graph, const Barriers& barriers,
                       const passes::PassSettings& settings) {
  passes::require_known(settings.off);
  passes::mark_constants(*graph);
  passes::run_pipeline(graph, settings, passes::Stage::behind_barriers);
  passes::unmark_constants(*graph);
  barriers.remove(*graph);
  passes::run_pipeline(graph, settings, passes::Stage::without_barriers);
}

inline void show_weights(LoadedGraph& loaded, HiddenWeights& hidden,
                         const std::vector<WeightSource>& threaded,
                         const std::set<AttributeKey>& always = {}) {
  HiddenWeights::Shown shown = hidden.show(loaded.graph, threaded, always);
  loaded.weights = std::move(shown.weights);
  loaded.variables = std::move(shown.variables);
  loaded.assigned = std::move(shown.assigned);
}

}  // namespace detail

// `method` is the entry point. The graph gets the variables in `state`, which another method of the module
// has, and no others. Throws UnsupportedOpError if the module has no such method, or if the method writes
// what is not in `state`, and ArgumentError for an unknown pass.
inline LoadedGraph load_graph(const torch::jit::Module& module, const std::string& method = "forward",
                              const passes::PassSettings& settings = {},
                              WeightOwner owner = WeightOwner::caller,
                              const std::vector<StateVariable>& state = {}) {
  if (!module.find_method(method)) {
    throw UnsupportedOpError("The module " + module.type()->str() + " has no method '" + method +
                             "' to run.");
  }
  torch::jit::Module copy = detail::private_clone(module);
  copy.eval();
  const std::shared_ptr<torch::jit::Graph> graph = detail::inlined(copy, method);
  const std::size_t arguments = graph->inputs().size();
  const std::set<detail::AttributeKey> of_state = detail::keys_of(state);
  detail::assign_to_themselves(*graph, state);
  detail::ThreadedAttributes threaded(graph, module._ivalue(), of_state);
  const detail::Barriers barriers(*graph, module._ivalue());
  const detail::PeepholeBarrier neutral(*graph, barriers.value_of(), barriers.returned());
  detail::HiddenWeights hidden(graph, module._ivalue(), arguments, owner);
  detail::fold_before_freezing(graph, copy._ivalue(),
                               [&] { return threaded.drop_unchanged(*graph, arguments + hidden.count()); });
  const bool can_freeze = !detail::has_fork_without_inputs(graph->block()) &&
                          !detail::has_fork_that_calls_methods(graph->block());
  const torch::jit::Module frozen =
      can_freeze ? detail::freeze(copy, method, graph->block(), hidden.assigned()) : copy;
  LoadedGraph loaded{torch::jit::toGraphFunction(frozen.get_method(method).function()).graph()->copy(),
                     detail::without_self(module.get_method(method).function().getSchema()), c10::IValue(),
                     barriers.known()};
  for (const at::Tensor& parameter : module.parameters()) {
    if (parameter.requires_grad() && detail::can_be_weight(parameter))
      loaded.with_gradients.insert(detail::identity_of_elements(parameter));
  }
  neutral.show(*loaded.graph);
  detail::run_passes(loaded.graph, barriers, settings);
  detail::keep_constants(*loaded.graph);
  detail::show_weights(loaded, hidden, threaded.sources(), of_state);
  if (!state.empty()) detail::take_variables(*loaded.graph, method, state, loaded.variables, loaded.assigned);
  if (owner == WeightOwner::caller) {
    loaded.state = detail::state_entries(module._ivalue(), loaded.weights,
                                         [&](const auto& attribute) { return hidden.is_fixed(attribute); });
  }
  if (loaded.graph->inputs().at(0)->hasUses()) {
    if (!state.empty()) {
      throw UnsupportedOpError(
          "The method '" + method +
          "' reads or writes attributes of objects that only a call decides, and cannot run "
          "on the state of a session.");
    }
    loaded.self = detail::private_self(frozen._ivalue(), *loaded.graph, hidden.copies());
  } else {
    loaded.graph->eraseInput(0);
    if (state.empty() && module.get_methods().size() > 1 && detail::are_attributes(loaded.variables))
      loaded.source.emplace(module, owner);
  }
  if (loaded.variables.empty()) passes::run_pipeline(loaded.graph, settings, passes::Stage::last);
  return loaded;
}

inline LoadedGraph load_graph(const std::shared_ptr<torch::jit::Graph>& graph,
                              const passes::PassSettings& settings = {},
                              WeightOwner owner = WeightOwner::caller) {
  if (graph == nullptr) throw LoadError("The graph given is null.");
  LoadedGraph loaded{graph->copy(), detail::schema_of(*graph), c10::IValue()};
  detail::inline_calls(loaded.graph->block());
  passes::remove_grad_modes(loaded.graph->block());
  if (!loaded.graph->inputs().empty() && loaded.graph->inputs()[0]->type()->is_module()) {
    if (loaded.graph->inputs()[0]->hasUses()) {
      throw UnsupportedOpError("The graph reads attributes of its module input '" +
                               loaded.graph->inputs()[0]->debugName() +
                               "'. Pass the module instead of its graph, or freeze it first.");
    }
    loaded.graph->eraseInput(0);
    loaded.schema = detail::without_self(loaded.schema);
  }
  const std::size_t arguments = loaded.graph->inputs().size();
  const detail::Barriers barriers(*loaded.graph, c10::IValue());
  loaded.known = barriers.known();
  detail::HiddenWeights hidden(loaded.graph, c10::IValue(), arguments, owner);
  detail::run_passes(loaded.graph, barriers, settings);
  detail::keep_constants(*loaded.graph);
  detail::show_weights(loaded, hidden, {});
  if (loaded.variables.empty()) passes::run_pipeline(loaded.graph, settings, passes::Stage::last);
  return loaded;
}

}  // namespace sr
