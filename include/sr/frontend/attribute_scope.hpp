// Resolves values of a graph to attributes of the caller's module, also in the bodies of forks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/frontend/assigned_attributes.hpp>

namespace sr::detail {

// A graph, or the body of a fork. Graphs must be inlined. Graph and outer scope must outlive this one.
class AttributeScope {
 public:
  struct Attribute {
    std::string path;  // "layer.weight"
    c10::intrusive_ptr<c10::ivalue::Object> object;
    std::size_t slot = 0;

    const c10::IValue& value() const { return object->getSlot(slot); }
  };

  // `self` is the module that the graph's first input stands for, or None. Attributes in `assigned` are
  // unknown, since the graph sets them. `assigned` must outlive the scope, and may grow meanwhile.
  AttributeScope(std::shared_ptr<torch::jit::Graph> graph, const c10::IValue& self,
                 const AssignedAttributes& assigned)
      : graph_(std::move(graph)), assigned_(&assigned) {
    if (!self.isNone()) objects_.emplace(graph_->inputs()[0], self);
  }

  // The scope of a fork's body, whose inputs are the inputs of the fork.
  AttributeScope enter(torch::jit::Node* fork) {
    AttributeScope body(fork->g(c10::attr::Subgraph), c10::IValue(), *assigned_);
    body.fork_ = fork;
    body.outer_ = this;
    for (std::size_t i = 0; i < fork->inputs().size() && i < body.graph_->inputs().size(); ++i) {
      if (auto object = object_of(fork->input(i)))
        body.objects_.emplace(body.graph_->inputs()[i], std::move(*object));
    }
    return body;
  }

  // The module or other object that the value stands for; None if it is unknown.
  std::optional<c10::IValue> object_of(const torch::jit::Value* value) const {
    if (const auto known = objects_.find(value); known != objects_.end()) return known->second;
    const std::optional<Attribute> attribute = attribute_of(value);
    if (!attribute || !attribute->value().isObject()) return std::nullopt;
    return attribute->value();
  }

  // Returns nullopt if the value is not an attribute, if the graph sets the attribute, or if only a call
  // decides which object has it.
  std::optional<Attribute> attribute_of(const torch::jit::Value* value) const {
    std::optional<Attribute> attribute = place_of(value);
    if (attribute &&
        assigned_->contains({attribute->object.get(), attribute->slot}, value->node()->s(c10::attr::name)))
      return std::nullopt;
    return attribute;
  }

  // The attribute that a prim::GetAttr reads or a prim::SetAttr writes, also if the graph sets it. Returns
  // nullopt if only a call decides which object has it.
  std::optional<Attribute> place_of(const torch::jit::Node* node) const {
    const std::optional<c10::IValue> object = object_of(node->input(0));
    if (!object) return std::nullopt;
    const std::string& name = node->s(c10::attr::name);
    const auto slot = object->toObjectRef().type()->findAttributeSlot(name);
    if (!slot) return std::nullopt;
    const std::optional<Attribute> parent = attribute_of(node->input(0));
    return Attribute{(parent ? parent->path + "." : "") + name, object->toObject(), *slot};
  }
  std::optional<Attribute> place_of(const torch::jit::Value* value) const {
    return value->node()->kind() == c10::prim::GetAttr ? place_of(value->node()) : std::nullopt;
  }

  // The value of a constant or attribute.
  std::optional<c10::IValue> value_of(const torch::jit::Value* value) const {
    if (value->node()->kind() == c10::prim::Constant) return torch::jit::toIValue(value);
    const std::optional<Attribute> attribute = attribute_of(value);
    return attribute ? std::optional(attribute->value()) : std::nullopt;
  }

  torch::jit::Graph& graph() const { return *graph_; }
  // Returns null if this is not the body of a fork.
  torch::jit::Node* fork() const { return fork_; }
  AttributeScope* outer() const { return outer_; }

 private:
  std::shared_ptr<torch::jit::Graph> graph_;
  const AssignedAttributes* assigned_;
  torch::jit::Node* fork_ = nullptr;
  AttributeScope* outer_ = nullptr;
  std::unordered_map<const torch::jit::Value*, c10::IValue> objects_;
};

// Calls visit(scope, node) for every node of a graph and of the bodies of its forks, with the scope of the
// graph that the node is in. Nodes in the blocks of a node come before it. `visit` may remove the node, and
// insert nodes before it.
template <class Visit>
void each_node_in_scope(AttributeScope& scope, torch::jit::Block* block, const Visit& visit) {
  for (auto position = block->nodes().begin(); position != block->nodes().end();) {
    torch::jit::Node* const node = *position++;
    for (torch::jit::Block* inner : node->blocks()) each_node_in_scope(scope, inner, visit);
    if (node->kind() == c10::prim::fork) {
      AttributeScope body = scope.enter(node);
      each_node_in_scope(body, body.graph().block(), visit);
    }
    visit(scope, node);
  }
}

}  // namespace sr::detail
