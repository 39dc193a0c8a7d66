// Keeps the passes from reading the values of weights. A caller may change a weight after the module was
// loaded, and whatever was folded, pooled or decided by the old values would be wrong then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/alias_rules.hpp>
#include <sr/memory_origins.hpp>
#include <sr/weight_source.hpp>

namespace sr {

namespace detail {

// While passes run, weights are inputs of the graph. What the graph itself writes, or LibTorch can not hold
// as a constant, is left as it is.
class HiddenWeights {
 public:
  // `self` is the module that the graph's first input stands for, or None. The inputs are inserted at
  // `first`, so that inputs which others have appended stay the last ones. The graph and its forks must be
  // inlined.
  HiddenWeights(const std::shared_ptr<torch::jit::Graph>& graph, const c10::IValue& self, std::size_t first)
      : first_(first) {
    Scope top{.graph = graph};
    if (!self.isNone()) top.objects.emplace(graph->inputs()[0], self);
    if (calls_methods(graph->block())) return;
    find_assigned(graph->block());
    writes_tensors_ = writes_tensors(graph->block());
    find_written(top, graph->block());
    has_writes_ = writes_tensors_ || !written_.empty() || !assigned_.empty();
    hide(top, graph->block());
  }

  // Makes constants of them in the graph that the passes have made, which become its first nodes, in the
  // order of the result. Weights that the graph no longer reads are left out.
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

 private:
  // A graph, or the body of a fork in one.
  struct Scope {
    std::shared_ptr<torch::jit::Graph> graph;
    torch::jit::Node* fork = nullptr;
    Scope* outer = nullptr;
    std::unordered_map<const torch::jit::Value*, c10::IValue> objects = {};
    std::unordered_map<std::size_t, torch::jit::Value*> inputs = {};  // that stand for weights
  };
  struct Attribute {
    std::string path;
    c10::intrusive_ptr<c10::ivalue::Object> object;
    std::size_t slot = 0;
  };

  // What a method that was not inlined reads and writes is unknown.
  static bool calls_methods(const torch::jit::Block* block) {
    for (const torch::jit::Node* node : block->nodes()) {
      if (node->kind() == c10::prim::CallMethod) return true;
      for (const torch::jit::Block* inner : node->blocks()) {
        if (calls_methods(inner)) return true;
      }
      if (node->kind() == c10::prim::fork && calls_methods(node->g(c10::attr::Subgraph)->block()))
        return true;
    }
    return false;
  }

  static bool writes_tensors(const torch::jit::Block* block) {
    for (const torch::jit::Node* node : block->nodes()) {
      const c10::FunctionSchema* schema = node->maybeSchema();
      if (schema != nullptr && schema->is_mutable() && dispatched(*node)) return true;
      for (const torch::jit::Block* inner : node->blocks()) {
        if (writes_tensors(inner)) return true;
      }
      if (node->kind() == c10::prim::fork && writes_tensors(node->g(c10::attr::Subgraph)->block()))
        return true;
    }
    return false;
  }

  void find_assigned(const torch::jit::Block* block) {
    for (const torch::jit::Node* node : block->nodes()) {
      if (node->kind() == c10::prim::SetAttr) assigned_.insert(node->s(c10::attr::name));
      for (const torch::jit::Block* inner : node->blocks()) find_assigned(inner);
      if (node->kind() == c10::prim::fork) find_assigned(node->g(c10::attr::Subgraph)->block());
    }
  }

  std::optional<Attribute> attribute_of(const Scope& scope, const torch::jit::Value* value) const {
    const torch::jit::Node* node = value->node();
    if (node->kind() != c10::prim::GetAttr) return std::nullopt;
    const std::string& name = node->s(c10::attr::name);
    if (assigned_.count(name) != 0) return std::nullopt;
    std::string path;
    c10::IValue object;
    if (const auto known = scope.objects.find(node->input()); known != scope.objects.end()) {
      object = known->second;
    } else {
      const std::optional<Attribute> parent = attribute_of(scope, node->input());
      if (!parent) return std::nullopt;
      object = parent->object->getSlot(parent->slot);
      path = parent->path + ".";
    }
    if (!object.isObject()) return std::nullopt;
    const auto slot = object.toObjectRef().type()->findAttributeSlot(name);
    if (!slot) return std::nullopt;
    return Attribute{path + name, object.toObject(), *slot};
  }

  // The body of a fork, whose inputs are what the fork is given.
  Scope enter(Scope& scope, torch::jit::Node* fork) const {
    Scope body{.graph = fork->g(c10::attr::Subgraph), .fork = fork, .outer = &scope};
    for (std::size_t i = 0; i < fork->inputs().size() && i < body.graph->inputs().size(); ++i) {
      const torch::jit::Value* given = fork->input(i);
      if (const auto known = scope.objects.find(given); known != scope.objects.end()) {
        body.objects.emplace(body.graph->inputs()[i], known->second);
      } else if (const auto attribute = attribute_of(scope, given);
                 attribute && attribute->object->getSlot(attribute->slot).isObject()) {
        body.objects.emplace(body.graph->inputs()[i], attribute->object->getSlot(attribute->slot));
      }
    }
    return body;
  }

