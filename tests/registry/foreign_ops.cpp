// Operators whose schema is wrong, which throw, call their own runtime, or swap or grow storages.
#include <stdexcept>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/custom_ops.hpp"
#include "support/guard_pages.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"
#include "support/values.hpp"

namespace sr::test::foreign_ops_tests {

namespace {

struct TheirError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::shared_ptr<torch::jit::Graph> calling(const std::string& op) {
  return graph(
      "graph(%x : Tensor):\n  %two : int = prim::Constant[value=2]()\n  %one : int = "
      "prim::Constant[value=1]()\n"
      "  %y : Tensor = aten::mul(%x, %two)\n  %z : Tensor = sr_test::" +
      op +
      "(%y)\n"
      "  %u : Tensor = aten::exp(%x)\n  %v : Tensor = aten::add(%u, %one, %one)\n"
      "  %w : Tensor = aten::add(%z, %v, %one)\n  return (%w)");
}

// Bits are compared.
const StaticModuleOptions kExact{.numerics = Numerics::exact};

at::Tensor expected_of(const at::Tensor& x, const at::Tensor& z) {
  return z + (x.exp() + 1);
}

}  // namespace

TEMPLATE_TEST_CASE("an operator that returns its input against its schema", "[traps]", memory::LinearScan,
                   Poison, GuardPages, memory::StandardResizing) {
  StaticRuntime<TestType> runtime{StaticModule(calling("returns_input"), kExact)};
  for (const at::Tensor& x : {sample({3, 3}), sample({8, 8}), sample({3, 3})}) {
    CHECK(at::equal(runtime(x).toTensor(), expected_of(x, x * 2)));
  }
  StaticRuntime<TestType> viewing{StaticModule(calling("returns_view"), kExact)};
  for (const at::Tensor& x : {sample({3, 3}), sample({8, 8}), sample({3, 3})}) {
    CHECK(at::equal(viewing(x).toTensor(), expected_of(x, (x * 2).t())));
  }
}

TEMPLATE_TEST_CASE("an operator that returns its input in a list against its schema", "[traps]",
                   memory::LinearScan, Poison, GuardPages) {
  StaticRuntime<TestType> runtime{StaticModule(graph(R"IR(
graph(%x : Tensor):
  %two : int = prim::Constant[value=2]()
  %y : Tensor = aten::mul(%x, %two)
  %l : Tensor[] = sr_test::returns_in_list(%y)
  %u : Tensor = aten::exp(%x)
  %v : Tensor = aten::exp(%u)
  return (%l, %v))IR"))};
  std::vector<c10::IValue> results;
  const at::Tensor x = sample({3, 3});
  for (int i = 0; i < 3; ++i) results.push_back(runtime(x));
  for (const c10::IValue& result : results) {
    CHECK(at::equal(result.toTupleRef().elements()[0].toTensorVector()[1], x * 2));
    CHECK(at::allclose(result.toTupleRef().elements()[1].toTensor(), x.exp().exp()));
  }
}

TEMPLATE_TEST_CASE("an operator that keeps its input", "[traps]", memory::LinearScan, Poison, GuardPages) {
  StaticRuntime<TestType> runtime{StaticModule(calling("keep"), kExact)};
  std::vector<at::Tensor> all;
  const at::Tensor x = sample({3, 3});
  for (int i = 0; i < 4; ++i) {
    CHECK(at::equal(runtime(x + i).toTensor(), expected_of(x + i, ((x + i) * 2).sum())));
    all.push_back(kept());
  }
  runtime.trim();
  for (int i = 0; i < 4; ++i) CHECK(at::equal(all[static_cast<std::size_t>(i)], (x + i) * 2));
  kept() = at::Tensor();
}

TEMPLATE_TEST_CASE("79942: an operator that grows or swaps a managed tensor's storage", "[defects]",
                   memory::LinearScan, GuardPages, Poison) {
  StaticRuntime<TestType> runtime{StaticModule(calling("grow_"), kExact)};
  for (int i = 0; i < 4; ++i) {
    const at::Tensor x = sample({1, 64});
    CHECK(at::equal(runtime(x).toTensor(), expected_of(x, at::ones({64, 64}))));
  }
  on_call() = [](const at::Tensor& self) {
    at::Tensor other = at::full({3, 3}, 7.0);
    self.unsafeGetTensorImpl()->set_storage_keep_dtype(other.storage());
  };
  StaticRuntime<TestType> swapping{StaticModule(calling("call"), kExact)};
  for (int i = 0; i < 4; ++i) {
    const at::Tensor x = sample({3, 3});
    CHECK(at::equal(swapping(x).toTensor(), expected_of(x, at::full({3, 3}, 7.0))));
  }
  on_call() = nullptr;
}

TEMPLATE_TEST_CASE("an operator that throws in the first, a planned and a resized run", "[errors]",
                   memory::LinearScan, GuardPages, Poison) {
  for (const bool managed : {false, true}) {
    StaticRuntime<TestType> runtime{
        StaticModule(calling("call"), {.numerics = Numerics::exact, .memory = {.manage_outputs = managed}})};
    int run = 0;
    on_call() = [&](const at::Tensor&) {
      if (run == 0 || run == 3 || run == 5) throw TheirError("theirs");
      if (run == 6) TORCH_CHECK_VALUE(false, "a value");
    };
    for (run = 0; run < 9; ++run) {
      const std::int64_t n = run == 5 ? 9 : 3;
      const at::Tensor x = sample({n, n});
      INFO("run " << run);
      if (run == 0 || run == 3 || run == 5) {
        CHECK_THROWS_AS(runtime(x), TheirError);
      } else if (run == 6) {
        CHECK_THROWS_AS(runtime(x), c10::ValueError);
      } else {
        CHECK(at::equal(runtime(x).toTensor(), expected_of(x, x * 2)));
      }
      CHECK(x.use_count() == 1);
      CHECK(x.storage().use_count() == 1);
    }
    on_call() = nullptr;
  }
}

TEST_CASE("a c10::Error keeps its type and message and gains the node", "[errors]") {
  StaticRuntime<> runtime{StaticModule(calling("call"), kExact)};
  on_call() = [](const at::Tensor&) { TORCH_CHECK_INDEX(false, "out of it"); };
  try {
    runtime(sample({2, 2}));
    FAIL("nothing was thrown");
  } catch (const c10::IndexError& error) {
    CHECK(std::string(error.msg()).find("out of it") == 0);
    CHECK(std::string(error.what()).find("sr_test::call") != std::string::npos);
  }
  on_call() = nullptr;
}

TEST_CASE("an operator of which nothing is known runs once in a call whose replay ends half way",
          "[replay][traps]") {
  const at::Tensor three = at::tensor({1.0F, 0.0F, 2.0F}), two = at::tensor({0.0F, 0.0F, 2.0F});
  int calls = 0;
  const auto check = [&](const std::string& body) {
    INFO(body);
    auto module = script("def forward(self, x):\n" + body);
    StaticRuntime<> runtime{StaticModule(module)};
    for (const at::Tensor& x : {three, three, three, three, two, two, two, two, three}) {
      on_call() = nullptr;
      const c10::IValue expected = module.forward({x});
      on_call() = [&](const at::Tensor&) { ++calls; };
      calls = 0;
      const c10::IValue result = runtime(x);
      CHECK(calls == 1);
      CHECK(compare_values(expected, result, {}, "result") == "");
    }
    on_call() = nullptr;
  };
  check("    y = sr_test.call(x)\n    return y, torch.nonzero(x)\n");
  check("    y = sr_test.call(torch.nonzero(x))\n    return y + 1\n");
  check("    y = torch.nonzero(sr_test.call(x)) * 2\n    return y, x\n");
}

TEST_CASE("an operator of which nothing is known runs once when results go into the caller's buffers",
          "[replay][traps]") {
  auto module = script(
      "def forward(self, x, i):\n    return torch.index_select(sr_test.call(x), 0, i) + "
      "torch.nonzero(i).sum()\n");
  StaticRuntime<> runtime{StaticModule(module)};
  const at::Tensor x = sample({4, 3});
  const std::vector<at::Tensor> out{at::empty({2, 3})};
  for (int run = 0; run < 6; ++run) {
    const at::Tensor i = run == 4 ? at::tensor({1, 0}) : at::tensor({1, 2});
    int calls = 0;
    on_call() = [&](const at::Tensor&) { ++calls; };
    runtime.run_into({x, i}, out);
    on_call() = nullptr;
    CHECK(calls == 1);
    CHECK(at::allclose(out[0], module.forward({x, i}).toTensor()));
  }
}

TEST_CASE("an operator that calls its own runtime gets a BusyError", "[errors][traps]") {
  StaticRuntime<> runtime{StaticModule(calling("call"), kExact)};
  const at::Tensor x = sample({3, 3});
  on_call() = [&](const at::Tensor& y) { runtime(y); };
  CHECK_THROWS_AS(runtime(x), BusyError);
  on_call() = [&](const at::Tensor&) {
    CHECK_THROWS_AS(runtime(x), BusyError);
    CHECK_THROWS_AS(runtime.trim(), BusyError);
    CHECK_THROWS_AS(runtime.reserve({x}), BusyError);
  };
  CHECK(at::equal(runtime(x).toTensor(), expected_of(x, x * 2)));
  auto clone = runtime.clone();
  int depth = 0;
  on_call() = [&](const at::Tensor& y) {
    if (++depth == 1) CHECK(clone(y).toTensor().sizes() == y.sizes());
  };
  CHECK(at::equal(runtime(x).toTensor(), expected_of(x, x * 2)));
  on_call() = nullptr;
}

}  // namespace sr::test::foreign_ops_tests
