#include "inspect.hpp"

#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/frontend/loaded_graph.hpp>
#include <sr/passes/pass.hpp>

#include "../drawing/plan_picture.hpp"
#include "../inputs/input_sets.hpp"
#include "../inputs/signature_specs.hpp"
#include "../timing/runners.hpp"

namespace sr::tool {
namespace {

void print_value(std::ostream& out, const ValueReport& value) {
  out << "          %" << value.name << ": ";
  if (!value.managed) {
    out << "not managed, " << value.why_not << '\n';
    return;
  }
  out << "managed, alive in steps " << value.first << " to " << value.end - 1;
  if (value.placed) out << ", " << value.bytes << " bytes at offset " << value.offset;
  out << '\n';
}

void print_nodes(std::ostream& out, const Report& report) {
  for (const NodeReport& node : report.nodes) {
    out << '[' << node.block << '.' << node.index << "] " << std::left << std::setw(9) << name_of(node.path)
        << node.text << '\n';
    out << "          " << node.why;
    if (!node.source.empty()) out << " From " << node.source << '.';
    out << '\n';
    for (const ValueReport& value : node.outputs) {
      if (value.managed || !value.why_not.empty()) print_value(out, value);
    }
  }
}

void print_summary(std::ostream& out, const Report& report, bool ran) {
  std::size_t managed = 0, made = 0;
  std::set<std::string> missing;
  for (const NodeReport& node : report.nodes) {
    if (node.path == NodeKind::fallback) missing.insert(node.key);
    for (const ValueReport& value : node.outputs) {
      managed += value.managed ? 1 : 0;
      made += node.path == NodeKind::out_variant ? 1 : 0;
    }
  }
  out << "\nNodes: " << report.nodes.size() << " in " << report.blocks.size() << " block"
      << (report.blocks.size() == 1 ? "" : "s") << "; " << report.out_variants << " out, " << report.natives
      << " native, " << report.fallbacks << " fallback.\n";
  out << "Tensors of out variants: " << made << ", managed " << managed << ".\n";
  if (!missing.empty()) {
    out << "In the interpreter:";
    for (const std::string& key : missing) out << ' ' << key;
    out << ".\n";
  }
  if (!ran) {
    out << "Memory: give --inputs or --shape to see sizes.\n";
    return;
  }
  out << "Memory of the general path by " << report.planner << ": " << report.arena_bytes
      << " bytes, lower bound " << report.lower_bound_bytes << ", without reuse " << report.no_reuse_bytes
      << ".\n";
}

std::vector<std::string> lines_of(const torch::jit::Graph& graph) {
  std::istringstream text(graph.toString(/*print_source_locations=*/false));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// The lines of `from` that `other` lacks, where equal lines count as often as they occur.
std::vector<std::string> lines_only_in(const std::vector<std::string>& from,
                                       const std::vector<std::string>& other) {
  std::multiset<std::string> left(other.begin(), other.end());
  std::vector<std::string> only;
  for (const std::string& line : from) {
    const auto known = left.find(line);
    if (known == left.end()) {
      only.push_back(line);
    } else {
      left.erase(known);
    }
  }
  return only;
}

void print_pass(std::ostream& out, const passes::Pass& pass, const torch::jit::Graph& before,
                const torch::jit::Graph& after) {
  const std::vector<std::string> old_lines = lines_of(before), new_lines = lines_of(after);
  const std::vector<std::string> gone = lines_only_in(old_lines, new_lines),
                                 come = lines_only_in(new_lines, old_lines);
  out << "Pass " << pass.name << " (" << pass.what << ")";
  if (gone.empty() && come.empty()) {
    out << ": no change.\n";
    return;
  }
  out << ": " << gone.size() << " lines went, " << come.size() << " came.\n";
  for (const std::string& line : gone) out << "  - " << line << '\n';
  for (const std::string& line : come) out << "  + " << line << '\n';
}

void print_operands(std::ostream& out, const char* what, const std::vector<OperandReport>& operands) {
  if (operands.empty()) return;
  out << "          " << what;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const OperandReport& operand = operands[i];
    out << (i == 0 ? " " : ", ") << operand.place;
    if (operand.place == "arena") out << " at " << operand.offset;
    out << " (" << operand.bytes << " bytes)";
  }
  out << '\n';
}

void print_plans(std::ostream& out, const std::vector<PlanReport>& plans) {
  for (const PlanReport& plan : plans) {
    out << "\nReplay of (" << plan.arguments << "): " << plan.steps.size() << " step"
        << (plan.steps.size() == 1 ? "" : "s") << ", " << plan.kernels << " of sr's own kernels, "
        << plan.calls << " calls of LibTorch, " << plan.interpreted << " interpreted; arena "
        << plan.memory.arena << " bytes, lower bound " << plan.memory.lower_bound << ", without reuse "
        << plan.memory.no_reuse << ".\n";
    for (const std::string& condition : plan.conditions) out << "  for " << condition << '\n';
    for (const std::string& seen : plan.sizes_seen) out << "  so far " << seen << '\n';
    for (const std::string& remark : plan.remarks) out << "  " << remark << '\n';
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      out << '[' << i << "] " << plan.steps[i].kind << ':';
      for (const std::string& op : plan.steps[i].ops) out << ' ' << op;
      out << '\n';
      print_operands(out, "reads", plan.steps[i].reads);
      print_operands(out, "writes", plan.steps[i].writes);
    }
  }
}

void print_pinned(std::ostream& out, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    out << "\nA plan for each choice of sizes: how sizes follow through " << name << " is not known.\n";
}

void print_plans(std::ostream& out, const Report& report) {
  print_plans(out, report.plans);
  for (const BlockReport& block : report.decided_blocks) {
    out << "\nData decide about " << block.name << "; " << block.replayed_runs << " runs were replayed.\n";
    print_plans(out, block.plans);
    for (const std::string& reason : block.bailouts) out << "\nNo replay: " << reason << '\n';
    print_pinned(out, block.pinned_by);
  }
  for (const auto& [why, calls] : report.misses)
    out << '\n' << calls << (calls == 1 ? " call was" : " calls were") << " not replayed. " << why << '\n';
  for (const std::string& reason : report.bailouts) out << "\nNo replay: " << reason << '\n';
  print_pinned(out, report.pinned_by);
}

}  // namespace

