// Evaluates an operator on numbers that depend on data, such as `i < n` in the condition of a loop.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <sr/replay/steps/bound_node.hpp>
#include <sr/replay/steps/varying.hpp>

namespace sr::replay {

// Calls sr's own function of the node, whose inputs and result are ints, floats and bools: nothing has to be
// wrapped before the call, or compared or released after it.
struct NumberFunctionStep final : BoundNode {
  std::string_view name() const override { return "evaluate numbers"; }

  // The frame holds all inputs that are in neither of these vectors.
  struct FromTable {
    Slot slot = 0;
    ValueId value = kNone;
  };
  struct FromSizes {
    Slot slot = 0;
    VaryingNumbers number;
  };
  std::vector<FromTable> from_table;
  std::vector<FromSizes> from_sizes;
  ValueId to = kNone;

  RunStep settle(SizeValues& values) override {
    for (FromSizes& input : from_sizes)
      frame.values[input.slot] = input.number.settled(values, /*is_list=*/false);
    return nullptr;
  }
  std::unique_ptr<Payload> clone(Frame*) const override {
    auto made = std::make_unique<NumberFunctionStep>();
    made->take(node);
    made->frame.values = frame.values;
    made->from_table = from_table;
    made->from_sizes = from_sizes;
    made->to = to;
    return made;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const NumberFunctionStep&>(payload);
    for (const FromTable& input : self.from_table)
      self.frame.values[input.slot] = (*context.values)[input.value];
    NodeView view(self.node, self.frame);
    self.node.function(view);
    (*context.values)[self.to] = std::move(view.output(0));
  }
};

}  // namespace sr::replay
