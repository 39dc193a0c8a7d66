#include "inspect.hpp"

#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "plan_picture.hpp"
#include "runners.hpp"

namespace sr::tool {
namespace {

void print_value(std::ostream& out, const ValueReport& value, bool ran) {
  out << "          %" << value.name << ": ";
  if (!value.managed) {
    out << "not managed, " << value.why_not << '\n';
    return;
  }
  out << "managed, alive in steps " << value.first << " to " << value.last - 1;
  if (ran) out << ", " << value.bytes << " bytes at offset " << value.offset;
  out << '\n';
}

void print_nodes(std::ostream& out, const Report& report, bool ran) {
  for (const NodeReport& node : report.nodes) {
    out << '[' << node.block << '.' << node.index << "] " << std::left << std::setw(9) << name_of(node.path)
        << node.text << '\n';
    out << "          " << node.why;
    if (!node.source.empty()) out << " From " << node.source << '.';
    out << '\n';
    for (const ValueReport& value : node.outputs) {
      if (value.managed || !value.why_not.empty()) print_value(out, value, ran);
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
  out << "Memory by " << report.planner << ": " << report.arena_bytes << " bytes, lower bound "
      << report.lower_bound_bytes << ", without reuse " << report.no_reuse_bytes << ".\n";
}

}  // namespace

int inspect(const InspectOptions& options) {
  const bool has_inputs = !options.inputs.file.empty() || !options.inputs.shapes.empty();
  const StaticModule module(load_model(options.model));
  const bool runs = has_inputs || module.schema().arguments().empty();
  if (!options.plan.empty() && !runs) {
    throw ArgumentError("A plan needs the sizes of the tensors: give --inputs or --shape with --plan.");
  }
  const std::unique_ptr<Runner> runner = make_sr_runner(options.planner, module);
  if (runs) {
    // The first run shows the sizes, the second one is planned; the report comes from the second.
    const std::vector<ArgumentList> sets = input_sets(options.inputs, module.schema());
    for (int repetition = 0; repetition < 2; ++repetition) {
      for (std::size_t i = 0; i < sets.size(); ++i) runner->run(ArgumentList(sets[i]), i);
    }
  }
  const Report report = runner->report().value();
  std::cout << options.model << ": " << module.schema() << "\n\n";
  if (options.graph) std::cout << module.graph().toString(/*print_source_locations=*/false) << '\n';
  print_nodes(std::cout, report, runs);
  print_summary(std::cout, report, runs);
  if (!options.plan.empty()) {
    write_plan(options.plan, report, options.model);
    std::cout << "The plan is in " << options.plan << ".\n";
  }
  return 0;
}

}  // namespace sr::tool
