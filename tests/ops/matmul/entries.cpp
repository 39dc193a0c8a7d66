// Matrix products, convolutions and attention against the interpreter.
#include <cmath>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_matmul_tests {

namespace {

// The address of an operand may decide the kernel, and so the order of a sum.
const OracleOptions kClose{.rtol = 1e-5, .atol = 1e-5};
const OracleOptions kNative{.rtol = 1e-5, .atol = 1e-5, .expected_path = "native"};

std::vector<InputSet> matrices() {
  const at::Tensor a = sample({2, 3}), b = sample({3, 4});
  return {{a, b},
          {sample({20, 30}), sample({30, 40})},
          {sample({1, 2}), sample({2, 1})},
          {a, b},
          {a.to(at::kDouble), b.to(at::kDouble)},
          {sample({2, 3}, at::kLong), sample({3, 4}, at::kLong)},
          {sample({2, 3}, at::kBFloat16), sample({3, 4}, at::kBFloat16)},
          {a, b.to(at::kDouble)},
          {sample({3, 2}).t(), sample({4, 3}).t()},
          {stepped(a), stepped(b)},
          {sample({3}).expand({2, 3}), b},
          {sample({0, 3}), b},
          {a, sample({3, 0})},
          {sample({2, 0}), sample({0, 4})},
          {a, a},
          {a, b}};
}

std::vector<InputSet> batches() {
  const at::Tensor a = sample({5, 2, 3}), b = sample({5, 3, 4});
  return {{a, b},
          {sample({7, 4, 6}), sample({7, 6, 5})},
          {sample({1, 1, 2}), sample({1, 2, 1})},
          {a, b},
          {a.to(at::kDouble), b.to(at::kDouble)},
          {sample({5, 3, 2}).transpose(1, 2), sample({5, 4, 3}).transpose(1, 2)},
          {sample({2, 5, 3}).transpose(0, 1), b},
          {sample({0, 2, 3}), sample({0, 3, 4})},
          {a, a},
          {a, b}};
}

std::vector<InputSet> any_rank() {
  std::vector<InputSet> runs = matrices();
  for (const InputSet& batch : batches()) runs.push_back(batch);
  for (const InputSet& more : std::vector<InputSet>{{sample({3}), sample({3})},
                                                    {sample({3}), sample({3, 4})},
                                                    {sample({2, 3}), sample({3})},
                                                    {sample({2, 1, 2, 3}), sample({4, 3, 5})},
                                                    {sample({}), sample({3})},
                                                    {sample({3}), sample({3})}}) {
    runs.push_back(more);
  }
  return runs;
}

template <class Make>
std::vector<InputSet> with_bias(std::vector<InputSet> runs, Make make) {
  for (InputSet& run : runs) run.insert(run.begin(), make(run));
  return runs;
}

std::vector<InputSet> addmm() {
  std::vector<InputSet> runs = with_bias(matrices(), [](const InputSet& run) {
    const at::Tensor a = run[0].toTensor(), b = run[1].toTensor();
    return at::ones({b.size(1)}, a.options());
  });
  const std::vector<InputSet> full = with_bias(matrices(), [](const InputSet& run) {
    return at::ones({run[0].toTensor().size(0), run[1].toTensor().size(1)}, run[0].toTensor().options());
  });
  runs.insert(runs.end(), full.begin(), full.end());
  return runs;
}

std::vector<InputSet> linears() {
  const at::Tensor w = sample({4, 3}), b = sample({4});
  return {{sample({2, 3}), w, b},
          {sample({20, 3}), w, b},
          {sample({3}), w, b},
          {sample({2, 5, 3}), w, b},
          {sample({2, 3}), w, c10::IValue()},
          {sample({2, 3}).to(at::kDouble), w.to(at::kDouble), b.to(at::kDouble)},
          {sample({3, 2}).t(), w, b},
          {stepped(sample({2, 3})), sample({3, 4}).t(), b},
          {sample({0, 3}), w, b},
          {sample({2, 4}), w, b},
          {sample({2, 3}), w, sample({})},
          {sample({2, 3}, at::kBFloat16), w.to(at::kBFloat16), b.to(at::kBFloat16)},
          {sample({3, 2, 3}).transpose(0, 1), w, b},
          {sample({2, 3}), w, b}};
}

template <int Dims>
std::vector<InputSet> convolutions() {
  const auto image = [](std::int64_t n, std::int64_t side) {
    std::vector<std::int64_t> sizes(Dims + 2, side);
    sizes[0] = n;
    sizes[1] = 3;
    return sample(sizes);
  };
  std::vector<std::int64_t> kernel(Dims + 2, 3);
  kernel[0] = 4;
  const at::Tensor w = sample(kernel), b = sample({4});
  std::vector<InputSet> runs = {{image(2, 6), w, b},
                                {image(3, 9), w, b},
                                {image(1, 3), w, c10::IValue()},
                                {image(2, 6).to(at::kDouble), w.to(at::kDouble), b.to(at::kDouble)},
                                {stepped(image(2, 6)), w, b},
                                {image(2, 2), w, b},
                                {image(2, 6), w, sample({3})},
                                {image(0, 6), w, b},
                                {image(2, 6), w, b}};
  if (Dims == 2) runs.push_back({image(2, 6).contiguous(at::MemoryFormat::ChannelsLast), w, b});
  return runs;
}

std::vector<InputSet> attention() {
  const auto q = [](std::int64_t n, std::int64_t s) { return sample({n, 2, s, 8}); };
  return {{q(2, 5), q(2, 5), q(2, 5)},
          {q(3, 9), q(3, 9), q(3, 9)},
          {q(1, 1), q(1, 1), q(1, 1)},
          {q(2, 5).to(at::kDouble), q(2, 5).to(at::kDouble), q(2, 5).to(at::kDouble)},
          {q(2, 5), q(2, 7), q(2, 7)},
          {sample({2, 5, 2, 8}).transpose(1, 2), q(2, 5), q(2, 5)},
          {q(2, 5), q(2, 5), q(2, 5)}};
}

// Float and bool masks for all heads, for one batch, and for a row; one row sees no key.
std::vector<InputSet> masked_attention() {
  std::vector<InputSet> runs;
  const auto q = [](std::int64_t s) { return sample({2, 2, s, 8}); };
  at::Tensor blind = at::ones({5, 7}, at::kBool);
  blind[2].fill_(false);
  const at::Tensor minus_infinity = at::zeros({5, 7}).masked_fill_(blind.logical_not(), -INFINITY);
  for (const at::Tensor& mask :
       {sample({5, 7}), sample({2, 1, 5, 7}), sample({1, 7}), sample({7, 5}).t(), blind,
        sample({5, 7}).gt(0).logical_or(at::eye(5, 7).to(at::kBool)), minus_infinity}) {
    runs.push_back({q(5), q(7), q(7), mask});
  }
  runs.push_back({q(5), q(7), q(7), c10::IValue()});
  return runs;
}

std::vector<InputSet> grouped_attention() {
  return {{sample({2, 4, 5, 8}), sample({2, 2, 5, 8}), sample({2, 2, 5, 8})},
          {sample({2, 4, 3, 8}), sample({2, 1, 3, 8}), sample({2, 1, 3, 8})},
          {sample({2, 6, 3, 8}), sample({2, 3, 7, 8}), sample({2, 3, 7, 8})},
          {sample({2, 5, 4, 8}).transpose(1, 2), sample({2, 2, 5, 8}), sample({2, 2, 5, 8})},
          {sample({4, 5, 8}), sample({2, 5, 8}), sample({2, 5, 8})}};
}

}  // namespace

