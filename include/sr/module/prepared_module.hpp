// What a StaticModule holds: graph, constants, one function per node, lifetimes.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/error.hpp>
#include <sr/base/options.hpp>
#include <sr/frontend/loaded_graph.hpp>
#include <sr/graph/block_analysis.hpp>
#include <sr/graph/block_info.hpp>
#include <sr/graph/each_node.hpp>
#include <sr/module/fork_body.hpp>
#include <sr/module/module_methods.hpp>
#include <sr/module/module_weights.hpp>
#include <sr/module/row_counts.hpp>
#include <sr/module/session_state.hpp>
#include <sr/module/state_changes.hpp>
#include <sr/registry/selection.hpp>

namespace sr {

namespace detail {

// Replaces tensors that the caller's module had with gradients by aliases that require them.
inline void require_gradients(std::span<c10::IValue> constants,
                              const std::set<TensorIdentity>& with_gradients) {
  if (with_gradients.empty()) return;
  for (c10::IValue& constant : constants) {
    if (!constant.isTensor() || !can_be_weight(constant.toTensor()) || constant.toTensor().is_inference() ||
        with_gradients.count(identity_of_elements(constant.toTensor())) == 0)
      continue;
    constant = constant.toTensor().detach().requires_grad_();
  }
}

}  // namespace detail

// All that calls read and, apart from the state, nothing that they write. blocks[0] is the top block.
struct PreparedModule {
  StaticModuleOptions options;
  std::shared_ptr<torch::jit::Graph> graph;
  c10::FunctionSchema schema;
  c10::IValue self;                    // private module, when the graph reads or writes attributes
  std::vector<c10::IValue> constants;  // as loaded; runtimes take theirs from `weights`
  std::size_t slot_count = 0;
  std::uint32_t state_count = 0;
  std::vector<BlockInfo> blocks;
  std::vector<std::string> unmanaged_reasons;  // by slot; empty where there is nothing to explain
  std::deque<BoxedOp> interpreted;
  std::string state_changed_by;  // the operator that changes attributes or constants; empty: none does
  // Positions of arguments. A call may write the tensors of `written_inputs`, and change the lists and
  // dictionaries of `changed_inputs`.
  std::vector<std::size_t> written_inputs, changed_inputs;
  // The buffers and attributes that calls write or assign. They are the last inputs of the top block. Its
  // last outputs are the new values of the variables at the positions in `assigned`.
  std::vector<StateVariable> variables;
  StateValues first_values;  // initial values of the variables; sessions get copies
  std::vector<std::size_t> assigned;
  bool separates_assigned = false;        // no call writes one of them in place, see SessionState::assign
  bool writes_state = false;              // a call may write it in place
  std::shared_ptr<RowCounts> row_counts;  // which of the variables hold one; locks itself
  // Storages and containers of folded constants, if the caller may be given one of them.
  std::unordered_set<const void*> folded;
  std::unordered_map<const torch::jit::Value*, Slot> slots;
  std::shared_ptr<ModuleWeights> weights;  // shared with whoever changes them; locks itself
  // The state of calls without a session. Null if the model has no state.
  std::shared_ptr<SessionState> state;
  // The methods that run on the same variables. Null if there are none; locks itself.
  std::shared_ptr<ModuleMethods> methods;

  // If `of_state` is not null, this is a method of that module, and `loaded` has its variables.
  PreparedModule(LoadedGraph loaded, const StaticModuleOptions& chosen_options,
                 const PreparedModule* of_state = nullptr);

  std::size_t result_count() const { return blocks[0].outputs.size() - assigned.size(); }
  // The block of the graph at an index of `blocks`.
  const torch::jit::Block& source(std::uint32_t block) const { return *sources_[block]; }

  c10::TypePtr result_type() const {
    return schema.returns().size() == 1 ? schema.returns()[0].type() : c10::TypePtr(c10::AnyType::get());
  }

