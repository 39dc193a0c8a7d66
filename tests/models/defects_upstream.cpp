// Wrong results of upstream's static runtime (LibTorch 2.13), by defect. The interpreter is the truth.
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::defects_upstream_tests {

namespace {

using Runs = std::vector<InputSet>;

at::Tensor f32(at::IntArrayRef sizes = {2, 3}) {
  return sample(sizes);
}
at::Tensor f64(at::IntArrayRef sizes = {2, 3}) {
  return sample(sizes, at::kDouble);
}
at::Tensor i64(at::IntArrayRef sizes = {2, 3}) {
  return sample(sizes, at::kLong);
}
at::Tensor boolean(at::IntArrayRef sizes = {2, 3}) {
  return sample(sizes, at::kBool);
}

// Returns `expression` of x (and y) directly, and as the input of another operator.
void check(const std::string& expression, const Runs& runs, const OracleOptions& options = {}) {
  INFO(expression);
  const std::string head =
      std::string("def forward(self, x") + (runs[0].size() > 1 ? ", y" : "") + "):\n    r = " + expression;
  check_script(head + "\n    return r\n", runs, options);
  check_script(head + "\n    return r.clone()\n", runs, options);
}

// Runs every change of dtype between calls, and back.
Runs dtype_changes() {
  return {{f32()}, {i64()}, {f64()}, {f32()}, {boolean()}, {f32()}, {f64()}};
}
Runs dtype_changes_of_two() {
  return {{f32(), f32()}, {f64(), f64()}, {i64(), i64()}, {f32(), f64()},
          {f64(), f32()}, {f32(), f32()}, {i64(), f32()}};
}

}  // namespace

TEST_CASE("sum of int64 and then of float", "[oracle][defects]") {
  check("x.sum()", {{i64()}, {f32()}, {i64()}});
}

TEST_CASE("relu, mul and add of float, then double, then int64", "[oracle][defects]") {
  check("torch.relu(x)", dtype_changes());
  check("x * y", dtype_changes_of_two());
  check("x + y", dtype_changes_of_two());
}

TEST_CASE("div of float by double tensors", "[oracle][defects]") {
  check("x / y", dtype_changes_of_two());
}

TEST_CASE("permute followed by a sum that keeps its dimension", "[oracle][defects]") {
  check("x.permute(0, 2, 1).sum(-1, keepdim=True)", {{f32({2, 3, 4})}, {f32({1, 5, 2})}, {f32({2, 3, 4})}});
}

TEST_CASE("div, sigmoid, tanh, logit and softsign of int64 and bool", "[oracle][defects]") {
  for (const char* expression : {"torch.div(x, 2)", "torch.sigmoid(x)", "torch.tanh(x)",
                                 "torch.logit(x, 0.1)", "x / (x.abs() + 1)", "torch.exp(x)"}) {
    check(expression, {{i64()}, {boolean()}, {i64({4, 5})}, {f32()}, {i64()}});
  }
}

TEST_CASE("where and stack of mixed dtypes", "[oracle][defects]") {
  check("torch.where(x > 0, x, y)", {{f32(), f64()}, {i64(), f32()}, {f32(), f32()}, {f32(), i64()}});
  check("torch.stack([x, y])", {{f32(), f64()}, {i64(), f32()}, {f32(), f32()}, {boolean(), i64()}});
  check("torch.cat([x, y])", {{f32(), f64()}, {i64(), f32()}, {f32(), f32()}, {boolean(), i64()}});
}

TEST_CASE("clamp of integers to float bounds", "[oracle][defects]") {
  check("torch.clamp(x, -0.5, 1.5)", {{i64()}, {f32()}, {i64()}, {i64({4, 5})}});
}

TEST_CASE("norm with a dtype", "[oracle][defects]") {
  check("torch.norm(x, 2, dtype=7)", {{f32()}, {f32({4, 5})}, {f64()}});
  check("torch.norm(x, 2, [1], False, dtype=7)", {{f32()}, {f32({4, 5})}, {f64()}});
}

TEST_CASE("mul and cat of int64 and then float", "[oracle][defects]") {
  check("x * 2", {{i64()}, {f32()}, {i64()}});
  check("torch.cat([x, x])", {{i64()}, {f32()}, {i64()}});
  check("x * 2.5", {{i64()}, {f32()}, {f64()}, {i64()}});
}

TEST_CASE("layer_norm of float and then double", "[oracle][defects]") {
  check("torch.layer_norm(x, [3])", {{f32()}, {f64()}, {f32({4, 3})}, {f32()}});
}

TEST_CASE("mean and linalg norm over no dimension given", "[oracle][defects]") {
  check("torch.mean(x, None)", {{f32()}, {f64()}, {f32({4, 5})}, {f32()}});
  check("torch.mean(x)", {{f32()}, {f64()}, {f32({4, 5})}});
  check("torch.linalg_norm(x)", {{f32()}, {f64()}, {f32({4, 5})}});
  check("torch.linalg_vector_norm(x, 2, None)", {{f32()}, {f64()}, {f32({4, 5})}});
  check("torch.var(x, None)", {{f32()}, {f64()}, {f32({4, 5})}});
  check("torch.std(x, None)", {{f32()}, {f64()}, {f32({4, 5})}});
}

TEST_CASE("softmax with a dtype from the second run on", "[oracle][defects]") {
  check("torch.softmax(x, 1, dtype=7)", {{f32()}, {f32({4, 5})}, {f64()}, {i64()}, {f32()}});
  check("torch.log_softmax(x, 1, dtype=7)", {{f32()}, {f32({4, 5})}, {f64()}, {i64()}, {f32()}});
  check("torch.softmax(-x, 1)", {{f32()}, {f32({4, 5})}, {f64()}, {f32()}});
}

TEST_CASE("fork of a function that returns a tuple", "[oracle][defects]") {
  check_script(
      "def pair(self, x):\n    return (x + 1, x * 2)\ndef forward(self, x):\n    future = fork(self.pair, "
      "x)\n"
      "    a, b = torch.wait(future)\n    return a + b\n",
      {{f32()}, {f32({4, 5})}, {f64()}, {f32()}}, {.use_counts = false});
}

TEST_CASE("a graph that ends in a tuple unpack", "[oracle][defects]") {
  check("torch.max(x, 1)[0]", {{f32()}, {f32({4, 5})}, {i64()}});
  check_script("def forward(self, x):\n    t = (x + 1, x * 2)\n    a, b = t\n    return b\n",
               {{f32()}, {f32({4, 5})}});
  const auto ends_in_unpack = graph(R"IR(
graph(%p : (Tensor, Tensor)):
  %a : Tensor, %b : Tensor = prim::TupleUnpack(%p)
  return (%a))IR");
  torch::jit::Module module("M");
  module.type()->addMethod(module._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*module.type()->name(), "unused"), ends_in_unpack->copy()));
  module.define("def forward(self, p: Tuple[Tensor, Tensor]):\n    a, b = p\n    return a\n");
  check_model(module, {{c10::ivalue::Tuple::create({f32(), f32()})},
                       {c10::ivalue::Tuple::create({f32({4, 5}), f64()})}});
}

