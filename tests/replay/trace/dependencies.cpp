// Properties of tensors that a signature does not hold. A call that asks for one makes no plan, or each
// replay asks again.
#include <string>
#include <vector>

#include <c10/core/InferenceMode.h>
#include <torch/script.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"

namespace sr::test::dependencies_tests {
namespace {

// Each set several times, and then all in turn: the answer for one set must not be used for another.
void check_in_turn(const torch::jit::Module& model, const std::vector<InputSet>& sets,
                   const OracleOptions& options = {}) {
  std::vector<InputSet> runs;
  for (const InputSet& set : sets) runs.insert(runs.end(), 4, set);
  for (int turn = 0; turn < 2; ++turn) runs.insert(runs.end(), sets.begin(), sets.end());
  check_model(model, runs, options);
}

}  // namespace

TEST_CASE("as_strided counts from the beginning of its argument's storage", "[replay]") {
  const at::Tensor base = at::arange(12.0);
  check_in_turn(script("def forward(self, x):\n    return x.as_strided([4], [1], 0) * 1.0\n"),
                {{base.slice(0, 0, 4)}, {base.slice(0, 5, 9)}, {base.slice(0, 8, 12)}});
  check_in_turn(
      script("def forward(self, x):\n    y = x + 1.0\n    return y.as_strided([2], [2], 1) * 1.0\n"),
      {{base.slice(0, 0, 4)}, {base.slice(0, 5, 9)}});
}

TEST_CASE("as_strided beyond the storage of its argument throws what the interpreter throws", "[replay]") {
  const torch::jit::Module model = script("def forward(self, x):\n    return x.as_strided([8], [1]) * 1.0\n");
  StaticRuntime<> runtime{StaticModule(model)};
  const at::Tensor base = at::arange(12.0);
  for (int call = 0; call < 4; ++call)
    CHECK(at::equal(runtime(base.slice(0, 0, 4)).toTensor(), base.slice(0, 0, 8)));
  CHECK_THROWS_WITH(runtime(at::arange(4.0)), Catch::Matchers::Contains("out of bounds for storage"));
}

TEST_CASE("storage offsets of arguments are read in each call", "[replay]") {
  const at::Tensor base = at::arange(12.0);
  check_in_turn(script("def forward(self, x):\n    return x.storage_offset(), x + x.storage_offset()\n"),
                {{base.slice(0, 0, 4)}, {base.slice(0, 5, 9)}});
}

TEST_CASE("what autograd, inference mode and the storage know of an argument is asked in each call",
          "[replay]") {
  const at::Tensor plain = at::randn({3, 4}), part = at::randn({30}).slice(0, 0, 12).view({3, 4});
  at::Tensor leaf = at::randn({3, 4}).requires_grad_();
  at::Tensor retains = leaf * 2.0;
  retains.retain_grad();
  const at::Tensor second = (at::randn({6, 4}).requires_grad_() * 1.0).split(3)[1];
  at::Tensor inference;
  {
    const c10::InferenceMode mode;
    inference = at::randn({3, 4});
  }
  for (const char* const question :
       {"x.is_leaf", "x.requires_grad", "torch.output_nr(x) == 1", "torch.retains_grad(x)",
        "torch.is_inference(x)", "torch._has_same_storage_numel(x, torch.zeros([3, 4]))"}) {
    INFO(question);
    torch::jit::Module model = script(std::string("def forward(self, x):\n    n = 0.0\n    if ") + question +
                                      ":\n        n = 8.0\n    return x + n\n");
    StaticRuntime<> runtime{StaticModule(model)};
    for (int turn = 0; turn < 5; ++turn) {
      for (const at::Tensor& x : {plain, part, leaf, retains, second, inference}) {
        const at::Tensor expected = interpret(model, {x}).toTensor();
        CHECK(at::equal(runtime(x).toTensor(), expected));
      }
    }
  }
}

TEST_CASE("the identity of arguments is compared in each call", "[replay]") {
  const at::Tensor x = at::randn({3}), y = at::randn({3});
  check_in_turn(script("def forward(self, x, y):\n"
                       "    z = x + y\n"
                       "    if x is y:\n"
                       "        z = z * 100.0\n"
                       "    return z, x is not y\n"),
                {{x, y}, {x, x}, {y, y}});
  check_in_turn(script("def forward(self, x, y):\n    return torch.is_set_to(x, y), x + y\n"),
                {{x, y}, {x, x}, {x, x.view({3})}});
}

TEST_CASE("comparing an optional argument with None does not compare identities", "[replay]") {
  const torch::jit::Module model = script(
      "def forward(self, x, y: Optional[Tensor]):\n"
      "    if y is None:\n"
      "        return x + 1.0\n"
      "    return x + y\n");
  StaticRuntime<> runtime{StaticModule(model)};
  const at::Tensor x = at::randn({3}), y = at::randn({3});
  for (int call = 0; call < 4; ++call) {
    CHECK(at::equal(runtime(x, y).toTensor(), x + y));
    CHECK(at::equal(runtime(x, c10::IValue()).toTensor(), x + 1.0));
  }
  CHECK(plans(runtime) == 2);
}

TEST_CASE("a list of tensors is sorted by their elements in each call", "[replay]") {
  const auto one = [](double value) { return at::full({}, value); };
  const std::vector<InputSet> sets{
      {one(1), one(2), one(3)}, {one(3), one(1), one(2)}, {one(2), one(2), one(1)}};
  check_in_turn(script("def forward(self, x, y, z):\n"
                       "    l = [x, y, z]\n"
                       "    l.sort()\n"
                       "    return l[0] * 1.0, l[2] * 1.0\n"),
                sets);
  check_in_turn(script("def forward(self, x, y, z):\n"
                       "    l = [x + 0.0, y + 0.0, z + 0.0]\n"
                       "    l.remove(z)\n"
                       "    return l[0] * 1.0, l[1] * 1.0\n"),
                sets);
}

TEST_CASE("narrow by a tensor reads that tensor, also one that shares its storage", "[replay]") {
  const torch::jit::Module model = script("def forward(self, x):\n    return x.narrow(0, x[0], 2) + 1\n");
  check_in_turn(model, {{at::tensor(std::vector<std::int64_t>{0, 5, 6, 7})},
                        {at::tensor(std::vector<std::int64_t>{2, 5, 6, 7})}});
}

TEST_CASE("a text of a tensor is formatted in each call", "[replay]") {
  const torch::jit::Module model = script(
      "def forward(self, x):\n"
      "    return '%s' % x, '{}'.format(x), str(x), x + 1.0\n");
  check_in_turn(model, {{at::ones({2})}, {at::zeros({2})}});
}

TEST_CASE("the elements of a tensor in a list are read in each call", "[replay]") {
  check_in_turn(script("def forward(self, x):\n"
                       "    l: List[float] = x.tolist()\n"
                       "    return l[0] + 1.0, x + l[1]\n"),
                {{at::tensor({1.0, 2.0})}, {at::tensor({3.0, 4.0})}});
}

TEST_CASE("a norm in training writes the statistics it is given", "[replay]") {
  OracleOptions options = close();
  options.rounds = 2;
  const std::vector<InputSet> sets{{at::randn({5, 3}) + 4}, {at::randn({5, 3}) - 2}};
  // Tensors made in the call.
  check_in_turn(script("def forward(self, x):\n"
                       "    m, v = torch.zeros([3]), torch.ones([3])\n"
                       "    y = torch.batch_norm(x, None, None, m, v, True, 0.5, 1e-5, False)\n"
                       "    return y, m, v\n"),
                sets, options);
  // Arguments.
  const auto with_statistics = [&](const at::Tensor& x) {
    return InputSet{x, at::zeros({3}), at::ones({3})};
  };
  check_in_turn(script("def forward(self, x, m, v):\n"
                       "    y = torch.batch_norm(x, None, None, m, v, True, 0.5, 1e-5, False)\n"
                       "    return y, m + 1.0, v * 2.0\n"),
                {with_statistics(sets[0][0].toTensor()), with_statistics(sets[1][0].toTensor())}, options);
}

TEST_CASE("statistics of the module move on with each call, and the caller's stay", "[replay]") {
  const torch::jit::Module model = script(
      "def forward(self, x):\n"
      "    y = torch.batch_norm(x, None, None, self.m, self.v, True, 0.5, 1e-5, False)\n"
      "    return y, x - self.m\n",
      {{"m", at::zeros({3})}, {"v", at::ones({3})}});
  torch::jit::Module reference = model.deepcopy();
  StaticRuntime<> runtime{StaticModule(model)};
  const at::Tensor x = at::randn({5, 3}) + 4;
  for (int call = 0; call < 6; ++call) {
    CAPTURE(call);
    CHECK(difference(interpret(reference, {x}), runtime(x), close()) == "");
  }
  CHECK(at::equal(model.attr("m").toTensor(), at::zeros({3})));
  CHECK(at::equal(model.attr("v").toTensor(), at::ones({3})));
}

}  // namespace sr::test::dependencies_tests