 private:
  std::uint32_t add_blocks(const torch::jit::Block* block, const SlotTable& table, Selector& selector,
                           KindOf& kinds, WeightOwner owner);
  void check_constants() const;
  using Positions = std::unordered_map<const void*, std::size_t>;  // of weights, by what the constant is

  void follow(LoadedGraph& loaded);
  static void fix_weights(const torch::jit::Node& fork, const Positions& positions,
                          std::optional<std::vector<StateEntry>>& state);
  void find_folded(const AliasAnalysis& aliases, const std::unordered_set<const void*>& known);
  void make_state(const PreparedModule* of_state);

  std::vector<const torch::jit::Block*> sources_;  // by block index
};

inline PreparedModule::PreparedModule(LoadedGraph loaded, const StaticModuleOptions& chosen_options,
                                      const PreparedModule* of_state)
    : options(chosen_options),
      graph(std::move(loaded.graph)),
      schema(std::move(loaded.schema)),
      self(std::move(loaded.self)),
      variables(std::move(loaded.variables)),
      assigned(std::move(loaded.assigned)) {
  if (registry().empty()) {
    throw RegistryError(
        "No operator is registered. Include <sr/sr.hpp> in one source file of a program that is built with "
        "SR_HEADER_ONLY, or link the whole of libsr.");
  }
  const SlotTable table(*graph, self);
  slots = table.of;
  slot_count = table.count;
  constants = table.constants;
  check_constants();
  if (options.numerics == Numerics::exact) {
    const std::size_t followed = loaded.weights.size() + (self.isNone() ? 0 : 1);
    detail::require_gradients(std::span(constants).subspan(followed), loaded.with_gradients);
  }
  std::vector<Refusal> refusals;
  Selector selector(options, interpreted, refusals);
  KindOf kinds;
  add_blocks(graph->block(), table, selector, kinds,
             loaded.weights.empty() ? WeightOwner::module : WeightOwner::caller);
  if (!refusals.empty()) {
    std::string message = "The model cannot be run by sr:";
    std::vector<std::string> operators;
    for (const Refusal& refusal : refusals) {
      message += "\n  " + refusal.sentence;
      operators.push_back(refusal.op);
    }
    throw UnsupportedOpError(message, std::move(operators));
  }
  const AliasAnalysis aliases(*graph, table, kinds);
  const BlockAnalysis analysis(*graph, table, aliases);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    analysis.fill(sources_[i], blocks[i], i == 0, options.memory.manage_outputs);
    for (ProcessedNode& node : blocks[i].nodes) {
      if (node.kind != NodeKind::fallback || node.output_count == 0) continue;
      for (std::uint32_t input : node.dynamic_inputs) {
        const auto& origins = aliases.origins(node.inputs[input]);
        const bool promised = aliases.origins(node.first_output).empty();
        if (promised && std::any_of(origins.begin(), origins.end(), [&](Slot slot) {
              return !table.is_constant(slot) && aliases.reason(slot).empty();
            })) {
          node.guarded_inputs.push_back(input);
        }
      }
    }
  }
  find_folded(aliases, loaded.known);
  follow(loaded);
  const StateChanges changes(*graph);
  state_changed_by = changes.changed_by();
  const std::size_t first_argument = self.isNone() ? 0 : 1;  // the module itself is no argument of a call
  const auto arguments_among = [&](const std::set<std::size_t>& inputs) {
    std::vector<std::size_t> positions;
    for (const std::size_t input : inputs) {
      if (input >= first_argument && input - first_argument < schema.arguments().size())
        positions.push_back(input - first_argument);
    }
    return positions;
  };
  written_inputs = arguments_among(changes.written_inputs());
  changed_inputs = arguments_among(changes.changed_inputs());
  make_state(of_state);
  if (loaded.source) methods = std::make_shared<ModuleMethods>(loaded.source->first, loaded.source->second);
  unmanaged_reasons.resize(slot_count);
  for (Slot slot = 0; slot < slot_count; ++slot) unmanaged_reasons[slot] = aliases.reason(slot);
}

