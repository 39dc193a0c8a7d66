// Hides the values of weights from the passes. A caller may change a weight after the module was loaded; all
// that was folded, pooled or decided by the old value would then be wrong.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/frontend/attribute_scope.hpp>
#include <sr/frontend/fork_inputs.hpp>
#include <sr/frontend/state_entry.hpp>
#include <sr/frontend/weight_source.hpp>
#include <sr/frontend/written_weights.hpp>

namespace sr {

namespace detail {

// While passes run, weights are inputs of the graph. Weights that the graph itself writes, or that LibTorch
// can not hold as constants, are left unchanged.
class HiddenWeights {
 public:
  // `self` is the module that the graph's first input stands for, or None. The inputs are inserted at
  // `first`, so that inputs which others have appended stay the last ones. The graph and its forks must be
  // inlined.
  HiddenWeights(const std::shared_ptr<torch::jit::Graph>& graph, const c10::IValue& self, std::size_t first)
      : first_(first) {
    if (calls_methods(graph->block())) {  // what those read and write is unknown
      reads_unknown_ = true;
      return;
    }
    WrittenWeights written(*graph);
    AttributeScope top(graph, self, written.assigned());
    written.find(top);
    written_ = &written;
    hide(top, graph->block());
    written_ = nullptr;
  }

  // Turns the inputs into constants of the resulting graph. They become its first nodes, in the order of the
  // returned weights. Omits weights that the graph no longer reads.
  std::vector<WeightSource> show(torch::jit::Graph& graph) const {
    std::vector<WeightSource> shown;
    const torch::jit::WithInsertPoint at_start(*graph.block()->nodes().begin());
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      torch::jit::Value* input = graph.inputs()[first_ + i];
      if (!input->hasUses()) continue;
      torch::jit::Value* constant = graph.insertConstant(without_gradients(weights_[i].now()));
      constant->setType(input->type());  // the sizes and dtype of today are no promise
      input->replaceAllUsesWith(constant);
      shown.push_back(weights_[i]);
    }
    for (std::size_t i = weights_.size(); i-- > 0;) graph.eraseInput(first_ + i);
    specialise_forks(graph.block());
    return shown;
  }

  // Whether the graph may read the attribute otherwise than through a weight.
  bool is_fixed(const AttributeKey& attribute) const {
    return reads_unknown_ || fixed_.count(attribute) != 0;
  }

 private:
  void hide(AttributeScope& scope, torch::jit::Block* block) {
    for (auto position = block->nodes().begin(); position != block->nodes().end();) {
      torch::jit::Node* node = *position++;
      for (torch::jit::Block* inner : node->blocks()) hide(scope, inner);
      if (node->kind() == c10::prim::fork) {
        AttributeScope body = scope.enter(node);
        hide(body, body.graph().block());
      } else if (node->kind() == c10::prim::GetAttr || node->kind() == c10::prim::Constant) {
        hide(scope, node);
      }
    }
  }

  void hide(AttributeScope& scope, torch::jit::Node* node) {
    if (!node->output()->hasUses()) return;
    const std::optional<c10::IValue> value = scope.value_of(node->output());
    const std::optional<AttributeScope::Attribute> attribute = scope.attribute_of(node->output());
    if (!value || !can_be_weight(*value) || written_->contains(*value)) {
      if (attribute) fixed_.insert({attribute->object.get(), attribute->slot});
      reads_unknown_ |= !value && node->output()->type()->isSubtypeOf(*c10::TensorType::get());
      return;
    }
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

  std::size_t first_;
  std::vector<WeightSource> weights_;  // in the order of their inputs
  std::vector<c10::TypePtr> types_;
  std::unordered_map<std::pair<const void*, std::size_t>, std::size_t, HashKey> indices_;
  // By fork and weight: the body's value for it.
  std::unordered_map<std::pair<const void*, std::size_t>, torch::jit::Value*, HashKey> body_inputs_;
  const WrittenWeights* written_ = nullptr;  // while weights are hidden
  std::set<AttributeKey> fixed_;
  bool reads_unknown_ = false;  // tensors of objects that only a call decides
};

}  // namespace detail

}  // namespace sr
