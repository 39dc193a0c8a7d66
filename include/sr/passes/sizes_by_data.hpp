// Puts the rest of a graph, from the first node on that computes with sizes that data decide, into a block of
// its own. A replay of the graph knows the sizes when it comes to the block.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_set>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/alias_rules.hpp>
#include <sr/graph/block_effects.hpp>
#include <sr/graph/captures.hpp>
#include <sr/graph/continuation.hpp>
#include <sr/graph/operator_facts.hpp>
#include <sr/graph/sizes_by_data.hpp>

namespace sr::passes {

namespace detail {

inline bool is_integer(const torch::jit::Value* value) {
  const c10::TypeKind kind = value->type()->kind();
  return kind == c10::TypeKind::IntType || kind == c10::TypeKind::NumberType;
}
inline bool has_integers(const torch::jit::Value* value) {
  const c10::Type& type = *value->type();
  return is_integer(value) ||
         (type.kind() == c10::TypeKind::ListType && type.containedType(0)->kind() == c10::TypeKind::IntType);
}

// True if the value is a tensor of booleans, as far as the graph shows.
inline bool is_mask(const torch::jit::Value* value) {
  if (const auto type = value->type()->cast<c10::TensorType>(); type && type->scalarType() == at::kBool)
    return true;
  static const std::unordered_set<c10::Symbol> kCompare = {
      c10::aten::eq,         c10::aten::ne,          c10::aten::lt,      c10::aten::le,
      c10::aten::gt,         c10::aten::ge,          c10::aten::isnan,   c10::aten::isinf,
      c10::aten::isfinite,   c10::aten::logical_not, c10::aten::isclose, c10::aten::logical_and,
      c10::aten::logical_or, c10::aten::logical_xor, c10::aten::any,     c10::aten::all};
  static const std::unordered_set<c10::Symbol> kCombine = {c10::aten::__and__,     c10::aten::__or__,
                                                           c10::aten::bitwise_and, c10::aten::bitwise_or,
                                                           c10::aten::bitwise_not, c10::aten::bitwise_xor};
  const torch::jit::Node& node = *value->node();
  return kCompare.count(node.kind()) != 0 || (kCombine.count(node.kind()) != 0 && is_mask(node.input(0)));
}

// True if data decide the sizes of the operator's results.
inline bool makes_sizes(const torch::jit::Node& node, const c10::OperatorHandle& handle) {
  if (node.kind() == c10::aten::index) {
    const torch::jit::Node& list = *node.input(1)->node();
    return list.kind() == c10::prim::ListConstruct && std::ranges::any_of(list.inputs(), is_mask);
  }
  return sr::detail::decides_sizes(handle);
}

// True if the node converts elements of a tensor to numbers, as item() and tolist() do.
inline bool reads_elements(const torch::jit::Node& node) {
  static const c10::Symbol tolist = c10::Symbol::fromQualString("prim::tolist");
  static const std::unordered_set<c10::Symbol> kReaders = {
      c10::aten::item,  c10::aten::_local_scalar_dense, c10::aten::Int,  c10::aten::IntImplicit,
      c10::aten::Float, c10::aten::FloatImplicit,       c10::aten::Bool, c10::aten::is_nonzero,
      tolist,           c10::aten::ScalarImplicit,      c10::aten::equal};
  return kReaders.count(node.kind()) != 0 &&
         std::ranges::any_of(node.inputs(), [](const torch::jit::Value* input) {
           return input->type()->kind() == c10::TypeKind::TensorType;
         });
}

// Finds the values of a block that depend on elements of tensors: numbers, and tensors with data-dependent
// sizes.
class SizesByData {
 public:
  // Returns the first node that computes with data-dependent sizes, or null if there is none.
  torch::jit::Node* find(torch::jit::Block* block) {
    for (torch::jit::Node* node : block->nodes()) {
      if (needs_sizes(*node)) return node;
      note(*node);
    }
    return nullptr;
  }

 private:
  bool is_by_data(const torch::jit::Value* value) const { return by_data_.count(value) != 0; }
  template <class Values>
  bool has_any(const Values& values) const {
    return std::ranges::any_of(values, [&](const auto* value) { return is_by_data(value); });
  }

