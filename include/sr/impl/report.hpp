// Definitions of <sr/report.hpp>.
#pragma once

#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <sr/graph/processed_node.hpp>
#include <sr/graph/report.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/registry/registry.hpp>

namespace sr {

SR_INLINE const char* name_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::out_variant:
      return "out";
    case NodeKind::native:
      return "native";
    case NodeKind::fallback:
      return "fallback";
  }
  return "?";
}

namespace detail {

inline std::string why_this_path(const ProcessedNode& node, const PreparedModule& content) {
  const std::string after = node.declined.empty() ? "" : " (declined by " + node.declined + ")";
  switch (node.kind) {
    case NodeKind::out_variant:
      return "writes its results into planned tensors through " + functor_name(node) + after + ".";
    case NodeKind::native:
      if (node.body != nullptr) {
        return node.body->is_interpreted()
                   ? "its body is a task, run by LibTorch's interpreter: it holds what sr cannot run."
                   : "its body is a task, run on separate runtimes.";
      }
      return "returns a view, a container, a number or another value that is not planned; run by " +
             functor_name(node) + after + ".";
    case NodeKind::fallback:
      if (!content.options.debug.enable_out_variant) return "out variants are switched off.";
      if (!node.declined.empty()) return "declined by " + node.declined + ", and it has no `.out` overload.";
      return "no functor is registered for " + key_of(*node.node) + " and it has no `.out` overload.";
  }
  return {};
}

// Managed values of a block are in order of their slots' nodes, so `next` walks along with the nodes.
inline ValueReport report_value(const PreparedModule& content, const ProcessedNode& node,
                                std::uint32_t output, const BlockInfo& block, const BlockMemory& memory,
                                std::size_t& next) {
  ValueReport value;
  const Slot slot = node.first_output + output;
  value.name = node.node->output(output)->debugName();
  if (next < block.managed.size() && block.managed[next].slot == slot) {
    value.managed = true;
    value.first = block.managed[next].first;
    value.end = block.managed[next].end;
    if (next < memory.requests.size()) value.bytes = memory.requests[next].bytes;
    value.placed = memory.arena != 0 && next < memory.layout.offsets.size();
    if (value.placed) value.offset = memory.layout.offsets[next];
    ++next;
  }
  if (!value.managed && node.kind == NodeKind::out_variant) value.why_not = content.unmanaged_reasons[slot];
  return value;
}

}  // namespace detail

SR_INLINE Report make_report(const PreparedModule& content, std::string planner,
                             std::vector<BlockMemory> memory) {
  Report report;
  report.planner = std::move(planner);
  memory.resize(content.blocks.size());
  for (std::size_t b = 0; b < content.blocks.size(); ++b) {
    const BlockInfo& block = content.blocks[b];
    std::size_t next = 0;
    for (std::size_t i = 0; i < block.nodes.size(); ++i) {
      const ProcessedNode& node = block.nodes[i];
      NodeReport line;
      line.block = b;
      line.index = i;
      line.key = key_of(*node.node);
      std::ostringstream text;
      node.node->print(text, 0, nullptr, /*print_source_locations=*/false, false, false, false);
      line.text = text.str();
      while (!line.text.empty() && line.text.back() == '\n') line.text.pop_back();
      if (const auto place = node.node->sourceRange().file_line_col()) {
        line.source = std::get<0>(*place) + ":" + std::to_string(std::get<1>(*place));
      }
      line.path = node.kind;
      line.functor = functor_name(node);
      line.why = detail::why_this_path(node, content);
      for (std::uint32_t o = 0; o < node.output_count; ++o) {
        line.outputs.push_back(detail::report_value(content, node, o, block, memory[b], next));
      }
      report.out_variants += node.kind == NodeKind::out_variant ? 1 : 0;
      report.natives += node.kind == NodeKind::native ? 1 : 0;
      report.fallbacks += node.kind == NodeKind::fallback ? 1 : 0;
      report.nodes.push_back(std::move(line));
    }
    report.arena_bytes += memory[b].arena;
    report.lower_bound_bytes += memory[b].lower_bound;
    report.no_reuse_bytes += memory[b].no_reuse;
  }
  report.blocks = std::move(memory);
  return report;
}

namespace detail {

inline void print_plan(std::ostream& out, const PlanReport& plan) {
  out << "replay of (" << plan.arguments << "): " << plan.kernels << " kernels, " << plan.calls << " calls, "
      << plan.interpreted << " interpreted; arena " << plan.memory.arena << " bytes, lower bound "
      << plan.memory.lower_bound << "; " << plan.replays << " replays\n";
  for (const std::string& remark : plan.remarks) out << "  " << remark << '\n';
}

inline void print_pinned(std::ostream& out, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    out << "a plan for each choice of sizes: how sizes follow through " << name << " is not known\n";
}

// `what` is "call" or "run".
inline void print_misses(std::ostream& out, const char* what,
                         const std::vector<std::pair<std::string, std::uint64_t>>& misses) {
  for (const auto& [why, count] : misses)
    out << "not replayed: " << count << ' ' << what << (count == 1 ? ". " : "s. ") << why << '\n';
}

}  // namespace detail

SR_INLINE std::ostream& operator<<(std::ostream& out, const Report& report) {
  out << report.nodes.size() << " nodes: " << report.out_variants << " out variants, " << report.natives
      << " native, " << report.fallbacks << " fallback\n"
      << "arena of the general path (" << report.planner << "): " << report.arena_bytes
      << " bytes, lower bound " << report.lower_bound_bytes << ", without reuse " << report.no_reuse_bytes
      << '\n';
  for (const PlanReport& plan : report.plans) detail::print_plan(out, plan);
  for (const BlockReport& block : report.decided_blocks) {
    out << block.name << ", which data decide about: " << block.replayed_runs << " runs replayed\n";
    for (const PlanReport& plan : block.plans) detail::print_plan(out, plan);
    detail::print_misses(out, "run", block.misses);
    for (const std::string& reason : block.bailouts) out << "no replay: " << reason << '\n';
    detail::print_pinned(out, block.pinned_by);
  }
  out << "weights: " << report.weight_bytes << " bytes";
  if (report.spilled_weight_bytes != 0)
    out << ", of which " << report.spilled_weight_bytes << " in a temporary file";
  out << '\n';
  for (const PackedReport& packed : report.packed_weights)
    out << "packed weights: " << packed.count << ' ' << packed.kind << ", " << packed.bytes << " bytes\n";
  detail::print_misses(out, "call", report.misses);
  for (const std::string& reason : report.bailouts) out << "no replay: " << reason << '\n';
  detail::print_pinned(out, report.pinned_by);
  for (const NodeReport& node : report.nodes) {
    out << "  [" << node.block << '.' << node.index << "] " << name_of(node.path) << "  " << node.text
        << '\n';
    if (node.path == NodeKind::fallback) out << "        " << node.why << '\n';
    for (const ValueReport& value : node.outputs) {
      if (value.managed) {
        out << "        %" << value.name << ": managed, " << value.bytes << " bytes";
        if (value.placed) out << " at " << value.offset;
        out << ", steps " << value.first << " to " << value.end - 1 << '\n';
      } else if (!value.why_not.empty()) {
        out << "        %" << value.name << ": not managed, " << value.why_not << '\n';
      }
    }
  }
  return out;
}

}  // namespace sr
