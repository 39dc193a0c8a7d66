// The next call of every runtime uses the current weights, whatever was recorded, packed or folded before.
#include <string>
#include <vector>

#include <torch/script.h>

#include <sr/module/prepared_module.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/followed.hpp"

namespace sr::test::weights_tests {

using Module = torch::jit::Module;

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
    batch.select(1, 5).copy_(at::tensor({1.0F, 2.0F, 3.0F, 9.0F}));  // the only written channel
    const at::Tensor mean = trained.attr("mean").toTensor(), var = trained.attr("var").toTensor();
    const at::Tensor before = var.clone();
    at::batch_norm(batch, {}, {}, mean, var, true, 0.5, 1e-5, false);
    for (int c = 0; c < 8; ++c) {
      if (c != 5) var.mutable_data_ptr<float>()[c] = before.mutable_data_ptr<float>()[c];
    }
  });
}

TEST_CASE("weights that were equal at load are independent", "[weights]") {
  const auto module = script(
      "def forward(self, x):\n"
      "    y = torch.layer_norm(x, [8], self.g1, self.b1, 1e-5, False)\n"
      "    return torch.layer_norm(y, [8], self.g2, self.b2, 1e-5, False)\n",
      {{"g1", at::ones({8})}, {"b1", at::zeros({8})}, {"g2", at::ones({8})}, {"b2", at::zeros({8})}});
  for (const char* name : {"g1", "g2", "b1", "b2"})
    check_follows(module.deepcopy(), rows(), more_rows(), add_to(name));
}

TEST_CASE("values that depend on weights are not folded", "[weights]") {
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

}  // namespace sr::test::weights_tests
