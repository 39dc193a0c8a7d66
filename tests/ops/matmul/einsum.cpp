// einsum in a replay: equations of every kind, against LibTorch.
#include <string>
#include <utility>
#include <vector>

#include <sr/ops/matmul/einsum_equation.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/families.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::einsum_tests {

namespace {

// The program's kernels and other steps for einsum(equation, [x, y]), after comparing it with the
// interpreter.
std::pair<std::size_t, std::size_t> steps_of(const std::string& equation, const InputSet& inputs,
                                             const Attributes& attributes = {}) {
  const std::string second = attributes.empty() ? "y" : "self.w";
  const torch::jit::Module module =
      script("def forward(self, x, y):\n    return torch.einsum('" + equation + "', [x, " + second + "])\n",
             attributes);
  check_model(module, {inputs, inputs, inputs}, close());
  StaticRuntime<> runtime{StaticModule(module)};
  for (int run = 0; run < 3; ++run) runtime(copy_inputs(inputs), {});
  const Report report = runtime.report();
  if (report.plans.empty()) return {};
  return {report.plans[0].kernels, report.plans[0].calls + report.plans[0].interpreted};
}

struct Equation {
  const char* text;
  std::vector<std::int64_t> x, y;
  std::size_t kernels = 1;
};

}  // namespace

TEST_CASE("einsum: equations are read", "[einsum]") {
  const auto equation = replay::read_einsum("b i k, ...k j->b ...ij", {3, 4});
  REQUIRE(equation);
  CHECK(equation->operands[0] == replay::Labels{'b', 'i', 'k'});
  CHECK(equation->operands[1] == replay::Labels{257, 256, 'k', 'j'});
  CHECK(equation->result == replay::Labels{'b', 257, 256, 'i', 'j'});
  const auto without_arrow = replay::read_einsum("...ca,ab", {3, 2});
  REQUIRE(without_arrow);
  CHECK(without_arrow->result == replay::Labels{256, 'b', 'c'});
  CHECK(!replay::read_einsum("ii->i", {2}));
}

TEST_CASE("einsum: products are kernels", "[replay][einsum]") {
  const std::vector<Equation> all{
      {"ij,jk->ik", {5, 7}, {7, 9}},
      {"ij,jk", {5, 7}, {7, 9}},
      {"ij,kj->ki", {5, 7}, {9, 7}},
      {"bij,bjk->ibk", {3, 5, 7}, {3, 7, 4}},
      {"bij,bjk->ikb", {3, 5, 7}, {3, 7, 4}},
      {"ij,jk->ik", {1, 7}, {7, 9}},
      {"ij,jk->ik", {5, 7}, {7, 1}},
      {"i,i->", {7}, {7}},
      {"bij,bjk->bik", {3, 5, 7}, {3, 7, 4}},
      {"bij,bjk->bik", {1, 5, 7}, {1, 7, 4}},
      {"bnik,bnjk->bnij", {2, 3, 5, 8}, {2, 3, 6, 8}},
      {"ibnd,jbnd->bnij", {5, 2, 3, 8}, {6, 2, 3, 8}},
      {"bnij,jbnd->ibnd", {2, 3, 5, 6}, {6, 2, 3, 8}},
      {"ibnd,hnd->ibh", {5, 2, 3, 8}, {10, 3, 8}},
      {"ibh,hnd->ibnd", {5, 2, 10}, {10, 3, 8}},
      {"...ij,...jk->...ik", {2, 3, 4, 5}, {2, 3, 5, 6}},
      {"bd,nd->bn", {4, 8}, {6, 8}},
      // The operand whose dimensions are rows of the result is copied where the summed one is not adjacent in
      // it.
      {"bij,bjk->kbi", {3, 5, 7}, {3, 7, 4}, 2},
      // Their summed dimensions lie in another order in the other operand, which is copied.
      {"abc,cbd->ad", {4, 5, 6}, {6, 5, 7}, 2},
      // Without a sum: a product of elements.
      {"bhd,bmd->bhmd", {2, 3, 8}, {2, 4, 8}},
      {"i,j->ij", {5}, {6}},
      {"ij,ij->ij", {5, 6}, {5, 6}},
      {"ij,ji->ij", {5, 6}, {6, 5}},
      {"ij,ji->ji", {5, 6}, {6, 5}},
      {"bij,j->ibj", {2, 3, 4}, {4}},
  };
  for (const Equation& equation : all) {
    CAPTURE(equation.text, equation.x, equation.y);
    CHECK(steps_of(equation.text, {sample(equation.x), sample(equation.y)}) ==
          std::pair(equation.kernels, std::size_t{0}));
    CHECK(steps_of(equation.text, {sample(equation.x), sample(equation.y)}, {{"w", sample(equation.y)}})
              .second == 0);
  }
}

