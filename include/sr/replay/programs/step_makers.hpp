// Maps the results of nodes to the steps that compute them, for reports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/programs/program.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// `lowering` must outlive it.
class StepMakers {
 public:
  explicit StepMakers(Lowering& lowering) : lowering_(lowering) {}

  // Must be called after node `i` has been lowered. An epilogue belongs to the draft of its product.
  void note(std::uint32_t i) {
    each_result(i, [&](StorageId storage) {
      const std::uint32_t made = lowering_.maker_of(storage);
      if (made != kNone) made_by_.emplace_back(made, i);
    });
  }

  // Must be called after drafts have been moved or removed. `positions` holds the new position of each draft,
  // or kNone for a removed draft.
  void move(const std::vector<std::uint32_t>& positions) {
    for (auto& [made, node] : made_by_) made = positions[lowering_.moved_draft(made)];
    std::erase_if(made_by_, [&](const auto& made) {
      return made.first == kNone || !is_computed(made.second, lowering_.drafts()[made.first]);
    });
  }

  // Adds the nodes to the notes on the steps that the drafts have become.
  void write(std::vector<StepNote>& steps) const {
    for (const auto& [made, node] : made_by_) {
      std::vector<std::uint32_t>& nodes = steps[made].nodes;
      if (nodes.empty() || nodes.back() != node) nodes.push_back(node);  // they come in order
    }
  }

 private:
  template <class Visit>
  void each_result(std::uint32_t node, const Visit& visit) const {
    for (const c10::IValue& output : lowering_.trace().nodes[node].outputs) {
      if (output.isTensor() && output.toTensor().defined())
        visit(lowering_.operand(output.toTensor()).storage);
    }
  }

  // True if the draft still computes a result of the node. A group of pointwise operations writes the results
  // of all of its nodes. A product step with an epilogue writes only the last result, but computes all of its
  // nodes.
  bool is_computed(std::uint32_t node, const Draft& draft) const {
    bool found = draft.group == kNone;
    each_result(node, [&](StorageId storage) { found |= std::ranges::count(draft.writes, storage) != 0; });
    return found;
  }

  Lowering& lowering_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> made_by_;  // draft, node
};

}  // namespace sr::replay
