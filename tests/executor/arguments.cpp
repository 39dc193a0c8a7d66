// How a runtime is called: positional and keyword arguments, defaults, buffers of the caller, futures.
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/samples.hpp"

namespace sr::test::arguments_tests {

namespace {

at::Tensor f32(at::IntArrayRef sizes = {2, 3}) {
  return sample(sizes);
}

}  // namespace

TEST_CASE("arguments: keywords, defaults and every mistake", "[modules][errors]") {
  const StaticModule module(
      script("def forward(self, x, y: int = 2, z: Optional[Tensor] = None):\n    r = x * y\n"
             "    if z is not None:\n        r = r + z\n    return r\n"));
  StaticRuntime<> runtime{module};
  const at::Tensor x = f32();
  CHECK(at::equal(runtime(x).toTensor(), x * 2));
  CHECK(at::equal(runtime({x}, {{"y", 3}}).toTensor(), x * 3));
  CHECK(at::equal(runtime({}, {{"z", x}, {"x", x}}).toTensor(), x * 2 + x));
  CHECK(at::equal(runtime(x, 4, x).toTensor(), x * 4 + x));
  const auto refused = [&](std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                           const std::string& named) {
    try {
      runtime(std::move(args), kwargs);
      FAIL_CHECK("accepted, expected a message naming " << named);
    } catch (const ArgumentError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(named) != std::string::npos);
    }
    CHECK(at::equal(runtime(x).toTensor(), x * 2));
  };
  refused({}, {}, "'x'");
  refused({x, 1, x, x}, {}, "4 positional");
  refused({x}, {{"w", 1}}, "'w'");
  refused({x}, {{"x", x}}, "'x'");
  refused({1}, {}, "'x'");
  refused({x, x}, {}, "'y'");
  refused({x, 1.5}, {}, "'y'");
  refused({x, c10::IValue()}, {}, "'y'");
  refused({x}, {{"z", std::string("text")}}, "'z'");
  refused({at::empty({2, 3}, at::kMeta)}, {}, "'x'");
  refused({x, 1, at::empty({2, 3}, at::kMeta)}, {}, "'z'");
  CHECK(x.use_count() == 1);
}

TEST_CASE("run_into and run_async", "[modules][errors]") {
  StaticModuleOptions exact;
  exact.numerics = Numerics::exact;
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    return torch.exp(x * 2), torch.mm(x, x)\n"), exact)};
  const at::Tensor x = f32({3, 3});
  const std::vector<at::Tensor> outputs = {at::empty({3, 3}), at::empty({3, 3}).t()};
  for (int i = 0; i < 3; ++i) {
    runtime.run_into({x}, outputs);
    CHECK(at::equal(outputs[0], (x * 2).exp()));
    CHECK(at::allclose(outputs[1], x.mm(x)));
  }
  CHECK_THROWS_AS(runtime.run_into({x}, {outputs[0]}), ArgumentError);
  CHECK_THROWS_AS(runtime.run_into({x}, {outputs[0], at::empty({2, 2})}), ArgumentError);
  CHECK(runtime.run_async({x})->value().isTuple());
  CHECK(runtime.run_async({f32({2, 3})})->hasError());
  CHECK(runtime.run_async({x})->value().isTuple());
}

}  // namespace sr::test::arguments_tests
