// Replay as its users see it: when plans are made, what they are valid for, what they hand out, and how they
// end.
#include <thread>

#include <torch/library.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/guard_pages.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test {

namespace {

const char* const kSmall = "def forward(self, x, y):\n    return torch.relu((x + y) * 2)\n";

at::Tensor small(const at::Tensor& x, const at::Tensor& y) {
  return at::relu((x + y) * 2);
}

template <class Runtime>
std::size_t plans(const Runtime& runtime) {
  return runtime.report().plans.size();
}

bool says(const Report& report, const std::string& part) {
  for (const std::string& refusal : report.refusals) {
    if (refusal.find(part) != std::string::npos) return true;
  }
  return false;
}

// An operator whose lane is wrong on purpose: the interpreter doubles, the lane triples.
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
}
struct Doubled {
  static constexpr auto lane = [](auto x) { return x * 3.0F; };
  void operator()(const at::Tensor& self, at::Tensor& out) const {
    at::mul_out(out, self, at::scalar_tensor(2));
  }
};
struct Lined {
  static constexpr auto lane = [](auto x, auto y, auto by) { return x + y * by; };
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

TEST_CASE("a plan is made when a signature comes back, and answers from then on", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall))};
  const at::Tensor x = sample({4, 3}), y = sample({3});
  for (int run = 0; run < 5; ++run) {
    CHECK(at::equal(runtime(x + run, y).toTensor(), small(x + run, y)));
    CHECK(plans(runtime) == (run == 0 ? 0 : 1));
    CHECK(runtime.replayed_calls() == static_cast<std::uint64_t>(std::max(0, run - 1)));
  }
  const Report report = runtime.report();
  CHECK(report.plans[0].arguments == "Float[4, 3], Float[3]");
  CHECK(report.plans[0].kernels == 1);
  CHECK(report.plans[0].interpreted == 0);
}

TEST_CASE("signatures that never come back make no plan", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall))};
  for (int n = 1; n < 40; ++n) runtime(sample({n, 3}), sample({3}));
  CHECK(plans(runtime) == 0);
  CHECK(runtime.replayed_calls() == 0);
}

TEST_CASE("reserve makes the plan at once, trim forgets it", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall))};
  const at::Tensor x = sample({4, 3}), y = sample({3});
  runtime.reserve({x, y});
  CHECK(plans(runtime) == 1);
  CHECK(at::equal(runtime(x, y).toTensor(), small(x, y)));
  CHECK(runtime.replayed_calls() == 1);
  runtime.trim();
  CHECK(plans(runtime) == 0);
  CHECK(at::equal(runtime(x, y).toTensor(), small(x, y)));
  CHECK(runtime.replayed_calls() == 1);
}

TEST_CASE("no more plans than asked for; the one used least lately goes", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall), {.max_plans = 2})};
  const at::Tensor y = sample({3});
  const auto call = [&](std::int64_t n) {
    const at::Tensor x = sample({n, 3});
    CHECK(at::equal(runtime(x, y).toTensor(), small(x, y)));
  };
  for (const std::int64_t n : {1, 1, 2, 2, 1, 3, 3, 3}) call(n);
  CHECK(plans(runtime) == 2);
  std::vector<std::string> arguments;
  for (const PlanReport& plan : runtime.report().plans) arguments.push_back(plan.arguments);
  CHECK(std::count(arguments.begin(), arguments.end(), "Float[2, 3], Float[3]") == 0);
  CHECK(std::count(arguments.begin(), arguments.end(), "Float[1, 3], Float[3]") == 1);
  CHECK(std::count(arguments.begin(), arguments.end(), "Float[3, 3], Float[3]") == 1);
}

TEST_CASE("going round more signatures than there are places does not make a plan each time", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall), {.max_plans = 2})};
  const at::Tensor y = sample({3});
  for (int round = 0; round < 60; ++round) {
    for (const std::int64_t n : {1, 2, 3}) runtime(sample({n, 3}), y);
  }
  // Were one made whenever a signature comes back, none would ever be replayed.
  CHECK(runtime.replayed_calls() > 90);
}

