// The next call of every runtime uses the weights as they are then, whatever was recorded, packed or folded
// before.
#include <atomic>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <c10/core/InferenceMode.h>
#include <torch/script.h>

#include <sr/load.hpp>
#include <sr/module_content.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"
#include "support/values.hpp"

namespace sr::test::weights_tests {
namespace {

using Module = torch::jit::Module;
using Change = std::function<void(Module&)>;

at::Tensor weight(at::IntArrayRef sizes, bool requires_grad = false) {
  return at::rand(sizes).add_(0.5).requires_grad_(requires_grad);
}

// As torch.nn.Module does it: parameters keep their tensor and are given other data.
void to_dtype(Module& module, at::ScalarType dtype) {
  for (const at::Tensor& tensor : module.buffers()) tensor.set_data(tensor.detach().to(dtype));
}

// All ways to run one module, each of which has seen the first inputs often enough to replay them.
class Ways {
 public:
  explicit Ways(const Module& module, const std::vector<c10::IValue>& inputs)
      : shared_(module),
        general_(module, {.enable_replay = false}),
        runtime_(shared_),
        clone_(runtime_.clone()),
        without_replay_(general_) {
    for (int i = 0; i < 3; ++i) each(inputs, [](const c10::IValue&, const std::string&) {});
  }

  template <class Visit>
  void each(const std::vector<c10::IValue>& inputs, const Visit& visit) {
    visit(shared_(inputs), "StaticModule");
    visit(runtime_(inputs), "StaticRuntime");
    visit(clone_(inputs), "clone");
    visit(StaticRuntime<>(shared_)(inputs), "new runtime");
    visit(without_replay_(inputs), "general path");
  }

  const StaticModule& module() const { return shared_; }
  StaticRuntime<>& runtime() { return runtime_; }

