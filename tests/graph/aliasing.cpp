// Values that share bytes: views, conditional aliases, containers, writes to inputs and temporaries.
#include <sr/static_runtime.hpp>

#include "support/bodies.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::aliasing_tests {

TEST_CASE("ops whose results may alias an input", "[oracle][traps]") {
  for (const char* op :
       {"x.to(6)", "x.contiguous()", "x.reshape([-1])", "x.flatten()", "x.expand([-1, -1])", "x.type_as(x)",
        "x.float()", "torch.dropout(x, 0.5, False)", "x.to(7)", "x.view_as(x)",
        "torch.feature_dropout(x, 0.5, False)", "x.expand_as(x)", "torch.atleast_2d(x)", "x.squeeze()",
        "x.squeeze(0)", "x.resolve_conj()", "x.detach()", "x.ravel()"}) {
    const std::string expression = op;
    // of an input, returned; of a managed value, returned; of a managed value, read later; written through
    check("y = " + expression + "\n    return y");
    check("x = x * 2\n    y = " + expression + "\n    return y");
    check("x = x * 2\n    y = " + expression +
          "\n    z = torch.exp(x)\n    w = z + 1\n    return y.sum() + w.sum()");
    check("x = x * 2\n    y = " + expression + "\n    z = x.add_(1)\n    return y * 2, z + 1");
  }
}

TEST_CASE("51342: a reshape of an input is not managed, and the input survives", "[oracle][traps]") {
  check("y = x.reshape([-1])\n    return y");
  check("y = x.reshape([-1])\n    z = y + 1\n    return z * 2");
}

TEST_CASE("views of managed values, and views of views", "[oracle][traps]") {
  check("y = x + 1\n    v = y.t()\n    w = v[0]\n    z = torch.relu(x) * 3\n    return w + 1, z");
  check(
      "y = x + 1\n    a = y.unsqueeze(0).transpose(1, 2).squeeze(0)\n    z = x * 5\n    u = z + 1\n    "
      "return a * u.t()");
  check("y = x + 1\n    a, b = torch.chunk(y, 2, 1)\n    z = x * 5\n    return a.sum() + z.sum()",
        {{f32({2, 4})}, {f32({3, 6})}});
  check("y = x + 1\n    parts = torch.unbind(y)\n    z = torch.exp(x * 5)\n    return parts[0] + z[0]",
        {{f32()}, {f32({4, 5})}});
}

TEST_CASE("a view, an input, a constant or one value twice may be returned", "[oracle][traps]") {
  check("y = x + 1\n    return y.t()");
  check("return x");
  check("return x, x, x * 1");
  check("y = x + 1\n    return y, y");
  check("y = x + 1\n    return y, y[0], y.t()");
  check("return torch.ones([2, 2])");
  check("y = torch.ones([2, 2])\n    return y, y.t(), y[0], x + 1");
  check("y = torch.zeros([2])\n    z = torch.zeros([2])\n    return y, z");
  check("return torch.ones([1]).expand([3]), (torch.arange(4) * 2)[1:]");
  check("return [torch.ones([2]), x], {\"a\": torch.zeros([2]), \"b\": x + 1}");
  check("return [1, 2], (3, [4.5]), x.size()");
  check(
      "y = torch.ones([2])\n    all: List[Tensor] = []\n    all.append(y)\n    all.append(x)\n    return "
      "all");
}

TEST_CASE("a returned constant that the caller writes to is intact in the next run", "[traps]") {
  const torch::jit::Module module = script("def forward(self, x):\n    return torch.ones([2]), x + 1\n");
  check_model(module, {{f32()}, {f32()}});
}

TEST_CASE("a folded result that equals a weight is not the weight", "[oracle][traps]") {
  const Attributes weights = {{"w", f32({6, 1})}, {"b", f32({6})}, {"n", 1.0}};
  OracleOptions options;
  options.use_counts = false;  // the weights have many holders
  const Runs data = {{f32({3, 1})}, {f32({2, 1})}};
  const std::string folded =
      "def forward(self, x):\n    y = torch.linear(torch.zeros([1]), self.w, self.b)\n";
  check_model(script(folded + "    return y, torch.linear(x, self.w, self.b)\n", weights), data, options);
  check_model(script("def forward(self, x):\n    return self.b * self.n, x + self.b.sum()\n", weights), data,
              options);
  const torch::jit::Module module =
      script(folded + "    return y, torch.linear(x, self.w, self.b)\n", weights);
  const at::Tensor weight = module.attr("b").toTensor();
  const at::Tensor returned = StaticModule(module)({f32({3, 1})}).toTupleRef().elements()[0].toTensor();
  CHECK(at::equal(returned, weight));
  CHECK_FALSE(returned.is_alias_of(weight));
  // These are.
  CHECK(StaticModule(script("def forward(self, x):\n    return self.b.view([2, 3])\n", weights))({f32()})
            .toTensor()
            .is_alias_of(weights[1].second.toTensor()));
  for (const char* result : {"self.b", "self.b.view([2, 3])", "[self.w, x]", "{'a': self.w.t()}",
                             "(x, self.b)[1]", "self.b.reshape([-1])", "torch.dropout(self.b, 0.5, False)"}) {
    check_model(script(folded + "    return y, " + result + "\n", weights), data, options);
  }
  check_model(
      script("def forward(self, x):\n    y = self.b\n    for i in range(x.size(0) - 2):\n        y = y * 2\n"
             "    return y, x + self.b.sum()\n",
             weights),
      data, options);
  check_model(
      script("def forward(self, x):\n    all: List[Tensor] = []\n    all.append(self.b)\n    return all\n",
             weights),
      data, options);
}

