#include "fuzz/runner.hpp"

#include <array>
#include <stdexcept>
#include <utility>

#include <torch/csrc/jit/runtime/interpreter.h>

#include <sr/frontend/loaded_graph.hpp>
#include <sr/memory/planners.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/sr.hpp>

#include "support/guard_pages.hpp"
#include "support/oracle.hpp"

namespace sr::fuzz {

namespace {

// The number of replayed calls of a runtime; 0 if it is not known.
template <class Runtime>
std::uint64_t replayed_calls(const Runtime& runtime) {
  if constexpr (requires { runtime.replayed_calls(); }) {
    return static_cast<std::uint64_t>(runtime.replayed_calls());
  } else {
    return 0;
  }
}

template <class Planner>
Runner make_runner(const StaticModule& module) {
  auto runtime = std::make_shared<StaticRuntime<Planner>>(module);
  Runner runner;
  runner.call = [runtime](std::vector<c10::IValue> args) { return (*runtime)(std::move(args)); };
  runner.call_into = [runtime](const std::vector<c10::IValue>& args, const std::vector<at::Tensor>& outputs) {
    runtime->run_into(args, outputs);
  };
  runner.intact = [runtime] {
    for (std::size_t i = 0; i < runtime->content()->blocks.size(); ++i) {
      if constexpr (requires { runtime->arena(i).buffer().intact(); }) {
        if (!runtime->arena(i).buffer().intact()) return false;
      }
    }
    return true;
  };
  runner.replayed = [runtime] { return replayed_calls(*runtime); };
  return runner;
}

// Two runtimes of one module, each for two calls in turn, so that each replays what the other has recorded.
template <class First, class Second>
Runner make_runner_of_two(const StaticModule& module) {
  const std::array<Runner, 2> both{make_runner<First>(module), make_runner<Second>(module)};
  const auto next = [both, calls = std::make_shared<std::size_t>(0)] { return both[(*calls)++ / 2 % 2]; };
  Runner runner;
  runner.call = [next](std::vector<c10::IValue> args) { return next().call(std::move(args)); };
  runner.call_into = [next](const auto& args, const auto& outputs) { next().call_into(args, outputs); };
  runner.intact = [both] { return both[0].intact() && both[1].intact(); };
  runner.replayed = [both] { return both[0].replayed() + both[1].replayed(); };
  return runner;
}

using Make = Runner (*)(const StaticModule&);
constexpr Make kLinearScan = &make_runner<memory::LinearScan>;
constexpr Make kGuardPages = &make_runner<test::GuardPages>;
constexpr Make kPoison = &make_runner<test::Poison>;

struct Row {
  Configuration configuration;
  Make make;
  std::size_t max_plan_bytes = StaticModuleOptions().memory.max_plan_bytes;
  std::size_t least_image_bytes = StaticModuleOptions().debug.least_image_bytes;
};

const Row kRows[] = {
    // name, replay, managed outputs, optimize, out variants, exact, into
    {{"linear_scan", true, false, true, true, false, false}, kLinearScan},
    {{"linear_scan_general", false, false, true, true, false, false}, kLinearScan},
    {{"linear_scan_exact", true, false, true, true, true, false}, kLinearScan},
    {{"linear_scan_managed", true, true, true, true, false, false}, kLinearScan},
    {{"linear_scan_by_image", true, false, true, true, false, false}, kLinearScan, 1 << 20, 0},
    {{"linear_scan_into", true, false, true, true, true, true}, kLinearScan},
    {{"linear_scan_no_out", true, false, true, false, true, false}, kLinearScan},
    {{"guard_pages", true, false, true, true, false, false}, kGuardPages},
    {{"guard_pages_general", false, false, true, true, true, false}, kGuardPages},
    {{"guard_pages_managed", true, true, true, true, true, false}, kGuardPages},
    {{"guard_pages_not_optimised", true, true, false, true, false, false}, kGuardPages},
    {{"poison", true, false, true, true, true, false}, kPoison},
    {{"poison_managed", true, true, true, true, false, false}, kPoison},
    {{"poison_into", true, true, true, true, false, true}, kPoison},
    {{"poison_two_plans", true, false, true, true, false, false}, kPoison, 1},
    {{"two_runtimes", true, false, true, true, false, false},
     &make_runner_of_two<memory::LinearScan, test::GuardPages>},
    {{"two_runtimes_exact", true, true, true, true, true, false},
     &make_runner_of_two<test::Poison, memory::GreedyBySize>},
    {{"poison_general", false, true, true, true, true, false}, kPoison},
    {{"standard_resizing", true, true, true, true, false, false}, &make_runner<memory::StandardResizing>},
    {{"greedy_by_size", true, false, true, true, false, false}, &make_runner<memory::GreedyBySize>},
    {{"no_reuse", true, true, true, true, true, false}, &make_runner<memory::NoReuse>},
};

}  // namespace

const std::vector<Configuration>& configurations() {
  static const std::vector<Configuration> all = [] {
    std::vector<Configuration> names;
    for (const Row& row : kRows) names.push_back(row.configuration);
    return names;
  }();
  return all;
}

const Configuration& configuration_of(const std::string& name) {
  for (const Configuration& configuration : configurations()) {
    if (configuration.name == name) return configuration;
  }
  throw std::invalid_argument("no configuration is called '" + name + "'");
}

struct Prepared::Content {
  torch::jit::Module module;
  LoadedGraph loaded;
};

Prepared::Prepared(const torch::jit::Module& module)
    : content_(std::make_unique<Content>(Content{module, load_graph(module)})) {}
Prepared::~Prepared() = default;

bool Prepared::has_state() const {
  return !content_->loaded.self.isNone() || !content_->loaded.variables.empty();
}

c10::IValue interpret_stream(torch::jit::Module& module, const std::vector<c10::IValue>& args) {
  std::vector<std::pair<at::Tensor, at::Tensor>> before;
  for (const at::Tensor& buffer : module.buffers()) before.emplace_back(buffer, buffer.clone());
  try {
    return test::interpret(module, args);
  } catch (...) {
    const at::NoGradGuard no_grad;
    for (const auto& [buffer, value] : before) buffer.copy_(value);
    throw;
  }
}

std::function<c10::IValue(std::vector<c10::IValue>)> Prepared::interpreter() const {
  // Loading the module again gives the interpreter its own state.
  const LoadedGraph loaded = has_state() ? load_graph(content_->module) : content_->loaded;
  std::vector<c10::IValue> first;
  for (const StateVariable& variable : loaded.variables) first.push_back(variable.first);
  return [self = loaded.self, code = torch::jit::Code(loaded.graph->copy(), "forward"),
          assigned = loaded.assigned,
          state = std::make_shared<StateValues>(StateValues(first).copy())](std::vector<c10::IValue> args) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::NoGradGuard no_grad;
    if (!self.isNone()) args.insert(args.begin(), self);
    StateValues after = state->copy();  // a call that throws leaves the state as it was
    args.insert(args.end(), after.variables().begin(), after.variables().end());
    torch::jit::InterpreterState(code).run(args);
    after.assign(assigned, {args.end() - static_cast<std::ptrdiff_t>(assigned.size()), args.end()});
    *state = std::move(after);
    return args.at(0);
  };
}

Runner Prepared::make(const Configuration& configuration, bool exact) const {
  for (const Row& row : kRows) {
    if (row.configuration.name != configuration.name) continue;
    StaticModuleOptions options;
    options.debug.enable_replay = configuration.replay;
    options.memory.manage_outputs = configuration.managed_outputs;
    options.memory.optimize = configuration.optimize;
    options.debug.enable_out_variant = configuration.out_variants;
    options.numerics = exact ? Numerics::exact : Numerics::fast;
    options.memory.max_plan_bytes = row.max_plan_bytes;
    options.debug.least_image_bytes = row.least_image_bytes;
    // What calls write belongs to one StaticModule, so the module is loaded anew.
    if (has_state()) return row.make(StaticModule(content_->module, options));
    LoadedGraph copy = content_->loaded;
    copy.graph = copy.graph->copy();
    return row.make(StaticModule(std::move(copy), options));
  }
  throw std::invalid_argument("no configuration is called '" + std::string(configuration.name) + "'");
}

}  // namespace sr::fuzz
