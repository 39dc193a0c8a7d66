// Modules whose calls write buffers or attributes: one call at a time, copies with their own state, and
// changes that the caller makes to what a branch could write.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <torch/script.h>

#include <sr/module/prepared_module.hpp>
#include <sr/runtime_pool.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/followed.hpp"

namespace sr::test::state_tests {

using Module = torch::jit::Module;

namespace {

// Counts calls in a buffer that it writes, and in an attribute that it assigns.
Module counter() {
  return script(
      "def forward(self, x):\n    self.n += 1\n    self.m = self.m + x.sum()\n    return self.n + self.m\n",
      {{"n", at::zeros({1})}, {"m", at::zeros({1})}});
}

float count(StaticModule& module) {
  return module({at::ones({1})}).toTensor().item<float>();
}

}  // namespace

TEST_CASE("a branch that no call takes does not keep a weight from being followed", "[weights][state]") {
  const std::vector<std::string> bodies{
      "    return torch.relu6_(self.w) + x if self.training else torch.relu6(self.w) + x\n",
      "    if False:\n        self.w.add_(1)\n    return x + self.w.exp()\n",
      "    write = 1 > 2\n    if write:\n        self.w = self.w * 2\n    return x + self.w.exp()\n",
      "    y = torch.dropout_(self.w, 0.5, True) if self.training else torch.dropout(self.w, 0.5, False)\n"
      "    return x + y\n",
      "    return torch.batch_norm(x, None, None, self.w, self.w, self.training, 0.1, 1e-5, False)\n",
      "    v = self.w[2:4].detach()\n    if self.training:\n        v.mul_(2)\n    return x + v.sum()\n",
      "    for i in range(0):\n        self.w.add_(1)\n    return x + self.w.cos()\n",
      "    all = [self.w, self.w * 2]\n    if self.training:\n        all[0].add_(1)\n    return x + all[1] "
      "+ all[0]\n",
      // Sizes decide; no call has as many rows.
      "    if x.size(0) > 1000:\n        self.w.add_(1)\n    return x + self.w.exp()\n",
      "    y = self.w.view(-1)\n    if x.size(0) > 1000:\n        y.add_(1)\n    return x + self.w.exp()\n"};
  for (const std::string& body : bodies) {
    INFO(body);
    const auto module =
        script("def forward(self, x):\n" + body, {{"w", weight({8})}, {"training", c10::IValue(false)}});
    check_follows(module, rows(), more_rows(), add_to("w"));
  }
}

TEST_CASE("an attribute is followed although another object assigns to one of its name", "[weights][state]") {
  Module inner("Inner");
  inner.register_buffer("w", at::zeros({8}));
  inner.define("def forward(self, x):\n    self.w = x[0] * 2\n    return self.w\n");
  Module module("M");
  module.register_buffer("w", weight({8}));
  module.register_module("inner", inner);
  module.define("def forward(self, x):\n    return self.inner.forward(x) + self.w.exp()\n");
  module.eval();
  check_follows(module, rows(), more_rows(), add_to("w"));
}

TEST_CASE("a write of the caller replaces what calls have written", "[state]") {
  Module module =
      script("def forward(self, x):\n    self.n.add_(1)\n    return self.n + x\n", {{"n", at::zeros({1})}});
  const StaticModule made(module);
  const at::Tensor x = at::zeros({1});
  for (int call = 1; call <= 3; ++call) CHECK(made({x}).toTensor().item<float>() == static_cast<float>(call));
  module.attr("n").toTensor().fill_(10);
  for (int call = 11; call <= 13; ++call)
    CHECK(made({x}).toTensor().item<float>() == static_cast<float>(call));
  CHECK(module.attr("n").toTensor().item<float>() == 10);
  module.attr("n").toTensor().set_data(at::zeros({2}));
  CHECK_THROWS_WITH(made({x}),
                    Catch::Matchers::Contains("The tensor 'n', which the model may write, now has"));
}

TEST_CASE("a copy of a module has its own state", "[state]") {
  StaticModule module(counter());
  CHECK(count(module) == 2);
  CHECK(count(module) == 4);
  StaticModule copy = module.clone(), second = copy.clone();
  CHECK(count(copy) == 6);
  CHECK(count(copy) == 8);
  CHECK(count(module) == 6);
  CHECK(count(second) == 6);
}

TEST_CASE("a copy of a module without state is the same module", "[state]") {
  const StaticModule module(linear());
  CHECK(module.content()->state == nullptr);
  CHECK(module.clone().content() == module.content());
}

TEST_CASE("copies share views of one buffer as the module does", "[state]") {
  const at::Tensor all = at::zeros({4});
  Module module = script("def forward(self, x):\n    self.head += x\n    return self.all.sum()\n",
                         {{"all", all}, {"head", all.slice(0, 0, 2)}});
  StaticModule made(module);
  CHECK(count(made) == 2);
  StaticModule copy = made.clone();
  CHECK(count(copy) == 4);
  CHECK(count(copy) == 6);
  CHECK(count(made) == 4);
  CHECK(all.sum().item<float>() == 0);
}

TEST_CASE("an update of weights reaches copies with their own state", "[state][weights]") {
  Module module = script("def forward(self, x):\n    self.n += 1\n    return x * self.w + self.n\n",
                         {{"n", at::zeros({1})}, {"w", at::ones({1})}});
  StaticModule made(module);
  CHECK(count(made) == 2);
  StaticModule copy = made.clone();
  CHECK(count(copy) == 3);
  made.update({{"w", at::full({1}, 5)}}, /*strict=*/false);
  CHECK(count(made) == 7);
  CHECK(count(copy) == 8);
  copy.update({{"w", at::full({1}, 7)}}, /*strict=*/false);
  CHECK(count(made) == 10);
  CHECK(count(copy) == 11);
}

TEST_CASE("a call of a module with state that overlaps another one throws BusyError", "[state][threads]") {
  for (const bool assigns : {false, true}) {
    const std::string write = assigns ? "self.n = self.n + x" : "self.n += x";
    const StaticModule module(script("def forward(self, x):\n    " + write + "\n    return self.n.sum()\n",
                                     {{"n", at::zeros({20000})}}));
    const at::Tensor x = at::ones({20000});
    std::atomic<int> answered = 0, busy = 0;
    std::vector<std::thread> callers;
    for (int i = 0; i < 3; ++i) {
      callers.emplace_back([&, own = StaticRuntime<>(module)]() mutable {
        for (int call = 0; call < 300; ++call) {
          try {
            own(x);
            ++answered;
          } catch (const BusyError& error) {
            CHECK(std::string(error.what()).find("Another call with this state is running") !=
                  std::string::npos);
            ++busy;
          }
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    CHECK(answered + busy == 900);
    CHECK(module({x}).toTensor().item<float>() == static_cast<float>((answered + 1) * 20000));
  }
}

TEST_CASE("a call of a module with state that throws leaves the state as it was", "[state]") {
  Module module = script("def forward(self, x):\n    self.n += 1\n    return self.n + x.view(1)\n",
                         {{"n", at::zeros({1})}});
  StaticModule made(module);
  CHECK_THROWS(made({at::ones({2})}));
  CHECK(count(made) == 2);
}

TEST_CASE("forks of a module with state run within its call", "[state][forks]") {
  Module module = script(
      "def body(self, x):\n    self.n += 1\n    return x + self.n\n"
      "def forward(self, x):\n    future = fork(self.body, x)\n    return torch.wait(future) + self.n\n",
      {{"n", at::zeros({1})}});
  StaticModule made(module);
  CHECK(count(made) == 3);
  StaticModule copy = made.clone();
  CHECK(count(copy) == 5);
  CHECK(count(made) == 5);
}

}  // namespace sr::test::state_tests
