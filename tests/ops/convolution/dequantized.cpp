// Convolutions of floats that were made of 8-bit integers, as PT2E writes them: one step on the integers.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <sr/base/intra_op_width.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_dequantized_convolutions_tests {

namespace {

at::Tensor bytes(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::randint(dtype == at::kByte ? 0 : -128, dtype == at::kByte ? 256 : 128, sizes, dtype);
}

// The sizes of an image and of the weights, and what follows the bias in the call of conv1d or conv2d.
struct Case {
  std::vector<std::int64_t> image, weight;
  std::string arguments;
};

// With so many taps and channels integers are faster than floats on every instruction set.
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {{2, 67, 9, 11}, {640, 67, 3, 3}, "[1, 1], [1, 1]"},
      {{1, 64, 8, 8}, {650, 64, 3, 3}, "[1, 1], [1, 1]"},
      {{2, 600, 7, 5}, {641, 600, 1, 1}, "[1, 1], [0, 0]"},
      {{2, 600, 7, 5}, {640, 600, 1, 1}, "[2, 2], [0, 0]"},
      {{1, 41, 19, 18}, {640, 41, 3, 5}, "[2, 1], [0, 2]"},
      {{3, 100, 12, 10}, {640, 100, 3, 2}, "[1, 2], [2, 1], [2, 3]"},
      {{1, 200, 10, 10}, {640, 200, 1, 3}, "[1, 1], [0, 1]"},
      {{2, 17, 6, 6}, {640, 17, 6, 6}, "[1, 1], [0, 0]"},      // one pixel
      {{1, 67, 5, 4}, {640, 67, 3, 3}, "[2, 2], [4, 4]"},      // windows of nothing but padding
      {{1, 150, 5, 4}, {640, 150, 2, 2}, "[3, 3], [0, 0]"},    // columns and rows that no window reads
      {{1, 1, 28, 50}, {640, 1, 25, 25}, "[1, 1], [12, 12]"},  // several bands
      {{2, 3, 20, 17}, {640, 3, 15, 15}, "[2, 1], [7, 7]"},
      {{4, 150, 10}, {640, 150, 4}, "[1], [2]"},  // of one dimension
      {{1, 200, 600}, {640, 200, 3}, "[2], [1], [2]"},
      {{67, 9, 9}, {640, 67, 3, 3}, "[1, 1], [1, 1]"},  // without images
  };
  return kCases;
}

std::string call_of(const Case& of) {
  return of.weight.size() == 3 ? "torch.conv1d(d, w, self.b, " : "torch.conv2d(d, w, self.b, ";
}

// Dtypes by number: 6 is float32.
std::string body_of(const std::string& zero, const std::string& scale) {
  return "d = (x.to(6) - " + zero + ") * " + scale + "\n    w = (self.t - self.zeros) * self.scales\n    ";
}

torch::jit::Module with_weights(const Case& of, const std::string& body) {
  std::vector<std::int64_t> by_channels(of.weight.size(), 1);
  by_channels[0] = of.weight[0];
  std::vector<std::int64_t> by_inputs = by_channels;
  by_inputs[1] = of.weight[1];
  return script("def forward(self, x, zero, scale):\n    " + body + "\n",
                {{"t", bytes(of.weight, at::kChar)},
                 {"scales", at::rand(by_channels) * 0.01 + 0.001},
                 {"of_inputs", at::rand(by_inputs)},
                 {"zeros", at::zeros(by_channels, at::kLong)},
                 {"middle", at::full(by_channels, 3, at::kLong)},
                 {"b", at::randn({of.weight[0]})}});
}

InputSet inputs(const Case& of, at::ScalarType dtype, std::int64_t images = 0, bool channels_last = false) {
  std::vector<std::int64_t> sizes = of.image;
  if (images != 0) sizes[0] = images;
  at::Tensor image = bytes(sizes, dtype);
  if (channels_last) image = image.contiguous(at::MemoryFormat::ChannelsLast);
  return {image, at::scalar_tensor(at::Scalar(4.0), at::kFloat), at::rand({}) + 0.01};
}

std::vector<std::string> steps(const Case& of, const std::string& body, const InputSet& given,
                               Numerics numerics = Numerics::fast) {
  StaticModuleOptions options;
  options.numerics = numerics;
  StaticRuntime<> runtime{StaticModule(with_weights(of, body), options)};
  for (int run = 0; run < 3; ++run) runtime(std::vector<c10::IValue>(given));
  std::vector<std::string> kinds;
  const Report report = runtime.report();
  for (const auto& step : report.plans.at(0).steps) kinds.push_back(step.kind);
  return kinds;
}

}  // namespace

TEST_CASE("convolutions of dequantized floats equal the interpreter's", "[oracle][ops][replay]") {
  at::manual_seed(51);
  OracleOptions options = close(2e-3);
  options.rounds = 3;
  for (const Case& of : cases()) {
    for (const auto& [dtype, zero] : {std::pair(at::kByte, "3"), std::pair(at::kChar, "-7"),
                                      std::pair(at::kByte, "0"), std::pair(at::kChar, "127")}) {
      const std::string body = body_of(zero, "0.05");
      CAPTURE(of.image, of.weight, of.arguments, dtype, zero);
      const bool is_batch = of.image.size() == of.weight.size();
      for (const std::string& result : {"return " + call_of(of) + of.arguments + ")",
                                        "return torch.relu(" + call_of(of) + of.arguments + "))"}) {
        const torch::jit::Module module = with_weights(of, body + result);
        check_model(module, {inputs(of, dtype)}, options);
        if (!is_batch) continue;
        check_model(module, {inputs(of, dtype, 1), inputs(of, dtype, 4), inputs(of, dtype, 3)}, options);
        if (of.image.size() == 4) check_model(module, {inputs(of, dtype, 2, true)}, options);
      }
    }
  }
}