TEST_CASE("what a signature is made of", "[replay]") {
  const at::Tensor x = sample({4, 4});
  const auto same = [](const std::vector<c10::IValue>& a, const std::vector<c10::IValue>& b) {
    plan::SignatureWords words;
    REQUIRE(plan::describe_call(a, words));
    std::byte* leaves[8] = {};
    return plan::matches(b, words, leaves);
  };
  CHECK(same({x}, {sample({4, 4})}));
  CHECK_FALSE(same({x}, {sample({4, 5})}));
  CHECK_FALSE(same({x}, {sample({4, 4, 1})}));
  CHECK_FALSE(same({x}, {x.t()}));
  CHECK_FALSE(same({x}, {x.to(at::kDouble)}));
  CHECK_FALSE(same({x}, {x, x}));
  CHECK_FALSE(same({x}, {c10::IValue()}));
  CHECK_FALSE(same({x, 1}, {x, 2}));
  CHECK_FALSE(same({x, 1}, {x, 1.0}));
  CHECK_FALSE(same({x, 1}, {x, true}));
  CHECK(same({x, 0.5, true, std::string("a name longer than eight"), c10::IValue()},
             {x, 0.5, true, std::string("a name longer than eight"), c10::IValue()}));
  CHECK_FALSE(same({std::string("a name longer than eight")}, {std::string("a name longer than eighT")}));
  CHECK(same({std::vector<at::Tensor>{x, x}}, {std::vector<at::Tensor>{x, x}}));
  CHECK_FALSE(same({std::vector<at::Tensor>{x, x}}, {std::vector<at::Tensor>{x}}));
  CHECK(same({std::vector<std::int64_t>{1, 2}}, {std::vector<std::int64_t>{1, 2}}));
  CHECK_FALSE(same({std::vector<std::int64_t>{1, 2}}, {std::vector<std::int64_t>{1, 3}}));
  plan::SignatureWords words;
  CHECK_FALSE(plan::describe_call(std::vector<c10::IValue>{x.to_sparse()}, words));
  CHECK_FALSE(plan::describe_call(std::vector<c10::IValue>{at::conj(x.to(at::kComplexFloat))}, words));
  CHECK_FALSE(plan::describe_call(std::vector<c10::IValue>{at::Tensor()}, words));
}

TEST_CASE("a result of a replay is the caller's: writing to it changes no later one", "[replay][traps]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    z = torch.zeros([2, 2]) + 1\n    return x + z, z, [z, "
                          "x[0]], torch.ones([3])\n"))};
  for (int run = 0; run < 6; ++run) {
    const at::Tensor x = sample({2, 2});
    const auto result = runtime(x).toTuple();
    const at::Tensor z = result->elements()[1].toTensor();
    CHECK(at::equal(result->elements()[0].toTensor(), x + 1));
    CHECK(at::equal(z, at::ones({2, 2})));
    CHECK(at::equal(result->elements()[3].toTensor(), at::ones({3})));
    const auto list = result->elements()[2].toTensorVector();
    CHECK(list[0].is_same(z));
    CHECK(list[1].data_ptr() == x.data_ptr());
    for (const auto& element : result->elements()) {
      if (element.isTensor()) element.toTensor().fill_(-7);
    }
  }
  CHECK(runtime.replayed_calls() == 4);
}

TEST_CASE("results of every size have memory of their own, whoever frees them", "[replay]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    return x * 2 + 1\n"), {.max_plans = 16})};
  for (const std::int64_t n : {1, 200, 240, 241, 256, 500, 512, 513, 1024, 2000, 4096, 4097, 9000}) {
    const at::Tensor x = sample({n}), expected = x * 2 + 1;
    std::vector<at::Tensor> held;
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 7; ++i) held.push_back(runtime(x).toTensor());
      for (const at::Tensor& result : held) {
        CHECK(reinterpret_cast<std::uintptr_t>(result.const_data_ptr()) % 64 == 0);
        CHECK(at::equal(result, expected));
      }
      held.front().zero_();
      std::thread([freed = std::move(held)]() mutable { freed.clear(); }).join();
      held.clear();
    }
    const at::Tensor last = runtime(x).toTensor();
    std::thread([&] { CHECK(at::equal(StaticRuntime<>(runtime.content())(x).toTensor(), expected)); }).join();
    CHECK(at::equal(last, expected));
  }
}

