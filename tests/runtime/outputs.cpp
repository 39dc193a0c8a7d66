// Tests the lifetime of outputs: when they are recycled, as inputs of the next call, and after the runtime is
// gone.
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/guard_pages.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::outputs_tests {

TEST_CASE("managed outputs are recycled only when no reference is left", "[modules]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    y = x * 2\n    return torch.exp(y)\n"),
                   {.memory = {.manage_outputs = true}})};
  const at::Tensor x = sample({2, 3});
  runtime(x);
  runtime(x);
  const void* dropped = runtime(x).toTensor().const_data_ptr();
  const at::Tensor first = runtime(x).toTensor();
  CHECK(first.const_data_ptr() == dropped);
  const at::Tensor kept = first.clone();
  const at::Tensor second = runtime(x + 1).toTensor();
  CHECK(second.const_data_ptr() != first.const_data_ptr());
  CHECK(at::equal(first, kept));
  CHECK(at::allclose(first, (x * 2).exp()));
  at::Tensor view = runtime(x).toTensor()[0];  // holds the storage, not the tensor
  const at::Tensor values = view.clone();
  runtime(x + 5);
  runtime(x + 6);
  CHECK(at::equal(view, values));
}

TEST_CASE("the output of one run is the input of the next", "[modules]") {
  for (const bool managed : {false, true}) {
    StaticRuntime<Poison> runtime{
        StaticModule(script("def forward(self, x):\n    y = x * 0.5\n    return torch.relu(y) + 1\n"),
                     {.memory = {.manage_outputs = managed}})};
    at::Tensor ours = sample({4, 4}), theirs = ours;
    std::vector<at::Tensor> held;
    for (int i = 0; i < 6; ++i) {
      ours = runtime(ours).toTensor();
      theirs = (theirs * 0.5).relu() + 1;
      if (i % 2 == 0) held.push_back(ours);
      CHECK(at::equal(ours, theirs));
    }
  }
}

TEST_CASE("outputs outlive the runtime and the module", "[modules]") {
  for (const bool managed : {false, true}) {
    std::vector<at::Tensor> held;
    const at::Tensor x = sample({2, 3});
    {
      StaticRuntime<GuardPages> runtime{
          StaticModule(script("def forward(self, x):\n    y = x * 2\n    z = y.t()\n    return z, y + 1\n"),
                       {.memory = {.manage_outputs = managed}})};
      for (int i = 0; i < 3; ++i) {
        const c10::IValue result = runtime(x);
        held.push_back(result.toTupleRef().elements()[0].toTensor());
        held.push_back(result.toTupleRef().elements()[1].toTensor());
      }
    }
    for (std::size_t i = 0; i < held.size(); ++i)
      CHECK(at::equal(held[i], i % 2 == 0 ? (x * 2).t() : x * 2 + 1));
  }
}

}  // namespace sr::test::outputs_tests