// The result of a call with copies of the folded constants in it: the next call has them again. Lists and
// dictionaries of the arguments that the call may have changed get copies, too; argument(i) is argument i.
template <class ArgumentAt>
c10::IValue fresh_copies(const PreparedModule& module, const ArgumentAt& argument,
                         const c10::IValue& result) {
  if (module.folded.empty()) return result;
  detail::FreshCopies copies(module.folded);
  for (const std::size_t input : module.changed_inputs) copies(argument(input));
  return copies(result);
}

inline std::uint32_t PreparedModule::add_blocks(const torch::jit::Block* block, const SlotTable& table,
                                                Selector& selector, KindOf& kinds, WeightOwner owner) {
  const auto index = static_cast<std::uint32_t>(blocks.size());
  blocks.emplace_back();
  sources_.push_back(block);
  std::vector<ProcessedNode> nodes;
  std::vector<std::pair<std::size_t, const torch::jit::Node*>> parents;
  for (const torch::jit::Node* node : block->nodes()) {
    if (node->kind() == c10::prim::Constant) continue;
    ProcessedNode processed;
    Selected chosen = selector.select(*node);
    kinds.emplace(node, SelectedKind{chosen.kind, chosen.traits.makes_new_tensor});
    static_cast<NodeFunctions&>(processed) = chosen;
    processed.declined = std::move(chosen.declined);
    processed.interpreter = chosen.interpreter;
    processed.asks_gradients = chosen.asks_gradients;
    processed.kind_inputs = detail::kind_inputs(*node);
    processed.node = node;
    processed.is_vararg = node->maybeSchema() != nullptr && node->maybeSchema()->is_vararg();
    for (const torch::jit::Value* input : node->inputs()) {
      const Slot slot = table.of.at(input);
      if (!table.is_constant(slot)) {
        processed.dynamic_inputs.push_back(static_cast<std::uint32_t>(processed.inputs.size()));
      }
      processed.inputs.push_back(slot);
    }
    processed.output_count = static_cast<std::uint32_t>(node->outputs().size());
    if (processed.output_count != 0) processed.first_output = table.of.at(node->output(0));
    if (chosen.kind == NodeKind::out_variant) processed.state = state_count++;
    if (node->kind() == c10::prim::fork) {
      processed.body = std::make_shared<const ForkBody>(*node, options, owner);
      if (processed.body->is_interpreted() && options.strict) {
        throw UnsupportedOpError("The option `strict` forbids the interpreter fallback, and the body of " +
                                     detail::place_of(*node) + " cannot be run by sr.",
                                 {node->kind().toQualString()});
      }
    }
    if (!node->blocks().empty()) parents.emplace_back(nodes.size(), node);
    if (chosen.kind == NodeKind::fallback && options.strict) {
      throw UnsupportedOpError("The option `strict` forbids the interpreter fallback, and " +
                                   detail::place_of(*node) + " has no functor of sr and no `.out` overload.",
                               {node->kind().toQualString()});
    }
    nodes.push_back(std::move(processed));
  }
  for (const auto& [position, node] : parents) {
    for (const torch::jit::Block* inner : node->blocks()) {
      nodes[position].sub_blocks.push_back(add_blocks(inner, table, selector, kinds, owner));
      std::vector<Slot>& inputs = nodes[position].sub_block_inputs.emplace_back();
      for (const torch::jit::Value* input : inner->inputs()) inputs.push_back(table.of.at(input));
    }
  }
  blocks[index].nodes = std::move(nodes);
  return index;
}

inline void PreparedModule::find_folded(const AliasAnalysis& aliases,
                                        const std::unordered_set<const void*>& known) {
  const auto outputs = graph->outputs();
  const bool returns_containers =
      std::any_of(outputs.begin(), outputs.end(),
                  [](const torch::jit::Value* output) { return detail::may_hold_container(output->type()); });
  std::unordered_set<const void*> seen;
  for (Slot slot = 0; slot < constants.size(); ++slot) {
    const c10::IValue& constant = constants[slot];
    const bool container = constant.isList() || constant.isTuple() || constant.isGenericDict();
    if (!aliases.reason(slot).empty() || (container && returns_containers))
      detail::add_identities(constant, seen);
  }
  for (const void* identity : seen) {
    if (known.count(identity) == 0) folded.insert(identity);
  }
}