TEST_CASE("managed outputs are recycled in a replay when nobody holds them", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall), {.manage_output_tensors = true})};
  const at::Tensor x = sample({4, 3}), y = sample({3});
  for (int run = 0; run < 3; ++run) runtime(x, y);
  const void* first = runtime(x, y).toTensor().data_ptr();
  CHECK(runtime(x, y).toTensor().data_ptr() == first);
  const at::Tensor held = runtime(x, y).toTensor();
  const at::Tensor other = runtime(x + 1, y).toTensor();
  CHECK(held.data_ptr() != other.data_ptr());
  CHECK(at::equal(held, small(x, y)));
  CHECK(at::equal(other, small(x + 1, y)));
  const at::Tensor view = other[0];
  runtime(x + 2, y);
  CHECK(at::equal(view, small(x + 1, y)[0]));
  // Other metadata than it was made with: not recycled.
  at::Tensor changed = runtime(x, y).toTensor();
  changed.resize_({2, 2});
  changed = at::Tensor();
  CHECK(at::equal(runtime(x, y).toTensor(), small(x, y)));
}

TEST_CASE("run_into writes into the caller's buffers, also when they overlap the arguments", "[replay]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    y = x * 2\n    return y.t() + y, y.sum(0)\n"),
                   {.numerics = Numerics::exact})};
  at::Tensor x = sample({3, 3});
  const auto expected = [&](const at::Tensor& from) {
    return std::pair((from * 2).t() + from * 2, (from * 2).sum(0));
  };
  const std::vector<at::Tensor> outputs{at::empty({3, 3}), at::empty({3})};
  for (int run = 0; run < 4; ++run) {
    const auto [matrix, sum] = expected(x);
    runtime.run_into({x}, outputs);
    CHECK(at::equal(outputs[0], matrix));
    CHECK(at::equal(outputs[1], sum));
  }
  const auto [matrix, sum] = expected(x);
  runtime.run_into({x}, {x, outputs[1]});
  CHECK(at::equal(x, matrix));
  CHECK(at::equal(outputs[1], sum));
  const at::Tensor all = at::zeros({12});
  const auto [again, again_sum] = expected(x);
  runtime.run_into({x}, {all.narrow(0, 3, 9).view({3, 3}), all.narrow(0, 0, 3)});
  CHECK(at::equal(all.narrow(0, 3, 9).view({3, 3}), again));
  CHECK(at::equal(all.narrow(0, 0, 3), again_sum));
  const at::Tensor transposed_buffer = at::empty({3, 3}).t();
  runtime.run_into({x}, {transposed_buffer, outputs[1]});
  CHECK(at::equal(transposed_buffer, again));
  CHECK_THROWS_AS(runtime.run_into({x}, {at::empty({3, 2}), outputs[1]}), ArgumentError);
  CHECK_THROWS_AS(runtime.run_into({x}, {outputs[0]}), ArgumentError);
}

