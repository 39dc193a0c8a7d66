// What a runtime reports about itself: which path each node takes and why, which tensors are managed, why
// others are not, and how much memory that takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include <sr/base/config.hpp>
#include <sr/base/node_kind.hpp>
#include <sr/memory/request.hpp>

namespace sr {

struct PreparedModule;

// The memory of one block as it stands; all sizes in bytes. The general path plans it in its second call, or
// when the runtime is told to reserve; before, `arena` is 0 and `layout` places nothing.
struct BlockMemory {
  memory::Bytes arena = 0;
  memory::Bytes lower_bound = 0;          // most bytes alive at once
  memory::Bytes no_reuse = 0;             // sum over all managed tensors
  std::vector<memory::Request> requests;  // one for each managed value of the block
  memory::Layout layout;
};

struct ValueReport {
  std::string name;
  bool managed = false;
  bool placed = false;      // the general path has planned its memory: `offset` is a place in it
  std::string why_not;      // for outputs of out variants that are not managed
  memory::Bytes bytes = 0;  // planned size, when managed
  memory::Bytes offset = 0;
  memory::StepIndex first = 0, end = 0;  // half-open lifetime in steps of the block
};

struct NodeReport {
  std::size_t block = 0;
  std::size_t index = 0;
  std::string key;     // "aten::add.Tensor"
  std::string text;    // the node as IR
  std::string source;  // "file:line", empty when unknown
  NodeKind path = NodeKind::fallback;
  std::string functor;
  std::string why;  // why this path, in a sentence
  std::vector<ValueReport> outputs;
};

// Memory that a step of a replay plan reads or writes.
struct OperandReport {
  std::string place;         // "argument 0", "weight", "constant", "arena", "result 0", "allocated"
  memory::Bytes bytes = 0;   // of the whole storage
  memory::Bytes offset = 0;  // in the arena
};

// One step of a replay plan.
struct StepReport {
  std::string kind;              // "fused", "packed gemm", "iterator", "call", "interpreted", ...
  std::vector<std::string> ops;  // keys of the nodes it computes; several where they are fused
  std::vector<OperandReport> reads, writes;
  double seconds = 0;  // the mean of the replays whose steps were timed, with the reading of a clock

  // "packed gemm: aten::linear, aten::relu"
  std::string label() const {
    std::string text = kind;
    for (std::size_t i = 0; i < ops.size(); ++i) text += (i == 0 ? ": " : ", ") + ops[i];
    return text;
  }
};

// The replay plan of one signature.
struct PlanReport {
  std::string arguments;                // "Float[8, 50], 3"; sizes that vary between calls are "s0", "s1"
  std::vector<std::string> conditions;  // "2 <= s0 <= 20": on those sizes
  std::vector<std::string> sizes_seen;  // "3 <= s0 <= 250": those of the calls
  std::uint64_t sizes_taken = 0;        // how often a call had other sizes than the one before
  std::size_t kernels = 0;              // steps that are kernels of ours
  std::size_t calls = 0;                // operators of LibTorch that write into planned memory
  std::size_t interpreted = 0;          // nodes left to the interpreter
  std::uint64_t replays = 0;
  std::uint64_t timed_replays = 0;  // while StaticRuntime::time_steps was on
  BlockMemory memory;
  std::vector<StepReport> steps;
  // Sentences about layers of a quantized model that sr computes in fp32 or leaves to LibTorch. They give the
  // time of a layer if steps were timed.
  std::vector<std::string> remarks;
};

// A branch or a loop body whose execution depends on the elements of tensors. sr replays each of its runs
// with separate plans.
struct BlockReport {
  std::string name;
  std::uint64_t replayed_runs = 0;
  std::vector<PlanReport> plans;      // `arguments` are the values that the block reads
  std::vector<std::string> bailouts;  // as in Report, of runs
  std::vector<std::pair<std::string, std::uint64_t>> misses;
  std::vector<std::string> pinned_by;  // as in Report
};

// Weights of the module in the layout that kernels read, beside the weights themselves.
struct PackedReport {
  std::string kind;  // "float32 matrices", "bfloat16 matrices", "int8 matrices", "float32 windows", ...
  std::size_t count = 0;
  memory::Bytes bytes = 0;
};

struct Report {
  std::string planner;
  std::vector<NodeReport> nodes;
  std::vector<BlockMemory> blocks;
  std::vector<PlanReport> plans;
  std::vector<BlockReport> decided_blocks;  // data-dependent blocks that were replayed
  std::vector<std::string> bailouts;        // why other signatures keep to the general path
  // Operators through which sr cannot follow sizes. A model with one of them needs a plan for each choice of
  // sizes.
  std::vector<std::string> pinned_by;
  std::size_t out_variants = 0;
  std::size_t natives = 0;
  std::size_t fallbacks = 0;
  memory::Bytes arena_bytes = 0;  // sums over blocks
  memory::Bytes lower_bound_bytes = 0;
  memory::Bytes no_reuse_bytes = 0;
  memory::Bytes weight_bytes = 0;            // of weights and constants, as they were loaded
  memory::Bytes spilled_weight_bytes = 0;    // of these in a temporary file, see `spill_weights`
  std::vector<PackedReport> packed_weights;  // which all runtimes of the module share
  memory::Bytes replay_arena_bytes = 0;      // what the plans of the runtime share
  memory::Bytes plan_bytes = 0;              // that the plans of the runtime take; an estimate
  std::uint64_t replayed_calls = 0;          // since the runtime was made, as all counts here
  // Why other calls were not replayed, and how many each: those that were recorded are not among them.
  std::vector<std::pair<std::string, std::uint64_t>> misses;
  std::uint64_t recorded_plans = 0;
  std::uint64_t copied_plans = 0;  // of those that other runtimes of the module have recorded
};

namespace detail {

// Calls visit(plan, block) for the plans of calls, whose block is empty, then for those of data-dependent
// blocks, with the name of the block.
template <class Visit>
void each_plan(const Report& report, const Visit& visit) {
  for (const PlanReport& plan : report.plans) visit(plan, std::string());
  for (const BlockReport& block : report.decided_blocks) {
    for (const PlanReport& plan : block.plans) visit(plan, block.name);
  }
}

}  // namespace detail

// "out", "native" or "fallback".
const char* name_of(NodeKind kind);

// `memory` has one element for each block; may be empty for a module that has not run.
Report make_report(const PreparedModule& content, std::string planner, std::vector<BlockMemory> memory);

std::ostream& operator<<(std::ostream& out, const Report& report);

}  // namespace sr
