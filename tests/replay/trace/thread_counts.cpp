// Plans and the number of threads: which plan serves which calls.
#include <cstddef>
#include <string>
#include <utility>

#include <ATen/Parallel.h>
#include <torch/script.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/replay.hpp"

namespace sr::test::process_state_tests {

namespace {

// The number of plans with which calls under several numbers of threads were answered.
std::size_t plans_for_threads(const torch::jit::Module& model, const at::Tensor& x) {
  torch::jit::Module copy = model.deepcopy();
  const at::Tensor expected = copy.forward({x}).toTensor();
  StaticRuntime<> runtime{StaticModule(model)};
  const int before = at::get_num_threads();
  for (const int threads : {2, 1, 2, 3}) {
    at::set_num_threads(threads);
    for (int call = 0; call < 4; ++call) {
      CAPTURE(threads, call);
      CHECK(at::allclose(runtime(x).toTensor(), expected, 1e-4, 1e-3));
    }
  }
  at::set_num_threads(before);
  return plans(runtime);
}

}  // namespace

TEST_CASE("where every bit counts, constants of a plan are for one number of threads", "[process_state]") {
  const torch::jit::Module model =
      script("def forward(self, x):\n    return x + torch.linear(torch.ones([x.size(0), 8]), self.w)\n",
             {{"w", at::randn({16, 8})}});
  const at::Tensor x = at::randn({3, 16});
  const int before = at::get_num_threads();
  for (const Numerics numerics : {Numerics::exact, Numerics::fast}) {
    StaticModuleOptions options;
    options.numerics = numerics;
    const StaticModule module(model, options);
    StaticRuntime<> runtime{module};
    at::set_num_threads(1);
    for (int call = 0; call < 4; ++call) runtime(x);
    const auto replayed = runtime.replayed_calls();
    CHECK(replayed != 0);
    at::set_num_threads(2);
    runtime(x);
    CHECK((runtime.replayed_calls() != replayed) == (numerics == Numerics::fast));
    at::set_num_threads(before);
  }
}

TEST_CASE("a convolution that was cut for some number of threads is not used with another",
          "[process_state]") {
  const torch::jit::Module model = script("def forward(self, x):\n    return torch.conv2d(x, self.w)\n",
                                          {{"w", at::randn({64, 64, 3, 3}) * 0.1}});
  CHECK(plans_for_threads(model, at::randn({4, 64, 28, 28})) == 3);
}

TEST_CASE("threads share convolutions of images whose channels lie last", "[process_state]") {
  for (const auto& [weight, groups] :
       {std::pair(at::randn({64, 64, 3, 3}) * 0.1, "1"), std::pair(at::randn({64, 1, 7, 7}), "64"),
        std::pair(at::randn({9, 64, 3, 3}) * 0.1, "1")}) {
    const torch::jit::Module model =
        script("def forward(self, x):\n    return torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], " +
                   std::string(groups) + ")\n",
               {{"w", weight}});
    for (const std::int64_t images : {1, 4}) {
      const at::Tensor x = at::randn({images, 64, 44, 44}).contiguous(at::MemoryFormat::ChannelsLast);
      CHECK(plans_for_threads(model, x) == 3);
    }
  }
}

TEST_CASE("the plan of a product serves any number of threads", "[process_state]") {
  const torch::jit::Module model =
      script("def forward(self, x):\n    return torch.softmax(torch.matmul(x, self.w), -1)\n",
             {{"w", at::randn({512, 512})}});
  CHECK(plans_for_threads(model, at::randn({256, 512})) == 1);
}

}  // namespace sr::test::process_state_tests
