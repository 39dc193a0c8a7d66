// What steps have in common that run a node of the graph on tensors, as the general path does.
#pragma once

#include <cstddef>

#include <sr/graph/processed_node.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/steps/wrappers.hpp>

namespace sr::replay {

// A node with its own frame, whose slots hold the inputs, followed by the outputs.
struct BoundNode : Payload {
  std::size_t bytes() const override {
    return sizeof(BoundNode) + bytes_of(frame.values) + bytes_of(node.inputs) + wrappers.bytes();
  }

  ProcessedNode node;
  mutable Frame frame;
  Wrappers wrappers;

  void take(const ProcessedNode& processed) {
    node = processed;
    frame.values.resize(node.inputs.size() + node.output_count);
    frame.states.resize(1);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) node.inputs[i] = static_cast<Slot>(i);
    node.first_output = static_cast<Slot>(node.inputs.size());
    node.state = 0;
  }
};

}  // namespace sr::replay
