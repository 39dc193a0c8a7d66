// Memory plans as a picture or as figures: one bar a tensor, over the bytes it takes and the steps it lives
// in.
#pragma once

#include <string>
#include <vector>

#include <sr/memory/request.hpp>
#include <sr/report.hpp>

namespace sr::tool {

struct PlannedTensor {
  std::string name;
  std::string made_by;  // key of the node
  memory::Bytes bytes = 0;
  memory::Bytes offset = 0;
  memory::StepIndex first = 0;  // half-open, in steps of the block
  memory::StepIndex end = 0;
  bool onto_input = false;  // written onto the bytes of an input that dies in the same step
};

// The memory of a block on the general path, or of a plan. The report must outlive it.
struct PlannedMemory {
  std::string name;  // "general path, block 0", "replay of (float[8, 50])"
  const BlockMemory* memory = nullptr;
  std::string arguments;               // of a plan
  std::string decided_block;           // the data-dependent block that the plan is of; empty: of calls
  std::vector<PlannedTensor> tensors;  // in the order of the requests
  std::vector<std::string> steps;      // the operators of each
};

// Every block, then every plan of calls, then those of data-dependent blocks.
std::vector<PlannedMemory> planned_memories(const Report& report);

// One panel for each block and plan that has memory: a row for each step, downwards in the order of
// execution, with the offset in the memory to the right. Says so when there is none.
std::string plan_svg(const Report& report, const std::string& title);
std::string plan_json(const Report& report, const std::string& title);

// By the end of the name, .svg or .json. Throws ArgumentError for another one, LoadError if it cannot be
// written.
void write_plan(const std::string& path, const Report& report, const std::string& title);

}  // namespace sr::tool
