// One plan for calls that differ in sizes, and what a runtime does with it.
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sr/memory/no_reuse.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/families.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::family_runtimes_tests {
namespace {

// Has no memory for more than 32 KiB.
struct FailsForLarge {
  static constexpr std::string_view name = "fails_for_large";
  static memory::Layout plan(std::span<const memory::Request> requests) {
    for (const memory::Request& request : requests) {
      if (request.bytes > 32 * 1024) throw std::bad_alloc();
    }
    return memory::NoReuse::plan(requests);
  }
};

}  // namespace

TEST_CASE("outputs of the caller, managed outputs and kept results across sizes", "[families]") {
  for (const bool managed : {false, true}) {
    StaticModuleOptions options;
    options.memory.manage_outputs = managed;
    StaticRuntime<> runtime{StaticModule(script(kSmall), options)};
    const at::Tensor y = at::randn({3});
    std::vector<std::pair<at::Tensor, at::Tensor>> kept;
    for (const std::int64_t n : kSizes) {
      const at::Tensor x = at::randn({n, 3});
      const at::Tensor result = runtime(x, y).toTensor();
      CHECK(at::equal(result, small(x, y)));
      if (n % 2 == 0) kept.emplace_back(result, result.clone());
      at::Tensor buffer = at::empty({n, 3});
      runtime.run_into({x, y}, {buffer});
      CHECK(at::equal(buffer, small(x, y)));
      CHECK_THROWS(runtime.run_into({x, y}, {at::empty({n + 1, 3})}));
    }
    for (const auto& [result, copy] : kept) CHECK(at::equal(result, copy));
  }
}

TEST_CASE("a planner that throws leaves the program as it was", "[families]") {
  StaticRuntime<FailsForLarge> runtime{StaticModule(
      script("def forward(self, x):\n    y = torch.mm(x, self.w)\n    return torch.mm(y, self.w) + 1\n",
             {{"w", at::eye(4)}}))};
  const auto call = [&](std::int64_t n) {
    const at::Tensor x = at::randn({n, 4});
    CHECK(at::allclose(runtime(x).toTensor(), x + 1));
  };
  for (const std::int64_t n : {5, 7, 6, 7}) call(n);
  const auto replayed = runtime.replayed_calls();
  CHECK(replayed == 2);
  for (int round = 0; round < 3; ++round) {
    CHECK_THROWS_AS(runtime(at::randn({5000, 4})), std::bad_alloc);
    for (const std::int64_t n : {7, 6}) call(n);
  }
  CHECK(runtime.replayed_calls() == replayed + 6);
}

TEST_CASE("the report names the operator that sizes do not follow through", "[families]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    return (x + 1).sum_to_size([1, "
                          "x.size(1)]) * 2\n"))};
  for (const std::int64_t n : {3, 4, 5, 6}) runtime(at::randn({n, n}));
  CHECK(runtime.report().pinned_by == std::vector<std::string>{"aten::sum_to_size"});
  StaticRuntime<> follows{StaticModule(script(kSmall))};
  for (int n = 2; n < 9; ++n) follows(at::randn({n, 3}), at::randn({3}));
  CHECK(follows.report().pinned_by.empty());
}

TEST_CASE("convolutions get a plan for each size, and with many sizes one for all", "[families]") {
  const Attributes weights{{"k", weight({8, 4, 3})}, {"d", weight({8, 1, 5})}, {"p", weight({6, 4, 3, 3})}};
  const std::string kLines =
      "def forward(self, x):\n    y = torch.conv1d(x.transpose(1, 2), self.k).relu()\n"
      "    return torch.conv1d(y, self.d, None, 1, 2, 1, 8).transpose(1, 2) + 1\n";
  const std::string kImages =
      "def forward(self, x):\n    return torch.conv2d(x, self.p, None, 1, 1).relu()\n";
  for (const bool is_image : {false, true}) {
    const std::string& source = is_image ? kImages : kLines;
    const auto sizes = [&](std::int64_t n) {
      return is_image ? std::vector<std::int64_t>{2, 4, n, 9} : std::vector<std::int64_t>{2, n, 4};
    };
    CAPTURE(source);
    torch::jit::Module reference = script(source, weights);
    StaticRuntime<> runtime{StaticModule(script(source, weights))};
    for (std::int64_t n = 5; n < 80; ++n) {
      CAPTURE(n);
      const InputSet given{at::randn(sizes(n))};
      const c10::IValue expected = interpret(reference, copy_inputs(given));
      CHECK(difference(expected, runtime(copy_inputs(given), {}), close()) == "");
    }
    CHECK(plans(runtime) < 8);
    CHECK(runtime.replayed_calls() > 50);
  }
}

TEST_CASE("families can be switched off, and count as plans", "[families]") {
  StaticModuleOptions options;
  options.debug.enable_families = false;
  StaticRuntime<> runtime{StaticModule(script(kSmall), options)};
  for (int n = 2; n < 40; ++n) runtime(at::randn({n, 3}), at::randn({3}));
  CHECK(runtime.replayed_calls() == 0);
  StaticRuntime<> with{StaticModule(script(kSmall))};
  for (int n = 2; n < 40; ++n) with(at::randn({n, 3}), at::randn({3}));
  CHECK(with.replayed_calls() == 36);
  CHECK(plans(with) == 1);
}

}  // namespace sr::test::family_runtimes_tests
