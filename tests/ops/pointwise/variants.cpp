// Pointwise operators under other names, with numbers on the left, and selections, against the interpreter.
#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_pointwise_variants_tests {

namespace {

std::vector<InputSet> with_int() {
  std::vector<InputSet> runs = with_each_tensor({2});
  runs.push_back({sample({2, 3}), -3});
  return runs;
}
std::vector<InputSet> with_float() {
  std::vector<InputSet> runs = with_each_tensor({0.5});
  runs.push_back({sample({2, 3}), -1.5});
  return runs;
}
std::vector<InputSet> integers_with_int() {
  return {{sample({2, 3}, at::kLong), 2},
          {sample({4, 5}, at::kLong), 3},
          {sample({2, 3}, at::kInt), 2},
          {transposed(sample({3, 4}, at::kLong)), 1},
          {stepped(sample({3, 4}, at::kLong)), 1},
          {sample({}, at::kLong), 2},
          {sample({2, 3}), 2},
          {sample({0, 3}, at::kLong), 2},
          {sample({2, 3}, at::kLong), 2}};
}
std::vector<InputSet> choices() {
  std::vector<InputSet> runs;
  for (const at::Tensor& tensor : tensors()) runs.push_back({sample(tensor.sizes(), at::kBool), tensor});
  runs.push_back({sample({2, 3}, at::kBool), sample({3})});
  runs.push_back({sample({2, 3}, at::kBool), sample({2, 4})});  // refused
  runs.push_back({sample({2, 3}), sample({2, 3})});             // no condition
  runs.push_back(runs.front());
  return runs;
}

}  // namespace

std::vector<OpRow> pointwise_variant_rows() {
  std::vector<OpRow> rows;
  for (const std::string name : {"floor_divide", "rsub"}) {
    rows.push_back({"aten::" + name + ".Scalar", "x, n: int", "torch." + name + "(x, n)", &with_int});
    rows.push_back({"aten::" + name + ".Scalar", "x, n: float", "torch." + name + "(x, n)", &with_float});
  }
  for (const std::string mode : {"'floor'", "'trunc'", "None"}) {
    rows.push_back({"aten::div.Tensor_mode", "x, y", "torch.div(x, y, rounding_mode=" + mode + ")", &binary});
    rows.push_back(
        {"aten::div.Scalar_mode", "x, n: float", "torch.div(x, n, rounding_mode=" + mode + ")", &with_float});
  }
  rows.push_back({"aten::remainder.Scalar_Tensor", "x, n: int", "torch.remainder(n, x)", &with_int});
  rows.push_back({"aten::remainder.Scalar_Tensor", "x, n: float", "torch.remainder(n, x)", &with_float});
  for (const std::string name :
       {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"}) {
    rows.push_back(
        {"aten::" + name + ".Scalar_Tensor", "x, n: int", "torch." + name + "(n, x)", &integers_with_int});
  }
  rows.push_back({"aten::__and__.Tensor", "x, y", "torch.__and__(x, y)", &binary});
  rows.push_back({"aten::__or__.Tensor", "x, y", "torch.__or__(x, y)", &binary});
  rows.push_back({"aten::__xor__.Tensor", "x, y", "torch.__xor__(x, y)", &binary});
  rows.push_back({"aten::_add_relu.Scalar", "x, n: float", "torch._add_relu(x, n)", &with_float});
  rows.push_back({"aten::relu6", "x", "torch.relu6(x)", &unary});
  rows.push_back({"aten::isnan", "x", "torch.isnan(x)", &unary});
  rows.push_back({"aten::where.ScalarOther", "c, x", "torch.where(c, x, 0.5)", &choices});
  rows.push_back({"aten::where.ScalarOther", "c, x", "torch.where(c, x, 2)", &choices});
  rows.push_back({"aten::where.ScalarSelf", "c, x", "torch.where(c, 0.5, x)", &choices});
  rows.push_back({"aten::where.Scalar", "c, x", "torch.where(c, 1, 0.5)", &choices});
  rows.push_back({"aten::where.Scalar", "c, x", "torch.where(c, 1, 0)", &choices});
  rows.push_back(
      {"aten::_test_functorch_fallback", "x, y", "torch._test_functorch_fallback(x, y)", &few_pairs});
  rows.push_back({"aten::prod", "x", "torch.prod(x)", &unary});
  rows.push_back({"aten::prod", "x", "torch.prod(x, dtype=7)", &unary});
  for (const std::string p : {"2", "1", "0.5", "0"})
    rows.push_back({"aten::norm.Scalar", "x", "torch.norm(x, " + p + ")", &unary});
  rows.push_back({"aten::norm.ScalarOpt_dtype", "x", "torch.norm(x, 2, dtype=7)", &unary});
  rows.push_back({"aten::norm.ScalarOpt_dtype", "x", "torch.norm(x, None, dtype=6)", &unary});
  for (const std::string name : {"var", "std"}) {
    rows.push_back({"aten::" + name, "x", "torch." + name + "(x)", &unary});
    rows.push_back({"aten::" + name, "x", "torch." + name + "(x, False)", &unary});
  }
  return rows;
}

const OracleTable registered{&pointwise_variant_rows};

TEST_CASE("further pointwise ops equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : pointwise_variant_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::ops_pointwise_variants_tests