  bool needs_sizes(const torch::jit::Node& node) const {
    if (!node.blocks().empty()) {
      return !is_decided(node) && std::ranges::any_of(captures_of(node.blocks()), [&](const auto* value) {
        return is_by_data(value) && (is_tensor(value) || has_integers(value));
      });
    }
    if (!sr::detail::dispatched(node) || reads_metadata(node)) return false;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const torch::jit::Value* const input = node.input(i);
      const bool is_index = node.kind() == c10::aten::select && i == 2;
      if (is_by_data(input) && !is_index && (is_tensor(input) || has_integers(input))) return true;
    }
    return false;
  }
  static bool is_tensor(const torch::jit::Value* value) {
    return value->type()->kind() == c10::TypeKind::TensorType;
  }

  static bool reads_metadata(const torch::jit::Node& node) {
    return has_fact(node.kind(), Fact::reads_metadata_only);
  }

  // True if data decide which block runs, or how often.
  bool is_decided(const torch::jit::Node& node) const {
    if (node.kind() == c10::prim::If) return is_by_data(node.input(0));
    return is_by_data(node.input(0)) || is_by_data(node.input(1)) ||
           is_by_data(node.blocks()[0]->outputs()[0]);
  }

  void note(const torch::jit::Node& node) {
    if (!node.blocks().empty()) return note_blocks(node);
    const auto handle = sr::detail::dispatched(node);
    // The length of a list of tensors may depend on data. Results that are made of it then have
    // data-dependent sizes.
    const auto follows = [&](const torch::jit::Value* input) {
      return is_by_data(input) && (!handle || reads_metadata(node) || !is_tensor(input));
    };
    if (std::ranges::any_of(node.inputs(), follows) || reads_elements(node) ||
        (handle && makes_sizes(node, *handle)))
      by_data_.insert(node.outputs().begin(), node.outputs().end());
  }

  void note_blocks(const torch::jit::Node& node) {
    for (const torch::jit::Block* block : node.blocks()) {
      for (const torch::jit::Node* inner : block->nodes()) note(*inner);
    }
    if (!is_decided(node)) return;
    for (const torch::jit::Value* output : node.outputs()) {
      if (!is_tensor(output)) by_data_.insert(output);  // sizes of tensors are compared
    }
    const ControlFlowEffects effects = ControlFlowEffects::of(node);
    by_data_.insert(effects.lists.begin(), effects.lists.end());
  }

  std::unordered_set<const torch::jit::Value*> by_data_;
};

// Moves a node and all nodes behind it into the first block of a new prim::If.
class RestOfBlock {
 public:
  explicit RestOfBlock(torch::jit::Node* first) : outer_(first->owningBlock()) {
    torch::jit::Graph& graph = *first->owningGraph();
    const torch::jit::WithInsertPoint before(first);
    branch_ = graph.create(c10::prim::If, {graph.insertConstant(true)}, 0);
    branch_->insertBefore(first);
    branch_->i_(sr::detail::continuation_mark(), 1);
    branch_->setSourceRange(first->sourceRange());
    rest_ = branch_->addBlock();
    find_kept();
    std::vector<torch::jit::Node*> nodes;
    for (auto at = first->iterator(); at != outer_->nodes().end(); ++at) nodes.push_back(*at);
    for (torch::jit::Node* node : nodes) {
      if (node->kind() == c10::prim::Constant) {
        node->moveBefore(branch_);
      } else if (kept_.count(node) == 0) {
        node->moveBefore(rest_->return_node());
      }
    }
  }

  // Completes the branch and returns its block. If a replay could not run the block as a call, undoes the
  // move and returns null.
  torch::jit::Block* finish() {
    const std::vector<torch::jit::Value*> outputs = used_outside();
    if (!may_be_call(outputs)) {
      torch::jit::Node* const behind = branch_->next();
      while (rest_->nodes().begin() != rest_->nodes().end()) (*rest_->nodes().begin())->moveBefore(behind);
      branch_->destroy();
      return nullptr;
    }
    torch::jit::Block* const never = branch_->addBlock();
    for (torch::jit::Value* value : outputs) {
      rest_->registerOutput(value);
      torch::jit::Value* const output = branch_->addOutput();
      output->copyMetadata(value);
      for (const torch::jit::Use& use : std::vector<torch::jit::Use>(value->uses())) {
        if (use.user->owningBlock() == outer_) use.user->replaceInput(use.offset, output);
      }
      torch::jit::Node* const none = outer_->owningGraph()->createUninitialized(value->type());
      never->appendNode(none);
      never->registerOutput(none->output());
    }
    return rest_;
  }

