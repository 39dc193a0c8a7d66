// What a block that data decide about may change outside of itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <unordered_set>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/alias_rules.hpp>
#include <sr/graph/each_node.hpp>
#include <sr/replay/trace/classify.hpp>

namespace sr::replay {

namespace detail {

// Finds whether a value was made in a block, and is neither part of nor a view of a value from outside.
class MadeInBlock {
 public:
  explicit MadeInBlock(const torch::jit::Block* block) : block_(block) {}

  // True if it is the block, or a block in it.
  bool is_inside(const torch::jit::Block* inner) const {
    while (inner != nullptr && inner != block_)
      inner = inner->owningNode() != nullptr ? inner->owningNode()->owningBlock() : nullptr;
    return inner != nullptr;
  }
  bool is_made(const torch::jit::Value* value) {
    if (!seen_.insert(value).second) return true;  // it is a value of an earlier iteration
    const torch::jit::Node& node = *value->node();
    if (!is_inside(node.owningBlock())) return false;
    if (node.kind() == c10::prim::Param) return is_made_in_loop(node, value->offset());
    if (node.kind() == c10::prim::If) {
      return std::ranges::all_of(node.blocks(), [&](const torch::jit::Block* branch) {
        return is_made(branch->outputs()[value->offset()]);
      });
    }
    if (node.kind() == c10::prim::Loop)
      return is_made(node.input(value->offset() + 2)) &&
             is_made(node.blocks()[0]->outputs()[value->offset() + 1]);
    if (node.kind() == c10::prim::ListConstruct || node.kind() == c10::prim::DictConstruct) return true;
    return makes_results(node);
  }

 private:
  // `param` belongs to the body of a loop; that of the block itself has values from outside.
  bool is_made_in_loop(const torch::jit::Node& param, std::size_t i) {
    const torch::jit::Block& body = *param.owningBlock();
    if (&body == block_ || i == 0) return false;
    return is_made(body.owningNode()->input(i + 1)) && is_made(body.outputs()[i]);
  }
  // Elements of containers may come from outside.
  bool makes_results(const torch::jit::Node& node) {
    const auto handle = sr::detail::dispatched(node);
    if (!handle) return false;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const torch::jit::Value* input = node.input(i);
      if (sr::detail::may_hold_tensor(input->type()) &&
          sr::detail::may_return_input(node.schema(), *handle, i) && !is_made(input))
        return false;
    }
    return true;
  }

  const torch::jit::Block* block_;
  std::unordered_set<const torch::jit::Value*> seen_;
};

inline bool is_list_of_numbers(const c10::Type& type) {
  if (type.kind() != c10::TypeKind::ListType) return false;
  const c10::TypeKind element = type.containedType(0)->kind();
  return element == c10::TypeKind::IntType || element == c10::TypeKind::FloatType ||
         element == c10::TypeKind::BoolType;
}

}  // namespace detail

// What a block does besides its outputs.
struct BlockEffects {
  // True if the block changes only values that it has made itself and the lists in `lists`, draws no random
  // numbers, and calls only operators of LibTorch and sr.
  bool are_known = true;
  std::vector<const torch::jit::Value*> lists;  // of numbers, from outside of the block, each once

  static BlockEffects of(const torch::jit::Block* block) {
    BlockEffects effects;
    sr::detail::each_node(block, [&](const torch::jit::Node* node) {
      effects.are_known &= is_repeatable(*node);
      sr::detail::each_written(*node, [&](std::size_t i) { effects.add(*block, *node, node->input(i)); });
    });
    return effects;
  }

 private:
  void add(const torch::jit::Block& block, const torch::jit::Node& node, const torch::jit::Value* written) {
    detail::MadeInBlock made(&block);
    if (made.is_made(written)) return;
    const bool is_list = !sr::detail::dispatched(node) && detail::is_list_of_numbers(*written->type()) &&
                         !made.is_inside(written->node()->owningBlock());
    are_known &= is_list;
    if (is_list && std::ranges::find(lists, written) == lists.end()) lists.push_back(written);
  }
};

// True if all that the block does are its outputs: a program may run it, or run it again.
inline bool has_only_outputs(const torch::jit::Block* block) {
  const BlockEffects effects = BlockEffects::of(block);
  return effects.are_known && effects.lists.empty();
}

}  // namespace sr::replay
