// Compares models with state with the interpreter, for every kind of variable.
#include <string>
#include <utility>
#include <vector>

#include <torch/script.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/session_checks.hpp"

namespace sr::test::session_tests {

namespace {

struct Model {
  const char* name;
  const char* source;
  Attributes attributes;
};

c10::IValue tensors(std::size_t count) {
  c10::List<at::Tensor> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(at::full({4}, static_cast<double>(i)));
  return list;
}

c10::IValue dictionary() {
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("a", at::zeros({4}));
  return dict;
}

std::vector<Model> models() {
  return {
      {"buffer written whole", "self.h.mul_(0.5).add_(x)\n    return self.h * 2", {{"h", at::zeros({4})}}},
      {"buffer copied to",
       "self.h.copy_(torch.tanh(x + self.h))\n    return self.h.sum()",
       {{"h", at::zeros({4})}}},
      {"buffer returned", "self.h += x\n    return self.h", {{"h", at::zeros({4})}}},
      {"view of a buffer returned",
       "self.h += x\n    return self.h[1:3], self.h[2:]",
       {{"h", at::zeros({4})}}},
      {"row of a buffer",
       "self.h[1] = x[0] + self.h[0]\n    self.h[0] = x[1]\n    return self.h.sum() + x",
       {{"h", at::zeros({4})}}},
      {"index_copy",
       "self.h.index_copy_(0, torch.tensor([1, 3]), x[:2])\n    return self.h + x",
       {{"h", at::zeros({4})}}},
      {"index_copy of another dimension",
       "self.h.index_copy_(-1, torch.tensor([3, 0]), x[:2].view(2, 1).t().expand(3, 2))\n    return self.h * "
       "x",
       {{"h", at::zeros({3, 4})}}},
      {"functional index_copy",
       "self.h.copy_(torch.index_copy(self.h, 0, torch.tensor([1, 3]), x[:2]))\n"
       "    return self.h + x",
       {{"h", at::zeros({4})}}},
      {"functional index_copy of what is read later",
       "old = self.h.sum()\n    new = torch.index_copy(self.h, 0, torch.tensor([1, 3]), x[:2])\n"
       "    y = self.h * 2\n    self.h.copy_(new)\n    return old + y, new.sum()",
       {{"h", at::zeros({4})}}},
      {"index_put by position",
       "pos = torch.tensor([self.n % 3])\n    self.h[:, pos] = x.view(1, 1, 4)\n"
       "    self.n += 1\n    return (self.h * x).sum(1)",
       {{"h", at::zeros({2, 3, 4})}, {"n", c10::IValue(0)}}},
      {"functional index_put",
       "pos = torch.tensor([self.n % 3])\n"
       "    self.h.copy_(torch.index_put(self.h, [None, pos], x.view(1, 1, 4)))\n"
       "    self.n += 1\n    return (self.h * x).sum(1)",
       {{"h", at::zeros({2, 3, 4})}, {"n", c10::IValue(0)}}},
      {"rows, an index is out of range",
       "pos = torch.tensor([int(x.size(0)) - 4])\n    self.h.index_copy_(0, pos, "
       "x[:4].view(1, 4))\n    self.g.index_copy_(0, pos * 3, x[:4].view(1, 4))\n"
       "    return self.h + self.g",
       {{"h", at::zeros({3, 4})}, {"g", at::zeros({3, 4})}}},
      {"column of a buffer",
       "self.h[:, 1] = x[:3]\n    self.h[0, 2:] = x[1]\n    return self.h.sum(0) + x",
       {{"h", at::zeros({3, 4})}}},
      {"copied to twice, read by views",
       "self.h.copy_(x * 2)\n    y = self.h[1:3] * 1\n    self.h.copy_(self.h - x.mean())\n"
       "    self.g[0] = self.h[1]\n    return torch.cat([y, self.h[:2]]) + self.g",
       {{"h", at::zeros({4})}, {"g", at::zeros({4})}}},
      {"copied from what is written later in part",
       "self.b.mul_(2)\n    self.a.copy_(self.b)\n    self.b[1] = x[0]\n    return self.a * x + self.b",
       {{"a", at::zeros({4})}, {"b", at::ones({4})}}},
      {"two buffers of one memory", "self.a += x[:2]\n    return self.all * x",
       [] {
         const at::Tensor all = at::zeros({4});
         return Attributes{{"all", all}, {"a", all.slice(0, 1, 3)}};
       }()},
      {"assigned", "self.h = torch.tanh(x + self.h)\n    return self.h * 2", {{"h", at::zeros({4})}}},
      {"assigned and returned", "self.h = x * self.h + 1\n    return self.h", {{"h", at::ones({4})}}},
      {"argument assigned", "y = self.h + x\n    self.h = x\n    return y", {{"h", at::zeros({4})}}},
      {"part of an argument assigned",
       "y = torch.cat([self.h, x])\n    self.h = x[-2:]\n    return y",
       {{"h", at::zeros({2})}}},
      {"view that is not dense assigned",
       "y = torch.outer(x, x)\n    z = self.h * 2\n    self.h = y[:, 1:3].t()\n    return z, y",
       {{"h", at::zeros({2, 4})}}},
      {"weight assigned",
       "y = self.h + x\n    self.h = self.w\n    self.h.add_(0)\n    return y * self.w",
       {{"h", at::zeros({4})}, {"w", at::ones({4})}}},
      {"old value returned", "old = self.h\n    self.h = old + x\n    return old", {{"h", at::zeros({4})}}},
      {"swapped",
       "self.a, self.b = self.b, self.a + x\n    return self.a - self.b",
       {{"a", at::zeros({4})}, {"b", at::ones({4})}}},
      {"two attributes of one tensor",
       "y = self.a * x\n    self.a = y\n    self.b = y\n    self.a.add_(1)\n"
       "    return self.a + self.b",
       {{"a", at::zeros({4})}, {"b", at::ones({4})}}},
      {"shared, then written",
       "self.a.add_(x)\n    y = self.b * 1\n    self.b = self.a\n    return y + self.a",
       {{"a", at::zeros({4})}, {"b", at::ones({4})}}},
      {"views of one tensor",
       "y = self.a.sum() + self.b.sum()\n    z = x * 2\n    self.a = z[:3]\n"
       "    self.b = z[1:]\n    return y + z",
       {{"a", at::zeros({3})}, {"b", at::ones({3})}}},
      {"grows",
       "self.h = torch.cat([self.h, x.view(1, 4)])\n    return self.h.sum(0)",
       {{"h", at::zeros({1, 4})}}},
      {"counter", "self.n = self.n + 1\n    return x * self.n", {{"n", c10::IValue(0)}}},
      {"counter as an index",
       "self.h[self.n % 3] = x\n    self.n += 1\n    return self.h.sum(0)",
       {{"h", at::zeros({3, 4})}, {"n", c10::IValue(0)}}},
      {"threshold",
       "self.n += 1\n    if self.n > 2:\n        self.h = x\n    return self.h + x",
       {{"h", at::zeros({4})}, {"n", c10::IValue(0)}}},
      {"flag",
       "y = x * 2 if self.on else x\n    self.on = not self.on\n    return y",
       {{"on", c10::IValue(false)}}},
      {"float", "self.f = self.f * 0.5 + 1.0\n    return x * self.f", {{"f", c10::IValue(0.0)}}},
      {"text",
       "y = x + (1 if self.s == 'a' else 2)\n    self.s = 'b' if self.s == 'a' else 'a'\n    return y",
       {{"s", c10::IValue("a")}}},
      {"loop",
       "for i in range(3):\n        self.h = self.h + x * i\n        self.n += i\n    return self.h * self.n",
       {{"h", at::zeros({4})}, {"n", c10::IValue(0)}}},
      {"branch on data",
       "if bool(x.sum() > 0):\n        self.h = x + self.h\n    return self.h * 1",
       {{"h", at::zeros({4})}}},
      {"list",
       "self.all.append(x)\n    if len(self.all) > 3:\n        self.all.pop(0)\n"
       "    return torch.stack(self.all).sum(0)",
       {{"all", tensors(1)}}},
      {"list made anew",
       "self.all = [x, self.all[0] + self.all[1]]\n    return self.all[1]",
       {{"all", tensors(2)}}},
      {"list written inside",
       "self.all[0].add_(x)\n    self.all[1] = x * 2\n    return self.all[0] + self.all[1]",
       {{"all", tensors(2)}}},
      {"list returned", "self.all.append(x)\n    return self.all", {{"all", tensors(1)}}},
      {"dictionary",
       "self.d['a'] = self.d['a'] + x\n    self.d['b'] = x\n    return self.d['a'] + self.d['b']",
       {{"d", dictionary()}}},
      {"numbers in a list",
       "self.l.append(int(x.size(0)))\n    return x * self.l[-1] + len(self.l)",
       {{"l", c10::List<std::int64_t>({1, 2})}}},
      {"throws behind a write",
       "self.h += x[:4].sum()\n    self.n += 1\n    return self.h + x.view(4)",
       {{"h", at::zeros({4})}, {"n", c10::IValue(0)}}},
      {"throws behind a change of a list",
       "self.all.append(x[:4])\n    return x.view(4) * len(self.all)",
       {{"all", tensors(1)}}},
  };
}

std::vector<InputSet> calls() {
  std::vector<InputSet> all;
  for (int i = 0; i < 5; ++i) all.push_back({at::randn({4})});
  all.insert(all.begin() + 3, {at::randn({5})});  // for which some models throw
  return all;
}

}  // namespace

TEST_CASE("models with state return what the interpreter returns", "[session]") {
  std::vector<StaticModuleOptions> ways(5);
  ways[0].debug.enable_replay = false;
  ways[2].debug.check_every = 1;
  ways[3].debug.enable_families = false;
  ways[4].numerics = Numerics::exact;
  for (const Model& model : models()) {
    INFO(model.name);
    const torch::jit::Module module =
        script(std::string("def forward(self, x):\n    ") + model.source + "\n", model.attributes);
    for (std::size_t way = 0; way < ways.size(); ++way) {
      INFO("way " << way);
      check_session(module, calls(), ways[way], {.rtol = 1e-5, .atol = 1e-5, .strides = true, .rounds = 3});
    }
  }
}

}  // namespace sr::test::session_tests
