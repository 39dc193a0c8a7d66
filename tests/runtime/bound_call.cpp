// Calls whose arguments and results are tensors that stay where they are.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <sr/base/identity.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/guard_pages.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/planners.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::bound_call_tests {
namespace {

TEST_CASE("a bound call reads what the arguments hold then, and writes into the same tensors", "[bound]") {
  const StaticRuntime<> runtime{StaticModule(script(kSmall))};
  const at::Tensor x = sample({4, 3}), y = sample({3}), out = at::empty({4, 3});
  BoundCall call = runtime.bind({x, y}, {out});
  CHECK(call.is_replayed());
  CHECK(at::equal(out, small(x, y)));
  for (int i = 0; i < 4; ++i) {
    x.add_(1);
    y.mul_(-2);
    call();
    CHECK(at::equal(out, small(x, y)));
  }
  CHECK(call.outputs().size() == 1);
  CHECK(call.outputs()[0].is_same(out));
  CHECK(call.report().plans.size() == 1);
  CHECK(call.report().plans[0].replays >= 4);
}

TEST_CASE("outputs are made, one for each tensor of the result", "[bound]") {
  StaticRuntime<> runtime{StaticModule(script(
      "def forward(self, x):\n    return {'a': x + 1, 'b': x.sum(1)}, x.t().contiguous(), x.size(0)\n"))};
  const at::Tensor x = sample({4, 3});
  BoundCall call = runtime.bind({x});
  CHECK(call.is_replayed());
  REQUIRE(call.outputs().size() == 3);
  x.mul_(2);
  call();
  CHECK(at::equal(call.outputs()[0], x + 1));
  CHECK(at::allclose(call.outputs()[1], x.sum(1)));
  CHECK(at::equal(call.outputs()[2], x.t()));
}

TEST_CASE("results that no program writes into buffers are copied", "[bound]") {
  const char* const sources[] = {
      "def forward(self, x):\n    return x.t()\n",                       // a view of an argument
      "def forward(self, x):\n    return x\n",                           // an argument
      "def forward(self, x):\n    y = x * 2\n    return y, y[0]\n",      // two results on one storage
      "def forward(self, x):\n    return torch.ones([3, 2]) * 4\n",      // a constant
      "def forward(self, x):\n    x.add_(1)\n    return x * 2\n",        // writes its argument
      "def forward(self, x):\n    return torch.sort(x.abs())[0] + 1\n",  // an operator of LibTorch
  };
  for (const char* const source : sources) {
    INFO(source);
    auto reference = script(source);
    StaticRuntime<> runtime{StaticModule(script(source))};
    const at::Tensor x = sample({4, 3}), same = x.clone();
    BoundCall call = runtime.bind({x});
    c10::IValue expected = interpret(reference, {same});
    for (int i = 0; i < 3; ++i) {
      for (const at::Tensor& output : call.outputs()) output.fill_(77);  // what the caller does with them
      call();
      expected = interpret(reference, {same});
      std::size_t at = 0;
      const auto compare = [&](const at::Tensor& tensor) {
        CHECK(at::equal(call.outputs().at(at++), tensor));
      };
      sr::detail::each_tensor(expected, compare);
      CHECK(at::equal(x, same));
    }
  }
}

TEST_CASE("a tensor that moves, or changes its sizes or strides, is followed", "[bound]") {
  StaticRuntime<> runtime{StaticModule(script("def forward(self, x):\n    return (x * 2 + 1).sum(0)\n"))};
  const at::Tensor x = sample({4, 3}), out = at::empty({3});
  BoundCall call = runtime.bind({x}, {out});
  const auto check = [&] {
    for (int i = 0; i < 3; ++i) {
      x.add_(1);
      call();
      CHECK(at::allclose(out, (x * 2 + 1).sum(0)));
    }
    CHECK(call.is_replayed());
  };
  check();
  x.resize_({400, 3}).copy_(sample({400, 3}));
  check();
  x.set_(sample({4, 3}));
  check();
  x.set_(sample({3, 4}).t());
  check();
  const at::Tensor wide = sample({8, 3});
  x.set_(wide.slice(0, 2, 6));
  check();
  out.set_(at::empty({3}));
  check();
  const at::Tensor lazy = at::_lazy_clone(out);
  const at::Tensor before = lazy.clone();
  check();
  CHECK(at::equal(lazy, before));
  x.resize_({4, 5});
  CHECK_THROWS_WITH(call(), Catch::Matchers::Contains("Output tensor 0"));
  out.resize_({5});
  x.fill_(1);
  check();
}

TEST_CASE("tensors of every rank are followed", "[bound]") {
  for (std::int64_t rank = 0; rank <= 6; ++rank) {
    INFO("rank " << rank);
    const std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank), 2);
    StaticRuntime<> runtime{StaticModule(script("def forward(self, x):\n    return x * 2 + 1\n"))};
    const at::Tensor x = sample(sizes), out = at::empty(sizes);
    BoundCall call = runtime.bind({x}, {out});
    const auto check = [&] {
      for (int i = 0; i < 2; ++i) {
        x.add_(1);
        call();
        CHECK(at::equal(out, x * 2 + 1));
      }
      CHECK(call.is_replayed());
    };
    check();
    x.set_(sample(sizes));
    check();
    out.set_(at::empty(sizes));
    check();
    const at::Tensor lazy_out = at::_lazy_clone(out), lazy_x = at::_lazy_clone(x);
    const at::Tensor before_out = lazy_out.clone(), before_x = lazy_x.clone();
    check();
    CHECK(at::equal(lazy_out, before_out));
    CHECK(at::equal(lazy_x, before_x));
    if (rank < 2) continue;
    x.set_(sample(sizes).transpose(0, 1));
    out.set_(at::empty(sizes).transpose(0, 1));
    check();
  }
}

