// Convolutions of 8-bit integers one after the other, as PT2E writes them. All scales are powers of two, so
// that LibTorch's sums of floats are exact, and results equal the interpreter's bit by bit.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <sr/kernels/int8_forms.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/thread_checks.hpp"

namespace sr::test::int8_chains_tests {

namespace {

// The types of the images between two convolutions, by number in TorchScript, and their bounds.
struct Bytes {
  bool is_signed;
  std::string dtype() const { return is_signed ? "1" : "0"; }
  std::string zero() const { return is_signed ? "-5" : "7"; }
  std::string bounds() const { return is_signed ? "-128, 127" : "0, 255"; }
  at::ScalarType type() const { return is_signed ? at::kChar : at::kByte; }
};

// Models whose images are `d0`, `d1` and so on, floats of the integers `q0`, `q1`.
class Network {
 public:
  explicit Network(Bytes bytes) : bytes_(bytes) { dequantize("x", "0.0625"); }

  // A convolution of image `from` and what follows it; `after` uses y.
  Network& convolve(const std::string& from, std::vector<std::int64_t> weight, const std::string& arguments,
                    const std::string& after) {
    const std::string number = std::to_string(weights_++), w = "w" + number;
    std::vector<std::int64_t> by_channels(weight.size(), 1);
    by_channels[0] = weight[0];
    attributes_.emplace_back("t" + number, at::randint(-128, 128, weight, at::kChar));
    attributes_.emplace_back("s" + number, at::exp2(at::randint(-9, -6, by_channels).to(at::kFloat)));
    attributes_.emplace_back("b" + number, at::randint(-32, 32, {weight[0]}).to(at::kFloat) * 0.125);
    body_ += "    " + w + " = self.t" + number + ".to(6) * self.s" + number + "\n    y = torch.conv2d(" +
             from + ", " + w + ", self.b" + number + ", " + arguments + ")\n    y = " + after + "\n";
    return *this;
  }
  Network& then(const std::string& expression) { return set("y", expression); }
  Network& set(const std::string& name, const std::string& expression) {
    body_ += "    " + name + " = " + expression + "\n";
    return *this;
  }
  // The image becomes integers, and floats again: the next `d`.
  Network& quantize() {
    const std::string q = "q" + std::to_string(count_);
    body_ += "    " + q + " = torch.clamp(torch.round(y * 8.0) + " + bytes_.zero() + ", " + bytes_.bounds() +
             ").to(" + bytes_.dtype() + ")\n";
    dequantize(q, "0.125");
    return *this;
  }
  torch::jit::Module returning(const std::string& result) const {
    return script("def forward(self, x):\n" + body_ + "    return " + result + "\n", attributes_);
  }

  // The steps of a call with the image.
  static std::vector<std::string> steps(const torch::jit::Module& module, const at::Tensor& image) {
    StaticRuntime<> runtime{StaticModule(module)};
    for (int call = 0; call < 3; ++call) runtime(image);
    std::vector<std::string> all;
    const Report report = runtime.report();
    CAPTURE(report.bailouts);
    REQUIRE(report.plans.size() == 1);
    for (const auto& step : report.plans[0].steps) all.push_back(step.kind);
    return all;
  }

 private:
  void dequantize(const std::string& integers, const std::string& scale) {
    body_ += "    d" + std::to_string(count_++) + " = (" + integers + ".to(6) - " + bytes_.zero() + ") * " +
             scale + "\n";
  }