  // Storages of attributes and constants that the graph writes, or may write.
  void find_written(Scope& scope, torch::jit::Block* block) {
    for (torch::jit::Node* node : block->nodes()) {
      const torch::jit::Operator* op = node->maybeOperator();
      const bool is_unknown =
          op != nullptr && op->aliasAnalysisKind() == c10::AliasAnalysisKind::CONSERVATIVE;
      if (is_unknown || keeps_values(*node)) {
        for (torch::jit::Value* input : node->inputs()) add_origins(scope, input);
      } else {
        each_written(*node, [&](std::size_t i) { add_origins(scope, node->input(i)); });
      }
      if (node->kind() == c10::prim::fork) {
        Scope body = enter(scope, node);
        find_written(body, body.graph->block());
      }
      for (torch::jit::Block* inner : node->blocks()) find_written(scope, inner);
    }
  }

  // Whether what is put into an attribute or a container may be written from there.
  bool keeps_values(const torch::jit::Node& node) const {
    if (node.kind() == c10::prim::SetAttr) return true;
    const c10::FunctionSchema* schema = node.maybeSchema();
    return writes_tensors_ && schema != nullptr && schema->is_mutable() && !dispatched(node);
  }

  void add_origins(Scope& scope, const torch::jit::Value* value) {
    if (!may_hold_tensor(value->type())) return;
    MemoryOrigins origins([&](const torch::jit::Value* origin) {
      if (origin->node()->kind() != c10::prim::Param) {
        add_written(scope, origin);
      } else if (scope.fork != nullptr && origin->offset() < scope.fork->inputs().size()) {
        add_origins(*scope.outer, scope.fork->input(origin->offset()));
      }
    });
    origins(value);
  }

  std::optional<c10::IValue> value_of(const Scope& scope, const torch::jit::Value* value) const {
    if (value->node()->kind() == c10::prim::Constant) return torch::jit::toIValue(value);
    const std::optional<Attribute> attribute = attribute_of(scope, value);
    if (!attribute) return std::nullopt;
    return attribute->object->getSlot(attribute->slot);
  }

  void add_written(const Scope& scope, const torch::jit::Value* value) {
    if (const auto known = value_of(scope, value)) {
      if (known->isPtrType() && !known->isObject()) add_identities(*known, written_);
    }
  }

  bool is_written(const c10::IValue& value) const {
    std::unordered_set<const void*> parts;
    add_identities(value, parts);
    for (const void* part : parts) {
      if (written_.count(part) != 0) return true;
    }
    // Which elements of a container are written is not known.
    return !value.isTensor() && has_writes_;
  }

  void hide(Scope& scope, torch::jit::Block* block) {
    for (auto position = block->nodes().begin(); position != block->nodes().end();) {
      torch::jit::Node* node = *position++;
      for (torch::jit::Block* inner : node->blocks()) hide(scope, inner);
      if (node->kind() == c10::prim::fork) {
        Scope body = enter(scope, node);
        hide(body, body.graph->block());
      } else if (node->kind() == c10::prim::GetAttr || node->kind() == c10::prim::Constant) {
        hide(scope, node);
      }
    }
  }

  void hide(Scope& scope, torch::jit::Node* node) {
    const std::optional<c10::IValue> value = value_of(scope, node->output());
    if (!value || !node->output()->hasUses() || !can_be_weight(*value) || is_written(*value)) return;
    const std::optional<Attribute> attribute = attribute_of(scope, node->output());
    const void* const owner = attribute           ? static_cast<const void*>(attribute->object.get())
                              : value->isTensor() ? value->toTensor().unsafeGetTensorImpl()
                                                  : static_cast<const void*>(node);
    const auto [known, is_new] =
        indices_.try_emplace({owner, attribute ? attribute->slot : 0}, weights_.size());
    if (is_new) {
      weights_.push_back(attribute ? WeightSource(attribute->path, attribute->object, attribute->slot)
                                   : WeightSource(*value));
      types_.push_back(value->isTensor() ? c10::TypePtr(c10::TensorType::get()) : node->output()->type());
      outermost(scope).graph->insertInput(first_ + known->second)->setType(types_.back());
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

  static Scope& outermost(Scope& scope) { return scope.outer == nullptr ? scope : outermost(*scope.outer); }

  // The weight as a value of the scope: forks hand it on to their bodies.
  torch::jit::Value* input_of(Scope& scope, std::size_t weight) {
    if (scope.outer == nullptr) return scope.graph->inputs()[first_ + weight];
    torch::jit::Value*& input = scope.inputs[weight];
    if (input == nullptr) {
      scope.fork->addInput(input_of(*scope.outer, weight));
      input = scope.graph->addInput()->setType(types_[weight]);
    }
    return input;
  }

  // Constants that a fork is given become constants of its body, where products of weights are packed.
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
  std::unordered_set<std::string> assigned_;  // names of attributes that the graph sets
  std::unordered_set<const void*> written_;   // identities
  bool writes_tensors_ = false;               // somewhere in the graph
  bool has_writes_ = false;                   // of whatever kind
};

}  // namespace detail

}  // namespace sr
