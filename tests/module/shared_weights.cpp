// Threads share a module's constants without counting references to them.
#include <torch/script.h>

#include <sr/module/prepared_module.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/refcount_watch.hpp"
#include "support/samples.hpp"

namespace sr::test::shared_weights_tests {

namespace {

// The tensors of the module and the objects that they own.
std::vector<const c10::intrusive_ptr_target*> constants_of(const StaticModule& module) {
  std::vector<const c10::intrusive_ptr_target*> found;
  for (const c10::IValue& constant : module.content()->constants) {
    if (!constant.isTensor() || !constant.toTensor().defined()) continue;
    found.push_back(constant.toTensor().unsafeGetTensorImpl());
    found.push_back(constant.toTensor().storage().unsafeGetStorageImpl());
  }
  return found;
}

StaticModule deep_and_wide() {
  return StaticModule(script(
      "def forward(self, ad, user, wide):\n    n = torch.clamp((wide + self.mu) * self.sigma, -10.0, 10.0)\n"
      "    dp = torch.bmm(ad, user.transpose(1, 2)).flatten(1)\n"
      "    return torch.sigmoid(torch.addmm(self.b, torch.cat([dp, n], 1), self.w))\n",
      {{"mu", sample({1, 50})}, {"sigma", sample({1, 50})}, {"w", sample({51, 1})}, {"b", sample({1})}}));
}

}  // namespace

TEST_CASE("the watch sees a reference being taken", "[modules]") {
  const at::Tensor tensor = at::ones({3});
  const RefcountWatch watch({tensor.unsafeGetTensorImpl()});
  const std::size_t before = watch.writes();
  { const at::Tensor copy = tensor; }
  CHECK(before == 0);
  CHECK(watch.writes() == 2);
}

TEST_CASE("a steady run takes no reference to a constant", "[modules][replay]") {
  const StaticModule module = deep_and_wide();
  StaticRuntime<> runtime(module);
  const at::Tensor ad = sample({1, 1, 32}), user = sample({1, 1, 32}), wide = sample({1, 50});
  const std::vector<at::Tensor> out = {at::empty({1, 1})};
  const auto run = [&] {
    runtime(ad, user, wide);
    runtime.run_into({ad, user, wide}, out);
    module({ad, user, wide});
  };
  for (int i = 0; i < 5; ++i) run();
  REQUIRE(constants_of(module).size() >= 8);
  std::size_t writes = 0;
  {
    const RefcountWatch watch(constants_of(module));
    for (int i = 0; i < 10; ++i) run();
    writes = watch.writes();
  }
  CHECK(writes == 0);
}

}  // namespace sr::test::shared_weights_tests
