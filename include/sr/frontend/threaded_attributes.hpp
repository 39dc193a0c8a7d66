// Turns the attributes that a graph assigns into values that flow through it. Each attribute becomes an
// input, its value before the call, and an output, its value after the call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/frontend/assigned_attributes.hpp>
#include <sr/frontend/attribute_scope.hpp>
#include <sr/frontend/fork_inputs.hpp>
#include <sr/frontend/memory_origins.hpp>
#include <sr/frontend/weight_source.hpp>
#include <sr/graph/alias_rules.hpp>
#include <sr/graph/each_node.hpp>

namespace sr::detail {

// The attributes that another method of the module writes. ThreadedAttributes threads them even if the folded
// graph does not assign them.
using ThreadedAlways = std::set<AttributeKey>;

// Does not thread attributes of objects that are known only at run time, attributes that hold objects,
// attributes that a fork reads or assigns, and nested lists whose inner lists the graph changes.
class ThreadedAttributes {
 public:
  // `self` is the module that the graph's first input stands for. The graph must be inlined, and assign those
  // in `always`.
  ThreadedAttributes(const std::shared_ptr<torch::jit::Graph>& graph, const c10::IValue& self,
                     const ThreadedAlways& always)
      : scope_(graph, self, reassigned_), first_output_(graph->outputs().size()), always_(always) {
    if (calls_methods(graph->block())) return;  // what those read and assign is unknown
    each_node<Forks::enter>(graph->block(), [&](const torch::jit::Node* node) {
      if (node->kind() == c10::prim::SetAttr && may_hold_object(node->input(1)->type()))
        reassigned_.add_name(node->s(c10::attr::name));
    });
    find(graph->block());
    leave_shared(graph);
    Values now;
    for (const Variable& variable : variables_) now.push_back(graph->addInput()->setType(variable.type));
    thread(graph->block(), now);
    for (torch::jit::Value* const value : now) graph->registerOutput(value);
  }
  ThreadedAttributes(const ThreadedAttributes&) = delete;
  ThreadedAttributes& operator=(const ThreadedAttributes&) = delete;

  // The attributes, in the order of their inputs and of the graph's last outputs.
  std::vector<WeightSource> sources() const {
    std::vector<WeightSource> sources;
    for (const Variable& variable : variables_)
      sources.emplace_back(variable.place.path, variable.place.object, variable.place.slot);
    return sources;
  }

  // Turns numbers and strings back into constants if the folded graph no longer assigns them, unless they are
  // always threaded. `first_input` is the position of the first input. Returns true if there were any.
  bool drop_unchanged(torch::jit::Graph& graph, std::size_t first_input) {
    bool any = false;
    for (std::size_t i = variables_.size(); i-- > 0;) {
      torch::jit::Value* const input = graph.inputs()[first_input + i];
      const c10::IValue& value = variables_[i].place.value();
      const bool is_plain = value.isScalar() || value.isBool() || value.isString() || value.isNone();
      if (!is_plain || graph.outputs()[first_output_ + i] != input ||
          always_.count(key_of(variables_[i])) != 0)
        continue;
      const torch::jit::WithInsertPoint at_start(*graph.block()->nodes().begin());
      graph.eraseOutput(first_output_ + i);
      input->replaceAllUsesWith(graph.insertConstant(value));
      graph.eraseInput(first_input + i);
      variables_.erase(variables_.begin() + static_cast<std::ptrdiff_t>(i));
      any = true;
    }
    return any;
  }

 private:
  struct Variable {
    AttributeScope::Attribute place;
    c10::TypePtr type;
  };
  using Values = std::vector<torch::jit::Value*>;  // by variable

  static AttributeKey key_of(const Variable& variable) {
    return {variable.place.object.get(), variable.place.slot};
  }

  // Finds the attributes that the graph assigns, and the containers that it changes.
  void find(const torch::jit::Block* block) {
    each_node(block, [&](const torch::jit::Node* node) {
      if (node->kind() == c10::prim::SetAttr) {
        add(node);
      } else if (node->kind() == c10::prim::GetAttr) {
        // The object may be one whose attribute of that name is assigned.
        if (!scope_.place_of(node)) left_names_.insert(node->s(c10::attr::name));
      } else if (node->maybeSchema() != nullptr && !dispatched(*node)) {
        each_written(*node, [&](std::size_t i) { add_changed(node->input(i)); });
      }
    });
  }

