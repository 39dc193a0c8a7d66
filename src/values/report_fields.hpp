// The fields of reports, by the names that they have in Python and in JSON.
//
// visit_fields(report, visit) calls visit(name, value) for each field. A value has fields (HasFields), is a
// list of such values or Counts, or is a number, a text or a list of texts.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sr/batcher.hpp>
#include <sr/runtime_pool.hpp>

namespace sr::values {

template <class Visit>
void visit_fields(const BlockMemory& memory, Visit&& visit) {
  visit("arena_bytes", memory.arena);
  visit("lower_bound_bytes", memory.lower_bound);
  visit("no_reuse_bytes", memory.no_reuse);
}

template <class Visit>
void visit_fields(const ValueReport& value, Visit&& visit) {
  visit("name", value.name);
  visit("managed", value.managed);
  visit("why_not", value.why_not);
  visit("bytes", value.bytes);
  visit("offset", value.offset);
  visit("first", value.first);
  visit("end", value.end);
}

template <class Visit>
void visit_fields(const NodeReport& node, Visit&& visit) {
  visit("block", node.block);
  visit("index", node.index);
  visit("key", node.key);
  visit("text", node.text);
  visit("source", node.source);
  visit("path", name_of(node.path));
  visit("functor", node.functor);
  visit("why", node.why);
  visit("outputs", node.outputs);
}

template <class Visit>
void visit_fields(const OperandReport& operand, Visit&& visit) {
  visit("place", operand.place);
  visit("bytes", operand.bytes);
  visit("offset", operand.offset);
}

template <class Visit>
void visit_fields(const StepReport& step, Visit&& visit) {
  visit("kind", step.kind);
  visit("ops", step.ops);
  visit("reads", step.reads);
  visit("writes", step.writes);
}

template <class Visit>
void visit_fields(const PlanReport& plan, Visit&& visit) {
  visit("arguments", plan.arguments);
  visit("conditions", plan.conditions);
  visit("sizes_seen", plan.sizes_seen);
  visit("sizes_taken", plan.sizes_taken);
  visit("kernels", plan.kernels);
  visit("calls", plan.calls);
  visit("interpreted", plan.interpreted);
  visit("replays", plan.replays);
  visit("memory", plan.memory);
  visit("steps", plan.steps);
  visit("remarks", plan.remarks);
}

template <class Visit>
void visit_fields(const BlockReport& block, Visit&& visit) {
  visit("name", block.name);
  visit("replayed_runs", block.replayed_runs);
  visit("plans", block.plans);
  visit("bailouts", block.bailouts);
  visit("misses", block.misses);
  visit("pinned_by", block.pinned_by);
}

template <class Visit>
void visit_fields(const PackedReport& packed, Visit&& visit) {
  visit("kind", packed.kind);
  visit("count", packed.count);
  visit("bytes", packed.bytes);
}

// What a PoolReport says about the pool itself.
struct PoolPart {
  const PoolReport& of;
};

template <class Visit>
void visit_fields(const PoolPart& part, Visit&& visit) {
  const pool::PoolMetrics& pool = part.of.pool;
  visit("max_runtimes", pool.most);
  visit("made", pool.made);
  visit("in_use", pool.leased);
  visit("waits", pool.waiting.waits);
  visit("timeouts", pool.waiting.timeouts);
  visit("longest_wait", std::chrono::duration<double>(pool.waiting.longest).count());
  visit("intra_op_threads", part.of.intra_op_threads);
  visit("cores", part.of.cores);
  visit("warning", part.of.warning);
}

template <class Visit>
void visit_fields(const PoolReport& report, Visit&& visit) {
  const Report& runtime = report.runtime;
  visit("planner", runtime.planner);
  visit("nodes", runtime.nodes);
  visit("blocks", runtime.blocks);
  visit("plans", runtime.plans);
  visit("decided_blocks", runtime.decided_blocks);
  visit("bailouts", runtime.bailouts);
  visit("pinned_by", runtime.pinned_by);
  visit("out_variants", runtime.out_variants);
  visit("natives", runtime.natives);
  visit("fallbacks", runtime.fallbacks);
  visit("arena_bytes", runtime.arena_bytes);
  visit("lower_bound_bytes", runtime.lower_bound_bytes);
  visit("no_reuse_bytes", runtime.no_reuse_bytes);
  visit("replay_arena_bytes", runtime.replay_arena_bytes);
  visit("plan_bytes", runtime.plan_bytes);
  visit("weight_bytes", runtime.weight_bytes);
  visit("spilled_weight_bytes", runtime.spilled_weight_bytes);
  visit("packed_weights", runtime.packed_weights);
  visit("replayed_calls", runtime.replayed_calls);
  visit("misses", runtime.misses);
  visit("recorded_plans", runtime.recorded_plans);
  visit("copied_plans", runtime.copied_plans);
  visit("pool", PoolPart{report});
}

// All but the histogram batches_by_rows, which Python shows as a dictionary.
template <class Visit>
void visit_fields(const BatcherReport& report, Visit&& visit) {
  visit("requests", report.requests);
  visit("refused", report.refused);
  visit("cancelled", report.cancelled);
  visit("failed", report.failed);
  visit("batches", report.batches);
  visit("rows", report.rows);
  visit("divided", report.divided);
  visit("waiting_seconds", report.waiting_seconds);
  visit("waiting", report.waiting);
  visit("running", report.running);
}

template <class T>
concept HasFields = requires(const T& report) {
  visit_fields(report, [](const char*, const auto&) {});
};

template <class T>
concept IsListOfReports = requires {
  typename T::value_type;
}
&&HasFields<typename T::value_type>;

// How many calls each reason applies to, for example why they were not replayed.
using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

}  // namespace sr::values
