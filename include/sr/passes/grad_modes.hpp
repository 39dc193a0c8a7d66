// Removes `with torch.no_grad():` and similar contexts, which change no result: calls of sr compute no
// gradients.
#pragma once

#include <algorithm>
#include <string>

#include <torch/csrc/jit/ir/ir.h>

namespace sr::passes {

namespace detail {

// True if entering and leaving such a context changes nothing that a caller of sr can observe.
inline bool is_idle_context(const c10::TypePtr& type) {
  const auto object = type->cast<c10::ClassType>();
  if (object == nullptr || !object->name()) return false;
  const std::string name = object->name()->qualifiedName();
  const auto ends_with = [&](const std::string& ending) {
    return name.size() >= ending.size() &&
           name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
  };
  return ends_with("torch.autograd.grad_mode.no_grad") || ends_with("torch.autograd.grad_mode.enable_grad") ||
         ends_with("torch.autograd.profiler.record_function");
}

// True if the object is only constructed, entered and left. Entering may return the object.
inline bool is_only_entered(const torch::jit::Value* object) {
  return std::ranges::all_of(object->uses(), [](const torch::jit::Use& use) {
    const torch::jit::Node* user = use.user;
    if (user->kind() == c10::prim::Enter) return user->outputs().empty() || !user->output()->hasUses();
    if (user->kind() == c10::prim::Exit) return user->outputs().empty() || !user->output()->hasUses();
    return user->kind() == c10::prim::SetAttr && use.offset == 0;
  });
}

}  // namespace detail

// Removes them from an inlined graph and from forked bodies.
inline void remove_grad_modes(torch::jit::Block* block) {
  for (auto position = block->nodes().begin(); position != block->nodes().end();) {
    torch::jit::Node* node = *position;
    for (torch::jit::Block* inner : node->blocks()) remove_grad_modes(inner);
    if (node->kind() == c10::prim::fork) remove_grad_modes(node->g(c10::attr::Subgraph)->block());
    if (node->kind() == c10::prim::CreateObject && detail::is_idle_context(node->output()->type()) &&
        detail::is_only_entered(node->output())) {
      while (node->output()->hasUses()) node->output()->uses()[0].user->destroy();
    }
    ++position;
  }
}

}  // namespace sr::passes
