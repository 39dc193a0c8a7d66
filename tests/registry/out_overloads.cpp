// Defects that ./dev test conformance found: operators whose `.out` overload, or whose deviation from their
// schema, made sr wrong, and arguments with a storage offset.
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::found_by_conformance_tests {

namespace {

using Runs = std::vector<InputSet>;

void check(const std::string& parameters, const std::string& expression, const Runs& runs) {
  INFO(expression);
  check_script("def forward(self, " + parameters + "):\n    return " + expression + "\n", runs);
}

}  // namespace

TEST_CASE("ihfftn leaves its output empty", "[oracle][defects]") {
  check("x", "torch.fft_ihfftn(x)", {{sample({31})}, {sample({8})}, {sample({31})}});
  check("x", "torch.fft_ihfftn(x)", {{sample({31}, at::kBool)}, {sample({4, 6}, at::kBool)}});
}

TEST_CASE("diff of nothing", "[oracle][defects]") {
  check("x", "torch.diff(x, 1, 0)", {{sample({5})}, {sample({0})}, {sample({5})}, {sample({0, 3})}});
  check("x", "torch.diff(x, 2, -1)", {{sample({3, 5})}, {sample({3, 0})}, {sample({3, 1})}});
}

TEST_CASE("conj_physical returns real tensors as they are", "[oracle][defects]") {
  check("x", "torch.conj_physical(x)",
        {{sample({2, 3})}, {sample({2, 3}, at::kComplexFloat)}, {sample({2, 3})}});
}

TEST_CASE("batch norm of its own statistics in another memory format", "[oracle][defects]") {
  const at::Tensor rows = sample({1, 2, 3}, at::kBFloat16);
  check("x", "torch._native_batch_norm_legit(x, None, None, True, 0.5, 1e-5)",
        {{rows}, {transposed(rows)}, {rows}});
}

TEST_CASE("native_batch_norm of bfloat16 in another memory format", "[oracle][defects]") {
  const at::Tensor x = sample({5, 5, 5}, at::kBFloat16), weight = sample({5}, at::kBFloat16);
  check("x, w", "torch.native_batch_norm(x, w, w, None, None, True, 0.5, 0.6)",
        {{x, weight}, {transposed(x), weight}, {x, weight}, {x.slice(0, 0, 1).expand({5, 5, 5}), weight}});
}

TEST_CASE("mean of whole volumes of half floats", "[oracle][defects]") {
  check("x", "torch.adaptive_avg_pool3d(x, [1, 1, 1])",
        {{sample({1, 8, 4, 3, 7}, at::kHalf)}, {sample({2, 8, 4, 3, 7}, at::kHalf)}});
}

TEST_CASE("binary cross entropy of another size than before", "[oracle][defects]") {
  const auto set = [](at::IntArrayRef sizes) { return InputSet{at::rand(sizes), at::rand(sizes)}; };
  check("x, y", "torch.binary_cross_entropy(x, y, None, 1)", {set({}), set({5, 5}), set({3}), set({})});
}

TEST_CASE("normal of another size than before", "[oracle][defects]") {
  const std::string source =
      "def forward(self, x):\n    torch.manual_seed(1)\n    return torch.normal(x, 1.5) * 2\n";
  check_script(source, {{sample({2, 3})}, {sample({2, 0})}, {sample({4, 3})}, {sample({2, 3})}});
}

TEST_CASE("views in another dtype of arguments with an offset", "[oracle][defects]") {
  const at::Tensor wide = sample({4, 9}, at::kComplexDouble);
  const Runs runs = {{sample({4, 4}, at::kComplexDouble)},
                     {stepped(sample({4, 4}, at::kComplexDouble))},
                     {wide.slice(1, 3, 7)}};
  check("x", "torch.view_as_real(x) * 2", runs);
  check("x", "torch.view_as_real(x)", runs);
  const at::Tensor pairs = sample({9, 2});
  const Runs real = {
      {sample({4, 2})}, {pairs.slice(0, 3, 7)}, {pairs.flatten().slice(0, 3, 11).view({4, 2})}};
  check("x", "torch.view_as_complex(x) * 2", real);
  check("x", "torch.view_as_complex(x)", real);
}

// The oracle's interpreter runs below autograd, as sr does; a user's does not.
TEST_CASE("products with conjugates", "[defects]") {
  const at::Tensor a = sample({33, 4}, at::kComplexFloat), b = sample({2, 33}, at::kComplexFloat);
  torch::jit::Module module =
      script("def forward(self, a, b):\n    return torch.matmul(a.t().conj(), b.t())\n");
  StaticModuleOptions exact;
  exact.numerics = Numerics::exact;
  StaticRuntime<> runtime{StaticModule(module, exact)};
  const at::NoGradGuard no_grad;
  for (const at::Tensor& first : {a, a, a * 2, a, a.clone()}) {
    CHECK(at::equal(runtime(first, b).toTensor(), module.forward({first, b}).toTensor()));
  }
}

TEST_CASE("copies of memory beside a view", "[oracle][defects]") {
  const at::Tensor wide = sample({9});
  const at::Tensor view = wide.slice(0, 4, 8);
  check("x", "torch.as_strided_copy(x, [2, 2], [2, 1], 0)", {{wide}, {view}, {wide}, {stepped(wide)}});
  check("x", "torch.as_strided_scatter(x, torch.zeros([2, 2]), [2, 2], [2, 1], 0)", {{wide}, {sample({9})}});
}

TEST_CASE("an operator that puts other tensors into the list it is given", "[oracle][defects]") {
  const at::Tensor mask = sample({4}, at::kBool);
  const auto indices = [](std::int64_t first) { return (at::arange(4, at::kLong) + first).remainder(5); };
  check_script(
      "def forward(self, x, mask, i):\n"
      "    indices: List[Optional[Tensor]] = [i]\n"
      "    return torch._unsafe_masked_index(x, mask, indices, 0.5)\n",
      {{sample({5}), mask, indices(0)}, {sample({5}), mask, indices(3)}, {sample({6}), mask, indices(1)}});
}

}  // namespace sr::test::found_by_conformance_tests