TEST_CASE("split followed by squeeze", "[oracle][defects]") {
  check_script(
      "def forward(self, x):\n    a, b = torch.split(x, 1, 1)\n    return torch.squeeze(a, 1) + 1, "
      "torch.squeeze(b, 1) * 2\n",
      {{f32({3, 2})}, {f32({5, 2})}, {f32({3, 2, 2})}, {f32({3, 2})}});
}

TEST_CASE("an if that yields another dtype for another batch size", "[oracle][defects]") {
  check_script(
      "def forward(self, x):\n    if x.size(0) > 2:\n        y = x.to(7)\n    else:\n        y = x\n"
      "    z = y * 2\n    return z.sigmoid() + 1\n",
      {{f32()}, {f32({4, 3})}, {f32()}, {f32({4, 3})}});
}

TEST_CASE("ops that kept the dtype of an earlier run", "[oracle][defects]") {
  for (const char* expression :
       {"2 / x", "x - torch.tanh(x)", "torch.cumsum(x, 0)", "x.mean(0)", "torch.abs(x)",
        "torch.nan_to_num(x)", "torch.sgn(x)", "torch.where(x > 0, x, x * 2)", "torch.prod(x)",
        "torch.dot(x[0], x[1])", "torch.outer(x[0], x[1])"}) {
    check(expression, dtype_changes());
  }
}

