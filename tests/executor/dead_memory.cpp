// Calls give back what is no longer read: the first one, which has no layout yet, and those that are
// recorded.
#include <cstdint>
#include <string>

#include <ATen/Functions.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/values.hpp"

namespace sr::test::dead_memory_tests {

namespace {

constexpr std::int64_t kBytes = 64 * 1024 * sizeof(float);  // of a result for 64 rows

// Computes a new x of x [n, 1024]; statements are repeated, so that there are some sixty results in turn.
const char* const kStatements[] = {
    // Results of operators of sr and of LibTorch, and views of them.
    "    x = torch.gelu(x) + 1\n    x = torch.flip(x.view(1024, -1), [0]).view(-1, 1024)\n    x = "
    "torch.celu(x)\n",
    // Writes in place, and a view that lives longer than the name of its tensor.
    "    y = torch.sigmoid(x)\n    x = y.t().t()\n    y.mul_(2)\n    x = torch.sin(x)\n",
    // A call that cannot be replayed, since it asks for the offset of an argument.
    "    x = torch.sin(x) + x.storage_offset()\n    x = torch.celu(x) - torch.cos(x)\n",
    // Tensors in lists, which a recording keeps until its end.
    "    y = torch.exp(x - 4)\n    x = torch.stack([y, x]).sum(0)\n    x = torch.sin(x) - torch.cos(x)\n",
};

torch::jit::Module repeated(const char* statements) {
  std::string body;
  for (int i = 0; i < 15; ++i) body += statements;
  return script("def forward(self, x):\n" + body + "    return x\n");
}

}  // namespace

TEST_CASE("calls hold no more than what is still read", "[executor][replay]") {
  for (const char* statements : kStatements) {
    INFO(statements);
    const std::int64_t most = std::string(statements).find("stack") == std::string::npos ? 8 : 60;
    torch::jit::Module module = repeated(statements);
    const at::Tensor x = at::randn({64, 1024});
    const c10::IValue expected = interpret(module, {x});
    CountedMemory memory;
    for (const bool enable_replay : {false, true}) {
      StaticRuntime<> runtime{StaticModule(module, {.debug = {.enable_replay = enable_replay}})};
      for (int call = 0; call < 5; ++call) {
        CAPTURE(enable_replay, call);
        c10::IValue result;
        CHECK(memory.most_during([&] { result = runtime(x); }) <= most * kBytes);
        CHECK(compare_values(expected, result, {.rtol = 1e-4, .atol = 1e-5}, "result") == "");
      }
      const bool has_plan =
          enable_replay && std::string(statements).find("storage_offset") == std::string::npos;
      CHECK(runtime.replayed_calls() == (has_plan ? 3 : 0));
    }
  }
}

TEST_CASE("a call with more rows than were seen before holds no more than what is still read", "[executor]") {
  const torch::jit::Module module = repeated(kStatements[0]);
  StaticRuntime<> runtime{StaticModule(module, {.debug = {.enable_replay = false}})};
  for (int i = 0; i < 3; ++i) runtime(at::randn({64, 1024}));
  const at::Tensor x = at::randn({640, 1024});
  CountedMemory memory;
  CHECK(memory.most_during([&] { runtime(x); }) <= 8 * 10 * kBytes);
}

}  // namespace sr::test::dead_memory_tests