TEST_CASE("a folded result returned twice is one tensor", "[traps]") {
  const StaticModule module(
      script("def forward(self, x):\n    y = torch.full([2], 3)\n    return y, x + 1, [y]\n"));
  StaticRuntime<> runtime(module);
  for (int i = 0; i < 4; ++i) {
    const c10::IValue result = runtime(f32());
    const auto& results = result.toTupleRef().elements();
    CHECK(results[0].toTensor().is_same(results[2].toTensorVector().at(0)));
  }
}

TEST_CASE("equal results of which a loop without iterations returns one", "[oracle][traps]") {
  const Runs counted = {{f32(), 0}, {f32(), 2}, {f32({4, 5}), 0}, {f32(), 1}};
  const std::string loop = "    for i in range(n):\n        y = torch.neg(y)\n";
  for (const char* value : {"x * 1.0", "x * 2", "torch.zeros([2])", "torch.zeros([2]).clone()"}) {
    const std::string expression = value;
    for (const char* between : {"", "    y = y.add_(1)\n", "    z.add_(1)\n"}) {
      check_script("def forward(self, x, n: int):\n    y = " + expression + "\n    z = " + expression + "\n" +
                       loop + between + "    return y, z\n",
                   counted);
    }
    check_script("def forward(self, x, n: int):\n    y = " + expression +
                     "\n    k = 0\n    while k < n:\n"
                     "        y = y + 1\n        k += 1\n    return y, " +
                     expression + "\n",
                 counted);
    check_script("def forward(self, x, n: int):\n    y = " + expression + "\n    if n < 2:\n" +
                     "        for i in range(n):\n            y = torch.neg(y)\n    return y, " + expression +
                     "\n",
                 counted);
    check_script("def forward(self, x, n: int):\n    y, k = " + expression +
                     ", [x]\n    for i in range(n):\n"
                     "        y, k = torch.neg(y), [y]\n    return y, k, " +
                     expression + "\n",
                 counted);
  }
}

TEST_CASE("a detached tensor has separate sizes", "[oracle][traps]") {
  const Runs square = {{f32({3, 3})}, {f32({4, 4})}, {f32({3, 3})}};
  check("y = x.detach()\n    y.t_()\n    return x + 1, y + 2", square);
  check("y = x * 2\n    z = y.detach()\n    z.unsqueeze_(0)\n    return y + 1", square);
  check("y = (x, x.detach())\n    return y[1], (x + 1).detach() * 2", square);
}

TEST_CASE("67075: may-alias never shares bytes", "[oracle][traps]") {
  check(
      "y = x + 1\n    a = y.to(7)\n    b = y.contiguous()\n    z = torch.relu(y)\n    return a * 2, b * 2, z "
      "* 2");
}

TEST_CASE("outputs stored in containers of the user", "[oracle][traps]") {
  check("y = x + 1\n    z = y * 2\n    return [y, z], {\"a\": z, \"b\": x}, (y, (z, [x]))");
  check(
      "y = x + 1\n    d = {\"a\": y}\n    d[\"b\"] = y * 2\n    z = torch.exp(x)\n    return d[\"a\"] + "
      "d[\"b\"] + z");
  check_script(
      "def forward(self, x, all: List[Tensor]):\n    y = x * 2\n    all.append(y)\n    z = torch.exp(y) + 1\n"
      "    return z\n",
      {{f32(), c10::List<at::Tensor>({f32()})},
       {f32({4, 5}), c10::List<at::Tensor>()},
       {f32(), c10::List<at::Tensor>()}});
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("k", f32());
  check_script(
      "def forward(self, x, d: Dict[str, Tensor]):\n    y = x * 2\n    d[\"new\"] = y\n    z = torch.exp(y) "
      "+ 1\n"
      "    return z, d[\"k\"]\n",
      {{f32(), dict}, {f32({4, 5}), dict}});
}

