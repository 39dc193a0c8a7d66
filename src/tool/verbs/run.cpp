#include "run.hpp"

#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>

#include <ATen/ATen.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <sr/load.hpp>

#include "../inputs/input_sets.hpp"
#include "../inputs/signature_specs.hpp"
#include "../inputs/size_streams.hpp"
#include "../timing/runners.hpp"
#include "../timing/start_times.hpp"

namespace sr::tool {
namespace {

void print(std::ostream& out, const std::string& name, const c10::IValue& value);

void print_tensor(std::ostream& out, const at::Tensor& tensor) {
  constexpr std::int64_t shown = 8;
  if (!tensor.defined()) {
    out << "undefined tensor\n";
    return;
  }
  out << c10::toString(tensor.scalar_type()) << tensor.sizes();
  if (tensor.layout() != at::kStrided || tensor.is_quantized()) {
    out << ' ' << tensor.toString() << '\n';
    return;
  }
  const std::int64_t count = std::min(shown, tensor.numel());
  const at::Tensor first = tensor.numel() == 0 ? tensor : at::flatten(tensor).slice(0, 0, count).contiguous();
  for (std::int64_t i = 0; i < count; ++i) {
    const at::Scalar value = first[i].item();
    out << ' ';
    if (value.isBoolean()) {
      out << (value.toBool() ? "true" : "false");
    } else if (value.isComplex()) {
      out << value.toComplexDouble();
    } else if (value.isIntegral(false)) {
      out << value.toLong();
    } else {
      out << value.toDouble();
    }
  }
  out << (tensor.numel() > shown ? " ...\n" : "\n");
}

template <class Items>
void print_items(std::ostream& out, const std::string& name, const Items& items) {
  for (std::size_t i = 0; i < items.size(); ++i) print(out, c10::str(name, '[', i, ']'), items[i]);
  if (items.empty()) out << name << ": empty\n";
}

void print(std::ostream& out, const std::string& name, const c10::IValue& value) {
  if (value.isTuple()) return print_items(out, name, value.toTupleRef().elements().vec());
  if (value.isList()) return print_items(out, name, value.toListRef().vec());
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      print(out, c10::str(name, '[', entry.key(), ']'), entry.value());
    }
    return;
  }
  out << name << ": ";
  if (value.isTensor()) return print_tensor(out, value.toTensor());
  out << value << '\n';
}

std::string count_of(std::size_t count, const std::string& what) {
  return c10::str(count, ' ', what, count == 1 ? "" : "s");
}

void check_count(std::size_t given, const c10::FunctionSchema& schema, const std::string& where) {
  std::size_t required = 0;
  for (const c10::Argument& argument : schema.arguments()) required += argument.default_value() ? 0 : 1;
  const std::size_t most = schema.arguments().size();
  if (given >= required && given <= most) return;
  const std::string takes = required == most ? c10::str(most) : c10::str(required, " to ", most);
  throw ArgumentError(c10::str(where, " gives ", count_of(given, "argument"), ", but the model takes ", takes,
                               ": ", schema, "."));
}

}  // namespace

std::vector<ArgumentList> input_sets(const InputOptions& options, const c10::FunctionSchema& schema) {
  std::vector<ArgumentList> sets;
  std::string source = "The call without --inputs or --shape";
  if (!options.file.empty()) {
    std::vector<std::string> names;
    for (const c10::Argument& argument : schema.arguments()) names.push_back(argument.name());
    sets = read_input_sets(options.file, names);
    source = "The file '" + options.file + "'";
  } else {
    const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(options.seed);
    const std::size_t calls = options.streams.empty() ? 1 : options.stream_calls;
    const std::vector<std::string> described =
        options.shapes.empty() ? specs_of(schema, options.open_size) : options.shapes;
    for (const auto& shapes : varied(described, options.streams, calls, options.seed)) {
      ArgumentList& set = sets.emplace_back();
      for (const std::string& shape : shapes) set.push_back(random_argument(shape, generator));
    }
    if (!described.empty())
      source = options.shapes.empty() ? "The signature of the model" : "The command line";
  }
  for (std::size_t i = 0; i < sets.size(); ++i) {
    check_count(sets[i].size(), schema, sets.size() == 1 ? source : c10::str(source, ", input set ", i, ","));
    for (std::size_t j = 0; j < sets[i].size(); ++j) {
      sets[i][j] = conform(std::move(sets[i][j]), schema.arguments()[j].type());
    }
  }
  return sets;
}

torch::jit::Module load_model(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw LoadError("'" + path +
                    "' is a directory, not a file written by torch.jit.save or torch.export.save.");
  }
  return load_module(path);
}

namespace {

// What the first calls of an input set do.
std::string name_of_call(std::int64_t repetition) {
  constexpr std::array kFirst{"call 1, node by node", "call 2, which is recorded"};
  return repetition < 2 ? kFirst[static_cast<std::size_t>(repetition)] : c10::str("call ", repetition + 1);
}

}  // namespace

int run(const RunOptions& options) {
  constexpr std::int64_t kTimedCalls = 8;
  StartTimes times;
  static_cast<void>(torch::jit::getAllOperatorsFor(c10::prim::Constant));
  times.note("list the operators of LibTorch, at its first lookup");
  StaticModuleOptions module_options;
  module_options.strict = options.strict;
  const torch::jit::Module loaded = load_model(options.model);
  times.note("read the model");
  const StaticModule module(loaded, module_options);
  times.note("prepare it");
  const std::vector<ArgumentList> sets = input_sets(options.inputs, module.schema());
  const std::unique_ptr<Runner> runner = make_sr_runner(options.planner, module);
  times.note("make the inputs and a runtime");
  std::vector<c10::IValue> results(sets.size());
  for (std::int64_t repetition = 0; repetition < options.repeat; ++repetition) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      const bool is_timed = options.timings && i == 0 && repetition < kTimedCalls;
      if (is_timed) times.skip();
      results[i] = runner->run(ArgumentList(sets[i]), i);
      if (is_timed) times.note(name_of_call(repetition));
    }
  }
  if (options.timings) times.print(std::cout);
  for (std::size_t i = 0; i < results.size(); ++i) {
    print(std::cout, sets.size() == 1 ? "output" : c10::str("set ", i, " output"), results[i]);
  }
  if (!options.output.empty()) write_values(options.output, results);
  return 0;
}

}  // namespace sr::tool
