// Where a recorded call begins: at the arguments of a module, or at a block of it that data decide about.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/error.hpp>
#include <sr/graph/block_effects.hpp>
#include <sr/graph/captures.hpp>
#include <sr/graph/continuation.hpp>
#include <sr/graph/operator_facts.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/replay/trace/classify.hpp>
#include <sr/replay/trace/run_twice.hpp>

namespace sr::replay {

namespace detail {

// True if an integer is a size, an index or a list of them for an operator of LibTorch, also after
// arithmetic. Such an integer has to be known when the operator is lowered.
class SizeUses {
 public:
  bool is_size(const torch::jit::Value* value) {
    if (!seen_.insert(value).second) return false;
    return std::ranges::any_of(value->uses(), [&](const torch::jit::Use& use) { return is_size(use); });
  }

 private:
  bool is_size(const torch::jit::Use& use) {
    const torch::jit::Node& user = *use.user;
    if (user.kind() == c10::prim::Return) return is_size_of_owner(use);
    if (user.kind() == c10::prim::Loop) return is_size_in_loop(use);
    if (sr::detail::dispatched(user)) {
      const auto& arguments = user.schema().arguments();
      return use.offset < arguments.size() && is_integers(*arguments[use.offset].type());
    }
    return std::ranges::any_of(user.outputs(), [&](const torch::jit::Value* output) {
      return is_integers(*output->type()) && is_size(output);
    });
  }
  // The output of a block is an output of the node that has the block, and the next iteration's input.
  bool is_size_of_owner(const torch::jit::Use& use) {
    const torch::jit::Block* const block = use.user->owningBlock();
    const torch::jit::Node* const owner = block->owningNode();
    if (owner == nullptr) return false;
    const bool is_loop = owner->kind() == c10::prim::Loop;
    if (is_loop && use.offset == 0) return false;
    return is_size(owner->output(use.offset - (is_loop ? 1 : 0))) ||
           (is_loop && is_size(block->inputs()[use.offset]));
  }
  bool is_size_in_loop(const torch::jit::Use& use) {
    if (use.offset < 2) return false;
    const std::size_t carried = use.offset - 2;
    return is_size(use.user->output(carried)) || is_size(use.user->blocks()[0]->inputs()[carried + 1]);
  }
  static bool is_integers(const c10::Type& type) {
    if (type.kind() == c10::TypeKind::ListType) return is_integers(*type.containedType(0));
    if (type.kind() == c10::TypeKind::OptionalType)
      return is_integers(*type.expectRef<c10::OptionalType>().getElementType());
    return type.kind() == c10::TypeKind::IntType;
  }

  std::unordered_set<const torch::jit::Value*> seen_;
};

inline bool is_number(const c10::Type& type) {
  return type.kind() == c10::TypeKind::IntType || type.kind() == c10::TypeKind::FloatType ||
         type.kind() == c10::TypeKind::BoolType || type.kind() == c10::TypeKind::NumberType;
}

}  // namespace detail

struct Entry {
  struct Input {
    Slot slot = 0;
    // True if the value, a number or a list of numbers, may be other in each call of a program. The arguments
    // have None in its place. Nothing that is known before a program runs depends on it.
    bool by_value = false;
    bool may_be_by_value = false;
  };

  std::uint32_t block = 0;
  std::string name;  // of a block, for messages
  std::vector<Input> inputs;
  std::size_t argument_count = 0;  // of the inputs; behind them come variables
  std::size_t result_count = 0;    // of the outputs of the block; behind them come new values of variables
  std::vector<bool> own_outputs;   // by output: the block has defined the value
  bool may_run_twice = false;      // see run_twice.hpp
  bool changes_lists = false;      // of numbers, which are inputs by value
  // Bodies of loops that data end, although their conditions do not show it: recordings have met them.
  std::set<std::uint32_t> loops_by_data;

  // A call of the module.
  static Entry of_call(const PreparedModule& content) {
    Entry entry;
    for (const Slot slot : content.blocks[0].inputs) entry.inputs.push_back({slot});
    entry.argument_count = content.schema.arguments().size();
    entry.result_count = content.result_count();
    entry.may_run_twice = replay::may_run_twice(content);
    return entry;
  }
  // A run of a block whose effects are known. Its inputs are its own, if it reads them, and the
  // values around it that it reads.
  static Entry of_block(const PreparedModule& content, std::uint32_t index) {
    const torch::jit::Block& block = content.source(index);
    Entry entry;
    entry.block = index;
    entry.name = name_of(block);
    const BlockEffects effects = BlockEffects::of(&block);
    const std::vector<const torch::jit::Value*>& changed = effects.lists;
    entry.changes_lists = !changed.empty();
    for (const torch::jit::Value* input : block.inputs()) {
      if (!input->uses().empty()) entry.add(content, input);
    }
    for (const torch::jit::Value* value : captures_of(std::array{&block})) {
      if (content.slots.at(value) < content.constants.size()) continue;
      entry.add(content, value);
      entry.inputs.back().by_value = std::ranges::find(changed, value) != changed.end();
    }
    entry.argument_count = entry.inputs.size();
    entry.result_count = block.outputs().size();
    for (const torch::jit::Value* output : block.outputs())
      entry.own_outputs.push_back(output->node()->owningBlock() == &block &&
                                  content.slots.at(output) >= content.constants.size());
    entry.may_run_twice = !entry.changes_lists && !effects.draws && effects.tensors.empty();
    return entry;
  }

 private:
  void add(const PreparedModule& content, const torch::jit::Value* value) {
    const bool may_be_by_value =
        (detail::is_number(*value->type()) || sr::detail::is_list_of_numbers(*value->type())) &&
        !detail::SizeUses().is_size(value);
    inputs.push_back({content.slots.at(value), false, may_be_by_value});
  }
  static std::string name_of(const torch::jit::Block& block) {
    const torch::jit::Node& owner = *block.owningNode();
    const bool is_loop = owner.kind() == c10::prim::Loop;
    if (is_continuation(owner)) return "what follows " + sr::detail::place_of(**block.nodes().begin());
    const char* const which = is_loop                       ? "the body"
                              : owner.blocks()[0] == &block ? "the first branch"
                                                            : "the second branch";
    return std::string(which) + " of " + sr::detail::place_of(owner);
  }
};

}  // namespace sr::replay