  Bytes bytes_;
  int count_ = 0, weights_ = 0;
  std::string body_;
  Attributes attributes_;
};

at::Tensor image(Bytes bytes, at::IntArrayRef sizes) {
  return at::randint(bytes.is_signed ? -128 : 0, bytes.is_signed ? 128 : 256, sizes, bytes.type());
}
at::Tensor last(const at::Tensor& image) {
  return image.contiguous(at::MemoryFormat::ChannelsLast);
}

// Other processors convolve floats where there are few channels.
bool has_image_kernels() {
  return kernels::int8_form().windows != nullptr;
}
std::size_t count(const std::vector<std::string>& kinds, const std::string& kind) {
  return static_cast<std::size_t>(std::ranges::count(kinds, kind));
}

}  // namespace

TEST_CASE("convolutions of integers follow each other", "[oracle][ops][replay]") {
  at::manual_seed(71);
  for (const bool is_signed : {false, true}) {
    for (const std::string activation : {"y", "torch.relu(y)", "torch.relu6(y)", "torch.hardswish(y)"}) {
      for (const std::int64_t channels : {5, 33, 64}) {
        const Bytes bytes{is_signed};
        const torch::jit::Module module =
            Network(bytes)
                .convolve("d0", {channels, 3, 3, 3}, "[2, 2], [1, 1]", activation)
                .quantize()
                .convolve("d1", {40, channels, 1, 1}, "[1, 1], [0, 0]", activation)
                .quantize()
                .convolve("d2", {17, 40, 3, 2}, "[1, 2], [1, 0], [2, 1]", activation)
                .quantize()
                .convolve("d3", {20, 17, 2, 3}, "[1, 1], [0, 2], [1, 2]", activation)
                .returning("y");
        CAPTURE(is_signed, activation, channels);
        check_model(module, {{image(bytes, {2, 3, 21, 19})}, {last(image(bytes, {2, 3, 21, 19}))}});
        check_model(module, {{image(bytes, {1, 3, 21, 19})}, {image(bytes, {4, 3, 21, 19})}});
        if (!has_image_kernels()) continue;
        CHECK(count(Network::steps(module, image(bytes, {2, 3, 21, 19})), "int8 convolution") == 3);
      }
    }
  }
}

TEST_CASE("depthwise convolutions of integers", "[oracle][ops][replay]") {
  at::manual_seed(72);
  for (const bool is_signed : {false, true}) {
    for (const std::string activation : {"torch.relu6(y)", "torch.silu(y) * 0.0 + y", "y"}) {
      for (const std::int64_t channels : {16, 33, 150}) {
        for (const std::string window : {"3", "5"}) {
          for (const std::string step : {"1", "2"}) {
            const Bytes bytes{is_signed};
            const std::int64_t kernel = std::stoi(window);
            const std::string pad = std::to_string(kernel / 2), groups = std::to_string(channels);
            const torch::jit::Module module =
                Network(bytes)
                    .convolve("d0", {channels, 4, 1, 1}, "[1, 1], [0, 0]", "torch.relu(y)")
                    .quantize()
                    .convolve("d1", {channels, 1, kernel, kernel},
                              "[" + step + ", " + step + "], [" + pad + ", " + pad + "], [1, 1], " + groups,
                              activation)
                    .quantize()
                    .convolve("d2", {9, channels, 1, 1}, "[1, 1], [0, 0]", "y")
                    .returning("y");
            CAPTURE(is_signed, activation, channels, window, step);
            check_model(module, {{image(bytes, {2, 4, 11, 9})}, {image(bytes, {1, 4, 11, 9})}});
            if (!has_image_kernels()) continue;
            CHECK(count(Network::steps(module, image(bytes, {2, 4, 11, 9})), "int8 convolution") == 2);
          }
        }
      }
    }
  }
}

TEST_CASE("a convolution of integers adds another image", "[oracle][ops][replay]") {
  at::manual_seed(73);
  const std::string one = "[1, 1], [0, 0]";
  for (const bool is_signed : {false, true}) {
    for (const std::string sum :
         {"y + d1", "d1 + y", "torch.relu(y + d1)", "torch.relu6(d1 + y)", "y.add_(d1)",
          "torch.relu_(y.add_(d1))", "torch.relu(y) + d1", "torch.add(y, d1, alpha=2)", "y + y",
          "y + d1 + d1", "y + torch.relu(d1)"}) {
      for (const bool ends_in_floats : {false, true}) {
        const Bytes bytes{is_signed};
        Network network(bytes);
        network.convolve("d0", {24, 3, 3, 3}, "[1, 1], [1, 1]", "torch.relu(y)")
            .quantize()
            .convolve("d1", {40, 24, 1, 1}, one, "torch.relu(y)")
            .quantize()
            .convolve("d2", {24, 40, 1, 1}, one, sum);
        if (!ends_in_floats) network.quantize().convolve("d3", {24, 24, 1, 1}, one, "y");
        const torch::jit::Module module = network.returning("y");
        CAPTURE(is_signed, sum, ends_in_floats);
        check_model(module, {{image(bytes, {2, 3, 12, 9})}, {image(bytes, {1, 3, 12, 9})}});
        if (!has_image_kernels() || ends_in_floats || sum == "y + y" || sum.size() > 6) continue;
        // The step that adds the image dequantizes it. The last convolution, of few channels, is one of
        // floats.
        CHECK(Network::steps(module, image(bytes, {1, 3, 12, 9})) ==
              std::vector<std::string>{"int8 convolution", "int8 convolution", "int8 convolution", "fused",
                                       "convolution"});
      }
    }
  }
}

TEST_CASE("a convolution of integers adds the projection that follows it", "[oracle][ops][replay]") {
  at::manual_seed(76);
  const std::string one = "[1, 1], [0, 0]";
  for (const bool is_signed : {false, true}) {
    for (const std::string sum : {"torch.relu(a + d2)", "torch.relu(d2 + a)", "a.add_(d2).relu_()"}) {
      const Bytes bytes{is_signed};
      const torch::jit::Module module = Network(bytes)
                                            .convolve("d0", {24, 8, 1, 1}, one, "torch.relu(y)")
                                            .quantize()
                                            .convolve("d1", {40, 24, 3, 3}, "[1, 1], [1, 1]", "y")
                                            .set("a", "y")
                                            .convolve("d1", {40, 24, 1, 1}, one, "y")
                                            .quantize()
                                            .then(sum)
                                            .quantize()
                                            .convolve("d3", {8, 40, 1, 1}, one, "y")
                                            .returning("y");
      CAPTURE(is_signed, sum);
      check_model(module, {{image(bytes, {2, 8, 13, 11})}, {image(bytes, {1, 8, 13, 11})}});
      if (!has_image_kernels()) continue;
      CHECK(Network::steps(module, image(bytes, {1, 8, 13, 11})) ==
            std::vector<std::string>{"int8 convolution", "int8 convolution", "int8 convolution", "fused",
                                     "convolution"});
    }
  }
}

TEST_CASE("maxima of dequantized images are those of the integers", "[oracle][ops][replay]") {
  at::manual_seed(75);
  for (const bool is_signed : {false, true}) {
    for (const std::string pool :
         {"torch.max_pool2d(d1, [3, 3], [2, 2], [1, 1])", "torch.max_pool2d(d1, [2, 2])",
          "torch.max_pool2d(d1, [2, 2], [1, 1], [1, 1], [3, 3])"}) {
      const Bytes bytes{is_signed};
      const torch::jit::Module module = Network(bytes)
                                            .convolve("d0", {40, 3, 3, 3}, "[1, 1], [1, 1]", "y")
                                            .quantize()
                                            .then(pool)
                                            .quantize()
                                            .convolve("d2", {8, 40, 1, 1}, "[1, 1], [0, 0]", "y")
                                            .returning("y");
      CAPTURE(is_signed, pool);
      check_model(module, {{image(bytes, {2, 3, 13, 11})}, {image(bytes, {1, 3, 13, 11})}});
    }
  }
}

TEST_CASE("threads share convolutions of integers", "[ops][replay][threads]") {
  at::manual_seed(74);
  const Bytes bytes{false};
  const torch::jit::Module module =
      Network(bytes)
          .convolve("d0", {96, 8, 3, 3}, "[1, 1], [1, 1]", "torch.relu(y)")
          .quantize()
          .convolve("d1", {96, 1, 3, 3}, "[1, 1], [1, 1], [1, 1], 96", "torch.hardswish(y)")
          .quantize()
          .convolve("d2", {96, 96, 3, 3}, "[1, 1], [1, 1]", "torch.relu(y + d1)")
          .quantize()
          .convolve("d3", {7, 96, 1, 1}, "[1, 1], [0, 0]", "y")
          .returning("y");
  for (const std::int64_t images : {1, 3}) {
    const at::Tensor given = image(bytes, {images, 8, 60, 50});
    CAPTURE(images);
    check_threads(module, given);
    check_model(module, {{given}});
  }
}

}  // namespace sr::test::int8_chains_tests
