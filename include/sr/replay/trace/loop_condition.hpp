// Decides if a loop can be unrolled: its condition must be a function of static values. This is decided
// before the loop is entered, since recorded nodes cannot be removed again.
#pragma once

#include <unordered_set>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/alias_rules.hpp>
#include <sr/graph/each_node.hpp>
#include <sr/replay/trace/classify.hpp>

namespace sr::replay {

// `is_static` tells which values from outside of the body are static.
template <class IsStatic>
bool condition_is_static(const torch::jit::Node& loop, const IsStatic& is_static) {
  const torch::jit::Block* body = loop.blocks().at(0);
  std::vector<const torch::jit::Value*> open{body->outputs()[0]};
  std::unordered_set<const torch::jit::Value*> seen;
  while (!open.empty()) {
    const torch::jit::Value* value = open.back();
    open.pop_back();
    if (!seen.insert(value).second) continue;
    const torch::jit::Node* maker = value->node();
    if (maker->kind() == c10::prim::Constant) continue;
    if (maker->kind() == c10::prim::If && sr::detail::is_inside(maker, body)) {  // as `break` is written
      open.push_back(maker->input());
      for (const torch::jit::Block* branch : maker->blocks())
        open.push_back(branch->outputs()[value->offset()]);
      continue;
    }
    if (maker == body->param_node()) {
      if (value->offset() == 0) continue;  // the iteration
      open.push_back(body->outputs()[value->offset()]);
      open.push_back(loop.input(value->offset() + 1));
      continue;
    }
    if (!sr::detail::is_inside(maker, body)) {
      if (is_static(value)) continue;
      return false;
    }
    if (!maker->blocks().empty() || maker->kind() == c10::prim::Param) return false;
    for (const torch::jit::Value* input : maker->inputs()) {
      if (!sr::detail::may_hold_tensor(input->type())) {
        open.push_back(input);
      } else if (!has_fact(maker->kind(), Fact::reads_metadata_only)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace sr::replay
