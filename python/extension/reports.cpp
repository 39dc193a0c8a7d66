#include "reports.hpp"

#include <chrono>
#include <optional>
#include <pybind11/stl.h>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/pybind.h>

namespace py = pybind11;
using py::literals::operator""_a;  // NOLINT(misc-unused-using-decls): clang-tidy 14 sees no use of literals

namespace sr::python {

namespace {

template <class Items, class Describe>
py::list list_of(const Items& items, Describe describe) {
  py::list all;
  for (const auto& item : items) all.append(describe(item));
  return all;
}

py::dict of_memory(const BlockMemory& memory) {
  return py::dict("arena_bytes"_a = memory.arena, "lower_bound_bytes"_a = memory.lower_bound,
                  "no_reuse_bytes"_a = memory.no_reuse);
}

py::dict of_value(const ValueReport& value) {
  return py::dict("name"_a = value.name, "managed"_a = value.managed, "why_not"_a = value.why_not,
                  "bytes"_a = value.bytes, "offset"_a = value.offset, "first"_a = value.first,
                  "end"_a = value.end);
}

py::dict of_node(const NodeReport& node) {
  return py::dict("block"_a = node.block, "index"_a = node.index, "key"_a = node.key, "text"_a = node.text,
                  "source"_a = node.source, "path"_a = name_of(node.path), "functor"_a = node.functor,
                  "why"_a = node.why, "outputs"_a = list_of(node.outputs, of_value));
}

py::dict of_operand(const OperandReport& operand) {
  return py::dict("place"_a = operand.place, "bytes"_a = operand.bytes, "offset"_a = operand.offset);
}

py::dict of_step(const StepReport& step) {
  return py::dict("kind"_a = step.kind, "ops"_a = step.ops, "reads"_a = list_of(step.reads, of_operand),
                  "writes"_a = list_of(step.writes, of_operand));
}

py::dict of_plan(const PlanReport& plan) {
  return py::dict("arguments"_a = plan.arguments, "conditions"_a = plan.conditions,
                  "sizes_seen"_a = plan.sizes_seen, "sizes_taken"_a = plan.sizes_taken,
                  "kernels"_a = plan.kernels, "calls"_a = plan.calls, "interpreted"_a = plan.interpreted,
                  "replays"_a = plan.replays, "memory"_a = of_memory(plan.memory),
                  "steps"_a = list_of(plan.steps, of_step), "remarks"_a = plan.remarks);
}

py::dict misses_of(const std::vector<std::pair<std::string, std::uint64_t>>& all) {
  py::dict misses;
  for (const auto& [why, calls] : all) misses[py::str(why)] = calls;
  return misses;
}

double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// The buckets that hold calls, by the seconds below which they lie.
py::dict buckets_of(const Latencies& latencies) {
  py::dict buckets;
  for (std::size_t i = 0; i < Latencies::kBuckets; ++i) {
    if (latencies.counts[i] != 0) buckets[py::float_(Latencies::end_of(i))] = latencies.counts[i];
  }
  return buckets;
}

py::dict of_pool(const PoolReport& report) {
  const pool::PoolMetrics& pool = report.pool;
  return py::dict("max_runtimes"_a = pool.most, "made"_a = pool.made, "in_use"_a = pool.leased,
                  "waits"_a = pool.waiting.waits, "timeouts"_a = pool.waiting.timeouts,
                  "longest_wait"_a = seconds_of(pool.waiting.longest),
                  "intra_op_threads"_a = report.intra_op_threads, "cores"_a = report.cores,
                  "warning"_a = report.warning);
}

std::string text_of(const PoolReport& report) {
  std::ostringstream text;
  text << report.runtime << "pool: " << report.pool.made << " of at most " << report.pool.most
       << " runtimes made, " << report.intra_op_threads << " intra-op threads a call, " << report.cores
       << " cores";
  if (!report.warning.empty()) text << '\n' << report.warning;
  return text.str();
}

py::dict of_layer(const QuantizedLayer& layer) {
  return py::dict("name"_a = layer.name, "inputs"_a = layer.inputs, "outputs"_a = layer.outputs,
                  "rows"_a = layer.rows, "error"_a = layer.error, "float_us"_a = layer.float_us,
                  "int8_us"_a = layer.int8_us, "is_quantized"_a = layer.is_quantized,
                  "reason"_a = layer.reason);
}

py::dict of_block(const BlockReport& block) {
  return py::dict("name"_a = block.name, "replayed_runs"_a = block.replayed_runs,
                  "plans"_a = list_of(block.plans, of_plan), "bailouts"_a = block.bailouts,
                  "misses"_a = misses_of(block.misses), "pinned_by"_a = block.pinned_by);
}

py::dict of_packed(const PackedReport& packed) {
  return py::dict("kind"_a = packed.kind, "count"_a = packed.count, "bytes"_a = packed.bytes);
}

}  // namespace

py::dict described(const PoolReport& report) {
  const Report& runtime = report.runtime;
  return py::dict(
      "planner"_a = runtime.planner, "nodes"_a = list_of(runtime.nodes, of_node),
      "blocks"_a = list_of(runtime.blocks, of_memory), "plans"_a = list_of(runtime.plans, of_plan),
      "decided_blocks"_a = list_of(runtime.decided_blocks, of_block), "bailouts"_a = runtime.bailouts,
      "pinned_by"_a = runtime.pinned_by, "out_variants"_a = runtime.out_variants,
      "natives"_a = runtime.natives, "fallbacks"_a = runtime.fallbacks, "arena_bytes"_a = runtime.arena_bytes,
      "lower_bound_bytes"_a = runtime.lower_bound_bytes, "no_reuse_bytes"_a = runtime.no_reuse_bytes,
      "replay_arena_bytes"_a = runtime.replay_arena_bytes, "plan_bytes"_a = runtime.plan_bytes,
      "weight_bytes"_a = runtime.weight_bytes, "spilled_weight_bytes"_a = runtime.spilled_weight_bytes,
      "packed_weights"_a = list_of(runtime.packed_weights, of_packed),
      "replayed_calls"_a = runtime.replayed_calls, "misses"_a = misses_of(runtime.misses),
      "recorded_plans"_a = runtime.recorded_plans, "copied_plans"_a = runtime.copied_plans,
      "pool"_a = of_pool(report), "text"_a = text_of(report));
}

py::dict described(const QuantizationReport& report) {
  std::ostringstream text;
  text << report;
  return py::dict("layers"_a = list_of(report.layers, of_layer), "float_bytes"_a = report.float_bytes,
                  "int8_bytes"_a = report.int8_bytes, "largest_difference"_a = report.largest,
                  "mean_difference"_a = report.mean, "smallest_cosine"_a = report.cosine,
                  "unequal"_a = report.unequal, "loss"_a = report.loss, "text"_a = text.str());
}

py::dict described(const CallMetrics& calls, const pool::PoolMetrics& pool) {
  const Latencies& latencies = calls.latencies;
  py::dict latency("count"_a = latencies.count(), "seconds"_a = latencies.seconds,
                   "p50"_a = latencies.quantile(0.5), "p90"_a = latencies.quantile(0.9),
                   "p99"_a = latencies.quantile(0.99), "p999"_a = latencies.quantile(0.999),
                   "buckets"_a = buckets_of(latencies));
  return py::dict("calls"_a = calls.calls, "replayed"_a = calls.replayed, "failed"_a = calls.failed,
                  "cancelled"_a = calls.cancelled, "latency"_a = latency,
                  "misses"_a = misses_of(calls.misses), "runtimes"_a = pool.made,
                  "runtimes_in_use"_a = pool.leased, "waits"_a = pool.waiting.waits,
                  "busy"_a = pool.waiting.timeouts, "longest_wait"_a = seconds_of(pool.waiting.longest));
}

py::list described(const std::vector<ProgramTimes>& programs) {
  return list_of(programs, [](const ProgramTimes& program) {
    return py::dict(
        "arguments"_a = program.arguments, "block"_a = program.block, "seconds"_a = program.total(),
        "steps"_a = list_of(program.steps, [](const StepTime& step) {
          return py::dict("kind"_a = step.report.kind, "ops"_a = step.report.ops, "seconds"_a = step.seconds);
        }));
  });
}

py::list described(const std::vector<ValueSpec>& values) {
  return list_of(values, [](const ValueSpec& value) {
    py::object shape = py::none();
    if (value.sizes) {
      shape = py::tuple(list_of(*value.sizes, [](const SizeSpec& size) {
        return std::visit([](const auto& known) -> py::object { return py::cast(known); }, size);
      }));
    }
    return py::make_tuple(value.name, value.type, value.dtype ? py::cast(*value.dtype) : py::none(), shape,
                          value.default_value.has_value(),
                          value.default_value ? torch::jit::toPyObject(*value.default_value) : py::none());
  });
}

}  // namespace sr::python
