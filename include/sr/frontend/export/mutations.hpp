// Rejects exported programs that write to their parameters, which runtimes and the caller share. Buffers and
// lifted constants that a program writes are state.
// Follows the alias annotations of schemas to each write.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/error.hpp>
#include <sr/graph/alias_rules.hpp>
#include <sr/registry/selection.hpp>

namespace sr::exported {

class Mutations {
 public:
  // Descriptions of the values that may not change, such as "the parameter 'weight'".
  using Names = std::unordered_map<const torch::jit::Value*, std::string>;

  explicit Mutations(const Names& names) : names_(names) {
    for (const auto& [value, name] : names) origins_[value] = {value};
  }

  // Throws UnsupportedOpError.
  void check(const torch::jit::Block* block) {
    for (const torch::jit::Node* node : block->nodes()) {
      if (node->kind() == c10::prim::Constant) continue;
      if (node->blocks().empty()) {
        check_writes(*node);
        pass_on(*node);
      } else {
        check_blocks(*node);
      }
    }
  }

 private:
  using Origins = std::set<const torch::jit::Value*>;

  void add(const torch::jit::Value* to, const torch::jit::Value* from) {
    if (!sr::detail::may_hold_tensor(to->type())) return;
    const auto known = origins_.find(from);
    if (known == origins_.end()) return;
    const Origins found = known->second;
    origins_[to].insert(found.begin(), found.end());
  }

  void check_blocks(const torch::jit::Node& node) {
    const bool loops = node.kind() == c10::prim::Loop;
    for (const torch::jit::Block* inner : node.blocks()) {
      // Twice for a loop: the results of an iteration are the inputs of the next.
      for (int round = 0; round < (loops ? 2 : 1); ++round) {
        for (std::size_t i = 1; loops && i < inner->inputs().size(); ++i) {
          add(inner->inputs()[i], round == 0 ? node.input(i + 1) : inner->outputs()[i]);
        }
        check(inner);
      }
      const std::size_t skipped = loops ? 1 : 0;  // whether to go on
      for (std::size_t i = skipped; i < inner->outputs().size(); ++i)
        add(node.output(i - skipped), inner->outputs()[i]);
    }
    for (std::size_t i = 0; loops && i < node.outputs().size(); ++i) add(node.output(i), node.input(i + 2));
  }

  void pass_on(const torch::jit::Node& node) {
    const c10::FunctionSchema* schema = node.maybeSchema();
    const bool container = node.kind().is_prim();
    const auto handle = sr::detail::dispatched(node);
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const bool annotated = schema != nullptr && i < schema->arguments().size() &&
                             schema->arguments()[i].alias_info() != nullptr;
      const bool passes =
          container || (handle ? sr::detail::may_return_input(*schema, *handle, i) : annotated);
      if (!passes) continue;
      for (std::size_t j = 0; j < node.outputs().size(); ++j) {
        if (annotated && !container && schema->returns()[j].alias_info() == nullptr) continue;
        add(node.output(j), node.input(i));
      }
    }
  }

  void check_writes(const torch::jit::Node& node) const {
    sr::detail::each_written(node, [&](std::size_t i) { refuse_write(node, i); });
  }

  void refuse_write(const torch::jit::Node& node, std::size_t position) const {
    const auto found = origins_.find(node.input(position));
    if (found == origins_.end() || found->second.empty()) return;
    throw UnsupportedOpError("The exported program cannot be run by sr: " + sr::detail::place_of(node) +
                                 " writes to " + names_.at(*found->second.begin()) +
                                 ". Export a model that returns what is new instead, in evaluation mode.",
                             {node.kind().toQualString()});
  }

  const Names& names_;
  std::unordered_map<const torch::jit::Value*, Origins> origins_;
};

}  // namespace sr::exported
