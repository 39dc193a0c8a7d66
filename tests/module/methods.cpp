// Methods of a TorchScript module besides forward, on the state of sessions and modules.
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace sr::test::method_tests {

namespace {

using Catch::Matchers::Contains;

torch::jit::Module model() {
  torch::jit::Module module("Model");
  torch::jit::Module inner("Inner");
  inner.register_buffer("h", at::zeros({3}));
  inner.define("def forward(self, x):\n    self.h.add_(x)\n    return self.h * 1\n");
  module.register_module("inner", inner);
  module.register_buffer("w", at::full({3}, 0.5));
  module.register_attribute("n", c10::IntType::get(), c10::IValue(0));
  module.register_attribute("scale", c10::FloatType::get(), c10::IValue(2.0));
  module.register_attribute("last", c10::TensorType::get(), at::zeros({3}));
  module.register_attribute("maybe", c10::OptionalType::ofTensor(), c10::IValue());
  module.register_attribute("seen", c10::ListType::ofTensors(), c10::List<at::Tensor>());
  module.define(
      "def forward(self, x):\n"
      "    self.n += 1\n"
      "    self.last = x * self.w\n"
      "    if self.maybe is None:\n"
      "        self.maybe = x + 1\n"
      "    self.seen.append(x)\n"
      "    if len(self.seen) > 2:\n"
      "        self.seen.pop(0)\n"
      "    return self.inner.forward(self.last) * self.n * self.scale\n"
      "def reset_states(self):\n"
      "    self.inner.h.zero_()\n"
      "    self.n = 0\n"
      "    self.maybe = None\n"
      "    self.seen = []\n"
      "def look(self, k: int = 1):\n"
      "    return self.inner.h * self.w + self.last * k, self.n, self.maybe, len(self.seen)\n"
      "def halve(self, x):\n"
      "    self.inner.h.mul_(0.5)\n"
      "    return self.inner.h + x\n"
      "def set_scale(self, scale: float):\n"
      "    self.scale = scale\n");
  return module;
}

// A stream of calls, and a copy of the model that the interpreter runs.
struct Stream {
  Session session;
  torch::jit::Module reference;

  void check(const std::string& method, const InputSet& inputs) {
    CAPTURE(method);
    const torch::jit::GraphOptimizerEnabledGuard as_written(false);  // it would make one constant of each []
    const c10::IValue expected = reference.get_method(method)(copy_inputs(inputs));
    const c10::IValue found = method == "forward" ? session(inputs) : session.method(method)(inputs);
    CHECK(difference(expected, found) == "");
    for (const auto& [name, value] : session.state()) {
      CAPTURE(name);
      const c10::IValue wanted =
          name == "inner.h" ? reference.attr("inner").toModule().attr("h") : reference.attr(name);
      CHECK(difference(wanted, value) == "");
    }
  }
};

}  // namespace

TEST_CASE("methods read and write the state of their session", "[session][methods]") {
  const torch::jit::Module given = model();
  const StaticModule module(given);
  CHECK(module.methods() == std::vector<std::string>{"reset_states", "look", "halve", "set_scale"});
  Stream a{module.session(), given.deepcopy()}, b{module.session(), given.deepcopy()};
  for (int step = 0; step < 12; ++step) {
    CAPTURE(step);
    const at::Tensor x = at::full({3}, step);
    a.check("forward", {x});
    a.check("look", {3});
    if (step % 4 == 3) a.check("reset_states", {});
    if (step % 3 == 1) a.check("halve", {x});
    if (step % 2 == 0) b.check("forward", {x});
    b.check("look", {1});
    if (step == 7) b.check("halve", {x});
  }
  CHECK(module.method("look").metrics().replayed > 5);
  CHECK(module.method("halve").metrics().replayed > 0);
  // Further functions of a session, and the state of the module's own calls.
  const Session look = a.session.method("look");
  CHECK(look.schema().arguments().size() == 1);
  look.clone().reset();
  a.check("look", {1});
  module({at::ones({3})});
  CHECK(module.method("look")({}).toTupleRef().elements()[1].toInt() == 1);
  module.method("reset_states")({});
  CHECK(Session::own(module).state().at("n").toInt() == 0);
  CHECK(given.attr("n").toInt() == 0);
}

TEST_CASE("a method that cannot run on the state is refused", "[session][methods]") {
  const StaticModule module(model());
  const Session session = module.session();
  CHECK_THROWS_WITH(session.method("reset"), Contains("no method 'reset'") && Contains("'reset_states'"));
  CHECK_THROWS_WITH(session.method("set_scale"),
                    Contains("writes the attribute 'scale', which `forward` does not write"));
  CHECK_THROWS_AS(session.method("forward"), ArgumentError);
  const StaticModule stateless(
      script("def forward(self, x):\n    return x\ndef more(self, x):\n    return x\n"));
  CHECK(stateless.methods().empty());
  CHECK_THROWS_WITH(stateless.session().method("more"), Contains("It has none besides `forward`"));
  CHECK_THROWS_WITH(session.method("halve")({at::ones({4})}), Contains("must match the size"));
  CHECK(session.method("look")({}).toTupleRef().elements()[1].toInt() == 0);
}

TEST_CASE("methods follow updates of weights", "[session][methods]") {
  const StaticModule module(model());
  const Session session = module.session();
  session({at::ones({3})});
  const auto look = [&](const Session& of) {
    return of.method("look")({1}).toTupleRef().elements()[0].toTensor();
  };
  for (const double weight : {2.0, 3.0}) {
    module.update({{"w", at::full({3}, weight)}}, /*strict=*/false);
    CHECK(at::allclose(look(session), at::full({3}, 0.5 * weight + 0.5)));
  }
  const Session of_clone = module.clone().session();
  of_clone({at::ones({3})});
  CHECK(at::allclose(look(of_clone), at::full({3}, 3.0 * 3.0 + 3.0)));
}

}  // namespace sr::test::method_tests