TEST_CASE("stack of strided tensors after contiguous ones", "[oracle][defects]") {
  const Runs runs = {{f32({4, 4}), f32({4, 4})},
                     {f32({4, 4}).t(), f32({4, 4})},
                     {f32({4, 4}).t(), f32({4, 4}).t()},
                     {stepped(f32({4, 4})), f32({8, 4}).slice(0, 0, 8, 2)},
                     {channels_last({2, 3, 4, 5}), channels_last({2, 3, 4, 5})},
                     {f32({4, 4}), f32({4, 4})},
                     {f32({6, 7}), f32({6, 7})}};
  for (const char* expression :
       {"torch.stack([x, y], 0)", "torch.stack([x, y], 1)", "torch.stack([x, y], -1)"}) {
    check(expression, runs);
  }
}

TEST_CASE("a result that leaves an if, is transposed, appended in a loop and stacked", "[oracle][defects]") {
  check_script(
      "def forward(self, x, w, n: int):\n    if n > 1:\n        y = torch.linear(x, w)\n    else:\n"
      "        y = torch.linear(x, w) + 1\n    all: List[Tensor] = []\n    for i in range(n):\n"
      "        all.append(y.t())\n    return torch.stack(all)\n",
      {{f32({4, 3}), f32({5, 3}), 3}, {f32({6, 3}), f32({5, 3}), 1}, {f32({4, 3}), f32({2, 3}), 2}});
}

TEST_CASE("cat of a tensor whose layout depends on an if", "[oracle][defects]") {
  check_script(
      "def forward(self, x, flip: bool):\n    if flip:\n        v = x.t() + 1\n    else:\n        v = x + 1\n"
      "    return torch.cat([v.abs(), -v], -1)\n",
      {{f32({3, 4}), true}, {f32({3, 4}), false}, {f32({3, 4}), true}, {f32({5, 2}), false}});
}

TEST_CASE("an alias by to() once the dtype is right already, written through a view", "[oracle][defects]") {
  check_script(
      "def forward(self, x):\n    a = x * 1\n    y = a.to(7)\n    a[0].add_(1)\n    return y * 1, a * 1\n",
      {{f32()}, {f64()}, {f32()}, {f64({4, 5})}});
  check_script("def forward(self, x):\n    y = x.to(7)\n    x[0].add_(1)\n    return y\n",
               {{f32()}, {f64()}, {f32()}});
}

TEST_CASE("an accumulator over sums of bool and then float", "[oracle][defects]") {
  check_script(
      "def forward(self, x, y):\n    acc = torch.zeros([], dtype=4)\n    for q in [x, y]:\n"
      "        acc = acc + q.sum()\n    return acc\n",
      {{boolean(), f32()},
       {f32(), boolean()},
       {boolean(), boolean()},
       {f64(), boolean()},
       {boolean(), f32()}});
}

TEST_CASE("narrow with a negative dimension and start", "[oracle][defects]") {
  check("torch.narrow(x, -1, 1, 2)", {{f32()}, {f32({4, 5})}});
  check("torch.narrow(x, -2, -1, 1)", {{f32()}, {f32({4, 5})}});
}

TEST_CASE("warnings left in the graph", "[oracle][defects]") {
  check_script("def forward(self, x):\n    y = x + 1\n    torch.warn(\"seen\")\n    return y * 2\n",
               {{f32()}, {f32({4, 5})}, {f32()}});
}