TEST_CASE("containers changed after they were read", "[oracle][traps]") {
  check(
      "y = x + 1\n    all = [y, y * 2]\n    first = all[0]\n    all[0] = torch.exp(y)\n    z = x * 7\n    "
      "return first + all[0] + z");
  check("all = [x + 1]\n    b = all[0:]\n    all.append(x * 2)\n    return len(b), b[0] + 1, len(all)");
  check(
      "all = [x + 1, x + 2, x + 3]\n    y = all.pop()\n    z = torch.exp(x)\n    return y + z, "
      "torch.stack(all)");
  check("d = {\"a\": x + 1}\n    a = d[\"a\"]\n    d[\"a\"] = x * 2\n    return a + d[\"a\"]");
  check("all = [3, 4]\n    all.append(x.size(0))\n    return x.new_zeros(all) + 1");
}

TEST_CASE("writes into inputs, through views of them, and twice through a duplicated input",
          "[oracle][traps]") {
  check("x.add_(1)\n    return x * 2");
  check("y = x * 2\n    x.mul_(3)\n    return y + x");
  check("x[0].zero_()\n    return x + 1", {{f32()}, {f32({4, 5})}, {f32()}});
  check("y = x.t()\n    y.add_(1)\n    return x", {{f32()}, {f32({4, 5})}, {f32({3, 2}).t()}});
  const at::Tensor same = f32({3, 3});
  check_script("def forward(self, x, y):\n    x.add_(1)\n    return y * 2\n",
               {{same, same}, {f32(), f32()}, {same, same.t()}, {same, same[0]}});
  check_script("def forward(self, x, y):\n    a = x + 1\n    a.copy_(y)\n    x.add_(a)\n    return a * y\n",
               {{same, same}, {f32(), f32()}, {f32(), f32({3})}});
}

TEST_CASE("writes into temporaries and into views of them", "[oracle][traps]") {
  check("y = x + 1\n    v = y[0]\n    z = y * 2\n    v.mul_(5)\n    w = y + 1\n    return z, w",
        {{f32()}, {f32({4, 5})}, {f32()}});
  check("y = x + 1\n    z = torch.exp(y)\n    y.add_(z)\n    y.relu_()\n    return y * 2");
  check("y = torch.zeros([2, 3])\n    y.add_(1)\n    y[0].add_(x.sum())\n    return y * 2");
  check("y = torch.zeros([2])\n    y.add_(1)\n    return y");
  check("y = x + 1\n    y.resize_([2])\n    z = x * 2\n    return y.fill_(1.5) * 2, z",
        {{f32()}, {f32({4, 5})}, {f32()}});
  check("y = x + 1\n    z = x * 2\n    y.set_(z)\n    w = torch.exp(z)\n    return y + w, z",
        {{f32()}, {f32({4, 5})}, {f32()}});
  check("y = x + 1\n    z = x * 2\n    y.set_(z)\n    w = torch.exp(x)\n    return torch.exp(y) + w",
        {{f32()}, {f32({4, 5})}, {f32()}});
  check("y = x + 1\n    y.t_()\n    z = y * 2\n    return z + 1", {{f32()}, {f32({4, 5})}, {f32()}});
}

TEST_CASE("86527: in place only when the input is not read again", "[oracle][traps]") {
  check("y = x + 1\n    a = torch.clamp(y, 0, 1)\n    b = y * 2\n    return a * b");
  check(
      "y = x + 1\n    a = torch.relu(y)\n    b = torch.exp(a)\n    c = torch.tanh(b)\n    return c * 3 + 1");
  check("y = x + 1\n    v = y.t()\n    a = torch.relu(y)\n    return (v + a.t()) * 2");
  check("y = x + 1\n    z = y * y\n    w = z + z\n    return w * 2");
  check("y = x + 1\n    z = y * y.sum()\n    w = y.t() + 1\n    return z.sum() + w.sum()");
  check("y = x + 1\n    z = x.sum(0)\n    w = z + y\n    u = w * w.sum(0)\n    return u + 1");
}

TEST_CASE("a write to the result of a loop without iterations", "[oracle][traps]") {
  const Runs counted = {{f32(), 0}, {f32(), 2}, {f32({4, 5}), 0}, {sample({2, 3}, at::kLong), 1}};
  for (const char* start : {"x", "x * 2", "x.t()", "torch.relu(x)"}) {
    for (const char* write : {"acc.relu_()", "acc.add_(1)", "acc[0].zero_()"}) {
      check_script("def forward(self, x, n: int):\n    acc = " + std::string(start) +
                       "\n    for i in range(n):\n        acc = torch.neg(acc)\n    " + write +
                       "\n    return acc, x + 1\n",
                   counted);
      check_script("def forward(self, x, n: int):\n    acc = " + std::string(start) +
                       "\n    if n > 0:\n        acc = torch.neg(acc)\n    " + write +
                       "\n    return acc * 2\n",
                   counted);
    }
  }
}

TEST_CASE("a result computed three times is returned three times", "[oracle][traps]") {
  check_script(
      "def forward(self, x):\n    a = x * 2\n    s = a.sum()\n    b = x * 2\n    c = x * 2\n    return s, b, "
      "c\n",
      {{at::ones({2, 3})}, {at::ones({3, 3})}});
}

}  // namespace sr::test::aliasing_tests