TEST_CASE("einsum: what is no product of two is LibTorch's", "[replay][einsum]") {
  const std::vector<Equation> all{
      {"ij,kl->ik", {5, 6}, {3, 4}},           // each sums alone
      {"ii,ij->ij", {5, 5}, {5, 6}},           // a diagonal
      {"bij,bjk->bik", {1, 5, 7}, {3, 7, 4}},  // one matrix for all
      {"ij,jk->ik", {5, 1}, {7, 9}},           // sizes of 1 broadcast
      {"ij,jk->ik", {0, 7}, {7, 9}},          {"ij,jk->ik", {5, 0}, {0, 9}},
  };
  for (const Equation& equation : all) {
    CAPTURE(equation.text, equation.x, equation.y);
    steps_of(equation.text, {sample(equation.x), sample(equation.y)});
  }
  steps_of("ij,jk->ik", {sample({5, 6}, at::kDouble), sample({6, 7}, at::kDouble)});
  steps_of("ij,jk->ik", {sample({5, 6}, at::kBFloat16), sample({6, 7}, at::kBFloat16)});
  steps_of("ij,jk->ik", {sample({5, 6}, at::kLong), sample({6, 7}, at::kLong)});
  // Operands in other layouts.
  const at::Tensor wide = sample({2, 16, 12});
  steps_of("bij,bjk->bik", {wide.transpose(1, 2), wide.slice(2, 0, 12, 2)});
  steps_of("bij,bkj->bik", {wide.slice(2, 0, 12, 3), wide.slice(2, 1, 12, 3)});
  steps_of("ij,kj->ik", {sample({1, 6}).expand({5, 6}), sample({7, 6})});
  steps_of("ij,jk->ij", {sample({5, 6}).t().contiguous().t(), sample({6, 1})});
}

TEST_CASE("einsum: of one tensor is a view of it", "[replay][einsum]") {
  const torch::jit::Module module = script(
      "def forward(self, x):\n    y = torch.einsum('ijbn->bnij', [x])\n    return y * 2, y, "
      "torch.einsum('...j->j...', [x])\n");
  const at::Tensor x = sample({4, 5, 2, 3});
  check_model(module, {{x}, {x}, {x}, {sample({1, 5, 1, 3})}, {x}}, close());
  StaticRuntime<> runtime{StaticModule(module)};
  for (int run = 0; run < 3; ++run) {
    const c10::IValue results = runtime(x);
    CHECK(results.toTupleRef().elements()[1].toTensor().is_alias_of(x));
  }
  CHECK(runtime.replayed_calls() == 1);
}

TEST_CASE("einsum: one plan serves all sizes", "[families][einsum]") {
  for (const char* const results :
       {"torch.einsum('bik,bjk->bij', [x, x]), torch.einsum('bhd,bmd->bhmd', [x, x])",
        "torch.einsum('bik,kj->bij', [x, self.w]), torch.einsum('bij->bji', [x]) + 1",
        "torch.einsum('bik,hk->ibh', [x, self.v]), torch.einsum('bik,bjk->ij', [torch.abs(x), "
        "torch.abs(x)])"}) {
    check_family(std::string("def forward(self, x):\n    return ") + results + "\n",
                 [](std::int64_t n) {
                   return InputSet{at::randn({n, 3, 16})};
                 },
                 {{"w", weight({16, 5})}, {"v", weight({5, 16})}});
  }
}

}  // namespace sr::test::einsum_tests