TEST_CASE("argmin over a dimension, softmin and to_sparse in the second run", "[oracle][defects]") {
  check("torch.argmin(x, 1)", {{f32()}, {f32({4, 5})}, {i64()}, {f32()}});
  check("torch.argmin(x)", {{f32()}, {f32({4, 5})}});
  check("(x * 2).to_sparse().to_dense()", {{f32()}, {f32({4, 5})}, {f32()}});
  OracleOptions sparse;
  sparse.use_counts = false;
  check_script("def forward(self, x):\n    return (x * 2).to_sparse()\n", {{f32()}, {f32({4, 5})}, {f32()}},
               sparse);
  check_script("def forward(self, x):\n    y = x.to_sparse()\n    return (y + y).to_dense()\n",
               {{f32()}, {f32({4, 5})}});
  check_script("def forward(self, x):\n    return torch.relu(x)\n", {{f32()}, {f32().to_sparse()}, {f32()}},
               sparse);
}

TEST_CASE("in-place comparisons and logical ops keep the dtype of the temporary", "[oracle][defects]") {
  for (const std::string op :
       {"eq_", "ne_", "lt_", "le_", "gt_", "ge_", "logical_and_", "logical_or_", "logical_xor_"}) {
    check("(x * 1)." + op + "(y)",
          {{f32(), f32()}, {f64(), f64()}, {i64(), i64()}, {f32({4, 5}), f32({4, 5})}});
  }
  check("(x * 1).logical_not_()", dtype_changes());
  check("(x * 1).sigmoid_()", dtype_changes());
  check("(x * 1).relu_()", dtype_changes());
}

TEST_CASE("what the interpreter refuses is refused: cumsum_ with dtype, addr_ of other sizes",
          "[oracle][defects]") {
  check("(x * 1).cumsum_(0, dtype=6)", dtype_changes());
  check("(x * 1).cumprod_(0, dtype=7)", dtype_changes());
  check("(x * 1).addr_(y, y)",
        {{f32({3, 3}), f32({3})}, {f32({3, 3}), f32({4})}, {f32({1, 3}), f32({3})}, {f32({3, 3}), f32({3})}});
  check("(x * 1).add_(y)", {{f32(), f64()}, {i64(), f32()}, {f32({3}), f32({2, 3})}, {f32(), f32()}});
}

TEST_CASE("programs that upstream runs right", "[oracle][defects]") {
  check_script("def forward(self, x):\n    y = x * 2\n    y[0].mul_(3)\n    return y + 1\n",
               {{f32()}, {f32({4, 5})}, {i64()}});
  check("x.expand([4, 2, 3]) + 1", {{f32()}, {f32({1, 3}).expand({2, 3})}, {f64()}});
  check("torch.cat([x, x]) * 2", {{f32({0, 3})}, {f32()}, {f32({40, 3})}, {f32({0, 3})}});
  check("(x + 1).relu().contiguous()",
        {{channels_last({2, 3, 4, 5})}, {f32({2, 3, 4, 5})}, {channels_last({1, 3, 4, 5})}});
}

TEST_CASE("freezing does not replace x * 1 by x", "[oracle][defects]") {
  for (const char* expression : {"x * 1", "x / 1", "x + 0", "x - 0", "x * 1.0", "x + 0.0", "(x / 1) * 2"}) {
    check(expression, {{i64()}, {f32()}, {boolean().logical_not()}, {f32({4, 5})}, {i64()}});
  }
  check_script(
      "def forward(self, x, n: int):\n    acc = x * 1\n    for i in range(n):\n        acc = acc * 2\n"
      "    acc.add_(1)\n    return acc\n",
      {{f32(), 0}, {f32(), 2}, {i64(), 0}});
  check_model(script("def forward(self, x):\n    return x / self.one + self.zero\n",
                     {{"one", std::int64_t{1}}, {"zero", std::int64_t{0}}}),
              {{i64()}, {f32()}, {i64()}});
}

}  // namespace sr::test::defects_upstream_tests
