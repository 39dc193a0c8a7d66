// Calls of run_into with the same tensors again and again, which a runtime binds its program to.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::repeated_calls_tests {
namespace {

constexpr int kCalls = 6;  // with the same tensors; the last ones run the bound program

// A runtime of kSmall, and the tensors of its calls.
struct Repeated {
  explicit Repeated(std::int64_t rows = 4)
      : x(sample({rows, 3})), y(sample({3})), out(at::empty({rows, 3})) {}

  void check(int calls = kCalls) {
    for (int i = 0; i < calls; ++i) {
      x.add_(1);
      out.fill_(-1);
      runtime.run_into({x, y}, {out});
      CHECK(at::equal(out, small(x, y)));
    }
  }

  StaticRuntime<> runtime{StaticModule(script(kSmall))};
  at::Tensor x, y, out;
};

TEST_CASE("calls with the same tensors read what these hold then", "[bound]") {
  Repeated calls;
  calls.check(40);
  CHECK(calls.runtime.replayed_calls() >= 37);
}

TEST_CASE("a repeated call follows its tensors", "[bound]") {
  Repeated calls;
  const std::vector<std::pair<std::string, std::function<void()>>> changes{
      {"larger argument",
       [&] {
         calls.x.resize_({9, 3}).copy_(sample({9, 3}));
         calls.out.resize_({9, 3});
       }},
      {"other memory of an argument",
       [&] {
         calls.x.set_(sample({9, 3}));
       }},
      {"other strides",
       [&] {
         calls.x.set_(sample({3, 9}).t());
       }},
      {"other memory of a result",
       [&] {
         calls.out.set_(at::empty({9, 3}));
       }},
      {"another argument",
       [&] {
         calls.x = sample({9, 3});
       }},
      {"another result",
       [&] {
         calls.out = at::empty({9, 3});
       }},
      {"another dtype",
       [&] {
         calls.x = calls.x.to(at::kDouble);
         calls.out = calls.out.to(at::kDouble);
       }},
      {"a result of other dtype than the argument's", [&] { calls.x = calls.x.to(at::kFloat); }},
  };
  calls.check();
  for (const auto& [what, make] : changes) {
    INFO(what);
    make();
    if (calls.out.scalar_type() != at::promote_types(calls.x.scalar_type(), calls.y.scalar_type())) {
      CHECK_THROWS_AS(calls.runtime.run_into({calls.x, calls.y}, {calls.out}), ArgumentError);
      calls.out = calls.out.to(calls.x.scalar_type());
    }
    calls.check();
  }
  calls.x.storage().unsafeGetStorageImpl()->set_data_ptr(at::DataPtr());
  CHECK_THROWS(calls.runtime.run_into({calls.x, calls.y}, {calls.out}));
}

TEST_CASE("tensors of a repeated call may share their bytes lazily", "[bound]") {
  Repeated calls;
  calls.check();
  const at::Tensor lazy = at::_lazy_clone(calls.out);
  const at::Tensor before = lazy.clone();
  calls.runtime.run_into({calls.x, calls.y}, {calls.out});
  calls.x.add_(1);
  calls.runtime.run_into({calls.x, calls.y}, {calls.out});
  CHECK(at::equal(lazy, before));
  CHECK(at::equal(calls.out, small(calls.x, calls.y)));
}

TEST_CASE("repeated calls stay right beside other calls of their runtime", "[bound]") {
  Repeated calls;
  auto& runtime = calls.runtime;
  const at::Tensor large = sample({3000, 3}), large_out = at::empty({3000, 3});
  const std::vector<std::pair<std::string, std::function<void()>>> others{
      {"a call that needs more memory",
       [&] {
         runtime.run_into({large, calls.y}, {large_out});
       }},
      {"a call that returns new tensors",
       [&] {
         CHECK(at::equal(runtime({large, calls.y}).toTensor(), small(large, calls.y)));
       }},
      {"the same arguments, and new results",
       [&] {
         CHECK(at::equal(runtime({calls.x, calls.y}).toTensor(), small(calls.x, calls.y)));
       }},
      {"trim", [&] { runtime.trim(); }},
      {"times of steps", [&] { runtime.time_steps(true); }},
      {"no times of steps", [&] { runtime.time_steps(false); }},
      {"reserve",
       [&] {
         runtime.reserve({large, calls.y});
       }},
      {"a call that fails",
       [&] {
         CHECK_THROWS(runtime.run_into({large, large.t()}, {large_out}));
       }},
      {"a bound call",
       [&] {
         runtime.bind({calls.x, calls.y}, {calls.out})();
       }},
  };
  for (int round = 0; round < 3; ++round) {
    for (const auto& [what, make] : others) {
      INFO(what);
      calls.check();
      make();
      calls.check(1);
    }
  }
}

TEST_CASE("repeated calls follow weights and modes", "[bound]") {
  const at::Tensor weight = sample({3, 3});
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    return torch.relu(x @ self.w)\n", {{"w", weight}}))};
  const at::Tensor x = sample({4, 3}), out = at::empty({4, 3});
  const auto check = [&] {
    for (int i = 0; i < kCalls; ++i) {
      runtime.run_into({x}, {out});
      CHECK(at::allclose(out, at::relu(x.matmul(weight))));
    }
  };
  check();
  for (int i = 0; i < 3; ++i) {
    weight.mul_(-1);
    check();
  }
  const c10::InferenceMode inference;
  check();
}

TEST_CASE("an exception leaves repeated calls ready", "[bound]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x, i):\n    return x.index_select(0, i) * 2\n"))};
  const at::Tensor x = sample({4, 3}), i = at::tensor({0, 3}), out = at::empty({2, 3});
  for (const std::int64_t index : {1, 4, 2, -7, 0}) {
    i.fill_(index);
    for (int call = 0; call < kCalls; ++call) {
      if (index < 0 || index >= 4) {
        CHECK_THROWS(runtime.run_into({x, i}, {out}));
      } else {
        runtime.run_into({x, i}, {out});
        CHECK(at::equal(out, x.index_select(0, i) * 2));
      }
    }
  }
}

TEST_CASE("arguments that are no tensors are compared in each call", "[bound]") {
  StaticRuntime<> runtime{StaticModule(script("def forward(self, x, k: int):\n    return x * k\n"))};
  const at::Tensor x = sample({4, 3}), out = at::empty({4, 3});
  for (const std::int64_t k : {2, 2, 2, 2, 2, 3, 2}) {
    runtime.run_into({x, k}, {out});
    CHECK(at::equal(out, x * k));
  }
}

}  // namespace
}  // namespace sr::test::repeated_calls_tests
