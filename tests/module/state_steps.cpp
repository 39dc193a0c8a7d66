// Tests which steps a program has that writes the state of a model.
#include <string>
#include <vector>

#include <torch/script.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"

namespace sr::test::state_step_tests {

namespace {

// Makes a few calls and returns the kinds of the steps of the only program.
std::vector<std::string> steps_of(const std::string& body, const Attributes& attributes) {
  const StaticModule module(script("def forward(self, x):\n    " + body + "\n", attributes));
  const Session session = module.session();
  for (int call = 0; call < 5; ++call) session({at::ones({4})});
  const Report report = module.report().runtime;
  CHECK(report.replayed_calls == 3);
  REQUIRE(report.plans.size() == 1);
  std::vector<std::string> kinds;
  for (const StepReport& step : report.plans[0].steps) kinds.push_back(step.kind);
  return kinds;
}

using Kinds = std::vector<std::string>;

}  // namespace

TEST_CASE("a variable that is written whole is computed and copied once", "[session][replay]") {
  CHECK(steps_of("self.h.copy_(torch.tanh(x + self.h))\n    return self.h * 2", {{"h", at::zeros({4})}}) ==
        Kinds{"fused", "copy"});
  CHECK(steps_of("self.h.mul_(0.5).add_(x).tanh_()\n    return x * 2", {{"h", at::zeros({4})}}) ==
        Kinds{"fused", "copy"});
}

TEST_CASE("the new value of an assigned variable is not copied", "[session][replay]") {
  CHECK(steps_of("self.h = torch.tanh(x + self.h)\n    return self.h * 2", {{"h", at::zeros({4})}}) ==
        Kinds{"fused"});
  CHECK(steps_of("self.a, self.b = self.b, self.a\n    return self.a + x",
                 {{"a", at::zeros({4})}, {"b", at::ones({4})}}) == Kinds{"fused"});
}

TEST_CASE("a step writes rows of a variable in place", "[session][replay]") {
  const Attributes table{{"h", at::zeros({100, 4})}};
  CHECK(steps_of("self.h.index_copy_(0, torch.tensor([7]), x.view(1, 4))\n    return x", table) ==
        Kinds{"place rows"});
  CHECK(steps_of("self.h.copy_(torch.index_copy(self.h, 0, torch.tensor([7]), x.view(1, 4)))\n    return x",
                 table) == Kinds{"place rows"});
  CHECK(steps_of("self.h.copy_(torch.index_put(self.h, [torch.tensor([7])], x))\n    return x", table) ==
        Kinds{"place rows"});
  CHECK(steps_of("self.h[5] = x\n    return x", table) == Kinds{"copy"});
}

TEST_CASE("rows are not written in place if a later step reads the old values", "[session][replay]") {
  const Kinds kinds = steps_of(
      "new = torch.index_copy(self.h, 0, torch.tensor([7]), x.view(1, 4))\n    y = self.h.sum(0)\n"
      "    self.h.copy_(new)\n    return y",
      {{"h", at::zeros({100, 4})}});
  CHECK(kinds.back() == "copy");
  for (const std::string& kind : kinds) CHECK(kind != "place rows");
}

}  // namespace sr::test::state_step_tests
