// StaticModule::update replaces weights by name, while other threads call.
#include <atomic>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <torch/script.h>

#include <sr/load.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/followed.hpp"

namespace sr::test::weight_updates_tests {

using Catch::Matchers::Contains;
using Module = torch::jit::Module;

StateDict state_of(const Module& module) {
  StateDict state;
  for (const auto& entry : module.named_attributes())
    if (entry.value.isTensor()) state.emplace(entry.name, entry.value.toTensor());
  return state;
}

// Other values for all weights.
Module retrained(const Module& module) {
  Module other = module.deepcopy();
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : state_of(other)) tensor.mul_(-1.5).add_(0.25);
  return other;
}

Module tied() {
  const at::Tensor table = weight({10, 8});
  return script(
      "def forward(self, ids):\n    return torch.linear(torch.embedding(self.table, ids), self.head)\n",
      {{"table", table}, {"head", table}});
}

StaticModule from_file(const Module& module, const StaticModuleOptions& options = {}) {
  std::stringstream archive;
  module.save(archive);
  return load(archive, options);
}

TEST_CASE("an update replaces the weights of all runtimes", "[weights]") {
  for (const bool requires_grad : {false, true}) {
    const Module module = linear(requires_grad);
    Ways ways(module, rows());
    for (int time = 0; time < 3; ++time) {
      Module other = retrained(module);
      if (time == 2) other.attr("w").toTensor().set_data(weight({8, 16}).t());
      ways.module().update(state_of(other));
      const at::NoGradGuard no_grad;
      const c10::IValue expected = other.forward(rows());
      for (int call = 0; call < 4; ++call) {
        for (const std::string way : {"StaticModule", "StaticRuntime", "clone", "new runtime"}) {
          ways.each(rows(), [&](const c10::IValue& result, const std::string& name) {
            if (name == way)
              CHECK(compare_values(expected, result, {.rtol = 1e-4, .atol = 1e-4}, "result") == "");
          });
        }
      }
    }
  }
}

TEST_CASE("an update copies the tensors, and the module no longer follows its source", "[weights]") {
  Module module = linear();
  const StaticModule prepared(module);
  const Module other = retrained(module);
  prepared.update(state_of(other));
  const at::NoGradGuard no_grad;
  const c10::IValue expected = other.deepcopy().forward(rows());
  for (int call = 0; call < 4; ++call) {
    module.attr("w").toTensor().add_(1);
    other.attr("w").toTensor().add_(1);
    CHECK(compare_values(expected, prepared(rows()), {.rtol = 1e-4, .atol = 1e-4}, "result") == "");
  }
}

TEST_CASE("an update of some weights leaves the others to the source", "[weights]") {
  Module module = linear();
  const StaticModule prepared(module);
  prepared(rows());
  const at::NoGradGuard no_grad;
  const at::Tensor bias = weight({16});
  prepared.update({{"b", bias}}, /*strict=*/false);
  for (int call = 0; call < 4; ++call) {
    module.attr("w").toTensor().add_(1);
    const at::Tensor expected = at::relu(at::linear(rows()[0].toTensor(), module.attr("w").toTensor(), bias));
    CHECK(at::allclose(prepared(rows()).toTensor(), expected, 1e-4, 1e-4));
  }
}

TEST_CASE("an update converts dtypes and keeps strides", "[weights]") {
  const Module module = linear();
  const StaticModule prepared(module);
  Module other = retrained(module);
  StateDict doubles;
  for (const auto& [name, tensor] : state_of(other)) doubles.emplace(name, tensor.detach().to(at::kDouble));
  prepared.update(doubles);
  for (int call = 0; call < 3; ++call) {
    CHECK(compare_values(other.forward(rows()), prepared(rows()), {.rtol = 1e-4, .atol = 1e-4}, "result") ==
          "");
  }
}

