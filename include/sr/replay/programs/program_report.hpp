// The report of a program: its steps, and where they read and write.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <sr/executor/block_memory.hpp>
#include <sr/graph/report.hpp>
#include <sr/registry/registry.hpp>
#include <sr/replay/programs/program.hpp>
#include <sr/replay/trace/signature_text.hpp>

namespace sr::replay {

namespace detail {

inline OperandReport report_operand(const Program& program, StorageId storage) {
  const TracedStorage& traced = program.notes->storages[storage];
  for (const auto& [results, name] :
       {std::pair(&program.results, "result "), {&program.assigned, "state "}}) {
    const auto fresh = std::ranges::find(results->fresh, storage, &FreshStorage::storage);
    if (fresh != results->fresh.end())
      return {name + std::to_string(fresh - results->fresh.begin()), fresh->bytes, 0};
  }
  switch (traced.home) {
    case Home::input:
      return {traced.leaf < program.notes->first_state_leaf
                  ? "argument " + std::to_string(traced.leaf)
                  : "variable " + std::to_string(traced.leaf - program.notes->first_state_leaf),
              program.leaf_bytes[traced.leaf], 0};
    case Home::weight:
      return {"weight", static_cast<std::size_t>(traced.bytes.recorded()), 0};
    case Home::literal:
      return {"constant", static_cast<std::size_t>(traced.bytes.recorded()), 0};
    case Home::opaque:
      return {"allocated", static_cast<std::size_t>(traced.bytes.recorded()), 0};
    case Home::produced:
      break;
  }
  const auto placed = std::ranges::find(program.placed, storage);
  if (placed == program.placed.end()) return {"unread", 0, 0};
  const auto request = static_cast<std::size_t>(placed - program.placed.begin());
  return {"arena", program.requests[request].bytes, program.layout.offsets[request]};
}

// The operands of these storages, each once, in order of first use.
inline std::vector<OperandReport> report_operands(const Program& program,
                                                  const std::vector<StorageId>& storages) {
  std::vector<OperandReport> operands;
  for (auto storage = storages.begin(); storage != storages.end(); ++storage) {
    if (std::find(storages.begin(), storage, *storage) == storage)
      operands.push_back(report_operand(program, *storage));
  }
  return operands;
}

// " It is step 4, 2.5 us of 40.1 us." The times are those of replays that were timed.
inline std::string cost_of(const Program& program, const PlanReport& report, std::uint32_t node) {
  const std::vector<StepNote>& notes = program.notes->steps;
  const auto step = std::ranges::find_if(
      notes, [&](const StepNote& note) { return std::ranges::find(note.nodes, node) != note.nodes.end(); });
  if (step == notes.end()) return {};
  const auto i = static_cast<std::size_t>(step - notes.begin());
  std::string text = " It is step " + std::to_string(i);
  if (report.timed_replays != 0) {
    double all = 0;
    for (const StepReport& each : report.steps) all += each.seconds;
    char times[64];
    std::snprintf(times, sizeof(times), ", %.1f us of %.1f us", report.steps[i].seconds * 1e6, all * 1e6);
    text += times;
  }
  return text + ".";
}

}  // namespace detail

// What step `i` is, and the operators that it computes.
inline StepReport name_step(const Program& program, std::size_t i) {
  StepReport step;
  step.kind = program.steps[i].payload->name();
  for (const std::uint32_t node : program.notes->steps[i].nodes)
    step.ops.push_back(key_of(*program.notes->nodes[node]));
  return step;
}

inline PlanReport report_plan(const Program& program) {
  PlanReport report;
  report.arguments =
      program.family == nullptr ? text_of(program.signature) : program.family->text(program.signature);
  if (program.family != nullptr) {
    report.conditions = program.family->conditions();
    report.sizes_taken = program.family->taken();
    report.sizes_seen = program.family->seen();
  }
  report.kernels = program.kernels;
  report.calls = program.calls;
  report.interpreted = program.interpreted;
  report.replays = program.replays;
  report.timed_replays = program.timed_replays;
  report.memory = block_memory(program.layout.total, program.requests, program.layout);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const StepNote& note = program.notes->steps[i];
    StepReport& step = report.steps.emplace_back(name_step(program, i));
    if (program.timed_replays != 0)
      step.seconds = program.step_seconds[i] / static_cast<double>(program.timed_replays);
    step.reads = detail::report_operands(program, note.reads);
    step.writes = detail::report_operands(program, note.writes);
  }
  for (const auto& [node, text] : program.notes->remarks)
    report.remarks.push_back(text + detail::cost_of(program, report, node));
  return report;
}

}  // namespace sr::replay