std::vector<OpRow> gemm_rows() {
  return {
      {"aten::mm", "x, y", "torch.mm(x, y)", &matrices, kClose},
      {"aten::bmm", "x, y", "torch.bmm(x, y)", &batches, kClose},
      {"aten::matmul", "x, y", "torch.matmul(x, y)", &any_rank, kClose},
      {"aten::addmm", "z, x, y", "torch.addmm(z, x, y)", &addmm, kClose},
      {"aten::addmm", "z, x, y", "torch.addmm(z, x, y, beta=2, alpha=3)", &addmm, kClose},
      {"aten::baddbmm", "z, x, y", "torch.baddbmm(z, x, y)",
       [] {
         return with_bias(batches(), [](const InputSet& run) {
           return at::ones({run[0].toTensor().size(0), run[0].toTensor().size(1), run[1].toTensor().size(2)},
                           run[0].toTensor().options());
         });
       },
       kClose},
      {"aten::linear", "x, w, b: Optional[Tensor]", "torch.linear(x, w, b)", &linears, kClose},
      {"aten::conv1d", "x, w, b: Optional[Tensor]", "torch.conv1d(x, w, b)", &convolutions<1>, kNative},
      {"aten::conv2d", "x, w, b: Optional[Tensor]", "torch.conv2d(x, w, b, [2, 2], [1, 1])", &convolutions<2>,
       kNative},
      {"aten::conv3d", "x, w, b: Optional[Tensor]", "torch.conv3d(x, w, b)", &convolutions<3>, kNative},
      {"aten::max_pool2d", "x", "torch.max_pool2d(x, [2, 2])", &unary, kNative},
      {"aten::scaled_dot_product_attention", "q, k, v", "torch.scaled_dot_product_attention(q, k, v)",
       &attention, kNative},
      {"aten::scaled_dot_product_attention", "q, k, v",
       "torch.scaled_dot_product_attention(q, k, v, is_causal=True)", &attention, kNative},
      {"aten::scaled_dot_product_attention", "q, k, v, m: Optional[Tensor]",
       "torch.scaled_dot_product_attention(q, k, v, m, 0.0, False, scale=0.25)", &masked_attention, kNative},
      {"aten::scaled_dot_product_attention", "q, k, v",
       "torch.scaled_dot_product_attention(q, k, v, None, 0.0, False, enable_gqa=True)", &grouped_attention,
       kNative},
      {"aten::dropout", "x", "torch.dropout(x, 0.5, False)", &unary, kNative},
  };
}