TEST_CASE("an update that does not fit changes nothing", "[weights]") {
  const Module module = linear();
  const StaticModule prepared(module);
  const c10::IValue expected = prepared(rows());
  const auto rejects = [&](StateDict state, bool strict, const std::string& message) {
    CHECK_THROWS_WITH(prepared.update(state, strict), Contains(message));
    CHECK_THROWS_AS(prepared.update(state, strict), ArgumentError);
    for (int call = 0; call < 3; ++call)
      CHECK(compare_values(expected, prepared(rows()), {.rtol = 1e-5, .atol = 1e-5}, "result") == "");
  };
  const at::Tensor w = weight({16, 8}), b = weight({16});
  rejects({{"w", w}}, true, "the parameters 'b' are missing");
  rejects({{"w", w}, {"b", b}, {"c", b}}, true, "the module has no parameter or buffer 'c'");
  rejects({{"w", w}, {"b", weight({1, 16})}}, true, "a tensor of the sizes [1, 16] for the weight 'b'");
  rejects({{"b", b.to(at::kComplexFloat)}}, false, "a tensor of the type ComplexFloat for the weight 'b'");
  rejects({{"b", at::Tensor()}}, false, "an undefined tensor for the weight 'b'");
  rejects({{"w", w}, {"b", b.to_sparse()}}, true, "a tensor that is not dense");
  rejects({{"w", w}, {"b", at::empty({16}, at::kMeta)}}, true, "a tensor that is not dense or has no values");
  StateDict many;
  for (int i = 0; i < 9; ++i) many.emplace("n" + std::to_string(i), b);
  rejects(many, true, "'n0', 'n1', 'n2', 'n3', 'n4' and 4 more");
  prepared.update(many, false);
}

TEST_CASE("tied weights stay tied in an update", "[weights]") {
  const Module module = tied();
  const std::vector<c10::IValue> ids{at::tensor({1, 2, 9})};
  const at::Tensor table = weight({10, 8});
  Module other = module.deepcopy();
  other.setattr("table", table);
  other.setattr("head", table);
  for (const StateDict& state : {StateDict{{"table", table}, {"head", table}}, StateDict{{"table", table}},
                                 StateDict{{"head", table}}}) {
    const StaticModule prepared(module);
    prepared.update(state);
    const auto constants = prepared.content()->weights->current()->constants();
    CHECK(constants.at(0).toTensor().data_ptr() == constants.at(1).toTensor().data_ptr());
    for (int call = 0; call < 3; ++call)
      CHECK(compare_values(other.forward(ids), prepared(ids), {.rtol = 1e-4, .atol = 1e-4}, "result") == "");
  }
  const StaticModule untied(module);
  const at::Tensor head = weight({10, 8});
  untied.update({{"table", table}, {"head", head}});
  CHECK(at::allclose(untied(ids).toTensor(), at::linear(at::embedding(table, ids[0].toTensor()), head), 1e-4,
                     1e-4));
}

TEST_CASE("a module of a file takes updates if it was loaded for them", "[weights]") {
  const Module module = linear();
  Module other = retrained(module);
  const StaticModule prepared = from_file(module, {.weights = {.updatable = true}});
  for (int call = 0; call < 3; ++call) prepared(rows());
  prepared.update(state_of(other));
  for (int call = 0; call < 3; ++call)
    CHECK(compare_values(other.forward(rows()), prepared(rows()), {.rtol = 1e-4, .atol = 1e-4}, "result") ==
          "");
  for (const StaticModule& folded : {from_file(module), StaticModule(module, {.weights = {.freeze = true}})})
    CHECK_THROWS_WITH(folded.update(state_of(other)), Contains("they were folded when it was made"));
  CHECK_THROWS_WITH(from_file(module, {.weights = {.freeze = true, .updatable = true}}),
                    Contains("freeze_weights and updatable_weights were both given"));
}

TEST_CASE("names of tensors that the model does not read are accepted", "[weights]") {
  const Module module = script("def forward(self, x):\n    return x * self.w\n",
                               {{"w", weight({8})}, {"num_batches_tracked", at::zeros({}, at::kLong)}});
  const StaticModule prepared(module);
  prepared.update({{"w", at::full({8}, 2.0)}, {"num_batches_tracked", at::ones({}, at::kLong)}});
  CHECK(at::equal(prepared({at::ones({8})}).toTensor(), at::full({8}, 2.0)));
}

