// Sums, extrema, softmax and normalisation against the interpreter.
#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_reductions_tests {

namespace {

const OracleOptions kNative{.rtol = 1e-5, .atol = 1e-5, .expected_path = "native"};

std::vector<InputSet> over_dims() {
  std::vector<InputSet> runs;
  for (const at::Tensor& tensor : tensors()) runs.push_back({tensor, c10::List<std::int64_t>({-1})});
  runs.push_back({sample({2, 3, 4}), c10::List<std::int64_t>({0, 2})});
  runs.push_back({sample({2, 3, 4}), c10::List<std::int64_t>({1})});
  runs.push_back({sample({2, 3, 4}), c10::List<std::int64_t>()});
  runs.push_back({sample({2, 3, 4}), c10::List<std::int64_t>({3})});
  runs.push_back({sample({2, 3, 4}), c10::List<std::int64_t>({1, 1})});
  return runs;
}

std::vector<InputSet> batch_norm() {
  const at::Tensor w = sample({3}), b = sample({3}), m = sample({3}), v = at::rand({3}) + 0.5;
  return {{sample({2, 3, 4, 5}), w, b, m, v},
          {channels_last({2, 3, 4, 5}), w, b, m, v},
          {sample({4, 3}), w, b, m, v},
          {sample({1, 3, 9}), w, b, m, v},
          {sample({2, 3, 4, 5}).to(at::kDouble), w.to(at::kDouble), b.to(at::kDouble), m.to(at::kDouble),
           v.to(at::kDouble)},
          {sample({2, 4, 4}), w, b, m, v},
          {sample({0, 3, 4}), w, b, m, v},
          {sample({2, 3, 4, 5}), w, b, m, v}};
}

std::vector<InputSet> rows_of_three() {
  const at::Tensor w = sample({3}), b = sample({3});
  return {{sample({2, 3}), w, b},
          {sample({40, 3}), w, b},
          {sample({2, 5, 3}), w, b},
          {sample({3}), w, b},
          {sample({2, 3}), c10::IValue(), c10::IValue()},
          {sample({2, 3}), w, c10::IValue()},
          {sample({2, 3}, at::kDouble), w.to(at::kDouble), b.to(at::kDouble)},
          {sample({2, 3}, at::kBFloat16), w.to(at::kBFloat16), b.to(at::kBFloat16)},
          {sample({2, 3}, at::kBFloat16), w, b},
          {sample({3, 4}).t(), w, b},
          {stepped(sample({2, 3})), w, b},
          {sample({0, 3}), w, b},
          {sample({2, 4}), w, b},
          {sample({2, 3}, at::kLong), c10::IValue(), c10::IValue()},
          {sample({2, 3}), sample({4}), b},
          {sample({2, 3}), w, b}};
}

// Larger shapes and layouts: whole and partial registers, separate dimensions, channels last.
std::vector<InputSet> layouts() {
  return {{sample({3, 5, 7})},
          {sample({3, 20, 17})},
          {sample({3, 5, 7}).transpose(0, 2)},
          {sample({4, 33, 6}).transpose(1, 2)},
          {channels_last({2, 3, 9, 5}).select(0, 1)},
          {sample({6, 1, 70})},
          {sample({5, 7}).expand({3, 5, 7})},
          {stepped(sample({3, 5, 8}))},
          {sample({2, 0, 3})},
          {at::full({3, 5, 7}, NAN)},
          {sample({2, 300, 33})},
          {sample({3, 5, 7})}};
}

// Operators that are replayed, with or without an out variant.
const char* const kReplayed[] = {
    "torch.sum(x, [0])",
    "torch.sum(x, [1], keepdim=True)",
    "torch.sum(x, [0, 1])",
    "torch.sum(x, [0, 2])",
    "torch.sum(x, [0, 2], keepdim=True)",
    "torch.sum(x, [1, 2])",
    "torch.mean(x, [1])",
    "torch.mean(x, [0, 2])",
    "torch.mean(x)",
    "torch.amax(x, [1])",
    "torch.amin(x, [0, 2], keepdim=True)",
    "torch.amin(x, [-1])",
    "torch.max(x)",
    "torch.min(x)",
    "torch.max(x, 1)",
    "torch.min(x, 2, keepdim=True)",
    "torch.max(x, 0)",
    "torch.argmax(x, 1)",
    "torch.argmin(x, 2)",
    "torch.argmax(x)",
    "torch.norm(x, 2, 1)",
    "torch.norm(x, 1, [0, 2])",
    "torch.norm(x)",
    "torch.norm(x, 2, [0, 1], keepdim=True)",
    "x / torch.norm(x, 2, 1, keepdim=True).clamp_min(1e-12).expand_as(x)",
    "torch.softmax(x, 1)",
    "torch.softmax(x, 0)",
    "torch.log_softmax(x, 1)",
    "torch.sum(x * 2, [1]) + torch.sum(x.transpose(0, 2), [1]).t()",
};

}  // namespace

