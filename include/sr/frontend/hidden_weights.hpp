// Hides the values of weights and of state from the passes. A caller may change a weight after the module was
// loaded, and a call may change the state. Everything that was folded, pooled or decided by the old value
// would then be wrong.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/frontend/assigned_attributes.hpp>
#include <sr/frontend/attribute_scope.hpp>
#include <sr/frontend/fork_inputs.hpp>
#include <sr/frontend/state_entry.hpp>
#include <sr/frontend/weight_source.hpp>
#include <sr/frontend/written_weights.hpp>

namespace sr {

// True if the weights of a module may change after it was loaded.
enum class WeightOwner {
  caller,  // the caller may change them, so no pass reads their values
  module   // nothing changes them, so values computed from them are folded
};

namespace detail {

// Turns weights into inputs of the graph while passes run. This includes weights that the graph may write,
// because passes may find that the branch which writes is never taken. Weights that the resulting graph may
// write are state and stay inputs. Leaves weights unchanged that LibTorch cannot hold as constants.
class HiddenWeights {
 public:
  struct Shown {
    std::vector<WeightSource> weights;     // in the order of the graph's first constants
    std::vector<StateVariable> variables;  // in the order of the graph's last inputs
    std::vector<std::size_t> assigned;     // by output behind the results: the variable that it is
  };

  // `self` is the module that the graph's first input stands for, or None. The inputs are inserted at
  // `first`, so that inputs which others have appended stay the last ones. If no one else holds the weights,
  // only those are hidden that the graph may write, and integers of 8 bits. The graph and its forks must be
  // inlined.
  HiddenWeights(const std::shared_ptr<torch::jit::Graph>& graph, c10::IValue self, std::size_t first,
                WeightOwner owner)
      : self_(std::move(self)), first_(first), owner_(owner) {
    if (calls_methods(graph->block())) {  // what those read and write is unknown
      reads_unknown_ = true;
      return;
    }
    hide(graph, /*constants=*/true);
  }
  HiddenWeights(const HiddenWeights&) = delete;
  HiddenWeights& operator=(const HiddenWeights&) = delete;

  // Paths of attributes that would be weights if the graph did not assign to them. Freezing must keep them:
  // it may find that the branch which assigns is never taken, and fold their values.
  const std::vector<std::string>& assigned() const { return assigned_; }
  // The number of inputs.
  std::size_t count() const { return weights_.size(); }

