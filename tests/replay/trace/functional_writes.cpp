// In-place writes that a program computes as new results.
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::functional_writes_tests {

namespace {

torch::jit::Module model(const std::string& body) {
  return script("def forward(self, x, y):\n    " + body + "\n", {{"w", sample({6, 6})}});
}

std::vector<InputSet> calls() {
  std::vector<InputSet> runs;
  for (const auto& input :
       {InputSet{sample({4, 6}), sample({4, 6})}, InputSet{sample({0, 6}), sample({0, 6})},
        InputSet{sample({4, 6}), sample({1, 6})},
        InputSet{sample({4, 6}).to(at::kDouble), sample({4, 6}).to(at::kDouble)},
        InputSet{sample({4, 6}, at::kLong), sample({4, 6}, at::kLong)},
        InputSet{sample({4, 6}, at::kLong), sample({4, 6}, at::kInt)}}) {
    for (int i = 0; i < 4; ++i) runs.push_back(input);
  }
  return runs;
}

// Steps of the program for two float tensors: kernels, and interpreted ones.
std::pair<std::size_t, std::size_t> steps_of(const torch::jit::Module& module) {
  StaticRuntime<> runtime{StaticModule(module, {.debug = {.check_every = 1}})};
  for (int run = 0; run < 4; ++run) runtime(sample({4, 6}), sample({4, 6}));
  const Report report = runtime.report();
  REQUIRE(report.plans.size() == 1);
  CHECK(report.plans[0].calls == 0);
  return {report.plans[0].kernels, report.plans[0].interpreted};
}

}  // namespace

TEST_CASE("in-place pointwise ops are fused with the step that makes their operand", "[replay][ops]") {
  for (const char* const body :
       {"z = x * 2\n    z += y\n    z.relu_()\n    return z * y",
        "z = x + y\n    z.mul_(y).sub_(y, alpha=0.5).div_(2)\n    return z",
        "z = x.clone()\n    for i in range(5):\n        z += y\n        z *= i\n    return z",
        "z = x * y\n    z.add_(z)\n    return z",
        "z = x * y\n    z.clamp_(-1, 1)\n    z.clamp_min_(0.25)\n    return z.sigmoid_()",
        "z = x * y\n    z[:] = 1\n    z.neg_()\n    return z"}) {
    CAPTURE(body);
    check_model(model(body), calls(), close());
  }
  const std::pair<std::size_t, std::size_t> one_kernel{1, 0};
  CHECK(steps_of(model("z = x * 2\n    z += y\n    z.relu_()\n    return z * y")) == one_kernel);
  CHECK(steps_of(model("z = x * y\n    z.clamp_(-1, 1)\n    return z.sigmoid_()")) == one_kernel);
  CHECK(steps_of(model("z = torch.linear(x, self.w)\n    z += y\n    return z.relu_()")).second == 0);
}

TEST_CASE("in-place ops on integers are fused, too", "[replay][ops]") {
  const auto integers = [] { return sample({4, 6}, at::kLong); };
  for (const char* const body : {"z = x * 2\n    z += y\n    return z * 3",
                                 "z = x + y\n    z.mul_(y).sub_(y, alpha=2)\n    return z"}) {
    CAPTURE(body);
    StaticRuntime<> runtime{StaticModule(model(body), {.debug = {.check_every = 1}})};
    torch::jit::Module reference = model(body);
    for (int run = 0; run < 4; ++run) {
      const at::Tensor x = integers(), y = integers();
      CHECK(at::equal(runtime(x, y).toTensor(), reference.forward({x, y}).toTensor()));
    }
    const Report report = runtime.report();
    REQUIRE(report.plans.size() == 1);
    CHECK(report.plans[0].kernels == 1);
    CHECK(report.plans[0].interpreted + report.plans[0].calls == 0);
  }
  for (const char* const body : {"z = x * 2\n    z.clamp_(-1, 1)\n    return z.relu_()",
                                 "z = x * 2\n    z.neg_().abs_()\n    return z",
                                 "z = x * 2\n    z.div_(y.abs() + 1, rounding_mode='floor')\n    return z",
                                 "z = x * 2\n    z += y > 0\n    z += True\n    return z"}) {
    CAPTURE(body);
    check_model(model(body), calls(), close());
  }
}

TEST_CASE("views and aliases see an in-place write, whenever they were made", "[replay][traps]") {
  for (const char* const body :
       {"z = x * 2\n    v = z[1:]\n    z += y\n    return v * 2, z",
        "z = x * 2\n    v = z[1:]\n    u = v * 3\n    z += y\n    return u, z",
        "z = x * 2\n    z += y\n    v = z[1:]\n    z *= 2\n    return v * 2, z",
        "z = x * 2\n    z += y\n    v = z.t()\n    u = v + 1\n    z *= 2\n    w = z.t()\n    return u, w, z",
        "z = x * 2\n    z[1:].add_(1)\n    z += y\n    return z",
        "z = x * 2\n    w = z.add_(y)\n    w.mul_(2)\n    return z, w, z",
        "z = x * 2\n    z.tanh_()\n    z.transpose(0, 1).sigmoid_()\n    return z",
        "z = x * 2\n    v = z.view(-1)\n    v.tanh_()\n    v.sigmoid_()\n    return z * 2",
        "z = x * 2\n    parts = [z, x]\n    z += y\n    return torch.cat(parts)",
        "z = x * 2\n    parts = [z, x]\n    z += y\n    return parts",
        "z = x * 2\n    parts = {'z': z}\n    z += y\n    return (z, parts)",
        "v = x.abs()\n    parts = [x.sign(), v]\n    z = v + 1\n    z *= v\n    return parts, z",
        "z = x * 2\n    p = (z, x)\n    z += y\n    return p",
        "z = x * 2\n    s = z.sum()\n    z += s\n    return z, s",
        "z = x * 2\n    z.add_(z.t().contiguous().t())\n    z.mul_(z)\n    return z",
        "z = x * 2\n    z.add_(z[:1])\n    return z"}) {
    CAPTURE(body);
    check_model(model(body), calls(), close());
  }
}

TEST_CASE("blocks that data choose see earlier writes", "[replay][traps]") {
  for (const char* const body :
       {"z = x * 2\n    z += y\n    if bool(y.sum() > 0):\n        z = z * 3\n    return z.relu_()",
        "z = x * 2\n    if bool(y.sum() > 0):\n        w = z * 3\n    else:\n        w = z\n    z += y\n"
        "    return z, w"}) {
    CAPTURE(body);
    check_model(model(body), calls(), close());
  }
}

TEST_CASE("an in-place op without a kernel writes a copy", "[replay][ops]") {
  for (const char* const body : {"z = x * 2\n    z.div_(y, rounding_mode='floor')\n    return z",
                                 "z = x * 2\n    z.hardsigmoid_()\n    return z",
                                 "z = x * 2\n    z.add_(1.5 + 2)\n    z.reciprocal_()\n    return z * 2"}) {
    CAPTURE(body);
    check_model(model(body), calls(), close());
    StaticRuntime<> exact{
        StaticModule(model(body), {.numerics = Numerics::exact, .debug = {.check_every = 1}})};
    const auto x = sample({4, 6}), y = sample({4, 6});
    auto module = model(body);
    for (int run = 0; run < 4; ++run)
      CHECK(at::equal(exact(x, y).toTensor(), module.forward({x, y}).toTensor()));
  }
}

}  // namespace sr::test::functional_writes_tests
