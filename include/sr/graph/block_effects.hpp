// What a block that data decide about may change outside of itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_set>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/alias_rules.hpp>
#include <sr/graph/each_node.hpp>
#include <sr/graph/repeatable.hpp>

namespace sr {

namespace detail {

// Finds the values from outside of a block that a value may be, or may share memory with.
class Origins {
 public:
  explicit Origins(const torch::jit::Block* block) : block_(block) {}

  bool is_inside(const torch::jit::Node* node) const { return detail::is_inside(node, block_); }
  // Adds the origins of the value to outer(). They are tensors that the block reads, or inputs of the block.
  // Returns false if they are not known: the value may be an element of a container.
  bool find(const torch::jit::Value* value) {
    if (!seen_.insert(value).second) return true;  // it is a value of an earlier iteration
    const torch::jit::Node& node = *value->node();
    if (!is_inside(&node)) return add(value);
    if (node.kind() == c10::prim::Param) return find_of_loop(node, value);
    if (node.kind() == c10::prim::If) {
      return std::ranges::all_of(node.blocks(), [&](const torch::jit::Block* branch) {
        return find(branch->outputs()[value->offset()]);
      });
    }
    if (node.kind() == c10::prim::IfThenElse) return find(node.input(1)) && find(node.input(2));
    if (node.kind() == c10::prim::Loop)
      return find(node.input(value->offset() + 2)) && find(node.blocks()[0]->outputs()[value->offset() + 1]);
    if (node.kind() == c10::prim::ListConstruct || node.kind() == c10::prim::DictConstruct ||
        node.kind() == c10::prim::Uninitialized)
      return true;
    return find_of_operator(node);
  }
  const std::vector<const torch::jit::Value*>& outer() const { return outer_; }

 private:
  bool add(const torch::jit::Value* value) {
    outer_.push_back(value);
    return value->type()->kind() == c10::TypeKind::TensorType;
  }
  // `param` belongs to the body of a loop; that of the block itself has values from outside.
  bool find_of_loop(const torch::jit::Node& param, const torch::jit::Value* value) {
    const torch::jit::Block& body = *param.owningBlock();
    if (&body == block_) return add(value);
    const std::size_t i = value->offset();
    return i != 0 && find(body.owningNode()->input(i + 1)) && find(body.outputs()[i]);
  }
  // Returns false for operators that read containers, because an element may come from outside of the block.
  bool find_of_operator(const torch::jit::Node& node) {
    const auto handle = detail::dispatched(node);
    if (!handle) return false;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const torch::jit::Value* input = node.input(i);
      if (detail::may_hold_tensor(input->type()) && detail::may_return_input(node.schema(), *handle, i) &&
          !find(input))
        return false;
    }
    return true;
  }

  const torch::jit::Block* block_;
  std::unordered_set<const torch::jit::Value*> seen_;
  std::vector<const torch::jit::Value*> outer_;
};

// True if the operator writes elements of its first argument, whose sizes and memory stay as they are.
inline bool writes_elements(const c10::OperatorHandle& handle, std::size_t written) {
  const std::string& name = handle.schema().name();
  return written == 0 && name.ends_with('_') && name.find("resize") == std::string::npos &&
         !handle.hasTag(at::Tag::inplace_view);
}

inline bool is_list_of_numbers(const c10::Type& type) {
  if (type.kind() != c10::TypeKind::ListType) return false;
  const c10::TypeKind element = type.containedType(0)->kind();
  return element == c10::TypeKind::IntType || element == c10::TypeKind::FloatType ||
         element == c10::TypeKind::BoolType;
}
inline bool is_list_of_tensors(const c10::Type& type) {
  return type.kind() == c10::TypeKind::ListType && type.containedType(0)->kind() == c10::TypeKind::TensorType;
}

// True if nodes of the block, or of blocks in it, only append to the list and ask for its length.
inline bool is_only_appended_to(const torch::jit::Value* list, const Origins& block) {
  return std::ranges::all_of(list->uses(), [&](const torch::jit::Use& use) {
    const c10::Symbol kind = use.user->kind();
    return !block.is_inside(use.user) || kind == c10::aten::len ||
           (kind == c10::aten::append && use.offset == 0 && !use.user->output()->hasUses());
  });
}

}  // namespace detail

