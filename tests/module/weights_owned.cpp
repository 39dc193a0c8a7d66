// Owners of weights: the caller, the model, or sr alone; and threads and processes that change them.
#include <atomic>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <torch/script.h>

#include <sr/load.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/followed.hpp"

namespace sr::test::weights_owned_tests {

using Module = torch::jit::Module;

TEST_CASE("a weight that the model may write is copied", "[weights]") {
  for (const char* body :
       {"    all = [self.w]\n    all[0].add_(1)\n    return x + self.w\n",
        "    all = [x]\n    all.append(self.w)\n    all[1].add_(1)\n    return x + self.w\n",
        "    view = self.w.view(2, 4)[0]\n    view.add_(1)\n    return x + self.w\n",
        "    y = self.w if x.size(0) < 9 else x\n    y.add_(1)\n    return x + self.w\n"}) {
    INFO(body);
    const at::Tensor w = weight({8}), before = w.clone(), x = sample({4, 8});
    auto module = script(std::string("def forward(self, x):\n") + body, {{"w", w}});
    auto reference = module.deepcopy();
    StaticRuntime<> runtime{StaticModule(module)};
    for (int call = 0; call < 4; ++call)
      CHECK(at::allclose(runtime(x).toTensor(), reference.forward({x}).toTensor()));
    CHECK(at::equal(w, before));
  }
}

TEST_CASE("values that the model writes are its own", "[weights]") {
  Module module = script("def forward(self, x):\n    self.count += 1\n    return x * self.w + self.count\n",
                         {{"count", at::zeros({1})}, {"w", weight({8})}});
  StaticRuntime<> runtime{StaticModule(module)};
  const at::Tensor x = sample({4, 8});
  for (int call = 1; call <= 3; ++call) {
    module.attr("w").toTensor().add_(1);
    CHECK(at::allclose(runtime(x).toTensor(), x * module.attr("w").toTensor() + call));
  }
  CHECK(module.attr("count").toTensor().item<float>() == 0);
}

TEST_CASE("a returned weight is the caller's tensor, also after it was replaced", "[weights]") {
  Module module = script("def forward(self, x):\n    return x + self.w, self.w\n", {{"w", weight({8})}});
  StaticRuntime<> runtime{StaticModule(module)};
  const at::Tensor x = sample({8});
  for (int i = 0; i < 6; ++i) {
    if (i == 3) module.setattr("w", weight({8}));
    const c10::IValue result = runtime(x);
    const auto& elements = result.toTupleRef().elements();
    CHECK(elements[1].toTensor().is_same(module.attr("w").toTensor()));
    CHECK(at::equal(elements[0].toTensor(), x + module.attr("w").toTensor()));
  }
}

TEST_CASE("a weight that is no longer a CPU tensor is rejected by name", "[weights]") {
  Module module = linear();
  StaticRuntime<> runtime{StaticModule(module)};
  const at::Tensor x = sample({4, 8});
  for (int i = 0; i < 3; ++i) runtime(x);
  const at::Tensor before = module.attr("w").toTensor();
  module.setattr("w", at::empty({16, 8}, at::kMeta));
  CHECK_THROWS_WITH(runtime(x), Catch::Matchers::Contains("The weight 'w' is now on meta"));
  module.setattr("w", before);
  const at::NoGradGuard no_grad;
  CHECK(at::allclose(runtime(x).toTensor(), module.forward({x}).toTensor(), 1e-4, 1e-4));
}

TEST_CASE("frozen weights are not compared", "[weights]") {
  Module module = linear();
  const StaticModule frozen(module, {.weights = {.freeze = true}});
  CHECK(frozen.content()->weights->count() == 0);
  std::stringstream archive;
  module.save(archive);
  CHECK(load(archive).content()->weights->count() == 0);
  const StaticModule followed(module);
  CHECK(followed.content()->weights->count() == 2);
}

TEST_CASE("weights that are not followed keep their values when the caller's tensor gets other data",
          "[weights]") {
  const at::NoGradGuard no_grad;
  for (const bool replayed : {false, true}) {
    Module module = script("def forward(self, x):\n    return torch.linear(x, self.w) + self.b\n",
                           {{"w", weight({16, 8})}, {"b", weight({16})}});
    StaticRuntime<> runtime{StaticModule(module, {.weights = {.freeze = true}})};
    const at::Tensor x = sample({4, 8}), expected = module.forward({x}).toTensor();
    if (replayed) {
      for (int i = 0; i < 3; ++i) runtime(x);
    }
    for (const char* name : {"w", "b"}) {
      const at::Tensor tensor = module.attr(name).toTensor();
      const at::Tensor memory = tensor.alias();  // so that the test reads no memory that was given back
      tensor.set_data(at::full_like(tensor, 77));
      CHECK(memory.use_count() == 1);
      CHECK(memory.storage().use_count() > 1);
    }
    for (int i = 0; i < 3; ++i) CHECK(at::allclose(runtime(x).toTensor(), expected, 1e-4, 1e-4));
  }
}

TEST_CASE("a loaded module that returns a weight follows it", "[weights]") {
  std::stringstream archive;
  script("def forward(self, x):\n    return torch.linear(x, self.w), self.w\n", {{"w", weight({8, 8})}})
      .save(archive);
  StaticRuntime<> runtime{load(archive)};
  const at::Tensor x = sample({4, 8});
  for (int i = 0; i < 6; ++i) {
    const c10::IValue result = runtime(x);
    const at::Tensor w = result.toTupleRef().elements()[1].toTensor();
    CHECK(at::allclose(result.toTupleRef().elements()[0].toTensor(), x.matmul(w.t()), 1e-4, 1e-4));
    w.add_(1);
  }
}

TEST_CASE("no call mixes old and new values of a weight that is replaced meanwhile", "[weights][threads]") {
  Module module("M");
  module.register_parameter("w", at::ones({32, 8}).requires_grad_(true), false);
  module.define(
      "def forward(self, x):\n    return torch.cat([torch.linear(x, self.w), torch.linear(x, self.w + 0), "
      "x @ self.w.t()], 1)\n",
      std::make_shared<ScriptResolver>());
  module.eval();
  const StaticModule shared(module);
  const at::Tensor x = at::ones({4, 8});
  std::atomic<bool> stop = false;
  std::atomic<int> mixed = 0, calls = 0;
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&] {
      while (!stop) {
        const at::Tensor result = shared({x}).toTensor();
        if (!at::equal(result, result[0][0].expand(result.sizes()))) ++mixed;
        ++calls;
      }
    });
  }
  std::vector<at::Tensor>
      kept;  // LibTorch, too, fails if a storage is read while its last reference is released
  for (int k = 2; k < 60; ++k) {
    kept.push_back(module.attr("w").toTensor().detach());
    module.attr("w").toTensor().set_data(at::full({32, 8}, k, at::kFloat));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
  CHECK(mixed == 0);
  CHECK(calls > 100);
}

TEST_CASE("a child process follows weights whose lock a thread of the parent held", "[weights]") {
  Module module = linear();
  Ways ways(module, rows());
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) ways.module().refresh_weights();
  });
  for (int i = 0; i < 8; ++i) {
    CHECK(succeeds_in_child([&] {
      module.attr("w").toTensor().add_(1);
      const at::NoGradGuard no_grad;
      const at::Tensor expected = module.forward(rows()).toTensor();
      return at::allclose(ways.runtime()(rows()).toTensor(), expected, 1e-4, 1e-4);
    }));
  }
  stop = true;
  writer.join();
}

}  // namespace sr::test::weights_owned_tests