TEST_CASE("static decisions leave no trace in a plan", "[replay]") {
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

TEST_CASE("what depends on data is interpreted inside a plan, and other shapes end it", "[replay]") {
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
  StaticRuntime<> sizes{StaticModule(script("def forward(self, x):\n    return torch.nonzero(x > 0) + 1\n"))};
  at::Tensor ones = at::ones({4});
  for (int run = 0; run < 3; ++run) CHECK(at::equal(sizes(ones).toTensor(), at::nonzero(ones > 0) + 1));
  CHECK(sizes.replayed_calls() == 1);
  ones[1] = -1;
  for (int run = 0; run < 3; ++run) CHECK(at::equal(sizes(ones).toTensor(), at::nonzero(ones > 0) + 1));
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
      // what is joined is changed before and after
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

TEST_CASE("calls that can not be replayed say why", "[replay]") {
  const auto refusal = [](const std::string& source) {
    StaticRuntime<> runtime{StaticModule(script(source))};
    const at::Tensor x = sample({3, 3});
    for (int run = 0; run < 3; ++run) runtime(x.clone());
    CHECK(runtime.replayed_calls() == 0);
    const Report report = runtime.report();
    return report.refusals.empty() ? std::string() : report.refusals[0];
  };
  CHECK(refusal("def forward(self, x):\n    x.add_(1)\n    return x * 2\n").find("in place") !=
        std::string::npos);
  CHECK(refusal("def forward(self, x):\n    y = x + 1\n    y.t_()\n    return y * 2\n").find("shape") !=
        std::string::npos);
  CHECK(refusal("def forward(self, x):\n    print(x.size(0))\n    return x * 2\n").find("effect") !=
        std::string::npos);
}

TEST_CASE("a model that changes state says from the start that none of its calls are replayed", "[replay]") {
  const StaticModule module(
      script("def forward(self, x):\n    self.w.add_(1)\n    return x * self.w\n", {{"w", sample({3})}}));
  StaticRuntime<> runtime{module};
  const auto refused = [&] {
    const Report report = runtime.report();
    return report.refusals.size() == 1 && says(report, "changes an attribute or a constant (aten::add_)");
  };
  CHECK(refused());
  for (int run = 0; run < 4; ++run) runtime(sample({3}));
  CHECK(runtime.replayed_calls() == 0);
  CHECK(refused());
  runtime.trim();
  CHECK(refused());
}

TEST_CASE("a signature that is refused again and again refuses no other", "[replay]") {
  StaticRuntime<> runtime{StaticModule(
      script("def forward(self, x, flag: bool):\n    if flag:\n        x.add_(1)\n    return x * 2\n"))};
  const at::Tensor x = sample({4, 3});
  for (int time = 0; time < 5; ++time) runtime.reserve({x, true});
  for (int run = 0; run < 3; ++run) CHECK(at::equal(runtime(x, false).toTensor(), x * 2));
  CHECK(runtime.replayed_calls() == 1);
}

TEST_CASE("only calls that a plan answered are counted", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall))};
  const at::Tensor x = sample({4, 3}), y = sample({3});
  for (int run = 0; run < 3; ++run) runtime(x, y);
  CHECK(runtime.replayed_calls() == 1);
  runtime.run_into({x, y}, {x});  // over an argument: replayed, then copied
  CHECK(runtime.replayed_calls() == 2);
  CHECK(runtime.report().plans[0].replays == 2);
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

TEST_CASE("a view of a weight is a new tensor in each replay", "[replay][traps]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    turned = self.w.t()\n    return x + 1, turned, "
                          "self.w.expand_as(x), self.w, torch.dist(x[0].t(), turned)\n",
                          {{"w", sample({2, 3})}}))};
  const at::Tensor x = sample({4, 2, 3});
  const at::Tensor w = runtime(x).toTupleRef().elements()[3].toTensor();
  for (int run = 0; run < 4; ++run) {
    const auto results = runtime(x).toTuple();
    const at::Tensor turned = results->elements()[1].toTensor(), expanded = results->elements()[2].toTensor();
    CHECK(at::equal(turned, w.t()));
    CHECK(at::equal(expanded, w.expand({4, 2, 3})));
    CHECK(turned.is_alias_of(w));
    CHECK(at::equal(results->elements()[4].toTensor(), at::dist(x[0].t(), w.t())));
    CHECK(results->elements()[3].toTensor().is_same(w));
    turned.t_();  // what the caller does to the view is not the next call's matter
    expanded.transpose_(0, 1);
  }
  CHECK(runtime.replayed_calls() == 3);
}

TEST_CASE("arguments that share memory by chance are no reason against their signature", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall))};
  const at::Tensor x = sample({4, 3}), y = sample({4, 3});
  runtime.reserve({x, x});
  CHECK(plans(runtime) == 0);
  CHECK(says(runtime.report(), "share memory"));
  for (int run = 0; run < 4; ++run) CHECK(at::equal(runtime(x, y).toTensor(), small(x, y)));
  CHECK(runtime.replayed_calls() == 2);
  CHECK(at::equal(runtime(x, x).toTensor(), small(x, x)));
  CHECK(runtime.replayed_calls() == 3);
}

