// One node of a prepared graph (immutable, shared by all threads), and the view of it that an op is called
// with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/jit_fwd.hpp>
#include <sr/graph/node_functions.hpp>
#include <sr/graph/node_state.hpp>

namespace sr {

struct CallOptions;
class ForkBody;
class RanNodes;
class WeightSet;

namespace memory {
struct PlannerOps;
}

using Slot = std::uint32_t;  // position of a value in a runtime's table

struct ProcessedNode : NodeFunctions {
  std::vector<Slot> inputs;
  std::vector<Slot> dying;  // slots that no later node reads; cleared as soon as this node has run
  std::vector<std::uint32_t> dynamic_inputs;  // positions of inputs that are not constants
  // Positions of integers that mean a dtype, layout, memory format or device: the kind of an output depends
  // on their values.
  std::vector<std::uint32_t> kind_inputs;
  // Positions of managed inputs of a fallback op whose schema promises new outputs: the promise is checked at
  // run time.
  std::vector<std::uint32_t> guarded_inputs;
  Slot first_output = 0;
  std::uint32_t output_count = 0;
  std::uint32_t state = 0;                // index of this node's NodeState in a frame
  std::vector<std::uint32_t> sub_blocks;  // indices into the module's blocks
  std::vector<std::vector<Slot>> sub_block_inputs;
  std::shared_ptr<const ForkBody> body;  // of prim::fork
  bool is_vararg = false;  // the interpreter's operator wants the number of inputs on top of its stack
  const torch::jit::Node* node = nullptr;        // belongs to the module's graph
  torch::jit::Operation* interpreter = nullptr;  // LibTorch's implementation; null for control flow
  // Under Numerics::exact: other operators implement this one, and may ask whether an input requires a
  // gradient before they choose how to compute.
  bool asks_gradients = false;
  std::string declined;  // functors that were asked before and declined
};

struct Frame;

// Replays blocks of prim::If and prim::Loop, so that their nodes do not run one by one.
class BlockCalls {
 public:
  // Runs the block on the values in the frame, which then has its outputs. Returns false, having changed
  // nothing, if the nodes have to be run. Throws what they throw.
  virtual bool run(Frame& frame, std::uint32_t block) = 0;

 protected:
  ~BlockCalls() = default;
};

// What one run of one runtime works on. Owned by a StaticRuntime; ops see it through NodeView.
struct Frame {
  std::vector<c10::IValue> values;
  std::vector<NodeState> states;
  std::vector<c10::IValue> stack;  // of boxed calls; keeps its capacity from run to run
  // Entry points into the runners of sub-blocks, whose type ops do not know.
  void (*run_block)(Frame& frame, std::uint32_t block) = nullptr;
  c10::IValue (*take_output)(Frame& frame, std::uint32_t block, std::size_t output) = nullptr;
  void (*finish_block)(Frame& frame, std::uint32_t block) = nullptr;
  void* runtime = nullptr;
  bool dispatches = false;  // every node through LibTorch's dispatcher, which obeys autocast
  const memory::PlannerOps* planner = nullptr;  // of the runtime; forked bodies run on it, too
  const WeightSet* weights = nullptr;           // whose constants are in `values`
  const CallOptions* call = nullptr;            // of the call that runs; null: nothing was chosen
  BlockCalls* blocks = nullptr;                 // null: all blocks are run node by node
  RanNodes* ran = nullptr;                      // by a replay of this call; null: none ended half way
};

class NodeView {
 public:
  NodeView(const ProcessedNode& node, Frame& frame)
      : node_(&node), frame_(&frame), values_(frame.values.data()) {}

  std::size_t input_count() const { return node_->inputs.size(); }
  std::size_t output_count() const { return node_->output_count; }
  const c10::IValue& input(std::size_t i) const { return values_[node_->inputs[i]]; }
  c10::IValue& output(std::size_t i) const { return values_[node_->first_output + i]; }
  c10::IValue& value(Slot slot) const { return values_[slot]; }
  NodeState& state() const { return frame_->states[node_->state]; }
  bool is_constant(std::uint32_t i) const {
    const auto& dynamic = node_->dynamic_inputs;
    return std::find(dynamic.begin(), dynamic.end(), i) == dynamic.end();
  }
  const ProcessedNode& processed() const { return *node_; }
  const torch::jit::Node& node() const { return *node_->node; }
  Frame& frame() const { return *frame_; }

  // Sub-block `i` of this node: put its inputs into their slots, run it, take each output once, finish it.
  void run_block(std::size_t i) const { frame_->run_block(*frame_, node_->sub_blocks[i]); }
  c10::IValue take_block_output(std::size_t i, std::size_t output) const {
    return frame_->take_output(*frame_, node_->sub_blocks[i], output);
  }
  void finish_block(std::size_t i) const { frame_->finish_block(*frame_, node_->sub_blocks[i]); }
  Slot block_input(std::size_t i, std::size_t input) const { return node_->sub_block_inputs[i][input]; }

 private:
  const ProcessedNode* node_;
  Frame* frame_;
  c10::IValue* values_;
};

}  // namespace sr
