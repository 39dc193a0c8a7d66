// Measures where the time of a call on the general path goes: by node, by kind of node, by phase. Uses a
// StaticRuntime with an observer.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/config.hpp>
#include <sr/fwd.hpp>
#include <sr/graph/report.hpp>
#include <sr/memory/planner_ops.hpp>
#include <sr/static_module.hpp>

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

IndividualMetrics benchmark_individual_ops(const memory::PlannerOps& planner, const StaticModule& module,
                                           const std::vector<std::vector<c10::IValue>>& args_list,
                                           const std::vector<KeywordArgs>& kwargs_list, int warmup_runs,
                                           int main_runs);
double benchmark_model(const memory::PlannerOps& planner, const StaticModule& module,
                       const std::vector<std::vector<c10::IValue>>& args_list,
                       const std::vector<KeywordArgs>& kwargs_list, int warmup_runs, int main_runs);
void benchmark(const memory::PlannerOps& planner, std::ostream& out, const StaticModule& module,
               const std::vector<std::vector<c10::IValue>>& args_list,
               const std::vector<KeywordArgs>& kwargs_list, int warmup_runs, int main_runs,
               bool print_per_node_time);

}  // namespace detail

// Times every node. Runs each list of arguments warmup_runs and then main_runs times on its own runtime;
// one clock reading before and after each node is part of the times. kwargs_list is empty or as long as
// args_list. Throws ArgumentError and what the model throws.
template <memory::Planner P = memory::LinearScan>
IndividualMetrics benchmark_individual_ops(const StaticModule& module,
                                           const std::vector<std::vector<c10::IValue>>& args_list,
                                           const std::vector<KeywordArgs>& kwargs_list, int warmup_runs,
                                           int main_runs) {
  return detail::benchmark_individual_ops(memory::kPlannerOps<P>, module, args_list, kwargs_list, warmup_runs,
                                          main_runs);
}

// Milliseconds of one call without an observer, the copy of the argument vector and the drop of the result
// included. Throws as benchmark_individual_ops does.
template <memory::Planner P = memory::LinearScan>
double benchmark_model(const StaticModule& module, const std::vector<std::vector<c10::IValue>>& args_list,
                       const std::vector<KeywordArgs>& kwargs_list, int warmup_runs, int main_runs) {
  return detail::benchmark_model(memory::kPlannerOps<P>, module, args_list, kwargs_list, warmup_runs,
                                 main_runs);
}

// Prints what upstream's benchmark() prints, without the line of the whole model.
std::ostream& operator<<(std::ostream& out, const IndividualMetrics& metrics);

// Prints the time of a call, then (print_per_node_time) of every node, then of every kind of node and phase.
// Throws as benchmark_individual_ops does.
template <memory::Planner P = memory::LinearScan>
void benchmark(std::ostream& out, const StaticModule& module,
               const std::vector<std::vector<c10::IValue>>& args_list,
               const std::vector<KeywordArgs>& kwargs_list, int warmup_runs, int main_runs,
               bool print_per_node_time = false) {
  detail::benchmark(memory::kPlannerOps<P>, out, module, args_list, kwargs_list, warmup_runs, main_runs,
                    print_per_node_time);
}

}  // namespace sr
