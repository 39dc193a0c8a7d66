// Convolutions whose results become 8-bit integers, as PT2E quantizes them: one step.
#include <cstdint>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"
#include "support/thread_checks.hpp"

namespace sr::test::quantized_results_tests {

namespace {

// The body of a model whose convolution `y` becomes integers, dtype 0 (uint8) or 1 (int8), and floats again.
// The sums of sr and of LibTorch may differ in the last bits, and then the integers may differ by one. That
// changes the result by 0.0005.
std::string quantized(const std::string& convolution, bool is_signed, const std::string& activation) {
  const std::string range = is_signed ? "-128, 127).to(1)" : "0, 255).to(0)";
  return "def forward(self, x):\n    y = " + activation + "(" + convolution +
         ")\n    q = torch.clamp(torch.round(y * 3.0) + 5, " + range + "\n    return q.to(6) * 0.0005\n";
}

const std::string kInteger = "torch.conv2d((x.to(6) - 3) * 0.05, self.t * self.scales, self.b, ";

Attributes integers(std::int64_t channels, std::int64_t inputs, std::int64_t window) {
  return {{"t", at::randint(-128, 128, {channels, inputs, window, window}, at::kChar)},
          {"scales", at::rand({channels, 1, 1, 1}) * 0.01 + 0.001},
          {"b", at::randn({channels})}};
}

at::Tensor last(const at::Tensor& image) {
  return image.contiguous(at::MemoryFormat::ChannelsLast);
}

std::vector<std::string> kinds(const torch::jit::Module& module, const at::Tensor& image) {
  StaticRuntime<> runtime{StaticModule(module)};
  for (int call = 0; call < 3; ++call) runtime(image);
  std::vector<std::string> all;
  const Report report = runtime.report();
  CAPTURE(report.bailouts);
  REQUIRE(report.plans.size() == 1);
  for (const auto& step : report.plans[0].steps) all.push_back(step.kind);
  return all;
}

}  // namespace

TEST_CASE("convolutions of integers write integers", "[oracle][ops][replay]") {
  at::manual_seed(61);
  for (const std::string activation : {"torch.relu", "torch.relu6", "torch.silu"}) {
    for (const bool is_signed : {false, true}) {
      for (const std::int64_t window : {1, 3}) {
        const std::string arguments = window == 1 ? "[1, 1], [0, 0])" : "[1, 1], [1, 1])";
        const torch::jit::Module module = script(quantized(kInteger + arguments, is_signed, activation),
                                                 integers(643, 600 / window, window));
        const auto image = [&](std::int64_t count) {
          return last(at::randint(0, 256, {count, 600 / window, 7, 9}, at::kByte));
        };
        CAPTURE(activation, is_signed, window);
        check_model(module, {{image(2)}, {image(2)}, {image(1)}, {image(3)}}, close(2e-3));
        CHECK(kinds(module, image(2)) == std::vector<std::string>{"int8 convolution", "fused"});
      }
    }
  }
}

TEST_CASE("convolutions of floats write integers", "[oracle][ops][replay]") {
  at::manual_seed(62);
  struct Case {
    std::vector<std::int64_t> weight;
    std::string arguments;
    std::int64_t channels;
  };
  for (const Case& of : std::vector<Case>{{{40, 1, 3, 3}, "[1, 1], [1, 1], [1, 1], 40)", 40},  // row by row
                                          {{40, 1, 7, 7}, "[1, 1], [3, 3], [1, 1], 40)", 40},
                                          {{70, 33, 1, 1}, "[1, 1], [0, 0])", 33},
                                          {{48, 16, 3, 3}, "[2, 2], [0, 0])", 16}}) {
    for (const std::string activation : {"torch.relu", "torch.hardswish"}) {
      const torch::jit::Module module =
          script(quantized("torch.conv2d(x, self.w, self.b, " + of.arguments, false, activation),
                 {{"w", sample(of.weight)}, {"b", sample({of.weight[0]})}});
      const auto image = [&](std::int64_t count) { return last(sample({count, of.channels, 19, 23})); };
      CAPTURE(of.weight, activation);
      check_model(module, {{image(2)}, {image(2)}, {image(1)}, {image(5)}}, close(2e-3));
      CHECK(kinds(module, image(1)) == std::vector<std::string>{"convolution", "fused"});
    }
  }
}

TEST_CASE("convolutions that threads share write the same integers", "[ops][replay]") {
  at::manual_seed(63);
  for (const std::int64_t channels : {31, 400}) {  // threads share strips, or channels
    const torch::jit::Module module =
        script(quantized("torch.conv2d(x, self.w, self.b, [1, 1], [0, 0])", false, "torch.relu"),
               {{"w", sample({channels, 128, 1, 1})}, {"b", sample({channels})}});
    const std::int64_t size = channels == 31 ? 60 : 9;
    const at::Tensor image = last(sample({1, 128, size, size}));
    CAPTURE(channels);
    check_threads(module, image);
  }
}

}  // namespace sr::test::quantized_results_tests
