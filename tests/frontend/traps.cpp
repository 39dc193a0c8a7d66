// Traps that other runtimes fell into, and instructive bugs of planners.
#include <sr/executor/arena.hpp>
#include <sr/static_runtime.hpp>

#include "support/bodies.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::traps_tests {

TEST_CASE("63012: outputs of one node have separate storages", "[oracle][traps]") {
  check("a, b = torch.max(x, 1)\n    c, d = torch.sort(x, 1)\n    return a * 2, b * 2, c + 1, d + 1",
        {{f32()}, {f32({4, 5})}, {f32({1, 2})}, {f32()}});
  check("a, b = torch.topk(x, 2)\n    return a * 2 + b", {{f32()}, {f32({4, 5})}, {f32()}});
  check("q, r = torch.linalg_qr(x)\n    return q * 2, r * 2", {{f32()}, {f32({4, 5})}, {f32()}},
        {.rtol = 1e-5, .atol = 1e-6});
}

TEST_CASE("multi-output nodes with outputs that are not read", "[oracle][traps]") {
  check("a, b = torch.max(x, 1)\n    return a * 2", {{f32()}, {f32({4, 5})}, {f32()}});
  check("a, b = torch.max(x, 1)\n    return b * 2", {{f32()}, {f32({4, 5})}, {f32()}});
  check("a, b, c = torch.unique_consecutive(x, True, True)\n    return c * 2",
        {{f32()}, {f32({4, 5})}, {f32()}});
  check("m, v = torch.var_mean(x, 1)\n    return v + 1", {{f32()}, {f32({4, 5})}, {f32()}});
}

TEST_CASE("0-dim, empty, stride 0, channels_last first and contiguous later", "[oracle][traps]") {
  const Runs odd = {
      {f32({})}, {f32({0})}, {f32({2, 0, 3})}, {f32({1}).expand({4})}, {f32({2, 1, 3}).expand({2, 5, 3})},
      {f32({})}};
  check("y = x * 2\n    z = y + y\n    return torch.relu(z) + 1", odd);
  check("y = x * 2\n    return y.sum() + 1, y.clone()", odd);
  const Runs layouts = {{channels_last({2, 3, 4, 5})}, {f32({2, 3, 4, 5})},
                        {channels_last({2, 3, 4, 5})}, {f32({2, 3, 4, 5}).permute({0, 2, 3, 1})},
                        {channels_last({1, 3, 8, 8})}, {f32({2, 3, 4, 5})}};
  check("y = x * 2\n    z = torch.relu(y)\n    return z + 1", layouts);
  check("y = torch.relu(x + 1)\n    return y.sum([2, 3]), y.flatten(1) * 2, y.contiguous()", layouts);
  check(
      "y = torch.max_pool2d(x + 1, [2, 2])\n    z = torch.avg_pool2d(x * 2, [2, 2])\n    return "
      "torch.cat([y, z], 1) * 2",
      layouts);
  check(
      "y = torch.adaptive_avg_pool2d(x + 1, [2, 2])\n    z = torch.upsample_nearest2d(y, [4, 4])\n    return "
      "z * 2",
      layouts);
}

TEST_CASE("58100: clone keeps or changes the memory format, also of expanded tensors", "[oracle][traps]") {
  const Runs layouts = {{f32({2, 3, 4, 5})},
                        {channels_last({2, 3, 4, 5})},
                        {f32({2, 3, 1, 5}).expand({2, 3, 4, 5})},
                        {f32({2, 3, 4, 5})}};
  check("y = (x + 1).clone(memory_format=2)\n    return y * 2", layouts);
  check("y = x.clone()\n    return y + 1, y", layouts);
  check("y = x.clone(memory_format=0)\n    return y + 1, y", layouts);
}

TEST_CASE("73990: full, full_like, zeros_like and ones_like of changing dtypes and sizes",
          "[oracle][traps]") {
  for (const char* expression :
       {"torch.full_like(x, 2)", "torch.zeros_like(x)", "torch.ones_like(x * 1)", "torch.full(x.size(), 1.5)",
        "torch.full([2], x.size(0))", "x.new_full([2, 2], 3)", "torch.arange(x.size(0))",
        "torch.full_like(x, 2, dtype=7)"}) {
    check("y = " + std::string(expression) + "\n    return y * 2, y");
  }
  check_script(
      "def forward(self, x, n: float, i: int):\n    y = torch.full_like(x, n)\n    z = torch.full([2], i)\n"
      "    return y * 2, z * 2\n",
      {{f32(), 1.5, 2}, {f32(), 2.5, 3}, {sample({4}, at::kLong), 2.0, 1}});
}