TEST_CASE("what one signature's calls change, no plan of another has computed with", "[replay][traps]") {
  const at::Tensor weight = sample({3});
  const std::string change = GENERATE(as<std::string>(), "self.w.mul_(0.5)", "self.w = self.w * 0.5");
  torch::jit::Module module =
      script("def forward(self, x, n: int):\n    y = x * (torch.abs(self.w) + 1)\n    if n > 2:\n        " +
                 change + "\n    return y\n",
             {{"w", weight.clone()}});
  torch::jit::Module reference = module.deepcopy();
  StaticRuntime<> runtime{StaticModule(module)};
  const at::Tensor x = sample({4, 3});
  for (const int n : {1, 1, 1, 3, 1, 3, 3, 1}) {
    INFO("n = " << n);
    CHECK(at::allclose(runtime(x, n).toTensor(), reference.forward({x, n}).toTensor()));
  }
}

TEST_CASE("a list of weights that grows is no change of the weights", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(
      "def forward(self, x):\n    parts = [self.w]\n    parts.append(x)\n    return torch.cat(parts)\n",
      {{"w", sample({3})}}))};
  const at::Tensor x = sample({3});
  for (int run = 0; run < 4; ++run) runtime(x);
  CHECK(runtime.replayed_calls() != 0);
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

TEST_CASE("an op of the user with a lane becomes a part of a fused step", "[replay][registry]") {
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
  CHECK_FALSE(at::allclose(unchecked(x).toTensor(), x * 2));  // the lane is wrong, and nobody looks
  StaticRuntime<> runtime{StaticModule(calling_doubled(), {.check_every = 1})};
  for (int run = 0; run < 2; ++run) CHECK(at::allclose(runtime(x).toTensor(), x * 2));
  std::string message;
  try {
    runtime(x);
  } catch (const PlanError& error) {
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
      {.check_every = 1})};
  for (int run = 0; run < 5; ++run) CHECK_NOTHROW(runtime(sample({4, 3}), at::tensor({1, 2})));
  CHECK(runtime.replayed_calls() == 3);
}

TEST_CASE("parts of a joined tensor are written in their place", "[replay][ops]") {
  check_script(
      "def forward(self, x):\n    a = x * 2\n    b = (x + 1).sum(1, keepdim=True)\n    c = torch.cat([a, b, "
      "x], 1)\n"
      "    return torch.stack([c, c * 2, c.relu()], 1), torch.cat([c.exp(), c.neg()])\n",
      {{sample({3, 4})}, {sample({1, 4})}, {sample({3, 4})}, {sample({0, 4})}, {sample({4, 3}).t()}});
  check_script(
      "def forward(self, x):\n    a = torch.cat([x * 2, x * 2])\n    return torch.cat([a.t(), a.t() + 1]), "
      "a\n",
      {{sample({3, 4})}, {sample({2, 2})}});
}

TEST_CASE("one module replays on many threads", "[replay][modules]") {
  const StaticModule module(
      script("def forward(self, x):\n    return torch.tanh(x @ self.w).sum(1)\n", {{"w", sample({16, 8})}}));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      StaticRuntime<> runtime(module);
      const at::Tensor x = at::full({t + 1, 16}, 0.1 * (t + 1));
      const at::Tensor expected = runtime(x).toTensor();
      for (int run = 0; run < 300; ++run) {
        if (!at::allclose(runtime(x).toTensor(), expected, 1e-5, 1e-6)) ++wrong;
        if (!at::allclose(module({x}).toTensor(), expected, 1e-5, 1e-6)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a change of the default dtype is another signature", "[replay][traps]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    return x / 2, torch.zeros([x.size(0)])\n"))};
  const at::Tensor x = at::tensor({1, 2, 3});
  for (int run = 0; run < 3; ++run)
    CHECK(runtime(x).toTupleRef().elements()[1].toTensor().scalar_type() == at::kFloat);
  at::set_default_dtype(caffe2::TypeMeta::Make<double>());
  const auto wide = runtime(x).toTuple();
  at::set_default_dtype(caffe2::TypeMeta::Make<float>());
  CHECK(wide->elements()[0].toTensor().scalar_type() == at::kDouble);
  CHECK(wide->elements()[1].toTensor().scalar_type() == at::kDouble);
  CHECK(runtime(x).toTupleRef().elements()[0].toTensor().scalar_type() == at::kFloat);
}

}  // namespace sr::test
