// Programs that write arguments of the caller in place.
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::written_arguments_tests {

namespace {

torch::jit::Module model(const std::string& body, const std::string& parameters = "x, y") {
  return script("def forward(self, " + parameters + "):\n    " + body + "\n", {{"w", sample({6, 6})}});
}

std::vector<InputSet> calls() {
  std::vector<InputSet> runs;
  const at::Tensor large = sample({9, 9});
  for (const auto& input :
       {InputSet{sample({4, 6}), sample({4, 6})}, InputSet{sample({0, 6}), sample({0, 6})},
        InputSet{transposed(sample({4, 6})), sample({4, 6})},
        InputSet{large.slice(0, 3, 7).slice(1, 2, 8), sample({4, 6})},
        InputSet{large.slice(0, 3, 7).slice(1, 2, 8), large.slice(0, 5, 9).slice(1, 0, 6)},
        InputSet{sample({4, 6}).to(at::kDouble), sample({4, 6}).to(at::kDouble)},
        InputSet{sample({4, 6}, at::kLong), sample({4, 6}, at::kLong)}}) {
    for (int i = 0; i < 4; ++i) runs.push_back(input);
  }
  return runs;
}

const std::vector<std::string> kBodies{
    "x.add_(y)\n    return x * 2",
    "x.mul_(2).add_(y)\n    return x",
    "x.add_(1)\n    return x.view(-1) if x.is_contiguous() else x.t()",
    "v = x[1:]\n    x.add_(1)\n    return v",
    "x.add_(1)\n    v = x[1:]\n    v.mul_(y[1:])\n    return v + x[1:]",
    "x.copy_(y)\n    return x + y",
    "t = x.clone()\n    x.copy_(y)\n    y.copy_(t)\n    return x - y",
    "x[:, 1:3] = 5\n    return x.sum()",
    "x[1:2].add_(y[:1])\n    y.mul_(x)\n    return x, y",
    "x.index_copy_(0, torch.tensor([1, 0]), y[:2]) if x.size(0) > 1 else x.add_(1)\n    return y + 1",
    "x.zero_()\n    return [x + 1, y]",
    "x.add_(1)\n    return [x, y]",
    "x.clamp_(-1, 1)\n    y.sub_(x)\n    x.mul_(y)\n    return (x, y * 2)",
    "z = x.relu()\n    x.add_(z)\n    z.add_(x)\n    return z",
};

}  // namespace

TEST_CASE("arguments are written as the interpreter writes them", "[replay]") {
  at::manual_seed(3);
  for (const std::string& body : kBodies) {
    CAPTURE(body);
    check_model(model(body), calls(), close());
  }
}

TEST_CASE("calls that write arguments are replayed", "[replay]") {
  for (const std::string& body : kBodies) {
    CAPTURE(body);
    torch::jit::Module reference = model(body);
    StaticRuntime<> runtime{StaticModule(reference, {.debug = {.check_every = 1}})};
    for (int call = 0; call < 5; ++call) {
      const at::Tensor x = sample({4, 6}), y = sample({4, 6});
      const InputSet expected{x.clone(), y.clone()};
      const c10::IValue result = reference.forward(expected);
      CHECK(difference(result, runtime(x, y), close()) == "");
      CHECK(difference(expected[0], x, close()) == "");
      CHECK(difference(expected[1], y, close()) == "");
    }
    const Report report = runtime.report();
    CAPTURE(report.bailouts);
    CHECK(report.replayed_calls >= 3);
    REQUIRE(report.plans.size() == 1);
    CHECK(report.plans[0].interpreted <= 1);
  }
}

TEST_CASE("views of an argument begin where it does, also in another dtype", "[replay]") {
  const std::string body =
      "x.mul_(2)\n    x.add_(y)\n    w = torch.view_as_complex(x.view([-1, 3, 2]))\n    return "
      "torch.view_as_real(w * 2), x[1:] * 3";
  torch::jit::Module reference = model(body);
  StaticRuntime<> runtime{StaticModule(reference, {.debug = {.check_every = 1}})};
  for (const std::int64_t offset : {3, 3, 3, 0, 5}) {
    const at::Tensor x = sample({9, 6}).slice(0, offset, offset + 4), y = sample({4, 6});
    const InputSet expected{x.clone(), y.clone()};
    const c10::IValue result = reference.forward(expected);
    CHECK(difference(result, runtime(x, y), close()) == "");
    CHECK(difference(expected[0], x, close()) == "");
  }
  CHECK(runtime.replayed_calls() >= 3);
}

TEST_CASE("a tensor that is copied to itself may have elements that share memory", "[replay]") {
  for (const char* itself : {"x", "x.swapdims(0, -2)", "x[:y.size(0)]"}) {
    CAPTURE(itself);
    const torch::jit::Module module = model("x.copy_(" + std::string(itself) + ")\n    return x * 2 + y");
    check_model(module,
                {{sample({1, 6}).expand({4, 6}), sample({4, 6})},
                 {sample({1, 7}).expand({5, 7}), sample({5, 7})},
                 {sample({4, 6}), sample({4, 6})}},
                close());
  }
}

TEST_CASE("a returned argument is the caller's tensor, and its version rises", "[replay]") {
  StaticRuntime<> runtime{StaticModule(model("x.mul_(2).add_(y)\n    return x"))};
  const at::Tensor x = sample({4, 6}), y = sample({4, 6});
  for (int call = 0; call < 4; ++call) {
    const auto version = x._version();
    CHECK(runtime(x, y).toTensor().is_same(x));
    CHECK(x._version() > version);
  }
  CHECK(runtime.replayed_calls() >= 2);
}

TEST_CASE("arguments that share memory with what is written are not replayed", "[replay]") {
  const std::string body = "x[1:] = y[:-1] * 2\n    y.add_(torch.linear(x, self.w))\n    return x + y";
  torch::jit::Module reference = model(body);
  const torch::jit::Module module = reference.deepcopy();
  StaticRuntime<> runtime{StaticModule(module)};
  const auto compare = [&](const at::Tensor& x, const at::Tensor& y) {
    const InputSet copies = copy_inputs({x, y});
    const c10::IValue expected = reference.forward(copies);
    CHECK(difference(expected, runtime(x, y), close()) == "");
    CHECK(difference(copies[0], x, close()) == "");
    CHECK(difference(copies[1], y, close()) == "");
  };
  for (int call = 0; call < 3; ++call) compare(sample({4, 6}), sample({4, 6}));
  const std::uint64_t replayed = runtime.replayed_calls();
  CHECK(replayed >= 1);
  const at::Tensor all = sample({7, 6});
  compare(all.slice(0, 0, 4), all.slice(0, 2, 6));  // overlap
  compare(all.slice(0, 0, 4), all.slice(0, 0, 4));
  CHECK(runtime.replayed_calls() == replayed);
  const at::Tensor halves = sample({8, 6});
  compare(halves.slice(0, 0, 4), halves.slice(0, 4));  // one storage, no byte in common
  CHECK(runtime.replayed_calls() == replayed + 1);
  CHECK(says(runtime.report(), "shares memory with another argument or with a weight"));

  // The weight itself: the call changes the model.
  StaticRuntime<> of_weight{StaticModule(module)};
  for (int call = 0; call < 3; ++call) of_weight(sample({6, 6}), sample({6, 6}));
  const at::Tensor y = sample({6, 6}), expected_y = y.clone();
  const c10::IValue expected = reference.forward({reference.attr("w"), expected_y});
  CHECK(difference(expected, of_weight(module.attr("w"), y), close()) == "");
  CHECK(difference(reference.attr("w"), module.attr("w"), close()) == "");
  const at::Tensor x = sample({4, 6}), z = sample({4, 6});
  const InputSet copies = copy_inputs({x, z});
  CHECK(difference(reference.forward(copies), of_weight(x, z), close()) == "");
}

TEST_CASE("bytes that tensors share lazily are the written one's own", "[replay]") {
  StaticRuntime<> runtime{StaticModule(model("x.add_(y)\n    return x * 2"))};
  for (int call = 0; call < 3; ++call) runtime(sample({4, 6}), sample({4, 6}));
  const at::Tensor original = sample({4, 6}), values = original.clone(), y = sample({4, 6});
  const at::Tensor lazy = at::_lazy_clone(original);
  const std::uint64_t replayed = runtime.replayed_calls();
  runtime(lazy, y);
  CHECK(runtime.replayed_calls() == replayed + 1);
  CHECK(at::equal(original, values));
  CHECK(at::allclose(lazy, values + y));
}

TEST_CASE("a call that data end writes its arguments once", "[replay]") {
  const std::string body =
      "x.add_(1)\n    cache.index_copy_(0, i, x)\n    x.mul_(2)\n    cache[0].add_(1)\n    return "
      "torch.index_select(cache, 0, j)";
  torch::jit::Module reference = model(body, "x, cache, i, j");
  StaticRuntime<> runtime{StaticModule(reference)};
  for (const std::int64_t rows : {8, 1000}) {  // 1000 rows are more than 64 KiB
    for (int call = 0; call < 6; ++call) {
      CAPTURE(rows, call);
      const at::Tensor x = sample({rows, 600}), cache = sample({rows + 2, 600});
      const at::Tensor i = at::arange(rows).flip(0).contiguous();
      const at::Tensor j = at::full({2}, call % 2 == 0 ? rows : rows + 2);
      const InputSet copies = copy_inputs({x, cache, i, j});
      if (call % 2 == 0) {
        CHECK(difference(reference.forward(copies), runtime(x, cache, i, j), close()) == "");
      } else {
        CHECK_THROWS(reference.forward(copies));
        CHECK_THROWS(runtime(x, cache, i, j));
      }
      CHECK(difference(copies[0], x, close()) == "");
      CHECK(difference(copies[1], cache, close()) == "");
    }
  }
  CHECK(runtime.replayed_calls() != 0);
}

TEST_CASE("one plan serves all lengths of arguments that are written", "[replay][families]") {
  const std::string body =
      "x.mul_(0.5).add_(y)\n    y[:, :2] = x[:, 2:4]\n    return torch.linear(x, self.w)";
  torch::jit::Module reference = model(body);
  StaticRuntime<> runtime{StaticModule(reference, {.debug = {.check_every = 1}})};
  for (const std::int64_t rows : {3, 3, 5, 5, 7, 9, 11, 2, 30}) {
    const at::Tensor all = sample({rows + 1, 6});
    const at::Tensor x = rows == 9 ? all.slice(0, 1) : sample({rows, 6}), y = sample({rows, 6});
    const InputSet copies{x.clone(), y.clone()};
    CHECK(difference(reference.forward(copies), runtime(x, y), close()) == "");
    CHECK(difference(copies[0], x, close()) == "");
    CHECK(difference(copies[1], y, close()) == "");
  }
  const Report report = runtime.report();
  CAPTURE(report.bailouts, report.pinned_by);
  CHECK(report.plans.size() <= 2);
  CHECK(report.replayed_calls >= 5);
}

TEST_CASE("run_into and bound calls write arguments in place", "[replay]") {
  const StaticModule module(model("x.add_(y)\n    return x * 2"));
  StaticRuntime<> runtime{module};
  const at::Tensor x = at::zeros({4, 6}), y = at::ones({4, 6}), out = at::empty({4, 6});
  for (int call = 1; call <= 5; ++call) {
    runtime.run_into({x, y}, {out});
    CHECK(at::equal(x, at::full({4, 6}, call)));
    CHECK(at::equal(out, at::full({4, 6}, 2 * call)));
  }
  CHECK(runtime.replayed_calls() >= 3);
  runtime.run_into({x, y}, {x});  // the result goes where the argument lies
  CHECK(at::equal(x, at::full({4, 6}, 12)));
  x.zero_();
  BoundCall bound = runtime.bind({x, y});
  const float first = x[0][0].item<float>();
  for (int call = 1; call <= 3; ++call) {
    bound();
    CHECK(at::equal(x, at::full({4, 6}, first + static_cast<float>(call))));
    CHECK(at::equal(bound.outputs()[0], x * 2));
  }
}

TEST_CASE("tensors in lists of the caller are written", "[replay]") {
  const std::string body =
      "for i in range(len(caches)):\n        caches[i][:, 0] = x[i]\n    return torch.stack(caches).sum(0)";
  torch::jit::Module reference = model(body, "x, caches: List[Tensor]");
  StaticRuntime<> runtime{StaticModule(reference, {.debug = {.check_every = 1}})};
  for (int call = 0; call < 5; ++call) {
    const at::Tensor x = sample({2, 3});
    const c10::List<at::Tensor> caches({sample({3, 4}), sample({3, 4})});
    const InputSet copies = copy_inputs({x, caches});
    CHECK(difference(reference.forward(copies), runtime(x, caches), close()) == "");
    CHECK(difference(copies[1], caches, close()) == "");
  }
  const Report report = runtime.report();
  CAPTURE(report.bailouts);
  CHECK(report.replayed_calls >= 2);
}

}  // namespace sr::test::written_arguments_tests
