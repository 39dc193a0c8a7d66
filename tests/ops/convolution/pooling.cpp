// Pooling in a replay: windows of every kind over images of every size, against LibTorch.
#include <limits>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "image_plans.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::pooling_tests {

TEST_CASE("images: pooling is a kernel, whatever its window", "[replay][ops]") {
  at::Tensor special = sample({2, 3, 9, 40});
  special[0][1][4][7] = std::numeric_limits<float>::quiet_NaN();
  special[1].fill_(-std::numeric_limits<float>::infinity());
  const std::vector<at::Tensor> images{sample({1, 16, 28, 28}), sample({2, 3, 9, 40}), special,
                                       sample({3, 7, 8}), sample({2, 3, 8, 6}).transpose(0, 1)};
  for (const char* const call :
       {"torch.max_pool2d(x, [2, 2])", "torch.max_pool2d(x, [3, 3], [2, 2], [1, 1])",
        "torch.max_pool2d(x, [3, 3], [1, 1], [1, 1])",
        "torch.max_pool2d(x, [3, 2], [3, 3], [1, 1], [1, 1], True)",
        "torch.max_pool2d(x, [2, 3], [2, 1], [0, 1], [3, 2])", "torch.max_pool2d(x, [1, 1], [4, 4])",
        "torch.avg_pool2d(x, [2, 2])", "torch.avg_pool2d(x, [3, 3], [2, 2], [1, 1])",
        "torch.avg_pool2d(x, [3, 3], [2, 2], [1, 1], True, False)",
        "torch.avg_pool2d(x, [3, 2], [1, 3], [1, 0], True)",
        "torch.avg_pool2d(x, [2, 2], [2, 2], [1, 1], False, True, 3)", "torch.adaptive_avg_pool2d(x, [1, 1])",
        "torch.max_pool2d(x, [3, 3], [2, 2], [1, 1]) * 2"}) {
    CAPTURE(call);
    const torch::jit::Module module = script("def forward(self, x):\n    return " + std::string(call) + "\n");
    check_model(module, thrice(images), close());
    CHECK(steps_of(module, images[0]).second == 0);
  }
  check_script(
      "def forward(self, x):\n    return torch.adaptive_avg_pool2d(x, [2, 4]), torch.max_pool1d(x[0], "
      "[3], [2], [1]), torch.avg_pool1d(x[0], [3], [2], [1], True, False)\n",
      thrice({sample({2, 3, 8, 12}), sample({1, 5, 4, 4}), sample({1, 2, 7, 9})}), close());
}

}  // namespace sr::test::pooling_tests
