// Where the time of a model goes: by node and by kind of node, by phase of a call. Everything through the
// public runtime with an observer, so what is measured is the one run loop there is.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iomanip>
#include <ostream>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <sr/error.hpp>
#include <sr/fwd.hpp>
#include <sr/observer.hpp>
#include <sr/report.hpp>
#include <sr/static_module.hpp>
#include <sr/static_runtime.hpp>

namespace sr {

// Milliseconds of one call, averaged over all timed calls; the names are those of upstream's Static Runtime.
//
// Nodes stand in order of blocks, the top block first. The time of a prim::If or prim::Loop includes the
// nodes of its blocks, which are listed as well, by node and by kind: with control flow, the times of all
// kinds and their percents add up to more than `total_time`, which is the sum over the top block.
struct IndividualMetrics {
  double setup_time = 0;           // taking the arguments
  double memory_alloc_time = 0;    // planning, where sizes changed
  double memory_dealloc_time = 0;  // dropping what the run left behind
  double output_dealloc_time = 0;  // the caller's drop of the result
  double first_iter_time = 0;      // the very first call: makes all tensors
  double total_time = 0;
  std::size_t out_nodes_count = 0;
  std::size_t total_nodes_count = 0;
  std::vector<double> time_per_node;
  std::unordered_map<std::string, double> time_per_node_type;
  std::unordered_map<std::string, double> percent_per_node_type;  // of total_time
  std::unordered_map<std::string, int> instances_per_node_type;
  std::unordered_set<std::string> out_nodes;     // kinds of which a node is an out variant
  std::unordered_set<std::string> native_nodes;  // kinds of which a node is native
  Report report;  // after the last call; its nodes are in the order of time_per_node
};

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
inline void collect_nodes(const ModuleContent& content, const TimingObserver& observer, double calls,
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

}  // namespace detail

// Times every node. Runs each list of arguments warmup_runs and then main_runs times on a runtime of its own;
// one clock reading before and after each node is part of the times. kwargs_list is empty or as long as
// args_list. Throws ArgumentError and what the model throws.
template <memory::Planner P = memory::LinearScan>
IndividualMetrics benchmark_individual_ops(const StaticModule& module,
                                           const std::vector<std::vector<c10::IValue>>& args_list,
                                           const std::vector<KeywordArgs>& kwargs_list, int warmup_runs,
                                           int main_runs) {
  detail::check_benchmark(args_list, kwargs_list, warmup_runs, main_runs);
  StaticRuntime<P, TimingObserver> runtime(module);
  IndividualMetrics metrics;
  {
    const KeywordArgs kwargs = kwargs_list.empty() ? KeywordArgs() : kwargs_list[0];
    const auto start = detail::BenchmarkClock::now();
    runtime(args_list[0], kwargs);
    metrics.first_iter_time = detail::milliseconds_since(start);
  }
  detail::for_each_call(args_list, kwargs_list, warmup_runs,
                        [&](const auto& args, const auto& kwargs) { runtime(args, kwargs); });
  runtime.observer() = TimingObserver{};
  detail::for_each_call(args_list, kwargs_list, main_runs, [&](const auto& args, const auto& kwargs) {
    c10::IValue result = runtime(args, kwargs);
    const auto start = detail::BenchmarkClock::now();
    result = c10::IValue();
    metrics.output_dealloc_time += detail::milliseconds_since(start);
  });
  const double calls = static_cast<double>(args_list.size()) * main_runs;
  const TimingObserver& observer = runtime.observer();
  const auto phase = [&](Phase which) {
    return observer.phase_ns[static_cast<std::size_t>(which)] / calls / 1e6;
  };
  metrics.setup_time = phase(Phase::setup);
  metrics.memory_alloc_time = phase(Phase::allocate);
  metrics.memory_dealloc_time = phase(Phase::release);
  metrics.output_dealloc_time /= calls;
  detail::collect_nodes(*module.content(), observer, calls, metrics);
  metrics.report = runtime.report();
  return metrics;
}

// Milliseconds of one call without an observer, the copy of the argument vector and the drop of the result
// included.
template <memory::Planner P = memory::LinearScan>
double benchmark_model(const StaticModule& module, const std::vector<std::vector<c10::IValue>>& args_list,
                       const std::vector<KeywordArgs>& kwargs_list, int warmup_runs, int main_runs) {
  detail::check_benchmark(args_list, kwargs_list, warmup_runs, main_runs);
  StaticRuntime<P> runtime(module);
  const auto call = [&](const auto& args, const auto& kwargs) { runtime(args, kwargs); };
  detail::for_each_call(args_list, kwargs_list, std::max(warmup_runs, 1), call);
  const auto start = detail::BenchmarkClock::now();
  detail::for_each_call(args_list, kwargs_list, main_runs, call);
  return detail::milliseconds_since(start) / (static_cast<double>(args_list.size()) * main_runs);
}

// What upstream's benchmark() prints, without the line of the whole model.
inline std::ostream& operator<<(std::ostream& out, const IndividualMetrics& metrics) {
  const auto flags = out.flags();
  const auto precision = out.precision(3);
  out << std::fixed << std::right << "Time per node type:\n";
  std::vector<std::pair<std::string, double>> kinds(metrics.time_per_node_type.begin(),
                                                    metrics.time_per_node_type.end());
  std::sort(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  for (const auto& [kind, time] : kinds) {
    out << std::setw(12) << 1e3 * time << " us " << std::setw(7) << std::setprecision(2)
        << metrics.percent_per_node_type.at(kind) << "%  " << kind << " ("
        << metrics.instances_per_node_type.at(kind) << " nodes"
        << (metrics.out_nodes.contains(kind)      ? ", out variant"
            : metrics.native_nodes.contains(kind) ? ", native"
                                                  : ", fallback")
        << ")\n"
        << std::setprecision(3);
  }
  const std::size_t others = metrics.report.natives + metrics.report.fallbacks;
  out << std::setw(12) << 1e3 * metrics.total_time << " us in total\n"
      << "Set-up: " << 1e3 * metrics.setup_time
      << " us\nMemory allocation: " << 1e3 * metrics.memory_alloc_time
      << " us\nMemory release: " << 1e3 * metrics.memory_dealloc_time
      << " us\nOutput release: " << 1e3 * metrics.output_dealloc_time
      << " us\nFirst call: " << 1e3 * metrics.first_iter_time
      << " us\nMemory managed: " << metrics.report.arena_bytes << " bytes, lower bound "
      << metrics.report.lower_bound_bytes << ", without reuse " << metrics.report.no_reuse_bytes
      << "\nNodes: " << metrics.total_nodes_count << ", out variants " << metrics.out_nodes_count
      << ", native " << others - metrics.report.fallbacks << ", fallback " << metrics.report.fallbacks
      << '\n';
  out.precision(precision);
  out.flags(flags);
  return out;
}

// Prints the time of a call, then (print_per_node_time) of every node, then of every kind of node and phase.
template <memory::Planner P = memory::LinearScan>
void benchmark(std::ostream& out, const StaticModule& module,
               const std::vector<std::vector<c10::IValue>>& args_list,
               const std::vector<KeywordArgs>& kwargs_list, int warmup_runs, int main_runs,
               bool print_per_node_time = false) {
  const double call = benchmark_model<P>(module, args_list, kwargs_list, warmup_runs, main_runs);
  const auto metrics = benchmark_individual_ops<P>(module, args_list, kwargs_list, warmup_runs, main_runs);
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

}  // namespace sr