int inspect(const InspectOptions& options) {
  const bool has_inputs = !options.inputs.file.empty() || !options.inputs.shapes.empty();
  passes::PassSettings settings{.off = options.without_passes, .watch = nullptr};
  if (options.passes) {
    settings.watch = [](const passes::Pass& pass, const torch::jit::Graph& before,
                        const torch::jit::Graph& after) { print_pass(std::cout, pass, before, after); };
  }
  const StaticModule module(load_graph(load_model(options.model), "forward", settings), {});
  if (options.passes) std::cout << '\n';
  const bool runs = has_inputs || module.schema().arguments().empty() ||
                    !specs_of(module.schema(), options.inputs.open_size).empty();
  if (!options.plan.empty() && !runs) {
    throw ArgumentError("A plan needs the sizes of the tensors: give --inputs or --shape with --plan.");
  }
  const std::unique_ptr<Runner> runner = make_sr_runner(options.planner, module);
  if (runs) {
    for (const ArgumentList& set : input_sets(options.inputs, module.schema())) runner->reserve(set);
  }
  const Report report = runner->report().value();
  std::cout << options.model << ": " << module.schema() << "\n\n";
  if (options.graph) std::cout << module.graph().toString(/*print_source_locations=*/false) << '\n';
  print_nodes(std::cout, report);
  print_summary(std::cout, report, runs);
  print_plans(std::cout, report);
  if (!options.plan.empty()) {
    write_plan(options.plan, report, options.model);
    std::cout << "The plan is in " << options.plan << ".\n";
  }
  return 0;
}

}  // namespace sr::tool