  void add(const torch::jit::Node* node) {
    const auto place = scope_.place_of(node);
    const c10::TypePtr type = place ? place->object->type()->getAttribute(place->slot) : nullptr;
    if (type == nullptr || may_hold_object(type)) return void(left_names_.insert(node->s(c10::attr::name)));
    const auto [known, is_new] =
        positions_.try_emplace({place->object.get(), place->slot}, variables_.size());
    if (is_new) variables_.push_back({*place, type});
  }

  void add_changed(const torch::jit::Value* container) {
    if (!may_hold_container(container->type())) return;
    MemoryOrigins origins([&](const torch::jit::Value* origin) {
      if (origin->node()->kind() != c10::prim::GetAttr) return;
      if (std::ranges::any_of(origin->type()->containedTypes(), may_hold_container)) {
        left_names_.insert(origin->node()->s(c10::attr::name));
      } else {
        add(origin->node());
      }
    });
    origins(container);
  }

  // Leaves attributes that a fork reads or assigns, or that have the name of one that was not found.
  void leave_shared(const std::shared_ptr<torch::jit::Graph>& graph) {
    std::set<AttributeKey> in_forks;
    each_node_in_scope(scope_, graph->block(), [&](AttributeScope& scope, torch::jit::Node* node) {
      if (scope.fork() == nullptr) return;
      if (node->kind() != c10::prim::GetAttr && node->kind() != c10::prim::SetAttr) return;
      if (const auto place = scope.place_of(node)) {
        in_forks.insert({place->object.get(), place->slot});
      } else {
        left_names_.insert(node->s(c10::attr::name));
      }
    });
    std::erase_if(variables_, [&](const Variable& variable) {
      const AttributeScope::Attribute& place = variable.place;
      return in_forks.count({place.object.get(), place.slot}) != 0 ||
             left_names_.count(place.object->type()->getAttributeName(place.slot)) != 0;
    });
    positions_.clear();
    for (std::size_t i = 0; i < variables_.size(); ++i) positions_.emplace(key_of(variables_[i]), i);
  }

  std::optional<std::size_t> position_of(const torch::jit::Node* node) const {
    if (node->kind() != c10::prim::GetAttr && node->kind() != c10::prim::SetAttr) return std::nullopt;
    const auto place = scope_.place_of(node);
    const auto known = place ? positions_.find({place->object.get(), place->slot}) : positions_.end();
    return known != positions_.end() ? std::optional(known->second) : std::nullopt;
  }

  void thread(torch::jit::Block* block, Values& now) {
    for (auto position = block->nodes().begin(); position != block->nodes().end();) {
      torch::jit::Node* const node = *position++;
      if (node->kind() == c10::prim::If) {
        thread_branches(node, now);
      } else if (!node->blocks().empty()) {
        thread_loop(node, now);
      } else if (const auto variable = position_of(node)) {
        if (node->kind() == c10::prim::GetAttr) {
          node->output()->replaceAllUsesWith(now[*variable]);
        } else {
          now[*variable] = node->input(1);
        }
        node->destroy();
      }
    }
  }

  void thread_branches(torch::jit::Node* node, Values& now) {
    std::vector<Values> ends;
    for (torch::jit::Block* const branch : node->blocks()) {
      Values inside = now;
      thread(branch, inside);
      ends.push_back(std::move(inside));
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (std::ranges::all_of(ends, [&](const Values& end) { return end[i] == now[i]; })) continue;
      for (std::size_t b = 0; b < ends.size(); ++b) node->blocks()[b]->registerOutput(ends[b][i]);
      now[i] = node->addOutput()->setType(variables_[i].type);
    }
  }

  void thread_loop(torch::jit::Node* node, Values& now) {
    torch::jit::Block* const body = node->blocks()[0];
    std::set<std::size_t> assigned;
    each_node(body, [&](const torch::jit::Node* inner) {
      if (inner->kind() != c10::prim::SetAttr) return;
      if (const auto variable = position_of(inner)) assigned.insert(*variable);
    });
    Values inside = now;
    for (const std::size_t i : assigned) {
      node->addInput(now[i]);
      inside[i] = body->addInput()->setType(variables_[i].type);
    }
    thread(body, inside);
    for (const std::size_t i : assigned) {
      body->registerOutput(inside[i]);
      now[i] = node->addOutput()->setType(variables_[i].type);
    }
  }

  AssignedAttributes reassigned_;  // assigned attributes that hold objects
  AttributeScope scope_;
  std::size_t first_output_;
  std::vector<Variable> variables_;
  std::map<AttributeKey, std::size_t> positions_;  // in variables_
  std::set<std::string> left_names_;
  ThreadedAlways always_;
};

}  // namespace sr::detail
