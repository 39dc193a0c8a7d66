// What a StaticModule itself offers: calls on its pool, and what the model takes and returns.
#include <chrono>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace sr::test::static_module_tests {

namespace {

StaticModule scale_and_shift() {
  return StaticModule(
      script("def forward(self, x, by: float, n: int = 3):\n    return x * by + n, x.sum()\n"));
}

}  // namespace

TEST_CASE("a module has the functions of its pool", "[runtime]") {
  const StaticModule module = scale_and_shift();
  const at::Tensor x = at::ones({2, 3});
  module.reserve({x, 2.0}, {}, 2);
  CHECK(module.report().pool.made == 2);
  for (int call = 0; call < 3; ++call)
    CHECK(module({x, 2.0}).toTupleRef().elements()[0].toTensor().equal(at::full({2, 3}, 5.0)));
  CHECK(module({x, 2.0}, {{"n", 1}}, CallOptions{})
            .toTupleRef()
            .elements()[0]
            .toTensor()
            .equal(at::full({2, 3}, 3.0)));
  const std::vector<at::Tensor> outputs{at::empty({2, 3}), at::empty({})};
  module.run_into({x, 2.0, 4}, outputs);
  CHECK(outputs[0].equal(at::full({2, 3}, 6.0)));
  CHECK(outputs[1].item<float>() == 6);
  const auto future = module.run_async({x, 2.0});
  future->waitAndThrow();
  CHECK(future->value().toTupleRef().elements()[1].toTensor().item<float>() == 6);
  const CallMetrics figures = module.metrics();
  CHECK(figures.calls >= 6);
  CHECK(figures.replayed >= 3);
  module.trim();
  CHECK(module.report().pool.made <= 1);
}

TEST_CASE("a cancelled call of a module throws CancelledError", "[runtime]") {
  const StaticModule module = scale_and_shift();
  CallOptions options;
  options.deadline = CallOptions::Clock::now() - std::chrono::seconds(1);
  CHECK_THROWS_AS(module({at::ones({2}), 2.0}, {}, options), CancelledError);
  CHECK_NOTHROW(module({at::ones({2}), 2.0}));
}

TEST_CASE("a module describes its arguments and results", "[runtime]") {
  const StaticModule module = scale_and_shift();
  const std::vector<ValueSpec> inputs = module.inputs();
  REQUIRE(inputs.size() == 3);
  CHECK((inputs[0].name == "x" && inputs[1].name == "by" && inputs[2].name == "n"));
  CHECK((inputs[0].type == "Tensor" && inputs[1].type == "float" && inputs[2].type == "int"));
  CHECK_FALSE(inputs[0].dtype);
  CHECK_FALSE(inputs[0].sizes);
  CHECK_FALSE(inputs[1].default_value);
  REQUIRE(inputs[2].default_value);
  CHECK(inputs[2].default_value->toInt() == 3);
  REQUIRE(module.outputs().size() == 1);
  CHECK(module.outputs()[0].type == "Tuple[Tensor, Tensor]");
}

}  // namespace sr::test::static_module_tests