  // Turns the inputs of weights that the resulting graph does not write into constants, and hides attributes
  // that it does not assign to any more. Omits weights that it no longer reads. `threaded` are the attributes
  // whose values flow through the graph, from the inputs behind those of the weights to the last outputs; if
  // such a value stays the same, the attribute is a weight, unless it is in `always`. What a graph without a
  // module may write stays the tensor that it is.
  Shown show(const std::shared_ptr<torch::jit::Graph>& graph, const std::vector<WeightSource>& threaded,
             const std::set<AttributeKey>& always) {
    if (!assigned_.empty()) hide(graph, /*constants=*/false);
    add_threaded(graph, threaded);
    const std::vector<bool> is_written = written(graph);
    Shown shown;
    const std::size_t first_output = graph->outputs().size() - threaded.size();
    std::vector<bool> is_variable(weights_.size()), assigned(weights_.size());
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const bool is_changed = is_written[i] && !self_.isNone();
      assigned[i] = is_assigned(*graph, i) || (is_changed && i >= first_threaded_);  // a list may be changed
      is_variable[i] =
          is_changed || assigned[i] ||
          (i >= first_threaded_ && always.count({weights_[i].object(), weights_[i].attribute()}) != 0);
    }
    prepare_copies(*graph, is_variable);
    std::vector<torch::jit::Value*> inputs;
    for (std::size_t i = 0; i < weights_.size(); ++i) inputs.push_back(graph->inputs()[first_ + i]);
    const torch::jit::WithInsertPoint at_start(*graph->block()->nodes().begin());
    for (const bool written : {false, true}) {
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        if (is_variable[i] || is_written[i] != written || !inputs[i]->hasUses()) continue;
        if (!written && owner_ == WeightOwner::caller) shown.weights.push_back(weights_[i]);
        torch::jit::Value* const constant = graph->insertConstant(without_gradients(weights_[i].now()));
        constant->setType(inputs[i]->type());  // the sizes and dtype of today are no promise
        inputs[i]->replaceAllUsesWith(constant);
      }
    }
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const bool is_threaded = i >= first_threaded_;
      if (is_threaded && !assigned[i]) graph->eraseOutput(first_output + shown.assigned.size());
      if (is_variable[i] && (is_threaded || inputs[i]->hasUses())) {
        if (assigned[i]) shown.assigned.push_back(shown.variables.size());
        shown.variables.push_back({weights_[i], (*copies_)(weights_[i].now()), is_written[i]});
      } else {
        graph->eraseInput(first_ + shown.variables.size());
      }
    }
    specialise_forks(graph->block());
    return shown;
  }

  // The copies of the tensors that the resulting graph may write. Requires that show() has run.
  FreshCopies& copies() { return *copies_; }

  // True if the graph may read the attribute otherwise than through a weight, or writes it.
  bool is_fixed(const AttributeKey& attribute) const {
    return reads_unknown_ || fixed_.count(attribute) != 0;
  }

 private:
  // The threaded attributes are the last of the weights until it is known which the graph assigns.
  void add_threaded(const std::shared_ptr<torch::jit::Graph>& graph,
                    const std::vector<WeightSource>& threaded) {
    first_threaded_ = weights_.size();
    for (const WeightSource& source : threaded) {
      weights_.push_back(source);
      types_.push_back(graph->inputs()[first_ + weights_.size() - 1]->type());
      fixed_.insert({source.object(), source.attribute()});
    }
  }

  // True if the graph may give a threaded attribute another value. One that cannot be a constant counts, too.
  bool is_assigned(const torch::jit::Graph& graph, std::size_t i) const {
    if (i < first_threaded_) return false;
    const std::size_t output = graph.outputs().size() - weights_.size() + i;
    return graph.outputs()[output] != graph.inputs()[first_ + i] || !can_be_weight(weights_[i].now());
  }

  // Copies that share what the values of the variables share, among themselves and with an object that the
  // graph still reads.
  void prepare_copies(const torch::jit::Graph& graph, const std::vector<bool>& is_variable) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (is_variable[i]) add_identities(weights_[i].now(), written_);
    }
    copies_.emplace(written_);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (is_variable[i]) copies_->copy_only_parts_of(weights_[i].now());
    }
    if (self_.isNone() || !graph.inputs()[0]->hasUses()) return;
    self_.visit([&](const c10::IValue& value) {
      if (value.isTensor()) copies_->copy_only_parts_of(value);
      return false;
    });
  }

  // `constants` is false after the passes, whose own constants are not weights.
  void hide(const std::shared_ptr<torch::jit::Graph>& graph, bool constants) {
    fixed_.clear();
    assigned_.clear();
    body_inputs_.clear();
    const WrittenWeights written(graph, self_);
    written_ = written.identities();
    AttributeScope top(graph, self_, written.assigned());
    each_node_in_scope(top, graph->block(), [&](AttributeScope& scope, torch::jit::Node* node) {
      if (node->kind() == c10::prim::GetAttr || (constants && node->kind() == c10::prim::Constant))
        hide(scope, node);
    });
  }

  // By weight: true if the graph may write it, or a tensor that shares memory with it. Fills `written_` with
  // the identities of those weights.
  std::vector<bool> written(const std::shared_ptr<torch::jit::Graph>& graph) {
    std::vector<bool> is_written(weights_.size(), false);
    if (reads_unknown_ && weights_.empty()) return is_written;
    const WrittenWeights found(graph, self_);
    std::unordered_set<const void*> direct = found.identities();
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (found.inputs().count(first_ + i) != 0) add_identities(weights_[i].now(), direct);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        std::unordered_set<const void*> parts;
        add_identities(weights_[i].now(), parts);
        if (is_written[i] || std::ranges::none_of(parts, [&](const void* p) { return direct.count(p) != 0; }))
          continue;
        direct.insert(parts.begin(), parts.end());
        is_written[i] = changed = true;
        if (weights_[i].object() != nullptr) fixed_.insert({weights_[i].object(), weights_[i].attribute()});
      }
    }
    written_ = std::move(direct);
    return is_written;
  }

  void hide(AttributeScope& scope, torch::jit::Node* node) {
    if (!node->output()->hasUses()) return;
    const std::optional<c10::IValue> value = scope.value_of(node->output());
    const std::optional<AttributeScope::Attribute> attribute = scope.place_of(node->output());
    if (!value || !can_be_weight(*value)) {
      if (attribute) fixed_.insert({attribute->object.get(), attribute->slot});
      if (attribute && !value && can_be_weight(attribute->value())) assigned_.push_back(attribute->path);
      reads_unknown_ |= !attribute && !value && node->output()->type()->isSubtypeOf(*c10::TensorType::get());
      return;
    }
    if (owner_ == WeightOwner::module && !may_be_written(*value) && !is_narrow(*value)) return;
    const void* const owner = attribute           ? static_cast<const void*>(attribute->object.get())
                              : value->isTensor() ? value->toTensor().unsafeGetTensorImpl()
                                                  : static_cast<const void*>(node);
    const auto [known, is_new] =
        indices_.try_emplace({owner, attribute ? attribute->slot : 0}, weights_.size());
    if (is_new) {
      weights_.push_back(attribute ? WeightSource(attribute->path, attribute->object, attribute->slot)
                                   : WeightSource(*value));
      types_.push_back(value->isTensor() ? c10::TypePtr(c10::TensorType::get()) : node->output()->type());
      outermost(scope).graph().insertInput(first_ + known->second)->setType(types_.back());
    }
    if (is_statistic(node->output())) weights_[known->second].mark_as_statistic();
    node->output()->replaceAllUsesWith(input_of(scope, known->second));
  }

  // True for integers of 8 bits: kernels read them as they are, where passes would fold what a model computes
  // of them into floats of four times the size.
  static bool is_narrow(const c10::IValue& value) {
    return value.isTensor() && value.toTensor().scalar_type() == at::kChar && value.toTensor().dim() > 1;
  }

  bool may_be_written(const c10::IValue& value) const {
    std::unordered_set<const void*> parts;
    add_identities(value, parts);
    return std::ranges::any_of(parts, [&](const void* part) { return written_.count(part) != 0; });
  }

  static bool is_statistic(const torch::jit::Value* value) {
    return std::ranges::any_of(value->uses(), [](const torch::jit::Use& use) {
      const c10::FunctionSchema* schema = use.user->maybeSchema();
      if (schema == nullptr || use.offset >= schema->arguments().size()) return false;
      const std::string& name = schema->arguments()[use.offset].name();
      return name == "running_mean" || name == "running_var";
    });
  }

  static AttributeScope& outermost(AttributeScope& scope) {
    return scope.outer() == nullptr ? scope : outermost(*scope.outer());
  }

  // The weight as a value of the scope; forks pass it to their bodies.
  torch::jit::Value* input_of(AttributeScope& scope, std::size_t weight) {
    if (scope.outer() == nullptr) return scope.graph().inputs()[first_ + weight];
    torch::jit::Value*& input = body_inputs_[{scope.fork(), weight}];
    if (input == nullptr) {
      scope.fork()->addInput(input_of(*scope.outer(), weight));
      input = scope.graph().addInput()->setType(types_[weight]);
    }
    return input;
  }

  // Makes constant inputs of a fork constants of its body, so that weights can be packed there.
  static void specialise_forks(torch::jit::Block* block) {
    for (torch::jit::Node* node : block->nodes()) {
      for (torch::jit::Block* inner : node->blocks()) specialise_forks(inner);
      if (node->kind() == c10::prim::fork) specialise(node);
    }
  }

  static void specialise(torch::jit::Node* fork) {
    torch::jit::Graph& body = *fork->g(c10::attr::Subgraph);
    for (std::size_t i = fork->inputs().size(); i-- > 0;) {
      const auto value = torch::jit::toIValue(fork->input(i));
      if (!value || !can_be_weight(*value) || i >= body.inputs().size()) continue;
      const torch::jit::WithInsertPoint at_start(*body.block()->nodes().begin());
      torch::jit::Value* constant = body.insertConstant(*value);
      constant->setType(body.inputs()[i]->type());
      body.inputs()[i]->replaceAllUsesWith(constant);
      body.eraseInput(i);
      fork->removeInput(i);
    }
    specialise_forks(body.block());
  }

  struct HashKey {
    std::size_t operator()(const std::pair<const void*, std::size_t>& key) const {
      return std::hash<const void*>()(key.first) * 31 + key.second;
    }
  };

  c10::IValue self_;
  std::size_t first_;
  WeightOwner owner_;
  std::vector<WeightSource> weights_;  // in the order of their inputs
  std::size_t first_threaded_ = 0;     // position in weights_ of the first threaded attribute
  std::vector<c10::TypePtr> types_;
  std::unordered_map<std::pair<const void*, std::size_t>, std::size_t, HashKey> indices_;
  // By fork and weight: the body's value for it.
  std::unordered_map<std::pair<const void*, std::size_t>, torch::jit::Value*, HashKey> body_inputs_;
  std::vector<std::string> assigned_;
  // Identities of the weights that the graph may write. show() adds those of the weights that it copies.
  std::unordered_set<const void*> written_;
  std::optional<FreshCopies> copies_;
  std::set<AttributeKey> fixed_;
  bool reads_unknown_ = false;  // tensors of objects that only a call decides
};

}  // namespace detail

}  // namespace sr
