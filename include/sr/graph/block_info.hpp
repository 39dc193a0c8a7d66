// One block of a prepared graph: its nodes in the order of execution, and the lifetimes of their values.
// Immutable, shared by all threads.
#pragma once

#include <string>
#include <vector>

#include <sr/graph/processed_node.hpp>
#include <sr/memory/request.hpp>

namespace sr {

// A managed tensor, which the planner places: the output of an out variant that does not escape from the
// block.
struct ManagedValue {
  Slot slot = 0;
  memory::StepIndex first = 0;  // half-open lifetime in steps of this block, aliases and captures included
  memory::StepIndex end = 0;
  std::uint32_t reuses = memory::kNoRequest;  // index of a managed value of this block it may be written onto
};

struct BlockOutput {
  Slot slot = 0;
  bool moves = false;  // made in this block, returned once: its reference can be handed over
};

struct BlockInfo {
  std::vector<ProcessedNode> nodes;
  std::vector<Slot> inputs;
  std::vector<BlockOutput> outputs;
  std::vector<ManagedValue> managed;
  std::vector<Slot>
      recycled;  // top block: out-variant outputs the caller gets, kept under manage_output_tensors
  std::vector<Slot>
      cleared;  // what else holds a reference when the block ends; nodes clear their dying slots
};

}  // namespace sr
