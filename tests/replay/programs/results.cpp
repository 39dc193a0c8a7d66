// Results of replays: who owns their memory, when it is reused, and what the caller may do with them.
#include <thread>

#include <c10/core/InferenceMode.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::replay_results_tests {

TEST_CASE("writing to a result of a replay does not change later results", "[replay][traps]") {
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

TEST_CASE("results of every size own their memory, whichever thread frees them", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script("def forward(self, x):\n    return x * 2 + 1\n"))};
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
    std::thread([&] { CHECK(at::equal(runtime.clone()(x).toTensor(), expected)); }).join();
    CHECK(at::equal(last, expected));
  }
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
    turned.t_();  // the caller's change of the view does not affect the next call
    expanded.transpose_(0, 1);
  }
  CHECK(runtime.replayed_calls() == 3);
}

TEST_CASE("managed outputs are recycled in a replay when no reference is left", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall), {.memory = {.manage_outputs = true}})};
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
  // Its metadata were changed, so it is not recycled.
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

TEST_CASE("run_into takes buffers of any origin, and writes to no other tensor", "[replay]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    return x * 2 + 1\n"), {.numerics = Numerics::exact})};
  const at::Tensor x = sample({2, 3}), expected = x * 2 + 1;
  const auto writes = [&](const at::Tensor& buffer) {
    const std::uint64_t before = runtime.replayed_calls();
    runtime.run_into({x}, {buffer});
    CHECK(runtime.replayed_calls() == before + 1);
    return at::equal(buffer, expected);
  };
  for (int run = 0; run < 3; ++run) runtime(x);

  const at::Tensor whole = at::zeros({4, 3});
  CHECK(writes(whole.narrow(0, 1, 2)));
  CHECK(at::equal(whole[0], at::zeros({3})));
  CHECK(at::equal(whole[3], at::zeros({3})));

  const at::Tensor kept = at::zeros({2, 3});
  CHECK(writes(at::_lazy_clone(kept)));
  CHECK(at::equal(kept, at::zeros({2, 3})));

  at::Tensor of_inference_mode;
  {
    const c10::InferenceMode inference_mode;
    of_inference_mode = at::empty({2, 3});
  }
  CHECK(writes(of_inference_mode));

  CHECK_THROWS_AS(runtime.run_into({x}, {at::Tensor()}), ArgumentError);
  at::Tensor gone = at::empty({2, 3});
  gone.storage().unsafeGetStorageImpl()->set_data_ptr(at::DataPtr());
  CHECK_THROWS_AS(runtime.run_into({x}, {gone}), ArgumentError);
  CHECK(writes(kept));
}

TEST_CASE("a call takes no reference to variables of the caller", "[replay]") {
  StaticRuntime<> runtime{StaticModule(
      script("def forward(self, x, y, z: List[Tensor], n: int):\n    return x, torch.mm(y, z[0]) + n\n"))};
  const at::Tensor x = sample({2, 2});
  const c10::IValue y = sample({2, 2});
  c10::IValue z = std::vector<at::Tensor>{sample({2, 2})};
  const c10::IValue wrong = std::vector<at::Tensor>{sample({3, 2})};
  for (int run = 0; run < 5; ++run) {
    const auto result = runtime(x, y, z, run).toTuple();
    CHECK(result->elements()[0].toTensor().is_same(x));
    CHECK(at::allclose(result->elements()[1].toTensor(), at::mm(y.toTensor(), z.toTensorVector()[0]) + run));
    CHECK(x.use_count() == 2);  // also held by the result
    CHECK(y.use_count() == 1);
    CHECK(z.use_count() == 1);
    CHECK_THROWS(runtime(x, y, wrong, run));
    CHECK_THROWS_AS(runtime(x, y), ArgumentError);
    CHECK(x.use_count() == 2);
    CHECK(wrong.use_count() == 1);
  }
  CHECK(runtime.replayed_calls() == 2);  // the number differs in each call, and can be a symbol from 2 on
  for (int run = 0; run < 5; ++run) runtime(x, y, z, 9);
  CHECK(runtime.replayed_calls() == 7);
  const auto last = runtime(at::Tensor(x), c10::IValue(y), std::move(z), 9).toTuple();
  CHECK(z.isNone());
  CHECK(last->elements()[0].toTensor().is_same(x));
  CHECK(x.use_count() == 2);
  CHECK(y.use_count() == 1);
}

TEST_CASE("an argument whose storage was freed throws, with and without a plan", "[replay][traps]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall))};
  const at::Tensor x = sample({4, 3}), y = sample({3}), gone = sample({4, 3});
  gone.storage().unsafeGetStorageImpl()->set_data_ptr(at::DataPtr());
  for (int run = 0; run < 4; ++run) {
    CHECK_THROWS_AS(runtime(gone, y), ArgumentError);
    CHECK(at::equal(runtime(x, y).toTensor(), small(x, y)));
  }
  CHECK(runtime.replayed_calls() > 0);
}

}  // namespace sr::test::replay_results_tests
