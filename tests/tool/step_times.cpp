// Times of the steps of replays: their selection and their output.
#include "../src/tool/timing/step_times.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/record_function.h>
#include <torch/script.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"

namespace sr::test::step_times_tests {

class RuntimeRunner : public tool::Runner {
 public:
  explicit RuntimeRunner(StaticRuntime<> runtime) : runtime_(std::move(runtime)) {}
  c10::IValue run(tool::ArgumentList&& args, std::size_t) override { return runtime_(std::move(args)); }
  void reserve(const tool::ArgumentList& args) override { runtime_.reserve(args); }
  void time_steps(bool on) override { runtime_.time_steps(on); }
  std::unique_ptr<tool::Runner> clone() const override {
    return std::make_unique<RuntimeRunner>(runtime_.clone());
  }
  std::optional<Report> report() const override { return runtime_.report(); }

  StaticRuntime<> runtime_;
};

const char* const kSource =
    "def forward(self, x):\n    y = torch.relu(x * 2 + 1)\n    return torch.softmax(torch.matmul(y, self.w), "
    "1)\n";

StaticModule module(bool replays = true) {
  return StaticModule(script(kSource, {{"w", at::rand({64, 64})}}), {.debug = {.enable_replay = replays}});
}

TEST_CASE("each step of a replay is timed while that is switched on, and not afterwards", "[tool][replay]") {
  StaticRuntime<> runtime(module());
  const std::vector<c10::IValue> inputs{at::rand({8, 64})};
  runtime.reserve(inputs);
  const at::Tensor expected = runtime(inputs).toTensor();
  CHECK(runtime.report().plans.at(0).timed_replays == 0);
  runtime.time_steps(true);
  for (int i = 0; i < 5; ++i) CHECK(at::equal(runtime(inputs).toTensor(), expected));
  runtime.time_steps(false);
  CHECK(at::equal(runtime(inputs).toTensor(), expected));
  const Report report = runtime.report();
  const PlanReport& plan = report.plans.at(0);
  CHECK(plan.timed_replays >= 1);  // short ones are timed now and then
  CHECK(plan.timed_replays <= 5);
  REQUIRE(plan.steps.size() == 3);
  for (const StepReport& step : plan.steps) CHECK(step.seconds > 0);
  runtime.time_steps(true);
  CHECK(runtime.report().plans.at(0).timed_replays == 0);
}

std::vector<std::string> ranges;  // of the profiler, in order

TEST_CASE("a profiler sees the steps of each replay while they are timed", "[tool][replay]") {
  StaticRuntime<> runtime(module());
  const std::vector<c10::IValue> inputs{at::rand({8, 64})};
  runtime.reserve(inputs);
  ranges.clear();
  const auto note = [](const at::RecordFunction& range) -> std::unique_ptr<at::ObserverContext> {
    ranges.emplace_back(range.name());
    return nullptr;
  };
  const at::CallbackHandle listener =
      at::addThreadLocalCallback(at::RecordFunctionCallback(note).scopes({at::RecordScope::USER_SCOPE}));
  runtime(inputs);
  CHECK(ranges.empty());
  runtime.time_steps(true);
  for (int i = 0; i < 4; ++i) runtime(inputs);
  at::removeCallback(listener);
  runtime(inputs);
  REQUIRE(ranges.size() == 12);
  CHECK(ranges[0].starts_with("sr: fused: aten::mul"));
  CHECK(ranges[11].find("softmax") != std::string::npos);
  const Report report = runtime.report();
  CHECK(report.plans.at(0).timed_replays >= 4);
}

TEST_CASE("times of steps name the operators fused into each", "[tool][replay]") {
  RuntimeRunner runner{StaticRuntime<>(module())};
  const std::vector<tool::ArgumentList> sets{{at::rand({8, 64})}, {at::rand({3, 64})}};
  const std::vector<ProgramTimes> programs = tool::time_steps(runner, sets, 0.05);
  REQUIRE(programs.size() == 2);
  CHECK(programs[0].arguments == "Float[8, 64]");
  REQUIRE(programs[0].steps.size() == 3);
  CHECK(programs[0].steps[0].report.label().find("aten::mul") != std::string::npos);
  CHECK(programs[0].steps[0].report.label().find("aten::relu") != std::string::npos);
  CHECK(programs[0].total() > 0);
  std::ostringstream text;
  tool::print_steps(text, programs);
  CHECK(text.str().find("aten::softmax") != std::string::npos);
  CHECK(tool::steps_json(programs).size() == 2);
  CHECK(tool::steps_svg(programs, "a<b").find("a&lt;b") != std::string::npos);
}

TEST_CASE("a model that is not replayed has no times of steps", "[tool][replay]") {
  RuntimeRunner runner{StaticRuntime<>(module(/*replays=*/false))};
  CHECK(tool::time_steps(runner, {{at::rand({8, 64})}}, 0.01).empty());
}

}  // namespace sr::test::step_times_tests