// What a block does besides its outputs.
struct BlockEffects {
  // True if the block calls only known operators, and changes only values that it has made and the values in
  // `lists` and `tensors`.
  bool are_known = true;
  bool draws = false;             // random numbers
  bool changes_any_list = false;  // of numbers or tensors, wherever it was made
  // Values from outside of the block, or inputs of the block, each once.
  std::vector<const torch::jit::Value*> lists;    // of numbers; or of tensors, which are only appended
  std::vector<const torch::jit::Value*> tensors;  // whose elements, or those of views of them, are written

  static BlockEffects of(const torch::jit::Block* block) {
    BlockEffects effects;
    detail::each_node(block, [&](const torch::jit::Node* node) {
      effects.are_known &= is_known_code(*node);
      effects.draws |= detail::draws_random_numbers(*node);
      detail::each_written(*node, [&](std::size_t i) { effects.add(*block, *node, i); });
    });
    return effects;
  }

 private:
  void add(const torch::jit::Block& block, const torch::jit::Node& node, std::size_t i) {
    const torch::jit::Value* const written = node.input(i);
    const auto handle = detail::dispatched(node);
    const bool is_of_numbers = detail::is_list_of_numbers(*written->type());
    const bool is_of_tensors = detail::is_list_of_tensors(*written->type());
    changes_any_list |= !handle && (is_of_numbers || is_of_tensors);
    detail::Origins origins(&block);
    const bool is_found = origins.find(written);
    if (is_found && origins.outer().empty()) return;
    if (handle) {
      are_known &= is_found && detail::writes_elements(*handle, i);
      for (const torch::jit::Value* tensor : origins.outer()) add_once(tensors, tensor);
      return;
    }
    const bool may_change = is_of_numbers || (is_of_tensors && detail::is_only_appended_to(written, origins));
    const bool is_list = may_change && !origins.is_inside(written->node());
    are_known &= is_list;
    if (is_list) add_once(lists, written);
  }
  static void add_once(std::vector<const torch::jit::Value*>& values, const torch::jit::Value* value) {
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
};

// What a branch or loop does besides its outputs, whichever of its blocks run.
struct ControlFlowEffects {
  bool are_known = true, draws = false, changes_any_list = false;  // see BlockEffects
  // Values from outside of the node, or inputs of the node.
  std::vector<const torch::jit::Value*> lists, tensors;

  static ControlFlowEffects of(const torch::jit::Node& node) {
    ControlFlowEffects effects;
    for (const torch::jit::Block* block : node.blocks()) {
      const BlockEffects inner = BlockEffects::of(block);
      effects.are_known &= inner.are_known;
      effects.draws |= inner.draws;
      effects.lists.insert(effects.lists.end(), inner.lists.begin(), inner.lists.end());
      effects.add_tensors(*block, inner.tensors);
      effects.changes_any_list |= inner.changes_any_list;
    }
    return effects;
  }

 private:
  // A value that a loop carries is an input of the node at first, then what the body has made of it.
  void add_tensors(const torch::jit::Block& block, std::vector<const torch::jit::Value*> open) {
    std::unordered_set<const torch::jit::Value*> seen;
    while (!open.empty()) {
      const torch::jit::Value* const value = open.back();
      open.pop_back();
      if (!seen.insert(value).second) continue;
      if (value->node() != block.param_node()) {
        tensors.push_back(value);
        continue;
      }
      const std::size_t i = value->offset();
      tensors.push_back(block.owningNode()->input(i + 1));
      detail::Origins origins(&block);
      are_known &= origins.find(block.outputs()[i]);
      open.insert(open.end(), origins.outer().begin(), origins.outer().end());
    }
  }
};

// True if all that the block does are its outputs: a program may run it, or run it again.
inline bool has_only_outputs(const torch::jit::Block* block) {
  const BlockEffects effects = BlockEffects::of(block);
  return effects.are_known && !effects.draws && effects.lists.empty() && effects.tensors.empty();
}

}  // namespace sr
