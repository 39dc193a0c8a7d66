// What nodes become in a program: kernels, nothing, or an interpreted part.
#include <limits>
#include <string>

#include <torch/library.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::replay_steps_tests {

namespace {

// An operator whose vector op is wrong on purpose: the interpreter doubles, the vector op triples.
at::Tensor doubled(const at::Tensor& self) {
  return self * 2;
}
TORCH_LIBRARY(sr_replay, library) {
  library.def("doubled(Tensor self) -> Tensor", &doubled);
  library.def("lined(Tensor self, Tensor other, Scalar by) -> Tensor",
              [](const at::Tensor& self, const at::Tensor& other, const at::Scalar& by) {
                return self + other * by;
              });
  library.def("part(Dict(str, Tensor) parts, str name) -> Tensor",
              [](const c10::Dict<std::string, at::Tensor>& parts, const std::string& name) {
                return parts.at(name).clone();
              });
  library.def("holders(Tensor self) -> int",
              [](const at::Tensor& self) { return static_cast<std::int64_t>(self.use_count()); });
}
struct Doubled {
  static constexpr auto vector_op = [](auto x) { return x * 3.0F; };
  void operator()(const at::Tensor& self, at::Tensor& out) const {
    at::mul_out(out, self, at::scalar_tensor(2));
  }
};
struct Lined {
  static constexpr auto vector_op = [](auto x, auto y, auto by) { return x + y * by; };
  void operator()(const at::Tensor& self, const at::Tensor& other, const at::Scalar& by,
                  at::Tensor& out) const {
    at::add_out(out, self, other, by);
  }
};
const OutVariant<"sr_replay::doubled(Tensor self) -> Tensor", Doubled> doubled_op;
const OutVariant<"sr_replay::lined(Tensor self, Tensor other, Scalar by) -> Tensor", Lined> lined_op;

std::shared_ptr<torch::jit::Graph> calling_doubled() {
  return graph(
      "graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  %z : Tensor = sr_replay::doubled(%y)\n  return "
      "(%z)");
}

}  // namespace

TEST_CASE("static control flow leaves no step in a plan", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(
      "def forward(self, x, flag: bool):\n    parts: List[Tensor] = []\n    for i in range(x.size(0)):\n"
      "        y = x[i] * 2\n        if i % 2 == 0:\n            y = y + 1\n        parts.append(y)\n"
      "    if flag:\n        a, b = torch.stack(parts).chunk(2, 1)\n        return a * b\n    return "
      "torch.cat(parts)\n"))};
  const at::Tensor x = sample({4, 6});
  at::Tensor rows = x * 2 + at::tensor({1, 0, 1, 0}).unsqueeze(1);
  for (int run = 0; run < 4; ++run) {
    CHECK(at::equal(runtime(x, true).toTensor(), rows.narrow(1, 0, 3) * rows.narrow(1, 3, 3)));
    CHECK(at::equal(runtime(x, false).toTensor(), rows.flatten()));
  }
  CHECK(runtime.replayed_calls() == 4);
  StaticRuntime<> breaks{StaticModule(
      script("def forward(self, x):\n    y = x[0]\n    for i in range(1, 9):\n        if i >= x.size(0):\n"
             "            break\n        y = y * 2 + x[i]\n    return y\n"))};
  const at::Tensor broken = ((x[0] * 2 + x[1]) * 2 + x[2]) * 2 + x[3];
  for (int run = 0; run < 4; ++run) CHECK(at::equal(breaks(x).toTensor(), broken));
  CHECK(breaks.replayed_calls() == 2);
  for (const Report& report : {runtime.report(), breaks.report()}) {
    for (const PlanReport& plan : report.plans) {
      CHECK(plan.calls == 0);
      CHECK(plan.interpreted == 0);
    }
  }
}

TEST_CASE("dropout outside of training is a view", "[replay]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    y = torch.dropout(x * 2, 0.5, False)\n    return y + "
                          "torch.dropout(y, 0.1, False)\n"))};
  const at::Tensor x = sample({4, 6});
  for (int run = 0; run < 4; ++run) CHECK(at::equal(runtime(x).toTensor(), x * 4));
  CHECK(runtime.replayed_calls() == 2);
  for (const PlanReport& plan : runtime.report().plans) CHECK(plan.interpreted == 0);
}

TEST_CASE("an in-place addition to a product changes no weight", "[replay]") {
  for (const char* product : {"torch.linear(x, self.w)", "torch.matmul(x, self.w)"}) {
    torch::jit::Module module("m");
    module.register_parameter("w", sample({6, 6}), false);
    module.define(std::string("def forward(self, x):\n    y = ") + product + "\n    y += 1\n    return y\n");
    module.eval();
    StaticRuntime<> runtime{StaticModule(module)};
    const at::Tensor x = sample({4, 6});
    for (int run = 0; run < 4; ++run)
      CHECK(at::allclose(runtime(x).toTensor(), module.forward({x}).toTensor(), 1e-5, 1e-6));
    CHECK(runtime.replayed_calls() == 2);
  }
}

