// Replaces splits of jagged features by operators that read each part in place. A ranking model concatenates
// the values of all features, splits them with `values.split(lengths.tolist())`, and looks each part up in
// the embedding table of its feature. The sizes of the results do not depend on the lengths, so a replay does
// not need the lengths as sizes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/own_operators.hpp>
#include <sr/graph/tensor_parts.hpp>
#include <sr/passes/length_sums.hpp>

namespace sr::passes {

namespace detail {

// A split_with_sizes node whose sizes are elements of a tensor and whose parts only embedding bags read.
class JaggedSplit {
 public:
  // Returns nullopt if the node is another operator, or if other nodes than embedding bags read its parts.
  static std::optional<JaggedSplit> of(torch::jit::Node* node) {
    if (node->kind() != c10::aten::split_with_sizes || torch::jit::toIValue(node->input(2)) != c10::IValue(0))
      return std::nullopt;
    const auto sums = LengthSums::of(node->input(1));
    const auto& uses = node->output()->uses();
    if (!sums || uses.size() != 1 || uses[0].user->kind() != c10::prim::ListUnpack) return std::nullopt;
    JaggedSplit split{node, uses[0].user, *sums};
    for (const torch::jit::Value* part : split.parts_->outputs()) {
      for (const torch::jit::Use& use : part->uses()) {
        if (!is_bag(*use.user) || (use.offset != kIndices && use.offset != kWeights)) return std::nullopt;
      }
    }
    return split;
  }

  torch::jit::Value* lengths() const { return sums_.lengths; }
  // Returns the index of the value among the parts, or nullopt if the value is not one of them.
  std::optional<std::size_t> part_of(const torch::jit::Value* value) const {
    return value->node() == parts_ ? std::optional(value->offset()) : std::nullopt;
  }
  torch::jit::Value* whole() const { return split_->input(0); }
  // Returns the embedding_bag nodes whose indices are a part.
  std::vector<torch::jit::Node*> bags() const {
    std::vector<torch::jit::Node*> nodes;
    for (const torch::jit::Value* part : parts_->outputs()) {
      for (const torch::jit::Use& use : part->uses()) {
        if (use.offset == kIndices) nodes.push_back(use.user);
      }
    }
    return nodes;
  }
  // Adds a sr::part_starts node, which computes where each part begins. The assertions before the split
  // become checks of that node and are removed.
  torch::jit::Value* make_starts() {
    torch::jit::Graph& graph = *split_->owningGraph();
    std::vector<std::int64_t> checks;
    std::vector<std::string> messages;
    const std::vector<torch::jit::Node*> assertions = take_assertions(checks, messages);
    torch::jit::Node* const first = assertions.empty() ? split_ : assertions.front();
    const torch::jit::WithInsertPoint before(first);
    torch::jit::Node* const made =
        graph.create(c10::Symbol::fromQualString("sr::part_starts"),
                     {sums_.lengths, whole(), graph.insertConstant(checks),
                      graph.insertConstant(c10::List<std::string>(at::ArrayRef<std::string>(messages)))});
    made->insertBefore(first);
    made->setSourceRange(split_->sourceRange());
    for (torch::jit::Node* node : assertions) node->destroy();
    return made->output();
  }

  static constexpr std::size_t kIndices = 1, kWeights = 6, kLastOffset = 7, kPadding = 8;

 private:
  JaggedSplit(torch::jit::Node* split, torch::jit::Node* parts, LengthSums sums)
      : split_(split), parts_(parts), sums_(std::move(sums)) {}

  static bool is_bag(const torch::jit::Node& node) {
    return node.kind() == c10::aten::embedding_bag && node.inputs().size() > kLastOffset &&
           !node.output(1)->hasUses() && !node.output(2)->hasUses() && !node.output(3)->hasUses();
  }

  // Appends the assertions on lengths directly before the split to `checks` and `messages`. Returns their
  // nodes.
  std::vector<torch::jit::Node*> take_assertions(std::vector<std::int64_t>& checks,
                                                 std::vector<std::string>& messages) {
    std::vector<torch::jit::Node*> found;
    for (torch::jit::Node* node : before_split()) {
      if (node->kind() != c10::prim::If) {
        sums_.note_sum(*node);
        continue;
      }
      auto assertion = read_assertion(*node);
      if (!assertion) continue;
      assertion->first.append_to(checks);
      messages.push_back(std::move(assertion->second));
      found.push_back(node);
    }
    return found;
  }

  // Returns the nodes directly before the split that only compute with lengths or assert, in order.
  std::vector<torch::jit::Node*> before_split() const {
    std::vector<torch::jit::Node*> nodes;
    for (torch::jit::Node* node = split_->prev(); node->kind() != c10::prim::Param; node = node->prev()) {
      const c10::Symbol kind = node->kind();
      const bool is_number = kind == c10::aten::Int || kind == c10::aten::item || kind == c10::aten::add ||
                             kind == c10::aten::ge || kind == c10::aten::le || kind == c10::aten::eq;
      const bool computes =
          is_number && std::ranges::none_of(node->inputs(), [&](const torch::jit::Value* input) {
            return input->type()->kind() == c10::TypeKind::TensorType && !is_length(input);
          });
      if (!computes && kind != c10::prim::Constant && kind != c10::prim::ListConstruct && !read_raise(*node))
        break;
      nodes.push_back(node);
    }
    std::ranges::reverse(nodes);
    return nodes;
  }
  bool is_length(const torch::jit::Value* value) const {
    const torch::jit::Node& unpack = *value->node();
    return unpack.kind() == c10::prim::ListUnpack && unpack.input()->node()->kind() == c10::aten::unbind &&
           unpack.input()->node()->input(0) == sums_.lengths;
  }

