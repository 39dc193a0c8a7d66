// A call counts what it writes: version counters rise once a call, as those of an operator do.
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"

namespace sr::test::counted_writes_tests {

TEST_CASE("a call raises the version of each tensor that it writes once", "[modules]") {
  const torch::jit::Module model = script(
      "def forward(self, x, l: List[Tensor], y):\n"
      "    x.add_(1.0).mul_(2.0)\n"
      "    z = l[0].view([-1])\n"
      "    z[0] = 7.0\n"
      "    return x + y\n");
  for (const bool replay : {true, false}) {
    StaticModuleOptions options;
    options.debug.enable_replay = replay;
    StaticRuntime<> runtime{StaticModule(model, options)};
    const at::Tensor x = at::ones({2, 2}), first = at::ones({2}), y = at::ones({2, 2});
    for (int call = 0; call < 4; ++call) {
      const auto before = x._version(), of_first = first._version(), of_y = y._version();
      runtime(x, std::vector<at::Tensor>{first}, y);
      CHECK(x._version() == before + 1);
      CHECK(first._version() == of_first + 1);
      CHECK(y._version() == of_y);
    }
  }
}

TEST_CASE("writes to arguments are counted beside writes to attributes", "[modules]") {
  const torch::jit::Module model =
      script("def forward(self, x, y):\n    self.calls.add_(1)\n    y.mul_(2.0)\n    return x + self.calls\n",
             {{"calls", at::zeros({1})}});
  StaticRuntime<> runtime{StaticModule(model)};
  const at::Tensor x = at::ones({2, 2}), y = at::ones({2, 2});
  for (int call = 1; call <= 4; ++call) {
    const auto of_x = x._version(), of_y = y._version();
    CHECK(at::equal(runtime(x, y).toTensor(), x + call));
    CHECK(x._version() == of_x);
    CHECK(y._version() == of_y + 1);
  }
}

}  // namespace sr::test::counted_writes_tests
