// Batch norm in a replay: folded into the product or convolution before it, or a multiply-add.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "../convolution/image_plans.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::batch_norm_tests {

namespace {

// The kernels of the program for `before`, batch norm, and then `after`.
std::size_t kernels_around_norm(const std::string& before, const std::string& after,
                                const std::vector<at::Tensor>& inputs, std::int64_t channels,
                                Attributes attributes) {
  for (const char* const name : {"gamma", "beta", "mean"}) attributes.emplace_back(name, sample({channels}));
  attributes.emplace_back("variance", at::rand({channels}) + 0.5);
  std::size_t kernels = 0;
  for (const char* const arguments :
       {"self.gamma, self.beta, self.mean, self.variance", "None, None, self.mean, self.variance"}) {
    CAPTURE(before, after, arguments);
    const torch::jit::Module module =
        script("def forward(self, x):\n    y = " + before + "\n    y = torch.batch_norm(y, " + arguments +
                   ", False, 0.1, 1e-3, True)\n    return " + after + "\n",
               attributes);
    check_model(module, thrice(inputs), close());
    const auto steps = steps_of(module, inputs[0]);
    CHECK(steps.second == 0);
    kernels = steps.first;
  }
  return kernels;
}

}  // namespace

TEST_CASE("images: batch norm is folded into the convolution or product before it", "[replay][ops]") {
  const std::vector<at::Tensor> images{sample({2, 4, 7, 9}), sample({1, 4, 20, 20}), sample({1, 4, 1, 1})};
  const Attributes weights{{"w", sample({6, 4, 3, 3})}, {"g", sample({6, 2, 3, 3})},
                           {"b", sample({6})},          {"l", sample({6, 4, 3})},
                           {"m", sample({6, 9})},       {"square", sample({9, 9})}};
  for (const char* const convolved :
       {"torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])", "torch.conv2d(x, self.w, None, [2, 2], [1, 1])",
        "torch.conv2d(x, self.g, self.b, [1, 1], [1, 1], [1, 1], 2)"}) {
    CHECK(kernels_around_norm(convolved, "y", images, 6, weights) == 1);
    CHECK(kernels_around_norm(convolved, "torch.relu(y)", images, 6, weights) == 1);
    CHECK(kernels_around_norm("torch.relu(" + std::string(convolved) + ")", "y", images, 6, weights) == 2);
    CHECK(kernels_around_norm(convolved,
                              "torch.batch_norm(y, None, None, self.mean, self.variance, False, 0.1, "
                              "1e-5, True)",
                              images, 6, weights) == 2);
  }
  const std::vector<at::Tensor> lines{sample({3, 4, 11}), sample({1, 4, 60})};
  CHECK(kernels_around_norm("torch.conv1d(x, self.l, self.b)", "torch.relu(y)", lines, 6, weights) == 1);
  const std::vector<at::Tensor> rows{sample({5, 9}), sample({1, 9}), sample({9, 9}), sample({40, 9})};
  CHECK(kernels_around_norm("torch.linear(x, self.m, self.b)", "torch.relu(y)", rows, 6, weights) == 1);
  CHECK(kernels_around_norm("torch.matmul(x, self.m.t())", "y", rows, 6, weights) == 1);
  // Sums that were added to, clamped or given to another function are not scaled before that.
  const std::string plain = "torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])";
  for (const std::string& finished :
       {"torch.clamp(" + plain + ", None, 0.1)", "torch.hardtanh(" + plain + ")",
        "torch.relu6(" + plain + " + 1)", "torch.silu(" + plain + ")"})
    kernels_around_norm(finished, "y", images, 6, weights);
  Attributes square = weights;
  square.emplace_back("s", sample({6, 6, 3, 3}));
  kernels_around_norm("torch.conv2d(x, self.s, self.b, [1, 1], [1, 1]) + x", "y", {sample({2, 6, 7, 9})}, 6,
                      square);
  // Other readers of the convolution or product get its own result.
  CHECK(kernels_around_norm("torch.conv2d(x, self.w, self.b)", "y + torch.conv2d(x, self.w, self.b)",
                            {sample({2, 4, 7, 9})}, 6, weights) == 2);
  check_model(
      script(
          "def forward(self, x):\n    y = torch.conv2d(x, self.w)\n    return y, torch.batch_norm(y, self.b, "
          "self.b, self.b, self.b + 9, False, 0.1, 1e-5, True)\n",
          weights),
      thrice({sample({2, 4, 7, 9})}), close());
  CHECK(kernels_around_norm("torch.linear(x, self.square).t()", "y", {sample({9, 9})}, 9, weights) == 2);
}

TEST_CASE("images: batch norm by itself is a multiply-add", "[replay][ops]") {
  at::Tensor special = sample({2, 3, 4, 5});
  special[0][1][2][3] = std::numeric_limits<float>::quiet_NaN();
  special[1][2][0][0] = std::numeric_limits<float>::infinity();
  const std::vector<at::Tensor> inputs{special,
                                       sample({2, 3}),
                                       sample({4, 3, 1}),
                                       sample({1, 3, 40, 50}),
                                       sample({0, 3, 4}),
                                       sample({2, 3, 4, 5, 6}),
                                       sample({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast),
                                       sample({3, 2, 4, 5}).transpose(0, 1),
                                       sample({2, 3, 8, 5}).slice(2, 0, 8, 2)};
  CHECK(kernels_around_norm("x", "y", inputs, 3, {}) == 1);
  CHECK(kernels_around_norm("torch.sigmoid(x)", "torch.relu(y)", inputs, 3, {}) == 1);
  // An infinite scale, and a scale without elements.
  check_model(
      script(
          "def forward(self, x):\n    return torch.batch_norm(torch.conv2d(x, self.w), None, None, self.m, "
          "self.v, False, 0.1, 0.0, True)\n",
          {{"w", sample({2, 3, 1, 1})}, {"m", at::zeros({2})}, {"v", at::tensor({0.0F, 1e30F})}}),
      thrice({sample({1, 3, 4, 4}), at::zeros({1, 3, 4, 4})}), close());
}

}  // namespace sr::test::batch_norm_tests