TEST_CASE("a residual that is added in place to the result of a convolution or a norm is replayed",
          "[replay]") {
  for (const char* made :
       {"torch.conv2d(x, self.w, None, [1, 1], [1, 1])",
        "torch.batch_norm(x, self.s, None, self.s, self.s, False, 0.1, 1e-5, False)",
        "torch.max_pool2d(x, [3, 3], [1, 1], [1, 1])", "torch.layer_norm(x, [6, 6], None, None)"}) {
    INFO(made);
    for (const char* change : {"y += x", "y.add_(x, alpha=2)", "y.div_(2.0)", "y.mul_(x)"}) {
      auto module = script(std::string("def forward(self, x):\n    y = ") + made + "\n    " + change +
                               "\n    return torch.relu_(y)\n",
                           {{"w", sample({4, 4, 3, 3})}, {"s", sample({4}).abs() + 1}});
      StaticRuntime<> runtime{StaticModule(module)};
      const at::Tensor x = sample({2, 4, 6, 6});
      for (int run = 0; run < 4; ++run)
        CHECK(at::allclose(runtime(x).toTensor(), module.forward({x}).toTensor(), 1e-4, 1e-5));
      CHECK(runtime.replayed_calls() == 2);
    }
  }
}

TEST_CASE("data-dependent nodes are interpreted inside a plan, and other shapes deoptimize it", "[replay]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    y = x * 2\n    if bool(y.sum() > 0):\n        z = y + "
                          "1\n    else:\n        z = y - 1\n"
                          "    return z * z\n"))};
  const auto expected = [](const at::Tensor& x) {
    const at::Tensor y = x * 2;
    const at::Tensor z = y.sum().item<float>() > 0 ? y + 1 : y - 1;
    return z * z;
  };
  const at::Tensor x = sample({4, 3}).abs() + 0.5;
  for (int run = 0; run < 6; ++run) {
    const at::Tensor input = run % 2 == 0 ? x : -x;
    CHECK(at::equal(runtime(input).toTensor(), expected(input)));
  }
  CHECK(runtime.replayed_calls() == 4);
  StaticRuntime<> sizes{StaticModule(
      script("def forward(self, x):\n    if bool(x.sum() > 0):\n        y = torch.nonzero(x > 0)\n    else:\n"
             "        y = torch.nonzero(x > 1)\n    return y + 1\n"))};
  at::Tensor ones = at::ones({4});
  for (int run = 0; run < 3; ++run) CHECK(at::equal(sizes(ones).toTensor(), at::nonzero(ones > 0) + 1));
  CHECK(sizes.replayed_calls() == 1);
  ones[1] = -1;
  for (int run = 0; run < 4; ++run) CHECK(at::equal(sizes(ones).toTensor(), at::nonzero(ones > 0) + 1));
  CHECK(plans(sizes) == 0);
  CHECK(says(sizes.report(), "another shape"));
}

TEST_CASE("tensors of the call are changed in place on the plan's memory", "[replay]") {
  const std::vector<std::string> bodies = {
      // index assignment into new zeros, read before and after
      "out = torch.zeros([4, 6])\n    before = out + x\n    out[:, :2] = x[:, :2]\n    out[1] += 1\n"
      "    return out * 2, before, out",
      // a write through a view, between readers of the whole
      "y = x * 2\n    a = y + 1\n    y[0].add_(a[1])\n    b = y + a\n    y.clamp_(-1, 1)\n    return a, b, "
      "y.t()",
      "y = x.clone()\n    y.masked_fill_(y > 0, 0.5)\n    z = torch.cat([y, x * 3], 1)\n    z.mul_(y.sum())\n"
      "    return z, y",
      // the joined tensors are changed before and after
      "a = x + 1\n    a.add_(x)\n    c = torch.cat([a, x])\n    c[0] = 0\n    a.mul_(c[0:4])\n    return c, "
      "a",
      // in a loop
      "y = torch.ones([6])\n    for i in range(4):\n        y.mul_(x[i]).add_(0.5)\n    return y"};
  for (const std::string& body : bodies) {
    CAPTURE(body);
    const std::string source = "def forward(self, x):\n    " + body + "\n";
    OracleOptions options;
    options.rtol = options.atol = 1e-5;
    check_script(source, {{sample({4, 6})}, {sample({4, 6})}, {sample({6, 4}).t()}}, options);
    StaticRuntime<> runtime{StaticModule(script(source))};
    for (int run = 0; run < 4; ++run) runtime(sample({4, 6}));
    CHECK(runtime.replayed_calls() == 2);
  }
}

