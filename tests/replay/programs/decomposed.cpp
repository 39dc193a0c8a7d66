// Operators of exported programs after run_decompositions(). Kernels compute them, and one plan serves all
// sizes.
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace sr::test::decomposed_tests {
namespace {

struct Decomposed {
  std::string expression;  // of x [n, 4, 6] and ids [n, 3]
  std::size_t kernels;     // the least number
};

const std::vector<Decomposed> kExpressions{
    {"torch.native_layer_norm(x, [6], None, None, 1e-5)[0]", 1},
    {"torch.native_group_norm(x, self.channels, None, x.size(0), 4, 6, 2, 1e-5)[0]", 1},
    {"torch._native_batch_norm_legit_no_training(x, self.channels, None, self.channels, "
     "self.channels, "
     "0.1, 1e-5)[0]",
     1},
    {"torch._embedding_bag(self.table, ids.view(-1), torch.arange(0, ids.numel(), 3))[0]", 1},
    {"torch._embedding_bag_forward_only(self.table, ids.view(-1), torch.arange(0, ids.numel(), 3), "
     "False, "
     "1)[0]",
     1},
    {"x.transpose(0, 1).clone(memory_format=0) + 1", 1},
    {"x.transpose(0, 1).clone() + 1, x[:, 1:].clone() * 2", 2},
    {"x.mean([2], True).squeeze([2]) * 2", 2},
    {"torch.convolution(x, self.window, self.channels, [1], [1], [1], False, [0], 1)", 1},
};

TEST_CASE("decomposed operators are kernels of plans for all sizes", "[families]") {
  for (const Decomposed& each : kExpressions) {
    CAPTURE(each.expression);
    torch::jit::Module module = script(
        "def forward(self, x, ids):\n    return " + each.expression + "\n",
        {{"channels", at::rand({4}) + 1}, {"table", at::randn({10, 8})}, {"window", at::randn({4, 4, 3})}});
    StaticRuntime<> runtime{StaticModule(module)};
    for (const std::int64_t n : {3, 5, 7, 2, 9}) {
      const InputSet inputs{at::randn({n, 4, 6}), at::randint(10, {n, 3}, at::kLong)};
      CHECK(difference(interpret(module, copy_inputs(inputs)), runtime(copy_inputs(inputs), {}), close()) ==
            "");
    }
    const Report report = runtime.report();
    CHECK(report.pinned_by.empty());
    REQUIRE(report.plans.size() == 1);
    CHECK(!report.plans[0].conditions.empty());
    CHECK(report.plans[0].kernels >= each.kernels);
    CHECK(report.plans[0].interpreted == 0);
  }
}

TEST_CASE("statistics that are read are LibTorch's", "[families]") {
  for (const std::string expression :
       {"torch.native_layer_norm(x, [6], None, None, 1e-5)",
        "torch.native_group_norm(x, None, None, x.size(0), 4, 6, 2, 1e-5)",
        // Four images of n channels each: the shape that is given, and not that of x.
        "torch.native_group_norm(x, None, None, 4, x.size(0), 6, 1, 1e-5)[0]",
        "torch._native_batch_norm_legit_no_training(x, None, None, x[0, :, 0], x[0, :, 0] ** 2, "
        "0.1, 1e-5)",
        "torch._embedding_bag(x[0], (x[0] > 0).long().view(-1), torch.arange(0, x.size(0)), False, 1, False, "
        "None, "
        "False, 1)"}) {
    CAPTURE(expression);
    torch::jit::Module module = script("def forward(self, x):\n    return " + expression + "\n");
    StaticRuntime<> runtime{StaticModule(module)};
    for (const std::int64_t n : {4, 6, 4, 8, 2}) {
      const InputSet inputs{at::randn({n, 4, 6})};
      CHECK(difference(interpret(module, copy_inputs(inputs)), runtime(copy_inputs(inputs), {}), close()) ==
            "");
    }
  }
}

}  // namespace
}  // namespace sr::test::decomposed_tests