 private:
  // Finds the tuples, lists and dictionaries that are only returned. They stay outside of the block, behind
  // it.
  void find_kept() {
    std::vector<torch::jit::Node*> open{outer_->return_node()};
    while (!open.empty()) {
      torch::jit::Node* const user = open.back();
      open.pop_back();
      for (torch::jit::Value* value : user->inputs()) {
        torch::jit::Node* const node = value->node();
        const bool is_container = node->kind() == c10::prim::TupleConstruct ||
                                  node->kind() == c10::prim::ListConstruct ||
                                  node->kind() == c10::prim::DictConstruct;
        const auto is_kept = [&](const torch::jit::Use& use) {
          return use.user == outer_->return_node() || kept_.count(use.user) != 0;
        };
        if (is_container && node->owningBlock() == outer_ && std::ranges::all_of(value->uses(), is_kept) &&
            kept_.insert(node).second)
          open.push_back(node);
      }
    }
  }

  std::vector<torch::jit::Value*> used_outside() const {
    std::vector<torch::jit::Value*> values;
    for (torch::jit::Node* node : rest_->nodes()) {
      for (torch::jit::Value* value : node->outputs()) {
        if (std::ranges::any_of(
                value->uses(), [&](const torch::jit::Use& use) { return use.user->owningBlock() == outer_; }))
          values.push_back(value);
      }
    }
    return values;
  }

  bool may_be_call(const std::vector<torch::jit::Value*>& outputs) const {
    const BlockEffects effects = BlockEffects::of(rest_);
    const auto is_argument = [&](const torch::jit::Value* value) {
      return value->node() == outer_->owningGraph()->param_node();
    };
    return effects.are_known && !effects.draws && effects.lists.empty() &&
           std::ranges::none_of(effects.tensors, is_argument) &&
           std::ranges::all_of(captures_of(std::array{static_cast<const torch::jit::Block*>(rest_)}),
                               [](const torch::jit::Value* value) { return may_be_input(value->type()); }) &&
           std::ranges::all_of(outputs, [&](const torch::jit::Value* value) { return may_be_output(value); });
  }
  static bool may_be_input(const c10::TypePtr& type) {
    switch (type->kind()) {
      case c10::TypeKind::TensorType:
        return true;
      case c10::TypeKind::ListType:
        return type->containedType(0)->kind() != c10::TypeKind::ListType &&
               may_be_input(type->containedType(0));
      case c10::TypeKind::OptionalType:
        return may_be_input(type->expectRef<c10::OptionalType>().getElementType());
      default:
        return !sr::detail::may_hold_tensor(type);
    }
  }
  // True if the value is a number, or a tensor that shares no memory with values from outside of the block.
  bool may_be_output(const torch::jit::Value* value) const {
    if (!sr::detail::may_hold_tensor(value->type())) return true;
    sr::detail::Origins origins(rest_);
    return value->type()->kind() == c10::TypeKind::TensorType && origins.find(value) &&
           origins.outer().empty();
  }

  torch::jit::Block* outer_;
  torch::jit::Block* rest_ = nullptr;
  torch::jit::Node* branch_ = nullptr;
  std::unordered_set<const torch::jit::Node*> kept_;
};

}  // namespace detail

// Splits the graph. The new block is split in the same way.
inline void split_at_sizes_by_data(std::shared_ptr<torch::jit::Graph>& graph) {
  constexpr int kMostBlocks = 8;
  torch::jit::Block* block = graph->block();
  for (int count = 0; block != nullptr && count < kMostBlocks; ++count) {
    torch::jit::Node* const first = detail::SizesByData().find(block);
    block = first == nullptr ? nullptr : detail::RestOfBlock(first).finish();
  }
}

}  // namespace sr::passes
