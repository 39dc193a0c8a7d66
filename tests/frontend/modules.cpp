// The library as its user sees it: attributes, the caller's module, freed memory, held results, threads.
#include <algorithm>
#include <chrono>
#include <sys/mman.h>
#include <thread>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/guard_pages.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::modules_tests {

namespace {

at::Tensor f32(at::IntArrayRef sizes = {2, 3}) {
  return sample(sizes);
}

std::string dump(const torch::jit::Module& module) {
  std::string text = module.dump_to_str(true, true, false);
  for (const at::Tensor& tensor : module.buffers()) text += c10::str(tensor);
  return text + (module.hasattr("training") && module.is_training() ? "training" : "evaluating");
}

// A tensor on read-only pages.
struct ReadOnly {
  explicit ReadOnly(const at::Tensor& values) {
    memory = mmap(nullptr, values.nbytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(memory, values.const_data_ptr(), values.nbytes());
    mprotect(memory, values.nbytes(), PROT_READ);
    bytes = values.nbytes();
    tensor = at::from_blob(memory, values.sizes(), values.options());
  }
  ~ReadOnly() { munmap(memory, bytes); }
  void* memory;
  std::size_t bytes;
  at::Tensor tensor;
};

}  // namespace

TEST_CASE("a buffer that forward changes advances as in the interpreter", "[oracle][modules]") {
  const torch::jit::Module in_place = script(
      "def forward(self, x):\n    self.total.add_(x.sum())\n    y = x * self.total\n    return y + 1\n",
      {{"total", at::zeros({1})}});
  const std::string before = dump(in_place);
  check_model(in_place, {{f32()}, {f32({4, 5})}, {f32()}}, {.rtol = 1e-5, .atol = 1e-5});
  CHECK(dump(in_place) == before);

  const torch::jit::Module assigned = script(
      "def forward(self, x):\n    self.count = self.count + 1\n    self.last = x * self.count\n"
      "    return self.last + self.count, self.last\n",
      {{"last", at::zeros({1})}, {"count", std::int64_t{0}}});
  const std::string assigned_before = dump(assigned);
  check_model(assigned, {{f32()}, {f32({4, 5})}, {f32()}}, {.rtol = 1e-5, .atol = 1e-5, .use_counts = false});
  CHECK(dump(assigned) == assigned_before);

  check_model(
      script(
          "def forward(self, x):\n    h = self.h\n    self.h = torch.zeros([3])\n    self.h.add_(x.sum())\n"
          "    return h, self.h * 2\n",
          {{"h", at::zeros({3})}}),
      {{f32()}, {f32({4, 5})}}, {.rtol = 1e-5, .atol = 1e-5, .use_counts = false});
}

TEST_CASE("attributes returned: a buffer, a view of it, a value made of it", "[oracle][modules]") {
  const OracleOptions weights{.use_counts = false};
  check_model(script("def forward(self, x):\n    return self.w, self.w.t(), x + 1\n", {{"w", f32()}}),
              {{f32()}, {f32()}}, weights);
  check_model(script("def forward(self, x):\n    return self.w * 2, x + 1\n", {{"w", f32()}}),
              {{f32()}, {f32()}});
  const torch::jit::Module module =
      script("def forward(self, x):\n    return self.w * 2, x + 1\n", {{"w", at::ones({2})}});
  StaticRuntime<> runtime{StaticModule(module)};
  runtime(f32()).toTupleRef().elements()[0].toTensor().fill_(9);
  CHECK(at::equal(runtime(f32()).toTupleRef().elements()[0].toTensor(), at::full({2}, 2.0)));
}

TEST_CASE("63704, 87396: the caller's module, graph and training flag stay as they were", "[modules]") {
  torch::jit::Module module = script(
      "def forward(self, x):\n    y = x + self.w\n    y.relu_()\n    all = [y]\n    all.append(y * 2)\n"
      "    return torch.dropout(torch.cat(all), 0.5, self.training)\n",
      {{"w", f32()}, {"training", true}});
  module.train();
  const std::string before = dump(module);
  StaticRuntime<> runtime{StaticModule(module)};
  for (int i = 0; i < 3; ++i) runtime(f32());
  CHECK(dump(module) == before);
  CHECK(module.is_training());
  const auto given = graph(
      "graph(%x : Tensor):\n  %one : int = prim::Constant[value=1]()\n"
      "  %y : Tensor = aten::add(%x, %one, %one)\n  %z : Tensor = aten::relu_(%y)\n  return (%z)");
  const std::string text = given->toString();
  StaticRuntime<> of_graph{StaticModule(given)};
  CHECK(at::equal(of_graph(at::full({2}, -3.0)).toTensor(), at::zeros({2})));
  CHECK(given->toString() == text);
}

TEST_CASE("a module that is prepared again and again keeps no code of its clones", "[modules]") {
  const torch::jit::Module module = script(
      "def forward(self, x):\n    return torch.relu(x @ self.w) + self.w.sum()\n", {{"w", sample({3, 3})}});
  const auto functions = [&] {
    const auto all = module._ivalue()->compilation_unit()->get_functions();
    return std::ranges::count_if(all, [](const auto* function) { return function != nullptr; });
  };
  const auto before = functions();
  const at::Tensor x = sample({2, 3}), expected = x.matmul(module.attr("w").toTensor());
  for (int i = 0; i < 3; ++i) {
    const StaticModule prepared(module);
    CHECK(at::allclose(prepared({x}).toTensor(), at::relu(expected) + module.attr("w").toTensor().sum()));
    CHECK(at::allclose(torch::jit::Module(module).forward({x}).toTensor(), prepared({x}).toTensor()));
    CHECK(functions() == before);
  }
}

TEST_CASE("a traced graph runs with other dtypes and sizes than its example", "[modules]") {
  const auto traced = test::graph(
      "graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)):\n"
      "  %y : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu) = aten::abs(%x)\n  return (%y)\n");
  StaticRuntime<> runtime{StaticModule(traced)};
  for (const at::Tensor& x : {at::randn({2, 3}), at::arange(-4, 4), at::randn({1, 2, 2}, at::kDouble)}) {
    for (int run = 0; run < 3; ++run) CHECK(at::equal(runtime(x).toTensor(), x.abs()));
  }
}

TEST_CASE("a named tuple is returned as a named tuple", "[oracle][modules]") {
  const auto type = c10::TupleType::createNamed(
      c10::QualifiedName("__torch__.Pair"), std::vector<std::string>{"first", "second"},
      std::vector<c10::TypePtr>{c10::TensorType::get(), c10::TensorType::get()});
  auto pair = std::make_shared<torch::jit::Graph>();
  torch::jit::Value* x = pair->addInput("x");
  torch::jit::Value* y = pair->insert(c10::aten::mul, {x, 2});
  torch::jit::Value* z = pair->insert(c10::aten::relu, {y});
  pair->registerOutput(pair->insertNode(pair->createTuple({y, z}, type))->output());
  StaticRuntime<> runtime{StaticModule(pair)};
  for (int i = 0; i < 3; ++i) {
    const c10::IValue result = runtime(f32());
    CHECK(result.type()->str() == "__torch__.Pair");
    CHECK(result.toTupleRef().elements().size() == 2);
  }
}

TEST_CASE("a module of more than 65,535 values", "[modules]") {
  auto chain = std::make_shared<torch::jit::Graph>();
  torch::jit::Value* value = chain->addInput("x");
  torch::jit::Value* one = chain->insertConstant(1);
  for (int i = 0; i < 70'000; ++i) {
    value = chain->insertNode(chain->create(c10::aten::add, {value, one, one}))
                ->output()
                ->setType(c10::TensorType::get());
  }
  chain->registerOutput(value);
  const auto start = std::chrono::steady_clock::now();
  StaticRuntime<> runtime{StaticModule(chain)};
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  INFO(seconds.count() << " s to prepare");
  CHECK(seconds.count() < 20);
  for (int i = 0; i < 3; ++i)
    CHECK(at::equal(runtime(at::full({2}, i, at::kDouble)).toTensor(),
                    at::full({2}, 70'000.0 + i, at::kDouble)));
  CHECK(runtime.report().arena_bytes <= 128);
}

TEMPLATE_TEST_CASE("inputs and weights on read-only pages", "[modules]", memory::LinearScan, GuardPages) {
  const ReadOnly weight(f32({4, 3})), bias(f32({4})), x(f32({5, 3}));
  for (const bool managed : {false, true}) {
    StaticRuntime<TestType> runtime{StaticModule(
        script("def forward(self, x):\n    y = torch.linear(x, self.w, self.b)\n    z = torch.relu(y)\n"
               "    a = x.reshape([-1]) * 2\n    return torch.softmax(z, 1), torch.cat([x, x]) + 1, a, "
               "x.sum()\n",
               {{"w", weight.tensor}, {"b", bias.tensor}}),
        {.memory = {.manage_outputs = managed}})};
    for (int i = 0; i < 3; ++i) {
      const c10::IValue result = runtime(x.tensor);
      CHECK(at::allclose(result.toTupleRef().elements()[0].toTensor(),
                         at::softmax(at::relu(at::linear(x.tensor, weight.tensor, bias.tensor)), 1)));
    }
  }
}

TEST_CASE("clone, reserve and trim", "[modules]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    return torch.exp(torch.relu(x * 2).t() + 1).sum()\n"),
                   {.numerics = Numerics::exact})};
  const at::Tensor small = f32({3, 3}), large = f32({50, 50});
  const at::Tensor right = ((small * 2).relu().t() + 1).exp().sum();
  runtime.reserve({large});
  const std::size_t reserved = runtime.report().arena_bytes;
  CHECK(reserved >= 50 * 50 * 4);
  CHECK(at::equal(runtime(small).toTensor(), right));
  runtime(large);
  CHECK(runtime.report().arena_bytes == reserved);
  auto clone = runtime.clone();
  CHECK(at::equal(clone(small).toTensor(), right));
  runtime.trim();
  CHECK(runtime.report().arena_bytes == 0);
  for (int i = 0; i < 3; ++i) CHECK(at::equal(runtime(small).toTensor(), right));
  CHECK(runtime.report().arena_bytes < reserved);
  CHECK(runtime.report().replay_arena_bytes > 0);
  runtime.trim();
  CHECK(runtime.report().replay_arena_bytes == 0);
}

TEST_CASE("a returned weight is that weight, whichever others are equal to it", "[modules][traps]") {
  for (const std::int64_t size : {0, 3}) {
    for (const char* const result : {"self.a", "self.b"}) {
      CAPTURE(size, result);
      const torch::jit::Module module =
          script("def forward(self, x):\n    return x * (torch.abs(self.a) + torch.abs(self.b)), " +
                     std::string(result) + "\n",
                 {{"a", at::ones({size})}, {"b", at::ones({size})}});
      StaticRuntime<> runtime{StaticModule(module)};
      for (int run = 0; run < 4; ++run) {
        const at::Tensor returned = runtime(at::ones({size})).toTupleRef().elements()[1].toTensor();
        CHECK(returned.is_alias_of(module.attr(result + 5).toTensor()));
      }
    }
  }
}

TEST_CASE("a module is called from four threads", "[modules]") {
  const StaticModule module(
      script("def forward(self, x, n: int):\n    y = x * 2\n    for i in range(n):\n        y = "
             "torch.relu(y) + x\n    return y.t() * 3\n"));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      at::set_num_threads(1);
      for (int i = 0; i < 100; ++i) {
        const at::Tensor x = at::full({2 + (i + t) % 5, 3}, t - 1.5);
        at::Tensor y = x * 2;
        for (int k = 0; k < i % 4; ++k) y = y.relu() + x;
        wrong += at::equal(module({x, i % 4}).toTensor(), y.t() * 3) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("threads prepare modules that share code, and add nothing to it", "[modules]") {
  torch::jit::Module shared = script("def forward(self, x):\n    return torch.relu(x) * 2 + self.shift\n",
                                     {{"shift", at::ones({1})}});
  const std::size_t functions = shared._ivalue()->compilation_unit()->get_functions().size();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const at::Tensor x = at::full({2}, t + i);
        wrong += at::equal(StaticModule(shared)({x}).toTensor(), x * 2 + 1) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(shared._ivalue()->compilation_unit()->get_functions().size() == functions);
}

}  // namespace sr::test::modules_tests
