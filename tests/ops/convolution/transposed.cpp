// Tests transposed convolutions in recorded plans against the interpreter.
#include <algorithm>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/families.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::transposed_convolution_tests {

namespace {

struct Case {
  std::int64_t channels, outputs, groups;  // outputs: of a group
  std::string rest;                        // stride, padding, output_padding, groups, dilation
  std::int64_t kernel = 3;
};

const std::vector<Case> kCases{
    {3, 4, 1, "1, 0, 0, 1, 1"},    {3, 4, 1, "2, 1, 1, 1, 1"}, {6, 2, 3, "2, 1, 0, 3, 1"},
    {4, 1, 4, "2, 1, 1, 4, 1"},    {4, 2, 4, "1, 2, 0, 4, 2"}, {1, 3, 1, "3, 0, 2, 1, 1", 2},
    {8, 5, 1, "1, 0, 0, 1, 1", 1}, {5, 3, 1, "1, 2, 0, 1, 3"},
};

std::string source(const Case& each, std::size_t dims) {
  return "def forward(self, x):\n    return torch.conv_transpose" + std::to_string(dims) +
         "d(x, self.w, self.b, " + each.rest + ")\n";
}

Attributes weights(const Case& each, std::size_t dims) {
  std::vector<std::int64_t> sizes{each.channels, each.outputs};
  sizes.resize(2 + dims, each.kernel);
  return {{"w", sample(sizes)}, {"b", sample({each.outputs * each.groups})}};
}

std::size_t own_steps(const Report& report) {
  std::size_t count = 0;
  for (const PlanReport& plan : report.plans) {
    count += static_cast<std::size_t>(std::ranges::count_if(
        plan.steps, [](const StepReport& step) { return step.kind == "transposed convolution"; }));
  }
  return count;
}

}  // namespace

TEST_CASE("transposed convolutions run on kernels of sr", "[replay]") {
  for (const Case& each : kCases) {
    for (const std::size_t dims : {1, 2}) {
      for (const bool has_bias : {true, false}) {
        std::string text = source(each, dims);
        if (!has_bias) text.replace(text.find("self.b"), 6, "None");
        torch::jit::Module module = script(text, weights(each, dims));
        StaticRuntime<> runtime{StaticModule(module)};
        std::size_t plans_made = 0;
        for (const std::int64_t images : {0, 1, 3}) {  // 0: without the dimension
          for (const std::int64_t width : {1, 5, 18}) {
            std::vector<std::int64_t> sizes{each.channels};
            if (images != 0) sizes.insert(sizes.begin(), images);
            if (dims == 2) sizes.push_back(4);
            sizes.push_back(width);
            const at::Tensor wide = sample([&] {
              std::vector<std::int64_t> twice = sizes;
              twice.back() *= 2;
              return twice;
            }());
            for (const at::Tensor& x : {sample(sizes), wide.slice(-1, 0, 2 * width, 2)}) {
              CAPTURE(text, sizes);
              const c10::IValue expected = interpret(module, {x});
              for (int run = 0; run < 3; ++run) CHECK(difference(expected, runtime(x), close(2e-5)) == "");
              ++plans_made;
            }
          }
        }
        CHECK(own_steps(runtime.report()) >= 3);
        CHECK(runtime.replayed_calls() >= plans_made);
      }
    }
  }
}

TEST_CASE("transposed convolutions of channels-last images keep that layout", "[replay]") {
  const Case each{6, 2, 3, "2, 1, 0, 3, 1"};
  torch::jit::Module module = script(source(each, 2), weights(each, 2));
  StaticRuntime<> runtime{StaticModule(module)};
  const at::Tensor x = sample({2, 6, 5, 7}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor expected = interpret(module, {x}).toTensor();
  for (int run = 0; run < 3; ++run) {
    const at::Tensor result = runtime(x).toTensor();
    CHECK(at::allclose(result, expected, 1e-4, 2e-5));
    CHECK(result.strides() == expected.strides());
  }
  CHECK(own_steps(runtime.report()) == 1);
}

TEST_CASE("batches of any size share the plan of a transposed convolution", "[families]") {
  for (const Case& each : kCases) {
    check_family(
        source(each, 2),
        [&](std::int64_t n) {
          return InputSet{sample({n % 50 + 1, each.channels, 4, 5})};
        },
        weights(each, 2));
  }
}

TEST_CASE("aten::convolution with transposed=True runs on kernels of sr", "[replay]") {
  torch::jit::Module module = script(
      "def forward(self, x):\n    return torch.convolution(x, self.w, self.b, [2, 2], [1, 1], [1, 1], True, "
      "[1, 1], 1)\n",
      {{"w", sample({3, 4, 3, 3})}, {"b", sample({4})}});
  StaticRuntime<> runtime{StaticModule(module)};
  const at::Tensor x = sample({2, 3, 5, 6});
  const c10::IValue expected = interpret(module, {x});
  for (int run = 0; run < 3; ++run) CHECK(difference(expected, runtime(x), close(2e-5)) == "");
  CHECK(own_steps(runtime.report()) == 1);
}

}  // namespace sr::test::transposed_convolution_tests