 private:
  StaticModule shared_, general_;
  StaticRuntime<> runtime_, clone_, without_replay_;
};

void check_agrees(Ways& ways, Module& module, const std::vector<c10::IValue>& inputs) {
  const at::NoGradGuard no_grad;
  for (int call = 1; call <= 3; ++call) {
    const c10::IValue expected = module.forward(inputs);
    ways.each(inputs, [&](const c10::IValue& result, const std::string& way) {
      INFO(way << ", call " << call);
      CHECK(compare_values(expected, result, {.rtol = 1e-4, .atol = 1e-4}, "result") == "");
    });
  }
}

// The results after the change are the interpreter's, for inputs that were replayed before and for others.
void check_follows(Module module, const std::vector<c10::IValue>& inputs,
                   const std::vector<c10::IValue>& others, const Change& change) {
  Ways ways(module, inputs);
  check_agrees(ways, module, inputs);
  for (int time = 1; time <= 2; ++time) {
    INFO("change " << time);
    {
      const at::NoGradGuard no_grad;
      change(module);
    }
    check_agrees(ways, module, inputs);
    check_agrees(ways, module, others);
  }
}

Change add_to(const std::string& name, const at::Scalar& number = 0.75) {
  return [=](Module& module) { module.attr(name).toTensor().add_(number); };
}

Module linear(bool requires_grad = false) {
  Module module("M");
  module.register_parameter("w", weight({16, 8}, requires_grad), false);
  module.register_parameter("b", weight({16}, requires_grad), false);
  module.define("def forward(self, x):\n    return torch.relu(torch.linear(x, self.w, self.b))\n",
                std::make_shared<ScriptResolver>());
  module.eval();
  return module;
}

const std::vector<c10::IValue>& rows() {
  static const std::vector<c10::IValue> inputs{sample({4, 8})};
  return inputs;
}
const std::vector<c10::IValue>& more_rows() {
  static const std::vector<c10::IValue> inputs{sample({7, 8})};
  return inputs;
}

}  // namespace

TEST_CASE("a weight written in place is followed where it was packed or spread", "[weights]") {
  for (const bool requires_grad : {false, true}) {
    check_follows(linear(requires_grad), rows(), more_rows(), add_to("w"));
    check_follows(linear(requires_grad), rows(), more_rows(), add_to("b"));
  }
  const auto module = script(
      "def forward(self, ids):\n    return torch.linear(torch.embedding(self.table, ids), self.w) * "
      "self.scale\n",
      {{"table", weight({10, 8})}, {"w", weight({5, 8})}, {"scale", weight({5})}});
  const std::vector<c10::IValue> ids{at::tensor({1, 2, 9})}, others{at::tensor({3, 3, 0, 1})};
  for (const char* name : {"table", "w", "scale"}) check_follows(module, ids, others, add_to(name));
}

TEST_CASE("one element of a weight written in place is followed", "[weights]") {
  check_follows(linear(), rows(), more_rows(),
                [](Module& module) { module.attr("w").toTensor()[3][5] += 100; });
}

TEST_CASE("statistics of a batch norm are followed where they were folded into a product", "[weights]") {
  const auto module = script(
      "def forward(self, x):\n"
      "    y = torch.linear(x, self.w)\n"
      "    return torch.batch_norm(y, self.gamma, self.beta, self.mean, self.var, False, 0.1, 1e-5, False)\n",
      {{"w", weight({8, 8})},
       {"gamma", at::ones({8})},
       {"beta", at::zeros({8})},
       {"mean", at::zeros({8})},
       {"var", at::ones({8})}});
  for (const char* name : {"w", "gamma", "beta", "mean", "var"})
    check_follows(module.clone(), rows(), more_rows(), add_to(name));
}

TEST_CASE("statistics that a norm in training writes are followed", "[weights]") {
  const auto module = script(
      "def forward(self, x):\n"
      "    return torch.batch_norm(x, None, None, self.mean, self.var, False, 0.1, 1e-5, False)\n",
      {{"mean", at::zeros({8})}, {"var", at::ones({8})}});
  check_follows(module, rows(), more_rows(), [](Module& trained) {
    at::Tensor batch = at::zeros({4, 8});
    batch.select(1, 5).copy_(at::tensor({1.0F, 2.0F, 3.0F, 9.0F}));  // the only channel that is written
    const at::Tensor mean = trained.attr("mean").toTensor(), var = trained.attr("var").toTensor();
    const at::Tensor before = var.clone();
    at::batch_norm(batch, {}, {}, mean, var, true, 0.5, 1e-5, false);
    for (int c = 0; c < 8; ++c) {
      if (c != 5) var.mutable_data_ptr<float>()[c] = before.mutable_data_ptr<float>()[c];
    }
  });
}

TEST_CASE("weights that were equal when the module was loaded are told apart", "[weights]") {
  const auto module = script(
      "def forward(self, x):\n"
      "    y = torch.layer_norm(x, [8], self.g1, self.b1, 1e-5, False)\n"
      "    return torch.layer_norm(y, [8], self.g2, self.b2, 1e-5, False)\n",
      {{"g1", at::ones({8})}, {"b1", at::zeros({8})}, {"g2", at::ones({8})}, {"b2", at::zeros({8})}});
  for (const char* name : {"g1", "g2", "b1", "b2"})
    check_follows(module.deepcopy(), rows(), more_rows(), add_to(name));
}

TEST_CASE("what weights decide is not folded for ever", "[weights]") {
  const Attributes two = {{"a", weight({8, 8})}, {"b", weight({8, 8})}};
  for (const char* body :
       {"x @ (self.a + self.b)", "x @ self.a.t()", "x @ torch.cat([self.a, self.b], 1)",
        "x @ (self.a * (self.b / self.b.norm()))", "(x @ self.a).view(-1, self.b.size(0))"}) {
    INFO(body);
    check_follows(script(std::string("def forward(self, x):\n    return ") + body + "\n", two), rows(),
                  more_rows(), add_to("a"));
  }
}

TEST_CASE("numbers, conditions and indices read from weights are read again", "[weights]") {
  const auto check_number = [&](const std::string& body, const at::Tensor& number, const Change& change) {
    INFO(body);
    check_follows(script("def forward(self, x):\n" + body, {{"k", number.clone()}}), rows(), more_rows(),
                  change);
  };
  check_number("    return torch.add(x, x, alpha=float(self.k))\n", at::scalar_tensor(2.0), add_to("k"));
  check_number("    return x * self.k\n", at::scalar_tensor(2.0), add_to("k"));
  check_number("    return x[int(self.k)]\n", at::scalar_tensor(1, at::kLong), add_to("k", 1));
  check_number("    if bool(self.k > 2):\n        return x.exp()\n    return x.sin()\n",
               at::scalar_tensor(2.0), add_to("k"));
  check_number("    for i in range(int(self.k)):\n        x = x * 1.5 + i\n    return x\n",
               at::scalar_tensor(2, at::kLong), add_to("k", 1));
}

TEST_CASE("tied weights stay tied", "[weights]") {
  const at::Tensor tied = weight({8, 8});
  check_follows(script("def forward(self, x):\n    return torch.linear(torch.linear(x, self.a), self.b)\n",
                       {{"a", tied}, {"b", tied}}),
                rows(), more_rows(), add_to("b", 0.01));
}

TEST_CASE("weights in lists and dictionaries are followed", "[weights]") {
  Module module("M");
  c10::List<at::Tensor> list;
  list.push_back(weight({8, 8}));
  list.push_back(weight({8}));
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("scale", weight({8}));
  module.register_attribute("pair", c10::ListType::ofTensors(), list);
  module.register_attribute("named", c10::DictType::create(c10::StringType::get(), c10::TensorType::get()),
                            dict);
  module.define(
      "def forward(self, x):\n    return torch.linear(x, self.pair[0], self.pair[1]) * self.named['scale']\n",
      std::make_shared<ScriptResolver>());
  module.eval();
  check_follows(module, rows(), more_rows(),
                [](Module& changed) { changed.attr("pair").toTensorList().get(0).mul_(3); });
  check_follows(module, rows(), more_rows(), [](Module& changed) {
    changed.attr("pair").toTensorList().set(0, weight({8, 8}));
  });
  check_follows(module, rows(), more_rows(), [](Module& changed) {
    c10::Dict<std::string, at::Tensor> other;
    other.insert("scale", weight({8}));
    changed.setattr("named", other);
  });
}

TEST_CASE("a weight that is given other data is followed", "[weights]") {
  for (const bool requires_grad : {false, true}) {
    check_follows(linear(requires_grad), rows(), more_rows(), [](Module& module) {
      module.attr("w").toTensor().set_data(weight({16, 8}));
    });
    // The same bytes, read in another order.
    check_follows(
        script("def forward(self, x):\n    return x @ self.w\n", {{"w", weight({8, 8}, requires_grad)}}),
        rows(), more_rows(), [](Module& module) {
          const at::Tensor w = module.attr("w").toTensor();
          w.set_data(w.detach().t());
        });
  }
}

TEST_CASE("an attribute that is given another tensor is followed", "[weights]") {
  check_follows(linear(), rows(), more_rows(), [](Module& module) {
    module.setattr("w", weight({16, 8}, /*requires_grad=*/true));
  });
}

TEST_CASE("a table that became longer is read in full", "[weights]") {
  const auto module = script("def forward(self, ids):\n    return torch.embedding(self.table, ids) * 2\n",
                             {{"table", weight({10, 8})}});
  Module changed = module;
  const std::vector<c10::IValue> ids{at::tensor({1, 9})};
  Ways ways(changed, ids);
  changed.attr("table").toTensor().set_data(weight({1 << 16, 8}));
  check_agrees(ways, changed, ids);
  check_agrees(ways, changed, {at::tensor({(1 << 16) - 1, 77})});
}

TEST_CASE("weights that move to another dtype and back are followed", "[weights]") {
  Module module = script("def forward(self, x):\n    return torch.linear(x, self.w) * self.s\n",
                         {{"w", weight({16, 8})}, {"s", weight({16})}});
  Ways ways(module, rows());
  to_dtype(module, at::kDouble);
  const std::vector<c10::IValue> doubles{sample({4, 8}, at::kDouble)};
  check_agrees(ways, module, doubles);
  CHECK_THROWS(module.forward(rows()));
  CHECK_THROWS(ways.runtime()(rows()));
  to_dtype(module, at::kFloat);
  check_agrees(ways, module, rows());
  check_agrees(ways, module, more_rows());
}

TEST_CASE("a storage that is given other memory is read there", "[weights]") {
  const auto move = [](Module& module) {  // as share_memory_() does
    for (const at::Tensor& tensor : module.buffers()) {
      c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
      at::DataPtr moved = c10::GetCPUAllocator()->allocate(storage->nbytes());
      std::memcpy(moved.get(), storage->data(), storage->nbytes());
      at::DataPtr old = storage->set_data_ptr(std::move(moved));
      std::memset(old.get(), 0x7F, storage->nbytes());
    }
  };
  check_follows(
      script("def forward(self, ids):\n    return torch.embedding(self.t, ids) * self.s + self.s.sum()\n",
             {{"t", weight({10, 8})}, {"s", weight({8})}}),
      {at::tensor({1, 9})}, {at::tensor({1, 9, 3})}, move);
}

TEST_CASE("weights made in inference mode are followed by a few of their elements", "[weights]") {
  const c10::InferenceMode inference;
  check_follows(linear(), rows(), more_rows(), add_to("w"));
}

TEST_CASE("writes that count no version are seen where they reach every element", "[weights]") {
  check_follows(linear(), rows(), more_rows(), [](Module& module) {
    module.attr("w").toTensor().variable_data().mul_(2);
    module.attr("b").toTensor().variable_data().add_(1);
  });
}

TEST_CASE("refresh_weights makes every write seen", "[weights]") {
  Module module = linear();
  Ways ways(module, rows());
  module.attr("w").toTensor().mutable_data_ptr<float>()[5] += 50;
  ways.module().refresh_weights();
  const c10::IValue expected = module.forward(rows());
  CHECK(compare_values(expected, ways.module()(rows()), {.rtol = 1e-4, .atol = 1e-4}, "result") == "");
  CHECK(compare_values(expected, ways.runtime()(rows()), {.rtol = 1e-4, .atol = 1e-4}, "result") == "");
}

TEST_CASE("constants of a graph are weights, too", "[weights]") {
  const auto parsed = graph("graph(%x : Tensor):\n  return (%x)\n");
  const at::Tensor w = weight({8, 8});
  {
    const torch::jit::WithInsertPoint before(parsed->return_node());
    torch::jit::Value* product =
        parsed->insert(c10::aten::matmul, {parsed->inputs()[0], parsed->insertConstant(w)});
    parsed->return_node()->replaceInput(0, product);
  }
  const StaticModule module(parsed);
  StaticRuntime<> runtime(module);
  const at::Tensor x = sample({4, 8});
  for (int i = 0; i < 3; ++i) runtime(x);
  w.mul_(2);
  for (int i = 0; i < 3; ++i) CHECK(at::allclose(runtime(x).toTensor(), x.matmul(w), 1e-4, 1e-4));
}

TEST_CASE("the weights of a forked body are followed", "[weights][forks]") {
  const auto module = script(
      "def body(self, x):\n    return torch.linear(x, self.a + self.b)\n"
      "def forward(self, x):\n"
      "    future = fork(self.body, x)\n"
      "    return torch.linear(x, self.a) + torch.wait(future)\n",
      {{"a", weight({8, 8})}, {"b", weight({8, 8})}});
  check_follows(module, rows(), more_rows(), add_to("a"));
  check_follows(module, rows(), more_rows(), add_to("b"));
  check_follows(module, rows(), more_rows(), [](Module& changed) {
    changed.attr("b").toTensor().set_data(weight({8, 8}));
  });
}

TEST_CASE("weights are followed beside lists and writes that do not touch them", "[weights]") {
  const auto module = script(
      "def forward(self, x):\n"
      "    parts = torch.chunk(self.w, 2)\n"
      "    names = ['rows']\n"
      "    if x.size(0) > 100:\n        names.append('long')\n"
      "    outs = [torch.linear(x, parts[0]), torch.linear(x, parts[1])]\n"
      "    y = torch.cat(outs, 1)\n"
      "    y += 1\n"
      "    y[0] = 2\n"
      "    return y, len(names)\n",
      {{"w", weight({8, 8})}});
  CHECK(StaticModule(module).content()->weights->count() == 1);
  check_follows(module, rows(), more_rows(), add_to("w"));
}

TEST_CASE("a weight that the model may write is a copy of its own", "[weights]") {
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

TEST_CASE("what the model itself writes is its own", "[weights]") {
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

TEST_CASE("a weight that is no tensor on the CPU any more is refused by name", "[weights]") {
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

TEST_CASE("frozen weights are not looked at", "[weights]") {
  Module module = linear();
  const StaticModule frozen(module, {.freeze_weights = true});
  CHECK(frozen.content()->weights->count() == 0);
  std::stringstream archive;
  module.save(archive);
  CHECK(load(archive).content()->weights->count() == 0);
  const StaticModule followed(module);
  CHECK(followed.content()->weights->count() == 2);
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
  std::vector<at::Tensor> kept;  // who reads a storage while its last reference goes is lost in LibTorch, too
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
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(20);
      module.attr("w").toTensor().add_(1);
      const at::NoGradGuard no_grad;
      const at::Tensor expected = module.forward(rows()).toTensor();
      _exit(at::allclose(ways.runtime()(rows()).toTensor(), expected, 1e-4, 1e-4) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  stop = true;
  writer.join();
}

}  // namespace sr::test::weights_tests