std::vector<OpRow> reduction_rows() {
  const std::string dims = "x, d: Optional[List[int]]";
  return {
      {"aten::sum", "x", "torch.sum(x)", &unary},
      {"aten::sum", "x", "torch.sum(x, dtype=7)", &unary},
      {"aten::sum.dim_IntList", dims, "torch.sum(x, d)", &over_dims},
      {"aten::sum.dim_IntList", dims, "torch.sum(x, d, keepdim=True)", &over_dims},
      {"aten::sum.dim_IntList", dims, "torch.sum(x, d, dtype=7)", &over_dims},
      {"aten::mean.dim", dims, "torch.mean(x, d)", &over_dims},
      {"aten::mean.dim", dims, "torch.mean(x, d, keepdim=True, dtype=7)", &over_dims},
      {"aten::amax", "x, d: List[int]", "torch.amax(x, d)", &over_dims},
      {"aten::amax", "x, d: List[int]", "torch.amax(x, d, keepdim=True)", &over_dims},
      {"aten::max", "x", "torch.max(x)", &unary},
      {"aten::min", "x", "torch.min(x)", &unary},
      {"aten::argmax", "x", "torch.argmax(x)", &unary},
      {"aten::argmax", "x", "torch.argmax(x, -1)", &unary},
      {"aten::argmax", "x", "torch.argmax(x, 0, keepdim=True)", &unary},
      {"aten::softmax.int", "x", "torch.softmax(x, -1)", &unary},
      {"aten::softmax.int", "x", "torch.softmax(x, 0)", &unary},
      {"aten::log_softmax.int", "x", "torch.log_softmax(x, -1)", &unary},
      {"aten::_softmax", "x", "torch._softmax(x, -1, False)", &unary},
      {"aten::_log_softmax", "x", "torch._log_softmax(x, -1, False)", &unary},
      {"aten::layer_norm", "x, w: Optional[Tensor], b: Optional[Tensor]", "torch.layer_norm(x, [3], w, b)",
       &rows_of_three},
      {"aten::batch_norm", "x, w, b, m, v", "torch.batch_norm(x, w, b, m, v, False, 0.1, 1e-5, True)",
       &batch_norm, kNative},
      {"aten::group_norm", "x, w, b, m, v", "torch.group_norm(x, 3, w, b)", &batch_norm, kNative},
  };
}

const OracleTable registered{&reduction_rows};

TEST_CASE("reductions and normalisations equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : reduction_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

TEST_CASE("reductions over any dimensions are replayed", "[oracle][replay]") {
  OracleOptions options{.rtol = 1e-5, .atol = 1e-5};
  options.rounds = 3;
  for (const std::string expression : kReplayed) {
    DYNAMIC_SECTION(expression) {
      at::manual_seed(5);
      check_script("def forward(self, x):\n    return " + expression + "\n", layouts(), options);
    }
  }
}

}  // namespace sr::test::ops_reductions_tests
