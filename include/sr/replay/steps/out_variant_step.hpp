// Steps that run LibTorch's kernels on planned memory.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <sr/registry/selection.hpp>
#include <sr/replay/steps/bound_node.hpp>
#include <sr/replay/steps/varying.hpp>

namespace sr::replay {

// Runs an out variant. The metadata and the memory of its results are known.
struct OutVariantStep final : BoundNode {
  std::string_view name() const override { return "call"; }
  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const OutVariantStep&>(payload);
    self.wrappers.bind(context.bases);
    NodeView view(self.node, self.frame);
    self.node.write(view);
    bool as_recorded = self.wrappers.are_bound(context.bases);
    for (std::size_t i = 0; i < self.results.size(); ++i) {
      as_recorded = as_recorded && self.results[i].metadata.matches(view.output(i).toTensor());
    }
    if (!as_recorded) throw Deoptimized("An operator did not write its result where it was to be.");
  }

  std::unique_ptr<Payload> clone(Frame*) const override {
    auto made = std::make_unique<OutVariantStep>();
    made->take(node);
    for (std::size_t i = 0; i < frame.values.size(); ++i)
      made->frame.values[i] = made->wrappers.clone(frame.values[i], wrappers);
    made->results = results;
    made->numbers = numbers;
    return made;
  }

  RunStep settle(SizeValues& values) override {
    wrappers.settle(values);
    for (ExpectedResult& result : results) result.settle(values);
    for (auto& [input, number] : numbers)
      frame.values[input] = number.settled(values, frame.values[input].isIntList());
    return nullptr;
  }

  std::vector<ExpectedResult> results;
  std::vector<std::pair<std::size_t, VaryingNumbers>> numbers;  // by input
};

}  // namespace sr::replay
