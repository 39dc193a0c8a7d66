// Tests attention in recorded plans against LibTorch.
#include <limits>
#include <string>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::attention_tests {

TEST_CASE("attention without dropout is deterministic and runs on our kernel", "[replay]") {
  StaticRuntime<> runtime{StaticModule(
      script("def forward(self, q, k, v, m):\n    return torch.scaled_dot_product_attention(q, k, v, m), "
             "torch.scaled_dot_product_attention(q, k, v, is_causal=True)\n"))};
  const at::Tensor q = sample({2, 3, 5, 8}), k = sample({2, 3, 5, 8}), v = sample({2, 3, 5, 8});
  const at::Tensor mask = at::ones({5, 5}, at::kBool).tril();
  for (int run = 0; run < 4; ++run) {
    const auto result = runtime(q, k, v, mask);
    const at::Tensor expected = at::scaled_dot_product_attention(q, k, v, mask);
    for (const c10::IValue& each : result.toTupleRef().elements())
      CHECK(at::allclose(each.toTensor(), expected, 1e-4, 1e-5));
  }
  CHECK(runtime.replayed_calls() == 2);
  for (const PlanReport& plan : runtime.report().plans) CHECK(plan.interpreted == 0);
}

TEST_CASE("attention over several blocks of rows, with scales of either sign", "[replay]") {
  const at::Tensor q = sample({2, 150, 8}), k = sample({2, 140, 8}), v = sample({2, 140, 12});
  const at::Tensor hides = sample({150, 140}) > 0, adds = sample({150, 140});
  for (const char* scale : {"None", "0.3", "-0.5", "0.0"}) {
    for (const char* mask :
         {"None, 0.0, False", "hides, 0.0, False", "adds, 0.0, False", "None, 0.0, True"}) {
      CAPTURE(scale, mask);
      torch::jit::Module module = script(
          "def forward(self, q, k, v, hides, adds):\n    return torch.scaled_dot_product_attention(q, k, "
          "v, " +
          std::string(mask) + ", scale=" + scale + ")\n");
      StaticRuntime<> runtime{StaticModule(module)};
      for (int run = 0; run < 3; ++run)
        CHECK(at::allclose(runtime(q, k, v, hides, adds).toTensor(),
                           module.forward({q, k, v, hides, adds}).toTensor(), 1e-4, 1e-5));
      CHECK(runtime.replayed_calls() == 1);
    }
  }
}

TEST_CASE("attention leaves results that are not finite to LibTorch", "[replay]") {
  torch::jit::Module module =
      script("def forward(self, q, k, v):\n    return torch.scaled_dot_product_attention(q, k, v)\n");
  StaticRuntime<> runtime{StaticModule(module)};
  const at::Tensor q = at::zeros({1, 1, 6, 8}), usual = sample({1, 1, 6, 8});
  at::Tensor with_infinity = usual.clone();
  with_infinity[0][0][2][3] = std::numeric_limits<float>::infinity();
  const auto check = [&](const at::Tensor& v) {
    const at::Tensor expected = module.forward({q, q, v}).toTensor();
    CHECK(at::allclose(runtime(q, q, v).toTensor(), expected, 1e-4, 1e-5, /*equal_nan=*/true));
  };
  for (int run = 0; run < 3; ++run) check(usual);
  const auto replayed = runtime.replayed_calls();
  CHECK(replayed > 0);
  // The sum of six elements of 2e38 overflows, but their mean does not.
  check(at::full_like(usual, 2e38));
  check(with_infinity);
  CHECK(runtime.replayed_calls() == replayed);
  check(usual);
  CHECK(runtime.replayed_calls() == replayed + 1);
}

}  // namespace sr::test::attention_tests
