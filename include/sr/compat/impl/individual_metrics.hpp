// How the metrics of <sr/compat/benchmark.hpp> are printed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <sr/compat/benchmark.hpp>

namespace sr {

SR_INLINE std::ostream& operator<<(std::ostream& out, const IndividualMetrics& metrics) {
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

}  // namespace sr