inline void PreparedModule::make_state(const PreparedModule* of_state) {
  row_counts = std::make_shared<RowCounts>(variables.size());
  if (variables.empty() && state_changed_by.empty()) return;
  separates_assigned = std::ranges::none_of(assigned, [&](std::size_t i) { return variables[i].is_written; });
  writes_state = !state_changed_by.empty() || std::ranges::any_of(variables, &StateVariable::is_written);
  if (of_state != nullptr) {
    first_values = of_state->first_values;
    state = of_state->state;
    return;
  }
  std::vector<c10::IValue> first;
  for (const StateVariable& variable : variables) first.push_back(variable.first);
  const bool has_self = !state_changed_by.empty() && !self.isNone();
  first_values = StateValues(std::move(first), has_self ? self : c10::IValue(),
                             has_self && detail::may_write_tensors(graph->block()));
  if (separates_assigned) first_values.separate(assigned);
  first_values = first_values.copy_to_pages();
  state = std::make_shared<SessionState>(first_values.copy_on_write());
  state->follow(variables);
}

inline void PreparedModule::follow(LoadedGraph& loaded) {
  std::vector<Weight> followed;
  Positions positions;
  Slot slot = self.isNone() ? 0 : 1;
  for (const WeightSource& source : loaded.weights) {
    positions.emplace(constants[slot].internalToPointer(), followed.size());
    const bool is_returned = loaded.known.count(detail::identity_of(constants[slot])) != 0;
    followed.push_back({source, slot++, is_returned});
  }
  std::vector<ModuleWeights::Body> bodies;
  for (const BlockInfo& block : blocks) {
    for (const ProcessedNode& node : block.nodes) {
      if (node.body == nullptr) continue;
      if (node.body->is_interpreted()) {
        fix_weights(*node.node, positions, loaded.state);
        continue;
      }
      const std::shared_ptr<ModuleWeights>& inner = node.body->content()->weights;
      std::vector<std::size_t> same;
      for (const Weight& weight : inner->weights()) {
        const auto known = positions.find(weight.source.now().internalToPointer());
        same.push_back(known != positions.end() ? known->second : ModuleWeights::Body::kNotOuter);
      }
      bodies.push_back({inner, std::move(same)});
    }
  }
  weights = std::make_shared<ModuleWeights>(constants, std::move(followed), std::move(loaded.state),
                                            std::move(bodies), options.numerics == Numerics::exact);
}

// The code of an interpreted body holds the tensors of its weights, which can then not be replaced.
inline void PreparedModule::fix_weights(const torch::jit::Node& fork, const Positions& positions,
                                        std::optional<std::vector<StateEntry>>& state) {
  if (!state) return;
  detail::each_node<detail::Forks::enter>(
      fork.g(c10::attr::Subgraph)->block(), [&](const torch::jit::Node* node) {
        const auto value =
            node->kind() == c10::prim::Constant ? torch::jit::toIValue(node->output()) : std::nullopt;
        const auto found =
            value && value->isPtrType() ? positions.find(value->internalToPointer()) : positions.end();
        if (found == positions.end()) return;
        for (StateEntry& entry : *state) {
          if (entry.use == StateEntry::Use::followed && entry.weight == found->second)
            entry.use = StateEntry::Use::fixed;
        }
      });
}

inline void PreparedModule::check_constants() const {
  for (const c10::IValue& constant : constants) {
    if (constant.isTensor() && constant.toTensor().defined() && !constant.toTensor().is_cpu()) {
      throw UnsupportedOpError(
          "The model holds a weight on " + constant.toTensor().device().str() +
          ", and sr runs on the CPU only. Move the module with .to('cpu') before it is saved.");
    }
  }
}

}  // namespace sr