  // Returns the message of an assertion: a branch that throws sr's assertion error if its condition is false.
  // Returns nullopt for other nodes.
  static std::optional<std::string> read_raise(const torch::jit::Node& node) {
    if (node.kind() != c10::prim::If || !node.outputs().empty()) return std::nullopt;
    const auto holds = node.blocks()[0]->nodes(), fails = node.blocks()[1]->nodes();
    if (holds.begin() != holds.end() || fails.begin() == fails.end()) return std::nullopt;
    const torch::jit::Node& raise = **fails.begin();
    if (raise.kind() != c10::prim::RaiseException || raise.inputs().size() < 2) return std::nullopt;
    const auto message = torch::jit::toIValue(raise.input(0)), name = torch::jit::toIValue(raise.input(1));
    if (!message || !message->isString() || name != c10::IValue("sr.Error")) return std::nullopt;
    return message->toStringRef();
  }

  std::optional<std::pair<PartCheck, std::string>> read_assertion(const torch::jit::Node& node) const {
    auto message = read_raise(node);
    const torch::jit::Node& compare = *node.input(0)->node();
    const c10::Symbol kind = compare.kind();
    if (!message || (kind != c10::aten::ge && kind != c10::aten::le && kind != c10::aten::eq))
      return std::nullopt;
    const auto range = sums_.find(compare.input(0));
    const auto bound = bound_of(compare.input(1));
    if (!range || !bound) return std::nullopt;
    const auto relation = kind == c10::aten::ge   ? PartCheck::Relation::at_least
                          : kind == c10::aten::le ? PartCheck::Relation::at_most
                                                  : PartCheck::Relation::equal;
    return std::pair(PartCheck{range->begin, range->end, relation, *bound}, std::move(*message));
  }
  std::optional<std::int64_t> bound_of(const torch::jit::Value* value) const {
    const torch::jit::Node& node = *value->node();
    if (node.kind() == c10::aten::size && node.inputs().size() == 2 && node.input(0) == whole() &&
        torch::jit::toIValue(node.input(1)) == c10::IValue(0))
      return PartCheck::kWhole;
    const auto number = torch::jit::toIValue(value);
    if (!number || !number->isInt() || number->toInt() < 0) return std::nullopt;
    return number->toInt();
  }

  torch::jit::Node* split_;
  torch::jit::Node* parts_;  // the ListUnpack of its result
  LengthSums sums_;
};

// All such splits of a block. Replaces the embedding bags that read their parts.
class JaggedSplits {
 public:
  explicit JaggedSplits(torch::jit::Block* block) {
    for (torch::jit::Node* node : block->nodes()) {
      if (auto split = JaggedSplit::of(node)) splits_.push_back({std::move(*split), nullptr});
    }
  }

  bool empty() const { return splits_.empty(); }
  void replace() {
    for (Entry& entry : splits_) {
      for (torch::jit::Node* bag : entry.split.bags()) {
        const auto weights = weights_of(*bag, entry.split);
        if (weights) replace(*bag, entry, *weights);
      }
    }
  }

 private:
  struct Entry {
    JaggedSplit split;
    torch::jit::Value* starts;  // null: none were needed so far

    torch::jit::Value* get_starts() {
      if (starts == nullptr) starts = split.make_starts();
      return starts;
    }
  };

  // Returns the split that gives the per-sample weights, as the part with the index that the bag's indices
  // have. Returns null if the bag has no weights, and nullopt if its weights are not such a part.
  std::optional<Entry*> weights_of(const torch::jit::Node& bag, const JaggedSplit& split) {
    const torch::jit::Value* const weights = bag.input(JaggedSplit::kWeights);
    if (weights->type()->kind() == c10::TypeKind::NoneType) return nullptr;
    const auto part = split.part_of(bag.input(JaggedSplit::kIndices));
    for (Entry& other : splits_) {
      if (other.split.lengths() == split.lengths() && other.split.part_of(weights) == part) return &other;
    }
    return std::nullopt;
  }

  static void replace(torch::jit::Node& bag, Entry& indices, Entry* weights) {
    torch::jit::Graph& graph = *bag.owningGraph();
    const auto part = static_cast<std::int64_t>(*indices.split.part_of(bag.input(JaggedSplit::kIndices)));
    torch::jit::Value* const starts = indices.get_starts();
    torch::jit::Value* const starts_of_weights = weights == nullptr ? nullptr : weights->get_starts();
    const torch::jit::WithInsertPoint before(&bag);
    torch::jit::Value* const none = graph.insertConstant(c10::IValue());
    torch::jit::Node* const made = graph.create(c10::Symbol::fromQualString("sr::embedding_bag_of_part"));
    for (std::size_t i = 0; i <= JaggedSplit::kPadding; ++i) {
      const bool is_weights = i == JaggedSplit::kWeights && weights != nullptr;
      made->addInput(i == JaggedSplit::kIndices ? indices.split.whole()
                     : is_weights               ? weights->split.whole()
                     : i < bag.inputs().size()  ? bag.input(i)
                                                : none);
    }
    made->addInput(starts);
    made->addInput(weights == nullptr ? none : starts_of_weights);
    made->addInput(graph.insertConstant(part));
    made->insertBefore(&bag);
    made->setSourceRange(bag.sourceRange());
    made->output()->copyMetadata(bag.output(0));
    bag.output(0)->replaceAllUsesWith(made->output());
    bag.destroy();
  }

  std::vector<Entry> splits_;
};

}  // namespace detail

// Leaves nodes that became unused to the elimination of dead code.
inline void read_jagged_parts(std::shared_ptr<torch::jit::Graph>& graph) {
  detail::JaggedSplits splits(graph->block());
  if (splits.empty()) return;
  sr::detail::register_own_operators();
  splits.replace();
}

}  // namespace sr::passes