TEST_CASE("numbers that change from run to run", "[oracle][traps]") {
  check_script(
      "def forward(self, x, n: int, s: float):\n    y = x * n + s\n    z = torch.clamp(y, -s, s)\n"
      "    return torch.pow(z, n) + torch.leaky_relu(y, s)\n",
      {{f32(), 2, 0.5}, {f32(), 3, 0.25}, {f32(), 2, 1.5}, {f32({4, 5}), 1, 0.5}, {f32(), 0, 0.0}});
  check_script("def forward(self, x, d: int, keep: bool):\n    return x.sum(d, keepdim=keep) + 1\n",
               {{f32(), 0, true},
                {f32(), 1, true},
                {f32(), 0, false},
                {f32(), -1, false},
                {f32({4, 5}), 2, false},
                {f32(), 0, true}});
  check_script(
      "def forward(self, x, n: Optional[float]):\n    if n is None:\n        r = x + 1\n    else:\n        r "
      "= x * n\n    return r * 2\n",
      {{f32(), 2.0}, {f32(), c10::IValue()}, {f32(), 1.0}});
  const auto promoted = [](double number) { return c10::IValue(number); };
  check_script("def forward(self, x, n: float):\n    return torch.add(x, n) * 2\n",
               {{sample({2, 3}, at::kLong), promoted(1.0)},
                {f32(), promoted(2.0)},
                {sample({2, 3}, at::kBool), promoted(0.5)}});
}

TEST_CASE("results whose sizes depend on data", "[oracle][traps]") {
  const Runs data = {{f32()}, {f32({4, 5})}, {at::zeros({2, 3})}, {at::ones({2, 3})}, {f32()}};
  check("y = torch.nonzero(x > 0)\n    return y + 1, y", data);
  check("y = torch.masked_select(x, x > 0)\n    return y + 1, y", data);
  check("y = x[x > 0]\n    return y * 2", data);
  check("y, c = torch._unique(torch.relu(x))\n    return y + 1", data);
  check("i = torch.argmax(x)\n    n = int(i)\n    y = torch.arange(n) * 2\n    return y",
        {{f32()}, {f32({4, 5})}, {at::ones({2, 3})}});
}

TEST_CASE("45764, 66594: flatten of strided and expanded tensors", "[oracle][traps]") {
  check("y = x + 1\n    z = y.flatten()\n    w = torch.exp(y)\n    return z * 2, w * 2");
  check("y = (x + 1).t()\n    z = y.flatten()\n    w = torch.exp(y) * z.sum()\n    return z + 1, w");
  check("y = x.flatten()\n    return torch.cat([y, y]) * 2");
}

TEST_CASE("65516, 69219: embedding_bag with all its outputs, growing and shrinking", "[oracle][traps]") {
  const at::Tensor weight = f32({10, 4});
  const auto bag = [](std::vector<std::int64_t> indices, std::vector<std::int64_t> offsets) {
    return std::pair(at::tensor(indices, at::kLong), at::tensor(offsets, at::kLong));
  };
  Runs bags;
  for (const auto& [indices, offsets] : {bag({1, 2, 4, 5}, {0, 2}), bag({4, 3, 2, 9, 0, 1}, {0, 1, 3, 5}),
                                         bag({7}, {0}), bag({1, 2, 4, 5}, {0, 2})}) {
    bags.push_back({weight, indices, offsets});
  }
  for (const char* mode : {"0", "1", "2"}) {
    check_script(
        std::string("def forward(self, w, i, o):\n    a, b, c, d = torch.embedding_bag(w, i, o, False, ") +
            mode + ", False, None, False)\n    return a * 2, a\n",
        bags);
    check_script(
        std::string("def forward(self, w, i, o):\n    a, b, c, d = torch.embedding_bag(w, i, o, False, ") +
            mode + ", False, None, False)\n    return a * 2, b + 1, c + 1, d + 1\n",
        bags);
  }
}