TEST_CASE("a foreign op reads a dictionary as it is when the op runs", "[replay][traps]") {
  StaticRuntime<> runtime{StaticModule(graph(R"IR(
graph(%x : Tensor):
  %two : int = prim::Constant[value=2]()
  %name : str = prim::Constant[value="a"]()
  %a : Tensor = aten::mul(%x, %two)
  %parts : Dict(str, Tensor) = prim::DictConstruct(%name, %a)
  %before : Tensor = sr_replay::part(%parts, %name)
  %b : Tensor = aten::neg(%x)
  aten::_set_item(%parts, %name, %b)
  %after : Tensor = sr_replay::part(%parts, %name)
  return (%before, %after))IR"))};
  for (int run = 0; run < 4; ++run) {
    const at::Tensor x = sample({3});
    const auto results = runtime(x).toTuple();
    CHECK(at::equal(results->elements()[0].toTensor(), x * 2));
    CHECK(at::equal(results->elements()[1].toTensor(), -x));
  }
  CHECK(runtime.replayed_calls() == 2);
}

TEST_CASE("a recording that has bailed out keeps no more values alive than the general path", "[replay]") {
  StaticRuntime<> runtime{StaticModule(graph(R"IR(
graph(%x : Tensor):
  %three : int[] = prim::Constant[value=[3]]()
  %one : int[] = prim::Constant[value=[1]]()
  %none : NoneType = prim::Constant()
  %seen : Tensor = aten::as_strided(%x, %three, %one, %none)
  %y : Tensor = aten::mul(%seen, %seen)
  %n : int = sr_replay::holders(%y)
  return (%n))IR"))};
  const at::Tensor x = sample({3});
  const std::int64_t holders = runtime(x).toInt();
  for (int run = 0; run < 3; ++run) CHECK(runtime(x).toInt() == holders);
  CHECK(says(runtime.report(), "reads memory outside"));
}

TEST_CASE("an index out of range throws as the interpreter does, and the plan stays", "[replay][errors]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, i):\n    return torch.embedding(self.table, i) + 1\n",
                          {{"table", sample({5, 3})}}))};
  const at::Tensor right = at::tensor({0, 4, 2}), wrong = at::tensor({0, 5, 2});
  const at::Tensor expected = runtime(right).toTensor();
  for (int run = 0; run < 3; ++run) CHECK(at::equal(runtime(right).toTensor(), expected));
  CHECK_THROWS_AS(runtime(wrong), c10::IndexError);
  CHECK(plans(runtime) == 1);
  CHECK(at::equal(runtime(right).toTensor(), expected));
  CHECK(right.use_count() == 1);
  CHECK(wrong.use_count() == 1);
}

TEST_CASE("an op of the user with a vector op becomes a part of a fused step", "[replay][registry]") {
  StaticRuntime<> runtime{StaticModule(
      graph("graph(%x : Tensor, %y : Tensor):\n  %n : float = prim::Constant[value=0.5]()\n  %a : Tensor = "
            "aten::relu(%x)\n"
            "  %b : Tensor = sr_replay::lined(%a, %y, %n)\n  %c : Tensor = aten::neg(%b)\n  return (%c)"))};
  const at::Tensor x = sample({4, 5}), y = sample({5});
  for (int run = 0; run < 4; ++run) {
    CHECK(at::allclose(runtime(x, y).toTensor(), -(x.relu() + y * 0.5)));
  }
  REQUIRE(plans(runtime) == 1);
  CHECK(runtime.report().plans[0].kernels == 1);
  CHECK(runtime.report().plans[0].calls == 0);
}

TEST_CASE("a checked replay names the node that is wrong", "[replay][errors]") {
  const at::Tensor x = sample({3, 3}).abs() + 1;
  StaticRuntime<> unchecked{StaticModule(calling_doubled())};
  for (int run = 0; run < 3; ++run) unchecked(x);
  CHECK_FALSE(at::allclose(unchecked(x).toTensor(), x * 2));  // the vector op is wrong, and nothing checks it
  StaticRuntime<> runtime{StaticModule(calling_doubled(), {.debug = {.check_every = 1}})};
  for (int run = 0; run < 2; ++run) CHECK(at::allclose(runtime(x).toTensor(), x * 2));
  std::string message;
  try {
    runtime(x);
  } catch (const CheckFailedError& error) {
    message = error.what();
  }
  CHECK(message.find("sr_replay::doubled") != std::string::npos);
  CHECK(at::allclose(runtime(x).toTensor(), x * 2));  // on the general path
  CHECK(plans(runtime) == 0);
}

TEST_CASE("every replay of a right model passes its check", "[replay]") {
  StaticRuntime<> runtime{StaticModule(
      script("def forward(self, x, i):\n    y = torch.softmax(x @ x.t(), 1)\n    z = torch.cat([y, "
             "x.relu()], 1)\n"
             "    e = torch.embedding(self.t, i)\n    return torch.layer_norm(z, [z.size(1)]) + e.sum(), e\n",
             {{"t", sample({5, 3})}}),
      {.debug = {.check_every = 1}})};
  for (int run = 0; run < 5; ++run) CHECK_NOTHROW(runtime(sample({4, 3}), at::tensor({1, 2})));
  CHECK(runtime.replayed_calls() == 3);
}

}  // namespace sr::test::replay_steps_tests
