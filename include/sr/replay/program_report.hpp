// The report of a program: its steps, and where they read and write.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <sr/executor/block_memory.hpp>
#include <sr/graph/report.hpp>
#include <sr/registry/registry.hpp>
#include <sr/replay/program.hpp>
#include <sr/replay/trace/signature.hpp>

namespace sr::replay {

namespace detail {

inline OperandReport report_operand(const Program& plan, StorageId storage) {
  const auto fresh = std::ranges::find(plan.results.fresh, storage, &FreshStorage::storage);
  const TracedStorage& traced = plan.storages[storage];
  if (fresh != plan.results.fresh.end()) {
    return {"result " + std::to_string(fresh - plan.results.fresh.begin()), fresh->bytes, 0};
  }
  switch (traced.home) {
    case Home::input:
      return {"argument " + std::to_string(traced.leaf), plan.leaf_bytes[traced.leaf], 0};
    case Home::weight:
      return {"weight", traced.bytes, 0};
    case Home::literal:
      return {"constant", traced.bytes, 0};
    case Home::opaque:
      return {"allocated", traced.bytes, 0};
    case Home::produced:
      break;
  }
  const auto placed = std::ranges::find(plan.placed, storage);
  if (placed == plan.placed.end()) return {"unread", 0, 0};
  const auto request = static_cast<std::size_t>(placed - plan.placed.begin());
  return {"arena", plan.requests[request].bytes, plan.layout.offsets[request]};
}

// The operands of these storages, each once, in order of first use.
inline std::vector<OperandReport> report_operands(const Program& plan,
                                                  const std::vector<StorageId>& storages) {
  std::vector<OperandReport> operands;
  for (auto storage = storages.begin(); storage != storages.end(); ++storage) {
    if (std::find(storages.begin(), storage, *storage) == storage)
      operands.push_back(report_operand(plan, *storage));
  }
  return operands;
}

}  // namespace detail

inline PlanReport report_plan(const Program& plan) {
  PlanReport report;
  report.arguments = text_of(plan.signature);
  report.kernels = plan.kernels;
  report.calls = plan.calls;
  report.interpreted = plan.interpreted;
  report.replays = plan.replays;
  report.timed_replays = plan.timed_replays;
  report.memory = block_memory(plan.layout.total, plan.requests, plan.layout);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const StepNote& note = plan.notes[i];
    StepReport& step = report.steps.emplace_back();
    step.kind = plan.steps[i].payload->name();
    if (plan.timed_replays != 0)
      step.seconds = plan.step_seconds[i] / static_cast<double>(plan.timed_replays);
    for (const std::uint32_t node : note.nodes) step.ops.push_back(key_of(*plan.nodes[node]));
    step.reads = detail::report_operands(plan, note.reads);
    step.writes = detail::report_operands(plan, note.writes);
  }
  return report;
}

}  // namespace sr::replay