TEST_CASE("a tensor that the model writes takes no update", "[weights]") {
  for (const char* write : {"self.count += 1", "self.count = self.count + 1", "self.count.add_(1)"}) {
    const Module module =
        script(std::string("def forward(self, x):\n    ") + write + "\n    return x * self.w + self.count\n",
               {{"count", at::zeros({1})}, {"w", weight({8})}});
    const StaticModule prepared(module);
    CHECK_THROWS_WITH(prepared.update({{"count", at::ones({1})}, {"w", weight({8})}}),
                      Contains("The weight 'count' cannot be updated"));
    prepared.update({{"w", at::full({8}, 2.0)}});
    CHECK(at::equal(prepared({at::ones({8})}).toTensor(), at::full({8}, 3.0)));
  }
}

TEST_CASE("a weight that LibTorch's interpreter holds takes no update", "[weights][forks]") {
  const Module module = script(
      "def body(self, x):\n    return torch.linear(x, self.a) * torch.result_type(x, self.meta)\n"
      "def forward(self, x):\n"
      "    future = fork(self.body, x)\n"
      "    return torch.linear(x, self.b) + torch.wait(future)\n",
      {{"a", weight({8, 8})}, {"b", weight({8, 8})}, {"meta", at::empty({1}, at::kMeta)}});
  const StaticModule prepared(module);
  CHECK_THROWS_WITH(prepared.update({{"a", weight({8, 8})}}, false),
                    Contains("The weight 'a' cannot be updated"));
  Module other = module.copy();
  other.setattr("b", weight({8, 8}));
  prepared.update({{"b", other.attr("b").toTensor()}}, false);
  for (int call = 0; call < 3; ++call) {
    CHECK(compare_values(other.forward(rows()), prepared(rows()), {.rtol = 1e-4, .atol = 1e-4}, "result") ==
          "");
  }
}

TEST_CASE("a returned weight of an update is seen when the caller writes it", "[weights]") {
  const Module module =
      script("def forward(self, x):\n    return x + self.w, self.w\n", {{"w", weight({8})}});
  const StaticModule prepared(module);
  prepared.update({{"w", at::zeros({8})}});
  for (int call = 0; call < 5; ++call) {
    const c10::IValue result = prepared({at::ones({8})});
    const auto& elements = result.toTupleRef().elements();
    CHECK(at::equal(elements[0].toTensor(), at::full({8}, 1.0 + call)));
    elements[1].toTensor().add_(1);
  }
}

TEST_CASE("an update in inference mode is seen like any other", "[weights]") {
  const Module module = linear();
  const StaticModule prepared(module);
  Module other = retrained(module);
  {
    const c10::InferenceMode guard;
    prepared.update(state_of(other));
  }
  CHECK(compare_values(other.forward(rows()), prepared(rows()), {.rtol = 1e-4, .atol = 1e-4}, "result") ==
        "");
}

// The result is zero for equal weights only.
void check_torn(const Module& module) {
  const StaticModule prepared(module);
  std::atomic<bool> stop = false;
  std::atomic<int> torn = 0, calls = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const at::Tensor x = at::ones({4, 8});
      while (!stop) {
        torn += at::equal(prepared({x}).toTensor(), at::zeros({4, 8})) ? 0 : 1;
        ++calls;
      }
    });
  }
  for (int time = 0; time < 200; ++time) {
    const at::Tensor equal = at::full({8, 8}, time);
    prepared.update({{"a", equal}, {"b", equal.clone()}});
    const int before = calls;
    for (int i = 0; i < 100 && calls < before + 3; ++i) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(torn == 0);
  CHECK(calls > 0);
}

TEST_CASE("no call uses weights of before and after an update", "[weights][threads]") {
  const Attributes attributes{{"a", at::ones({8, 8})}, {"b", at::ones({8, 8})}};
  check_torn(script("def forward(self, x):\n    return torch.linear(x, self.a) - torch.linear(x, self.b)\n",
                    attributes));
  check_torn(
      script("def body(self, x):\n    return torch.linear(x, self.b)\n"
             "def forward(self, x):\n"
             "    future = fork(self.body, x)\n"
             "    return torch.linear(x, self.a) - torch.wait(future)\n",
             attributes));
}

}  // namespace sr::test::weight_updates_tests