TEST_CASE("quantizer parameters that change from run to run", "[oracle][traps]") {
  check_script(
      "def forward(self, x, scale: float, zero: int):\n    q = torch.quantize_per_tensor(x + 1, scale, zero, "
      "13)\n"
      "    return torch.dequantize(torch.relu(q)) * 2\n",
      {{f32(), 0.1, 10}, {f32(), 0.5, 3}, {f32({4, 5}), 0.1, 10}, {f32(), 0.1, 10}});
}

TEST_CASE("complex numbers, conjugate and negative bits", "[oracle][traps]") {
  const auto complex = [](at::IntArrayRef sizes) { return at::complex(sample(sizes), sample(sizes)); };
  const Runs data = {{complex({2, 3})},
                     {f32()},
                     {complex({4, 5}).conj()},
                     {at::imag(complex({2, 3}))},
                     {at::imag(complex({2, 3}).conj())},
                     {f32()}};
  check("y = x * 2\n    return torch.sum(y) + 1, y.t() + 1", data);
  check("y = torch.conj(x * 2)\n    return y + 1, y", data);
}

TEST_CASE("None, strings, ints and nested structures as results", "[oracle][traps]") {
  check("return None");
  check("return \"text\", x.size(0), 1.5, True, None");
  check("y = x + 1\n    return ((y, [y, x]), {1: (y, y * 2)})");
}

TEST_CASE("one list given to two ops, and a list of views of one value", "[oracle][traps]") {
  check(
      "y = x + 1\n    all = [y, y * 2]\n    a = torch.cat(all)\n    b = torch.stack(all)\n    return a * 2, "
      "b * 2");
  check("y = x + 1\n    all = [y[0], y[0], y[0]]\n    a = torch.cat(all)\n    return a * 2",
        {{f32()}, {f32({4, 5})}});
}

TEST_CASE("trap: a dtype that is an argument of the call changes from run to run", "[oracle][traps]") {
  const at::Tensor x = at::randn({3, 2});
  for (const char* expression :
       {"torch.sum(x, dtype=d)", "torch.softmax(x, 0, dtype=d)", "torch.cumsum(x, 0, dtype=d)"}) {
    check_script(std::string("def forward(self, x, d: int):\n    return ") + expression + " + 1\n",
                 {{x, 6}, {x, 7}, {x, 6}});
  }
}

TEST_CASE("in-place reuse planned for one dtype, then run with other sizes of as many bytes",
          "[oracle][traps]") {
  check("y = torch.amax(x, [-1], True)\n    return (y + x) * 3",
        {{sample({9, 9, 1, 1}, at::kDouble)}, {f32({9, 9, 1, 2})}, {f32({9, 9, 1, 2})}});
}

TEST_CASE("in-place reuse of an input with the sizes of a run that threw", "[oracle][traps]") {
  check_script(
      "def forward(self, x, y):\n    a = torch.amax(x, [-1])\n    b = y.view([3])\n    return (a + x) * 3 + "
      "b.sum()\n",
      {{f32({2, 2}), f32({3})},
       {f32({2, 2}), f32({3})},
       {f32({2, 2, 3}), f32({4})},
       {f32({2, 2}), f32({3})}});
}

TEST_CASE("an extremum of an empty tensor throws", "[oracle][traps]") {
  for (const char* name : {"max", "min"}) {
    check("return torch." + std::string(name) + "(x) * 2, torch." + name + "(x + 1)",
          {{f32()}, {f32({2, 0})}, {f32()}, {sample({2}, at::kDouble)}, {sample({0}, at::kDouble)}});
  }
}

TEST_CASE("trap: alternating batch sizes keep the plan, in place or not", "[traps]") {
  const StaticModule module(
      script("def forward(self, x, y):\n    return torch.tanh((x + y) * y).relu() * 2\n"),
      {.debug = {.enable_replay = false}});
  StaticRuntime<> runtime(module);
  runtime(at::randn({20, 5}), at::randn({5}));
  runtime(at::randn({20, 5}), at::randn({5}));
  const auto address = [&] { return runtime.arena().buffer().address(0); };
  const auto before = address();
  const memory::Bytes bytes = runtime.arena().bytes();
  for (const std::int64_t batch : {1, 8, 20, 3}) {
    const at::Tensor x = at::randn({batch, 5});
    const at::Tensor y = at::randn({5});
    CHECK(at::equal(runtime(x, y).toTensor(), at::tanh((x + y) * y).relu() * 2));
    CHECK(runtime.arena().bytes() == bytes);
    CHECK(address() == before);
  }
}

}  // namespace sr::test::traps_tests