TEST_CASE("drawn convolutions of dequantized floats equal the interpreter's", "[oracle][ops][replay]") {
  at::manual_seed(53);
  std::mt19937 random(53);
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const auto pair = [&](std::int64_t low, std::int64_t high) {
    return "[" + std::to_string(between(low, high)) + ", " + std::to_string(between(low, high)) + "]";
  };
  OracleOptions options = close(2e-3);
  options.rounds = 3;
  for (int draw = 0; draw < 25; ++draw) {
    const std::int64_t rows = between(1, 5), columns = between(1, 5), channels = 599 / (rows * columns) + 1;
    const std::string arguments = pair(1, 3) + ", " + pair(0, 3) + ", " + pair(1, 2);
    const Case of{
        {between(1, 3), channels, between(9, 24), between(9, 24)}, {640, channels, rows, columns}, arguments};
    CAPTURE(of.image, of.weight, of.arguments);
    const std::string body =
        body_of(std::to_string(between(0, 127)), "0.05") + "return " + call_of(of) + of.arguments + ")";
    check_model(with_weights(of, body),
                {inputs(of, between(0, 1) == 0 ? at::kByte : at::kChar, 0, between(0, 3) == 0)}, options);
  }
}

TEST_CASE("a convolution of dequantized floats is one step on the integers", "[ops][replay]") {
  const std::vector<std::string> one{"int8 convolution"};
  for (const Case& of : cases()) {
    CAPTURE(of.image, of.weight, of.arguments);
    const std::string relu = "return torch.relu(" + call_of(of) + of.arguments + "))";
    CHECK(steps(of, body_of("3", "0.05") + relu, inputs(of, at::kByte)) == one);
    CHECK(steps(of, body_of("3", "scale") + relu, inputs(of, at::kChar)) == one);
  }
  const Case& of = cases()[0];
  const std::string convolve = "return " + call_of(of) + of.arguments + ")";
  CHECK(steps(of, body_of("3", "0.05") + convolve, inputs(of, at::kByte, 2, true)) == one);
  const auto uses_integers = [&](const std::string& body, Numerics numerics = Numerics::fast) {
    const std::vector<std::string> kinds = steps(of, body, inputs(of, at::kByte), numerics);
    return std::ranges::find(kinds, one[0]) != kinds.end();
  };
  CHECK(uses_integers(body_of("3", "0.05") + convolve));
  CHECK(!uses_integers(body_of("3", "0.05") + convolve, Numerics::exact));
  CHECK(!uses_integers(body_of("zero", "0.05") + convolve));  // not known before the call
  CHECK(!uses_integers(body_of("-1", "0.05") + convolve));    // no uint8 is the padding
  CHECK(!uses_integers(body_of("2.5", "0.05") + convolve));
  const std::string image = "d = (x.to(6) - 3) * 0.05\n    ";
  CHECK(!uses_integers(image + "w = (self.t - self.zeros) * self.of_inputs\n    " + convolve));
  CHECK(!uses_integers(image + "w = (self.t - self.middle) * self.scales\n    " + convolve));
  CHECK(!uses_integers(body_of("3", "0.05") + "d[0] = 1\n    " + convolve));
  CHECK(!uses_integers("d = x.to(6)\n    w = (self.t - self.zeros) * self.scales\n    " + convolve));
  const Case small{{2, 3, 9, 9}, {8, 3, 3, 3}, "[1, 1], [1, 1]"};
  const Case grouped{{2, 134, 9, 9}, {1280, 67, 3, 3}, "[1, 1], [1, 1], [1, 1], 2"};
  for (const Case& other : {small, grouped}) {
    CAPTURE(other.weight);
    const std::string result = "return " + call_of(other) + other.arguments + ")";
    const std::vector<std::string> kinds =
        steps(other, body_of("3", "0.05") + result, inputs(other, at::kByte));
    CHECK(std::ranges::find(kinds, one[0]) == kinds.end());
  }
}

TEST_CASE("threads share a convolution of integers", "[oracle][ops][replay][threads]") {
  at::manual_seed(52);
  OracleOptions options = close(2e-3);
  options.rounds = 3;
  const Case of{{3, 67, 17, 17}, {640, 67, 3, 3}, "[1, 1], [1, 1]"};
  const std::string body = body_of("3", "0.05") + "return torch.relu(" + call_of(of) + of.arguments + "))";
  const torch::jit::Module module = with_weights(of, body);
  std::vector<at::Tensor> results;
  const InputSet given = inputs(of, at::kByte);
  for (const int threads : {1, 2, 3}) {
    const IntraOpWidth width(threads);
    StaticRuntime<> runtime{StaticModule(module)};
    for (int run = 0; run < 3; ++run) runtime(std::vector<c10::IValue>(given));
    results.push_back(runtime(std::vector<c10::IValue>(given)).toTensor().clone());
    CHECK(runtime.replayed_calls() > 0);
    const std::size_t plans = runtime.report().plans.size();
    for (const std::int64_t batch : {2, 5, 4, 7}) {
      for (int call = 0; call < 3; ++call) runtime(std::vector<c10::IValue>(inputs(of, at::kByte, batch)));
    }
    CHECK(runtime.report().plans.size() <= plans + 1);  // and one for all further batches
    check_model(module, {given, inputs(of, at::kByte, 1)}, options);
  }
  CHECK(results[0].equal(results[1]));
  CHECK(results[0].equal(results[2]));
}

}  // namespace sr::test::ops_dequantized_convolutions_tests