TEST_CASE("memory that was freed is never read", "[bound]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall))};
  const at::Tensor x = sample({4, 3}), y = sample({3}), out = at::empty({4, 3});
  BoundCall call = runtime.bind({x, y}, {out});
  x.storage().unsafeGetStorageImpl()->set_data_ptr(at::DataPtr());
  CHECK_THROWS(call());
  x.set_(sample({4, 3}));
  call();
  CHECK(at::equal(out, small(x, y)));
  out.storage().unsafeGetStorageImpl()->set_data_ptr(at::DataPtr());
  CHECK_THROWS(call());
}

TEST_CASE("outputs that do not fit are refused when they are bound", "[bound]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall))};
  const at::Tensor x = sample({4, 3}), y = sample({3});
  CHECK_THROWS_AS(runtime.bind({x, y}, {at::empty({4, 4})}), ArgumentError);
  CHECK_THROWS_AS(runtime.bind({x, y}, {at::empty({4, 3}, at::kDouble)}), ArgumentError);
  CHECK_THROWS_AS(runtime.bind({x, y}, {at::empty({4, 3}), at::empty({4, 3})}), ArgumentError);
  CHECK_THROWS_AS(runtime.bind({x}), ArgumentError);
  StaticRuntime<> number{StaticModule(script("def forward(self, x):\n    return x.size(0)\n"))};
  CHECK_THROWS_AS(number.bind({x}), ArgumentError);
}

TEST_CASE("an output may be an argument, or lie in one", "[bound]") {
  StaticRuntime<> runtime{StaticModule(script("def forward(self, x):\n    return x.flip([0]) * 2\n"))};
  const at::Tensor x = sample({4, 3});
  BoundCall call = runtime.bind({x}, {x});
  const at::Tensor expected = x.flip({0}) * 2;
  call();
  CHECK(at::equal(x, expected));
}

TEST_CASE("containers and numbers are those that were bound", "[bound]") {
  StaticRuntime<> runtime{StaticModule(script(
      "def forward(self, x: List[Tensor], k: int, s: float = 2.0):\n    return torch.cat(x, 0) * s + k\n"))};
  const at::Tensor a = sample({2, 3}), b = sample({1, 3});
  c10::List<at::Tensor> list({a, b});
  BoundCall call = runtime.bind({list, 3}, {}, {{"s", 4.0}});
  list.clear();
  a.add_(1);
  call();
  CHECK(at::allclose(call.outputs()[0], at::cat({a, b}) * 4 + 3));
  CHECK(call.arguments().size() == 3);
}

TEST_CASE("weights and modes are followed", "[bound]") {
  const at::Tensor weight = sample({3, 3});
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    return torch.relu(x @ self.w)\n", {{"w", weight}}))};
  const at::Tensor x = sample({4, 3});
  BoundCall call = runtime.bind({x});
  for (int i = 0; i < 3; ++i) {
    weight.mul_(-1);
    call();
    CHECK(at::allclose(call.outputs()[0], at::relu(x.matmul(weight))));
  }
  {
    const c10::InferenceMode inference;
    x.add_(1);
    call();
  }
  CHECK(at::allclose(call.outputs()[0], at::relu(x.matmul(weight))));
}

TEST_CASE("an exception leaves a bound call ready", "[bound]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x, i):\n    return x.index_select(0, i) * 2\n"))};
  const at::Tensor x = sample({4, 3}), i = at::tensor({0, 3});
  BoundCall call = runtime.bind({x, i});
  CHECK(call.is_replayed());
  i.fill_(4);
  CHECK_THROWS(call());
  CHECK_THROWS(call());
  i.fill_(1);
  for (int run = 0; run < 2; ++run) {
    call();
    CHECK(at::equal(call.outputs()[0], x.index_select(0, i) * 2));
  }
}

TEST_CASE("bound calls of one module run on many threads, beside its runtime", "[bound]") {
  const StaticModule module(script(kSmall));
  StaticRuntime<> runtime{module};
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      const at::Tensor x = sample({4 + static_cast<std::int64_t>(t), 3}), y = sample({3});
      BoundCall call = runtime.bind({x, y});
      for (int i = 0; i < 200; ++i) {
        x.add_(1);
        call();
        wrong[t] += !at::equal(call.outputs()[0], small(x, y));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE("planners that bring buffers bind, too", "[bound]") {
  StaticRuntime<GuardPages> runtime{
      StaticModule(script("def forward(self, x):\n    y = torch.softmax(x @ x.t(), 1)\n    return y @ x\n"))};
  const at::Tensor x = sample({5, 3}).abs();  // no sum cancels, so that the relative error of each is small
  std::optional<BoundCall> call = runtime.bind({x});
  x.mul_(0.5);
  (*call)();
  CHECK(at::allclose(call->outputs()[0], at::softmax(x.matmul(x.t()), 1).matmul(x)));
  call.reset();
}

}  // namespace
}  // namespace sr::test::bound_call_tests
