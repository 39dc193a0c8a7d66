// What a runtime can say about itself: which path each node takes and why, what is managed and why not, and
// how much memory that takes.
#pragma once

#include <cstddef>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/error.hpp>
#include <sr/identity.hpp>
#include <sr/memory/lower_bound.hpp>
#include <sr/memory/request.hpp>
#include <sr/static_module.hpp>

namespace sr {

// The memory of one block as it stands; all sizes in bytes, 0 before the first run.
struct BlockMemory {
  memory::Bytes arena = 0;
  memory::Bytes lower_bound = 0;          // most bytes alive at once
  memory::Bytes no_reuse = 0;             // sum over all managed tensors
  std::vector<memory::Request> requests;  // one for each managed value of the block
  memory::Layout layout;
};

struct ValueReport {
  std::string name;
  bool managed = false;
  std::string why_not;      // for outputs of out variants that are not managed
  memory::Bytes bytes = 0;  // planned size, when managed
  memory::Bytes offset = 0;
  memory::Step first = 0, last = 0;  // half-open lifetime in steps of the block
};

struct NodeReport {
  std::size_t block = 0;
  std::size_t index = 0;
  std::string key;     // "aten::add.Tensor"
  std::string text;    // the node as IR
  std::string source;  // "file:line", empty when unknown
  NodeKind path = NodeKind::fallback;
  std::string functor;
  std::string why;  // why this path, in a sentence
  std::vector<ValueReport> outputs;
};

// Bytes that a step of a plan reads or writes.
struct OperandReport {
  std::string place;         // "argument 0", "weight", "constant", "arena", "result 0", "allocated"
  memory::Bytes bytes = 0;   // of the whole storage
  memory::Bytes offset = 0;  // in the arena
};

// One step of a plan, in the order of execution.
struct StepReport {
  std::string kind;              // "fused", "packed product", "iterator", "call", "interpreted", ...
  std::vector<std::string> ops;  // keys of the nodes it computes; several where they are fused
  std::vector<OperandReport> reads, writes;
};

// One signature that is replayed.
struct PlanReport {
  std::string arguments;        // "float[8, 50], 3"
  std::size_t kernels = 0;      // steps that are kernels of ours
  std::size_t calls = 0;        // operators of LibTorch that write into planned memory
  std::size_t interpreted = 0;  // nodes left to the interpreter
  std::uint64_t replays = 0;
  BlockMemory memory;
  std::vector<StepReport> steps;
};

struct Report {
  std::string planner;
  std::vector<NodeReport> nodes;
  std::vector<BlockMemory> blocks;
  std::vector<PlanReport> plans;
  std::vector<std::string> refusals;  // why other signatures keep to the general path
  std::size_t out_variants = 0;
  std::size_t natives = 0;
  std::size_t fallbacks = 0;
  memory::Bytes arena_bytes = 0;  // sums over blocks
  memory::Bytes lower_bound_bytes = 0;
  memory::Bytes no_reuse_bytes = 0;
  memory::Bytes replay_arena_bytes = 0;  // what the plans of the runtime share
};

inline const char* name_of(NodeKind kind) {
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

inline BlockMemory block_memory(memory::Bytes arena, const std::vector<memory::Request>& requests,
                                const memory::Layout& layout) {
  return {arena, memory::lower_bound(requests), memory::no_reuse_bytes(requests), requests, layout};
}

template <class Arena>
BlockMemory block_memory(const Arena& arena) {
  return block_memory(arena.bytes(), arena.requests(), arena.layout());
}

namespace detail {

inline std::string why_this_path(const ProcessedNode& node, const ModuleContent& content) {
  const std::string after = node.declined.empty() ? "" : " (declined by " + node.declined + ")";
  switch (node.kind) {
    case NodeKind::out_variant:
      return "writes its results into planned tensors through " + node.functor + after + ".";
    case NodeKind::native:
      if (node.body != nullptr) {
        return node.body->is_interpreted()
                   ? "its body is a task, run by LibTorch's interpreter: it holds what sr can not run."
                   : "its body is a task, run on runtimes of its own.";
      }
      return "returns a view, a container, a number or another value that is not planned; run by " +
             node.functor + after + ".";
    case NodeKind::fallback:
      if (!content.options.enable_out_variant) return "out variants are switched off.";
      if (!node.declined.empty())
        return "declined by " + node.declined + ", and it has no `.out` overload of its own.";
      return "no functor is registered for " + key_of(*node.node) +
             " and it has no `.out` overload of its own.";
  }
  return {};
}

// Managed values of a block are in order of their slots' nodes, so `next` walks along with the nodes.
inline ValueReport report_value(const ModuleContent& content, const ProcessedNode& node, std::uint32_t output,
                                const BlockInfo& block, const BlockMemory& memory, std::size_t& next) {
  ValueReport value;
  const Slot slot = node.first_output + output;
  value.name = node.node->output(output)->debugName();
  if (next < block.managed.size() && block.managed[next].slot == slot) {
    value.managed = true;
    value.first = block.managed[next].first;
    value.last = block.managed[next].last;
    if (next < memory.requests.size()) value.bytes = memory.requests[next].bytes;
    if (next < memory.layout.offsets.size()) value.offset = memory.layout.offsets[next];
    ++next;
  }
  if (!value.managed && node.kind == NodeKind::out_variant) value.why_not = content.unmanaged_reasons[slot];
  return value;
}

// Depth-first over the tensors of a result; `used` counts them.
inline void copy_results(const c10::IValue& result, c10::ArrayRef<at::Tensor> outputs, std::size_t& used) {
  if (result.isTensor()) {
    if (used >= outputs.size()) {
      ++used;
      return;
    }
    const at::Tensor& from = result.toTensor();
    const at::Tensor& to = outputs[used];
    if (!to.defined() || to.scalar_type() != from.scalar_type() || !to.sizes().equals(from.sizes())) {
      throw ArgumentError("Output tensor " + std::to_string(used) + " given to run_into is " +
                          (to.defined() ? c10::str(to.scalar_type(), to.sizes()) : std::string("undefined")) +
                          ", but the model returns " + c10::str(from.scalar_type(), from.sizes()) +
                          " there.");
    }
    if (has_no_memory(to)) {
      throw ArgumentError("Output tensor " + std::to_string(used) +
                          " given to run_into has no memory any more.");
    }
    to.copy_(from);
    ++used;
  } else if (result.isTuple()) {
    for (const c10::IValue& element : result.toTupleRef().elements()) copy_results(element, outputs, used);
  } else if (result.isList()) {
    for (const c10::IValue& element : result.toListRef()) copy_results(element, outputs, used);
  } else if (result.isGenericDict()) {
    for (const auto& entry : result.toGenericDict()) copy_results(entry.value(), outputs, used);
  }
}

}  // namespace detail

// `memory` has one element for each block; may be empty for a module that has not run.
inline Report make_report(const ModuleContent& content, std::string planner,
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
      line.functor = node.functor;
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

inline std::ostream& operator<<(std::ostream& out, const Report& report) {
  out << report.nodes.size() << " nodes: " << report.out_variants << " out variants, " << report.natives
      << " native, " << report.fallbacks << " fallback\n"
      << "arena (" << report.planner << "): " << report.arena_bytes << " bytes, lower bound "
      << report.lower_bound_bytes << ", without reuse " << report.no_reuse_bytes << '\n';
  for (const PlanReport& plan : report.plans) {
    out << "replay of (" << plan.arguments << "): " << plan.kernels << " kernels, " << plan.calls
        << " calls, " << plan.interpreted << " interpreted; arena " << plan.memory.arena
        << " bytes, lower bound " << plan.memory.lower_bound << "; " << plan.replays << " replays\n";
  }
  for (const std::string& refusal : report.refusals) out << "no replay: " << refusal << '\n';
  for (const NodeReport& node : report.nodes) {
    out << "  [" << node.block << '.' << node.index << "] " << name_of(node.path) << "  " << node.text
        << '\n';
    if (node.path == NodeKind::fallback) out << "        " << node.why << '\n';
    for (const ValueReport& value : node.outputs) {
      if (value.managed) {
        out << "        %" << value.name << ": managed, " << value.bytes << " bytes at " << value.offset
            << ", steps " << value.first << " to " << value.last << '\n';
      } else if (!value.why_not.empty()) {
        out << "        %" << value.name << ": not managed, " << value.why_not << '\n';
      }
    }
  }
  return out;
}

}  // namespace sr