const OracleTable registered{&gemm_rows};

TEST_CASE("products, convolutions and attention equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : gemm_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

TEST_CASE("recurrent networks without dropout are replayed", "[replay]") {
  // A shape that depends on data: a plan with random numbers would be refused.
  const torch::jit::Module model = script(
      "def forward(self, x, h):\n"
      "    y, hn = torch.gru(x, h, [self.a, self.b], False, 1, 0.0, False, False, False)\n"
      "    return y, x.nonzero()\n",
      {{"a", sample({12, 3})}, {"b", sample({12, 4})}});
  StaticRuntime<> runtime{StaticModule(model)};
  const at::Tensor x = sample({5, 2, 3}), h = sample({1, 2, 4});
  for (int call = 0; call < 4; ++call) {
    const c10::IValue expected = model.deepcopy().forward({x, h});
    CHECK(difference(expected, runtime(x, h), close()) == "");
  }
  CHECK(runtime.replayed_calls() != 0);
}

TEST_CASE("products without features and products of a vector give no warning", "[oracle][ops]") {
  struct Counter : c10::WarningHandler {
    int count = 0;
    void process(const c10::Warning&) override { ++count; }
  };
  const at::Tensor weight = sample({0, 3}), bias = sample({0});
  check_script("def forward(self, x, w, b):\n    return torch.linear(x, w, b) * 2\n",
               {{sample({1, 3, 3}), weight, bias},
                {sample({2, 5, 3}), weight, bias},
                {sample({1, 3, 3}), weight, bias}});
  Counter counter;
  const c10::WarningUtils::WarningHandlerGuard guard(&counter);
  const c10::WarningUtils::WarnAlways always(true);
  const at::Tensor x = sample({3}), y = sample({3, 4}), b = sample({4});
  check_script("def forward(self, x, y):\n    return torch.matmul(x, y) * 2\n", {{x, y}, {x, y}}, kClose);
  check_script(
      "def forward(self, x, y, b):\n    return torch.linear(x, y.t(), b) * 2, torch.linear(x, y.t()) * 2\n",
      {{x, y, b}, {x, y, b}}, kClose);
  CHECK(counter.count == 0);
}

TEST_CASE("tensordot over adjacent dimensions is one product", "[oracle][ops][replay]") {
  struct Body {
    std::string text;
    bool is_ours = true;
  };
  for (const Body& body :
       std::vector<Body>{{"torch.tensordot(x, self.w, [2], [0])"},
                         {"torch.tensordot(x, self.w, [-1], [-2])"},
                         {"torch.tensordot(x, self.w3, [2], [0])"},
                         {"torch.tensordot(x, self.w3.flatten(0, 1), [1, 2], [0, 1])", false},
                         {"torch.tensordot(x, self.both, [1, 2], [0, 1])"},
                         {"torch.tensordot(x, self.all, [0, 1, 2], [0, 1, 2])"},
                         {"torch.tensordot(x, self.w.t(), [2], [1])", false},
                         {"torch.tensordot(x, self.both, [2, 1], [1, 0])", false},
                         {"torch.tensordot(x, self.w, [], [])", false}}) {
    CAPTURE(body.text);
    const std::string source = "def forward(self, x):\n    return " + body.text + "\n";
    const torch::jit::Module model = script(source, {{"w", sample({5, 7})},
                                                     {"w3", sample({5, 2, 3})},
                                                     {"both", sample({4, 5, 6})},
                                                     {"all", sample({3, 4, 5})}});
    const at::Tensor x = sample({3, 4, 5}), swapped = sample({3, 5, 4}).transpose(1, 2);
    check_model(model, {{x}, {x}, {x}, {swapped}, {swapped}, {swapped}, {sample({3, 4, 6})}}, kClose);
    StaticRuntime<> runtime{StaticModule(model)};
    try {
      for (int run = 0; run < 3; ++run) runtime(x);
    } catch (const std::exception&) {  // sizes that do not fit
      continue;
    }
    REQUIRE(runtime.report().plans.size() == 1);
    CHECK((runtime.report().plans[0].kernels == 1 && runtime.report().plans[0].calls == 0) == body.is_ours);
  }
}

}  // namespace sr::test::ops_matmul_tests
