// Reports as JSON, with the names that Python's reports have.
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "handles.hpp"

namespace sr::c {
namespace {

using Json = nlohmann::ordered_json;

template <class Items, class Describe>
Json list_of(const Items& items, const Describe& describe) {
  Json all = Json::array();
  for (const auto& item : items) all.push_back(describe(item));
  return all;
}

Json of_misses(const std::vector<std::pair<std::string, std::uint64_t>>& all) {
  Json misses = Json::object();
  for (const auto& [why, calls] : all) misses[why] = calls;
  return misses;
}

Json of_memory(const BlockMemory& memory) {
  return {{"arena_bytes", memory.arena},
          {"lower_bound_bytes", memory.lower_bound},
          {"no_reuse_bytes", memory.no_reuse}};
}

Json of_value(const ValueReport& value) {
  return {{"name", value.name},   {"managed", value.managed}, {"why_not", value.why_not},
          {"bytes", value.bytes}, {"offset", value.offset},   {"first", value.first},
          {"end", value.end}};
}

Json of_node(const NodeReport& node) {
  return {{"block", node.block},     {"index", node.index},   {"key", node.key},
          {"text", node.text},       {"source", node.source}, {"path", name_of(node.path)},
          {"functor", node.functor}, {"why", node.why},       {"outputs", list_of(node.outputs, of_value)}};
}

Json of_operand(const OperandReport& operand) {
  return {{"place", operand.place}, {"bytes", operand.bytes}, {"offset", operand.offset}};
}

Json of_step(const StepReport& step) {
  return {{"kind", step.kind},
          {"ops", step.ops},
          {"reads", list_of(step.reads, of_operand)},
          {"writes", list_of(step.writes, of_operand)}};
}

Json of_plan(const PlanReport& plan) {
  return {{"arguments", plan.arguments},      {"conditions", plan.conditions},
          {"sizes_seen", plan.sizes_seen},    {"sizes_taken", plan.sizes_taken},
          {"kernels", plan.kernels},          {"calls", plan.calls},
          {"interpreted", plan.interpreted},  {"replays", plan.replays},
          {"memory", of_memory(plan.memory)}, {"steps", list_of(plan.steps, of_step)},
          {"remarks", plan.remarks}};
}

Json of_block(const BlockReport& block) {
  return {{"name", block.name},
          {"replayed_runs", block.replayed_runs},
          {"plans", list_of(block.plans, of_plan)},
          {"bailouts", block.bailouts},
          {"misses", of_misses(block.misses)},
          {"pinned_by", block.pinned_by}};
}

Json of_packed(const PackedReport& packed) {
  return {{"kind", packed.kind}, {"count", packed.count}, {"bytes", packed.bytes}};
}

Json of_pool(const PoolReport& report) {
  const pool::PoolMetrics& pool = report.pool;
  return {{"max_runtimes", pool.most},
          {"made", pool.made},
          {"in_use", pool.leased},
          {"waits", pool.waiting.waits},
          {"timeouts", pool.waiting.timeouts},
          {"longest_wait", std::chrono::duration<double>(pool.waiting.longest).count()},
          {"intra_op_threads", report.intra_op_threads},
          {"cores", report.cores},
          {"warning", report.warning}};
}

// Text of models may hold bytes that are not UTF-8.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string json_of(const PoolReport& report) {
  const Report& runtime = report.runtime;
  return text_of({{"planner", runtime.planner},
                  {"nodes", list_of(runtime.nodes, of_node)},
                  {"blocks", list_of(runtime.blocks, of_memory)},
                  {"plans", list_of(runtime.plans, of_plan)},
                  {"decided_blocks", list_of(runtime.decided_blocks, of_block)},
                  {"bailouts", runtime.bailouts},
                  {"pinned_by", runtime.pinned_by},
                  {"out_variants", runtime.out_variants},
                  {"natives", runtime.natives},
                  {"fallbacks", runtime.fallbacks},
                  {"arena_bytes", runtime.arena_bytes},
                  {"lower_bound_bytes", runtime.lower_bound_bytes},
                  {"no_reuse_bytes", runtime.no_reuse_bytes},
                  {"replay_arena_bytes", runtime.replay_arena_bytes},
                  {"plan_bytes", runtime.plan_bytes},
                  {"weight_bytes", runtime.weight_bytes},
                  {"spilled_weight_bytes", runtime.spilled_weight_bytes},
                  {"packed_weights", list_of(runtime.packed_weights, of_packed)},
                  {"replayed_calls", runtime.replayed_calls},
                  {"misses", of_misses(runtime.misses)},
                  {"recorded_plans", runtime.recorded_plans},
                  {"copied_plans", runtime.copied_plans},
                  {"pool", of_pool(report)}});
}

std::string json_of(const BatcherReport& report) {
  return text_of({{"requests", report.requests},
                  {"refused", report.refused},
                  {"cancelled", report.cancelled},
                  {"failed", report.failed},
                  {"batches", report.batches},
                  {"rows", report.rows},
                  {"divided", report.divided},
                  {"waiting_seconds", report.waiting_seconds},
                  {"waiting", report.waiting},
                  {"running", report.running},
                  {"batches_by_rows", report.batches_by_rows}});
}

}  // namespace sr::c
