// Definitions of <sr/compat/benchmark.hpp>.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <sr/base/error.hpp>
#include <sr/compat/benchmark.hpp>
#include <sr/graph/observer.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/runtime/runtime_core.hpp>

namespace sr {

namespace detail {

using BenchmarkClock = std::chrono::steady_clock;

inline double milliseconds_since(BenchmarkClock::time_point start) {
  return std::chrono::duration<double, std::milli>(BenchmarkClock::now() - start).count();
}

inline void check_benchmark(const std::vector<std::vector<c10::IValue>>& args_list,
                            const std::vector<KeywordArgs>& kwargs_list, int warmup_runs, int main_runs) {
  if (args_list.empty()) throw ArgumentError("A benchmark needs at least one list of arguments.");
  if (!kwargs_list.empty() && kwargs_list.size() != args_list.size()) {
    throw ArgumentError("The benchmark was given " + std::to_string(args_list.size()) +
                        " lists of arguments and " + std::to_string(kwargs_list.size()) +
                        " of keyword arguments; expected as many, or no keyword arguments at all.");
  }
  if (warmup_runs < 0 || main_runs < 1) {
    throw ArgumentError(
        "A benchmark needs at least one timed run and no negative number of runs to warm up.");
  }
}

// Calls run(args, kwargs) `runs` times for each list of arguments, in turn.
template <class Run>
void for_each_call(const std::vector<std::vector<c10::IValue>>& args_list,
                   const std::vector<KeywordArgs>& kwargs_list, int runs, Run run) {
  static const KeywordArgs none;
  for (int i = 0; i < runs; ++i) {
    for (std::size_t j = 0; j < args_list.size(); ++j) {
      run(args_list[j], kwargs_list.empty() ? none : kwargs_list[j]);
    }
  }
}

// `calls` timed calls are behind `observer`.
inline void collect_nodes(const PreparedModule& content, const TimingObserver& observer, double calls,
                          IndividualMetrics& metrics) {
  for (std::size_t b = 0; b < content.blocks.size(); ++b) {
    const std::vector<ProcessedNode>& nodes = content.blocks[b].nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      // A block that was never entered, or left early, has no times.
      const bool ran = b < observer.node_ns.size() && i < observer.node_ns[b].size();
      const double time = ran ? observer.node_ns[b][i] / calls / 1e6 : 0.0;
      const std::string kind = nodes[i].node->kind().toQualString();
      metrics.time_per_node.push_back(time);
      metrics.time_per_node_type[kind] += time;
      ++metrics.instances_per_node_type[kind];
      if (b == 0) metrics.total_time += time;
      if (nodes[i].kind == NodeKind::out_variant) {
        ++metrics.out_nodes_count;
        metrics.out_nodes.insert(kind);
      } else if (nodes[i].kind == NodeKind::native) {
        metrics.native_nodes.insert(kind);
      }
    }
  }
  metrics.total_nodes_count = metrics.time_per_node.size();
  for (const auto& [kind, time] : metrics.time_per_node_type) {
    metrics.percent_per_node_type[kind] = metrics.total_time == 0 ? 0.0 : 100.0 * time / metrics.total_time;
  }
}

SR_INLINE IndividualMetrics benchmark_individual_ops(const memory::PlannerOps& planner,
                                                     const StaticModule& module,
                                                     const std::vector<std::vector<c10::IValue>>& args_list,
                                                     const std::vector<KeywordArgs>& kwargs_list,
                                                     int warmup_runs, int main_runs) {
  check_benchmark(args_list, kwargs_list, warmup_runs, main_runs);
  TimingObserver observer;
  const RuntimeCore runtime(module.content(), module.session_state(), planner, hooks_of(observer));
  const auto call = [&](std::vector<c10::IValue> args, const KeywordArgs& kwargs) {
    return runtime.call(args, &kwargs, nullptr);
  };
  IndividualMetrics metrics;
  {
    const KeywordArgs kwargs = kwargs_list.empty() ? KeywordArgs() : kwargs_list[0];
    const auto start = BenchmarkClock::now();
    call(args_list[0], kwargs);
    metrics.first_iter_time = milliseconds_since(start);
  }
  for_each_call(args_list, kwargs_list, warmup_runs, call);
  observer = TimingObserver{};
  for_each_call(args_list, kwargs_list, main_runs, [&](const auto& args, const auto& kwargs) {
    c10::IValue result = call(args, kwargs);
    const auto start = BenchmarkClock::now();
    result = c10::IValue();
    metrics.output_dealloc_time += milliseconds_since(start);
  });
  const double calls = static_cast<double>(args_list.size()) * main_runs;
  const auto phase = [&](Phase which) {
    return observer.phase_ns[static_cast<std::size_t>(which)] / calls / 1e6;
  };
  metrics.setup_time = phase(Phase::setup);
  metrics.memory_alloc_time = phase(Phase::allocate);
  metrics.memory_dealloc_time = phase(Phase::release);
  metrics.output_dealloc_time /= calls;
  collect_nodes(*module.content(), observer, calls, metrics);
  metrics.report = runtime.report();
  return metrics;
}

SR_INLINE double benchmark_model(const memory::PlannerOps& planner, const StaticModule& module,
                                 const std::vector<std::vector<c10::IValue>>& args_list,
                                 const std::vector<KeywordArgs>& kwargs_list, int warmup_runs,
                                 int main_runs) {
  check_benchmark(args_list, kwargs_list, warmup_runs, main_runs);
  const RuntimeCore runtime(module.content(), module.session_state(), planner);
  const auto call = [&](std::vector<c10::IValue> args, const KeywordArgs& kwargs) {
    runtime.call(args, &kwargs, nullptr);
  };
  for_each_call(args_list, kwargs_list, std::max(warmup_runs, 1), call);
  const auto start = BenchmarkClock::now();
  for_each_call(args_list, kwargs_list, main_runs, call);
  return milliseconds_since(start) / (static_cast<double>(args_list.size()) * main_runs);
}

SR_INLINE void benchmark(const memory::PlannerOps& planner, std::ostream& out, const StaticModule& module,
                         const std::vector<std::vector<c10::IValue>>& args_list,
                         const std::vector<KeywordArgs>& kwargs_list, int warmup_runs, int main_runs,
                         bool print_per_node_time) {
  const double call = benchmark_model(planner, module, args_list, kwargs_list, warmup_runs, main_runs);
  const IndividualMetrics metrics =
      benchmark_individual_ops(planner, module, args_list, kwargs_list, warmup_runs, main_runs);
  out << "One call: " << 1e3 * call << " us, " << 1e3 / call << " calls a second\n";
  if (print_per_node_time) {
    for (std::size_t i = 0; i < metrics.time_per_node.size(); ++i) {
      const NodeReport& node = metrics.report.nodes[i];
      out << "Node " << node.block << '.' << node.index << ": " << 1e3 * metrics.time_per_node[i] << " us, "
          << node.text << '\n';
    }
  }
  out << metrics;
}

}  // namespace detail

}  // namespace sr
