// Convolutions and products that threads share.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/Parallel.h>

#include <sr/base/intra_op_width.hpp>
#include <sr/sr.hpp>

#include "image_plans.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::shared_images_tests {

TEST_CASE("images: large convolutions and products are the same on any number of threads", "[replay][ops]") {
  struct Threads {
    int before = at::get_num_threads();
    ~Threads() { at::set_num_threads(before); }
  } const restore;
  struct Case {
    std::string call;
    std::vector<std::int64_t> weight, input;
    bool is_last = false;
  };
  for (const Case& one : std::vector<Case>{
           {"torch.linear(x, self.w, self.b)",
            {1030, 300},
            {130, 300}},  // split by columns, with a narrow last block
           {"torch.linear(x, self.w, self.b)", {1024, 300}, {131, 300}},
           {"torch.linear(x, self.w, self.b)", {70, 600}, {1001, 600}},  // split by rows
           {"torch.linear(x, self.w, self.b)", {4, 1000}, {10001, 1000}},
           {"torch.linear(x, self.w, self.b)", {1, 2000}, {20003, 2000}},
           {"torch.relu(torch.linear(x, self.w))", {6, 4000}, {2001, 4000}},
           {"torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])", {31, 33, 3, 3}, {1, 33, 40, 41}},
           {"torch.conv2d(x, self.w, self.b)", {40, 300, 1, 1}, {2, 300, 20, 21}},
           // Split by channels: the weights are larger than the image.
           {"torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])", {125, 64, 3, 3}, {1, 64, 9, 8}},
           {"torch.conv2d(x, self.w)", {3, 64, 5, 5}, {1, 64, 61, 60}},
           {"torch.conv2d(x, self.w, self.b, [2, 2], [1, 1])", {16, 16, 3, 3}, {9, 16, 60, 61}},
           {"torch.relu(torch.conv2d(x, self.w, self.b, [1, 1], [1, 1], [1, 1], 64))",
            {64, 1, 3, 3},
            {2, 64, 100, 90}},
           {"torch.conv1d(x, self.w, self.b)", {64, 64, 5}, {1, 64, 1000}},
           // Channels last, region by region.
           {"torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])", {32, 40, 3, 3}, {1, 40, 33, 31}, true},
           {"torch.conv2d(x, self.w, self.b, [1, 1], [2, 2])", {125, 64, 5, 5}, {1, 64, 9, 8}, true},
           {"torch.conv2d(x, self.w, self.b, [2, 2], [1, 1], [1, 1], 2)",
            {64, 32, 3, 3},
            {3, 64, 30, 31},
            true}}) {
    CAPTURE(one.call, one.weight, one.input, one.is_last);
    const torch::jit::Module module = script("def forward(self, x):\n    return " + one.call + "\n",
                                             {{"w", sample(one.weight)}, {"b", sample({one.weight[0]})}});
    at::Tensor input = sample(one.input);
    if (one.is_last) input = input.contiguous(at::MemoryFormat::ChannelsLast);
    std::vector<at::Tensor> results;
    for (const int threads : {1, 2, 3, 7}) {
      at::set_num_threads(threads);
      sr::StaticRuntime<> runtime{sr::StaticModule(module)};
      for (int run = 0; run < 4; ++run) results.push_back(runtime(input).toTensor().clone());
      REQUIRE(runtime.report().plans.size() == 1);
      CHECK(runtime.report().plans[0].kernels == 1);
      CHECK(at::equal(results.back(), results[3]));
    }
    CHECK(at::allclose(results.back(), results.front(), 1e-4, 1e-3));  // the first is LibTorch's
  }
}

TEST_CASE("images: one plan serves batches of which threads share some", "[replay][ops]") {
  struct Case {
    std::string arguments;
    std::vector<std::int64_t> weight, image;
  };
  // One thread computes the first batch of each case. For larger batches threads share strips or channels,
  // and then images or groups.
  for (const Case& one : std::vector<Case>{{"[1, 1], [1, 1]", {31, 33, 3, 3}, {33, 10, 9}},
                                           {"[1, 1], [1, 1]", {125, 32, 3, 3}, {32, 5, 5}},
                                           {"[1, 1], [1, 1], [1, 1], 2", {32, 32, 3, 3}, {64, 9, 10}},
                                           {"[4, 4]", {96, 3, 4, 4}, {3, 52, 52}}}) {
    CAPTURE(one.arguments, one.weight, one.image);
    const torch::jit::Module module =
        script("def forward(self, x):\n    return torch.relu(torch.conv2d(x, self.w, self.b, " +
                   one.arguments + "))\n",
               {{"w", sample(one.weight)}, {"b", sample({one.weight[0]})}});
    std::vector<at::Tensor> images, alone;
    for (const std::int64_t count : {1, 2, 3, 4, 7, 12, 2, 1}) {
      std::vector<std::int64_t> sizes{count};
      sizes.insert(sizes.end(), one.image.begin(), one.image.end());
      images.push_back(sample(sizes));
    }
    for (const int threads : {1, 2, 3}) {
      const IntraOpWidth width(threads);
      sr::StaticRuntime<> runtime{sr::StaticModule(module)};
      for (int call = 0; call < 3; ++call) runtime(images[0]);
      for (std::size_t i = 0; i < images.size(); ++i) {
        at::Tensor result;
        for (int call = 0; call < 3; ++call)
          result = runtime(images[i]).toTensor();  // the first may be LibTorch's
        if (threads == 1) alone.push_back(result);
        CHECK(result.equal(alone[i]));
      }
      REQUIRE(runtime.report().plans.size() == 2);  // of the first size, and of all
      CHECK(runtime.report().plans[1].kernels == 1);
    }
  }
}

TEST_CASE("images: threads share the images of runs of convolutions", "[replay][ops]") {
  const torch::jit::Module module = script(
      "def forward(self, x):\n    y = torch.relu(torch.conv2d(x, self.w, self.b, [1, 1], [1, 1]))\n    y = "
      "torch.silu(torch.conv2d(y, self.v, self.b, [1, 1], [1, 1], [1, 1], 24)) * y.mean([2, 3], "
      "keepdim=True)\n"
      "    y = torch.max_pool2d(y, [2, 2]) - 0.5\n    return torch.conv2d(y, self.u, None, [1, 1], [1, 1])\n",
      {{"w", sample({24, 3, 3, 3})},
       {"v", sample({24, 1, 3, 3})},
       {"u", sample({5, 24, 3, 3})},
       {"b", sample({24})}});
  std::vector<at::Tensor> images, alone;
  for (const std::int64_t count : {1, 2, 3, 4, 7, 12, 0, 2, 1}) images.push_back(sample({count, 3, 22, 18}));
  for (const int threads : {1, 2, 3}) {
    const IntraOpWidth width(threads);
    sr::StaticRuntime<> runtime{sr::StaticModule(module, {.debug = {.least_image_bytes = 0}})};
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < images.size(); ++i) {
        const at::Tensor result = runtime(images[i]).toTensor();
        if (round == 0) continue;  // the first may be LibTorch's
        if (threads == 1 && round == 1) alone.push_back(result);
        CAPTURE(threads, round, i);
        CHECK(result.equal(alone[i]));
      }
    }
    CHECK(runtime.report().bailouts.empty());
    CHECK(runtime.replayed_calls() >= 2 * images.size());
  }
}

}  // namespace sr::test::shared_images_tests
