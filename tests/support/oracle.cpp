#include "support/oracle.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include <sr/executor/arena.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/guard_pages.hpp"
#include "support/ir.hpp"
#include "support/outcome.hpp"
#include "support/values.hpp"

namespace sr::test {

namespace {

std::string compare_outcomes(const Outcome& expected, const Outcome& actual, const OracleOptions& options,
                             bool keeps_outputs) {
  if (expected.threw != actual.threw) {
    return expected.threw ? "the interpreter throws, sr does not: " + expected.message
                          : "sr throws: " + actual.message;
  }
  if (expected.threw) {
    if (expected.is_jit_exception != actual.is_jit_exception)
      return "another type of exception: " + actual.message;
    if (expected.message.find(first_line(actual.message)) == std::string::npos) {
      return "sr's message: " + actual.message + "\nthe interpreter's: " + expected.message;
    }
  } else {
    if (std::string found = compare_values(expected.result, actual.result, options, "result"); !found.empty())
      return found;
    const auto theirs = sharing(expected.inputs, expected.result),
               ours = sharing(actual.inputs, actual.result);
    if (theirs != ours)
      return "aliasing of inputs and outputs: expected" + show(theirs) + ", got" + show(ours);
  }
  for (std::size_t i = 0; i < expected.inputs.size(); ++i) {
    OracleOptions of_input;
    of_input.rtol = options.rtol;  // what a model writes is a result, too
    of_input.atol = options.atol;
    std::string found =
        compare_values(expected.inputs[i], actual.inputs[i], of_input, "input " + std::to_string(i));
    if (!found.empty()) return found;
  }
  if (options.use_counts && !expected.threw) {
    const auto theirs = references(expected.inputs, expected.result, !keeps_outputs);
    const auto ours = references(actual.inputs, actual.result, !keeps_outputs);
    if (theirs != ours)
      return c10::str("references to inputs and outputs: expected ", theirs, ", got ", ours);
  }
  if (expected.threw && options.use_counts) {
    for (const c10::IValue& input : actual.inputs) {
      if (input.isTensor() && has_storage(input.toTensor())) {
        std::size_t times = 0;
        for (const c10::IValue& other : actual.inputs)
          times += other.isTensor() && other.toTensor().is_same(input.toTensor());
        if (input.toTensor().use_count() != times)
          return "a reference to an input is held after an exception";
      }
    }
  }
  return {};
}

// --- configurations
// ---------------------------------------------------------------------------------------------

struct Runner {
  std::function<c10::IValue(std::vector<c10::IValue>)> call;
  std::function<Report()> report;
  std::function<bool()> intact;
};

// Its buffer detects writes outside of tensors.
template <class Planner>
constexpr bool kChecksItsMemory = requires(const typename Planner::Buffer& buffer) {
  buffer.intact();
};

template <class Planner>
Runner make_runner(const StaticModule& module) {
  auto runtime = std::make_shared<StaticRuntime<Planner>>(module);
  Runner runner;
  runner.call = [runtime](std::vector<c10::IValue> args) { return (*runtime)(std::move(args)); };
  runner.report = [runtime] { return runtime->report(); };
  runner.intact = [runtime] {
    for (std::size_t i = 0; i < runtime->content()->blocks.size(); ++i) {
      if constexpr (kChecksItsMemory<Planner>) {
        const auto* buffer =
            static_cast<const typename Planner::Buffer*>(runtime->arena(i).buffer().object());
        if (!buffer->intact()) return false;
      }
    }
    bool intact = true;
    if constexpr (kChecksItsMemory<Planner>) {
      runtime->each_plan_buffer([&](const typename Planner::Buffer& buffer) { intact &= buffer.intact(); });
    }
    return intact;
  };
  return runner;
}

struct Configuration {
  const char* name;
  Runner (*make)(const StaticModule&);
  bool out = true, optimize = true, managed_outputs = false, replay = true, fast = false;
};

// The tolerance for a few of our kernels in a row.
constexpr double kFastTolerance = 2e-5;

constexpr Configuration kConfigurations[] = {
    {"linear_scan", &make_runner<memory::LinearScan>},
    {"guard_pages", &make_runner<GuardPages>},
    {"poison, managed outputs", &make_runner<Poison>, true, true, true},
    {"standard_resizing, managed outputs", &make_runner<memory::StandardResizing>, true, true, true, false},
    {"greedy_by_size, general path", &make_runner<memory::GreedyBySize>, true, true, false, false},
    {"no_reuse", &make_runner<memory::NoReuse>},
    {"linear_scan, no out variants", &make_runner<memory::LinearScan>, false},
    {"guard_pages, managed outputs, memory not optimised", &make_runner<GuardPages>, true, false, true},
    {"linear_scan, fast", &make_runner<memory::LinearScan>, true, true, false, true, true},
    {"guard_pages, fast", &make_runner<GuardPages>, true, true, false, true, true},
    {"poison, managed outputs, fast", &make_runner<Poison>, true, true, true, true, true},
};

std::string check_paths(const Report& report, const OracleOptions& options) {
  bool found = false;
  const std::string path = options.expected_path.empty() ? "out" : options.expected_path;
  for (const NodeReport& node : report.nodes) {
    if (node.key != options.managed) continue;
    found = true;
    if (name_of(node.path) != path)
      return node.text + " takes the path '" + name_of(node.path) + "': " + node.why;
    if (path != "out") continue;
    for (const ValueReport& value : node.outputs) {
      if (!value.managed) return node.text + " is not managed: " + value.why_not;
    }
  }
  return found ? std::string() : "no node of kind " + options.managed + " in the prepared graph";
}

std::string check_configuration(const Configuration& configuration, const torch::jit::Module& module,
                                const std::vector<InputSet>& runs, const std::vector<Outcome>& expected,
                                OracleOptions options) {
  StaticModuleOptions chosen;
  chosen.debug.enable_out_variant = configuration.out;
  chosen.memory.optimize = configuration.optimize;
  chosen.memory.manage_outputs = configuration.managed_outputs;
  chosen.debug.enable_replay = configuration.replay;
  if (configuration.managed_outputs) chosen.debug.least_image_bytes = 0;
  chosen.numerics = configuration.fast ? Numerics::fast : Numerics::exact;
  if (configuration.fast) {
    options.rtol = std::max(options.rtol, kFastTolerance);
    options.atol = std::max(options.atol, kFastTolerance / 10);
  }
  std::vector<std::pair<std::size_t, Outcome>> kept;
  {
    Runner runner = configuration.make(StaticModule(module, chosen));
    for (std::size_t k = 0; k < expected.size(); ++k) {
      Outcome actual = run(runs[k % runs.size()], runner.call);
      const std::string found = compare_outcomes(expected[k], actual, options, configuration.managed_outputs);
      if (!found.empty()) return c10::str("round ", k / runs.size(), ", run ", k % runs.size(), ": ", found);
      if (k / runs.size() != 1) kept.emplace_back(k, std::move(actual));
    }
    if (!runner.intact()) return "bytes beside a managed tensor were written";
    if (configuration.out && !options.managed.empty()) {
      if (std::string found = check_paths(runner.report(), options); !found.empty()) return found;
    }
    for (const auto& [k, outcome] : kept) {
      const std::string found = compare_values(expected[k].result, outcome.result, options, "result");
      if (!found.empty())
        return c10::str("the result of round ", k / runs.size(), ", run ", k % runs.size(),
                        " changed in later runs: ", found);
    }
  }
  for (const auto& [k, outcome] : kept) {
    const std::string found = compare_values(expected[k].result, outcome.result, options, "result");
    if (!found.empty())
      return c10::str("the result of run ", k, " changed when the runtime was destroyed: ", found);
  }
  return {};
}

}  // namespace

void check_model(const torch::jit::Module& module, const std::vector<InputSet>& runs,
                 const OracleOptions& options) {
  torch::jit::Module reference = module.deepcopy();
  reference.eval();
  std::vector<Outcome> expected;
  for (int round = 0; round < options.rounds; ++round) {
    for (const InputSet& inputs : runs) {
      expected.push_back(
          run(inputs, [&](std::vector<c10::IValue> args) { return interpret(reference, args); }));
    }
  }
  for (const Configuration& configuration : kConfigurations) {
    UNSCOPED_INFO(configuration.name);
    std::string found;
    try {
      found = check_configuration(configuration, module, runs, expected, options);
    } catch (const std::exception& error) {
      found = std::string("preparing the module failed: ") + error.what();
    }
    if (found.empty()) {
      SUCCEED();
    } else {
      FAIL_CHECK(configuration.name << ": " << found);
    }
  }
}

void check_script(const std::string& source, const std::vector<InputSet>& runs,
                  const OracleOptions& options) {
  check_model(script(source), runs, options);
}

void check_op(const std::string& key, const std::string& parameters, const std::string& expression,
              const std::vector<InputSet>& runs, OracleOptions options, int results) {
  INFO(key << " as " << expression);
  if (expression.starts_with("graph(")) {
    options.managed = key;
    return check_model(module_of(expression), runs, options);
  }
  if (results == 0) {
    options.managed = key;
    return check_script("def forward(self, " + parameters + "):\n    return " + expression + "\n", runs,
                        options);
  }
  std::string names = "a0", clones = "a0.clone()";
  for (int i = 1; i < results; ++i) {
    names += ", a" + std::to_string(i);
    clones += ", a" + std::to_string(i) + ".clone()";
  }
  const std::string head =
      "def forward(self, " + parameters + "):\n    " + names + " = " + expression + "\n    return ";
  options.managed = key;
  check_script(head + clones + "\n", runs, options);
  options.managed.clear();
  check_script(head + names + "\n", runs, options);
}

void check_kernels(const std::string& parameters, const std::string& expression, const InputSet& inputs,
                   std::size_t kernels) {
  INFO(expression);
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, " + parameters + "):\n    return " + expression + "\n"))};
  for (int run = 0; run < 3; ++run) runtime(inputs);
  const Report report = runtime.report();
  REQUIRE(report.plans.size() == 1);
  CHECK(report.plans[0].kernels == kernels);
  CHECK(report.plans[0].calls + report.plans[0].interpreted == 0);
}

}  // namespace sr::test
