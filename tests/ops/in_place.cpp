// Operators that write into a managed tensor, a view of one, or an argument, against the interpreter.
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_in_place_tests {

namespace {

const OracleOptions kNative{.rounds = 3, .expected_path = "native"};

std::vector<InputSet> with_index() {
  const at::Tensor index = at::arange(4).remainder(2).reshape({2, 2});
  const at::Tensor a = sample({3, 3});
  return {{a, index, sample({2, 2})},
          {a, index, sample({2, 2})},
          {transposed(sample({3, 3})), index, sample({2, 2})},
          {sample({3, 3}, at::kDouble), index, sample({2, 2}, at::kDouble)},
          {a, at::full({1, 2}, 7, at::kLong), sample({2, 2})},  // refused
          {a, index, sample({2, 2})}};
}
std::vector<InputSet> with_rows() {
  const at::Tensor rows = at::arange(0, 3, 2);
  return {{sample({3, 3}), rows, sample({2, 3})},
          {sample({3, 3}), rows, sample({2, 3})},
          {sample({4, 3}), rows, sample({2, 3})},
          {transposed(sample({3, 3})), rows, sample({2, 3})},
          {sample({3, 3}), at::full({1}, 5, at::kLong), sample({1, 3})},  // refused
          {sample({3, 3}), rows, sample({2, 3})}};
}
std::vector<InputSet> with_list() {
  std::vector<InputSet> runs;
  for (const InputSet& run : with_rows())
    runs.push_back({run[0], c10::List<at::Tensor>({run[1].toTensor()}), run[2]});
  return runs;
}
std::vector<InputSet> with_mask() {
  std::vector<InputSet> runs;
  for (const at::Tensor& tensor : few())
    runs.push_back({tensor, sample(tensor.sizes(), at::kBool), sample(tensor.sizes(), tensor.scalar_type())});
  runs.push_back({sample({4, 6}), sample({4, 6}), sample({4, 6})});  // no mask
  return runs;
}
std::vector<InputSet> flags() {
  return {{sample({4, 6}, at::kBool), sample({4, 6}, at::kBool)},
          {sample({2, 3}, at::kLong), sample({3}, at::kLong)},
          {transposed(sample({4, 6}, at::kBool)), sample({4, 6}, at::kBool)},
          {sample({4, 6}), sample({4, 6})},
          {sample({4, 6}, at::kBool), sample({4, 6}, at::kBool)}};
}

}  // namespace

std::vector<OpRow> in_place_rows() {
  std::vector<OpRow> rows;
  const auto add = [&](const std::string& key, const std::string& parameters, const std::string& call,
                       std::vector<InputSet> (*runs)()) {
    rows.push_back({"aten::" + key, "x" + parameters, "(x * 2)." + call, runs, kNative});
  };
  for (const std::string name : {"add_", "sub_", "mul_", "div_"}) {
    add(name + ".Tensor", ", y", name + "(y)", &few_pairs);
    add(name + ".Scalar", "", name + "(3)", &few_alone);
    add(name + ".Scalar", "", name + "(0.5)", &few_alone);
  }
  add("add_.Tensor", ", y", "add_(y, alpha=2)", &few_pairs);
  add("div_.Tensor_mode", ", y", "div_(y, rounding_mode='floor')", &few_pairs);
  add("div_.Scalar_mode", "", "div_(2, rounding_mode='trunc')", &few_alone);
  add("pow_.Scalar", "", "pow_(2)", &few_alone);
  add("pow_.Tensor", ", y", "pow_(y)", &few_pairs);
  add("addcmul_", ", y", "addcmul_(y, y, value=2)", &few_pairs);
  add("addcdiv_", ", y", "addcdiv_(y, y, value=2)", &few_pairs);
  add("lerp_.Scalar", ", y", "lerp_(y, 0.25)", &few_pairs);
  add("lerp_.Tensor", ", y", "lerp_(y, y)", &few_pairs);
  add("fill_.Scalar", "", "fill_(3)", &few_alone);
  add("fill_.Tensor", ", y", "fill_(y.sum())", &few_pairs);
  add("zero_", "", "zero_()", &few_alone);
  add("copy_", ", y", "copy_(y)", &few_pairs);
  add("masked_fill_.Scalar", ", m, y", "masked_fill_(m, 3)", &with_mask);
  add("masked_fill_.Tensor", ", m, y", "masked_fill_(m, y.sum())", &with_mask);
  add("masked_scatter_", ", m, y", "masked_scatter_(m, y)", &with_mask);
  add("index_put_.hacked_twin", ", i, v", "index_put_([i], v)", &with_rows);
  add("index_put_", ", i, v", "index_put_([None, i], v, True)", &with_rows);
  add("index_fill_.int_Scalar", ", i, v", "index_fill_(0, i, 3)", &with_rows);
  add("index_fill_.int_Tensor", ", i, v", "index_fill_(0, i, v.sum())", &with_rows);
  add("index_add_", ", i, v", "index_add_(0, i, v)", &with_rows);
  add("index_copy_", ", i, v", "index_copy_(0, i, v)", &with_rows);
  add("scatter_.src", ", i, v", "scatter_(1, i, v)", &with_index);
  add("scatter_.value", ", i, v", "scatter_(1, i, 3)", &with_index);
  add("scatter_.reduce", ", i, v", "scatter_(1, i, v, reduce='add')", &with_index);
  add("scatter_.value_reduce", ", i, v", "scatter_(1, i, 3, reduce='multiply')", &with_index);
  add("scatter_add_", ", i, v", "scatter_add_(1, i, v)", &with_index);
  for (const std::string name : {"sigmoid_", "tanh_", "exp_", "log_", "sqrt_", "rsqrt_", "neg_", "abs_",
                                 "square_", "reciprocal_", "floor_", "ceil_", "round_", "logical_not_"}) {
    add(name, "", name + "()", &few_alone);
  }
  for (const std::string name : {"gelu_", "elu_", "hardsigmoid_"})
    rows.push_back({"aten::" + name, "x", "torch." + name + "(x * 2)", &few_alone, kNative});
  // Local ones become out-of-place operators; here they write an argument.
  for (const std::string name : {"relu_", "hardtanh_", "leaky_relu_", "hardswish_", "relu6_"})
    rows.push_back({"aten::" + name, "x", "torch." + name + "(x)", &few_alone, kNative});
  OracleOptions rounded = kNative;
  rounded.rtol = rounded.atol = 1e-6;
  rows.push_back({"aten::silu_", "x", "torch.silu_(x)", &few_alone, rounded});
  add("clamp_", "", "clamp_(-0.5, 0.5)", &few_alone);
  add("clamp_.Tensor", ", y", "clamp_(y, y + 1)", &few_pairs);
  add("clamp_min_", "", "clamp_min_(0)", &few_alone);
  add("clamp_min_.Tensor", ", y", "clamp_min_(y)", &few_pairs);
  add("clamp_max_", "", "clamp_max_(0)", &few_alone);
  add("clamp_max_.Tensor", ", y", "clamp_max_(y)", &few_pairs);
  for (const std::string name : {"logical_and_", "logical_or_", "logical_xor_"})
    add(name, ", y", name + "(y)", &few_pairs);
  for (const std::string name : {"bitwise_and_", "bitwise_or_", "bitwise_xor_"})
    rows.push_back(
        {"aten::" + name + ".Tensor", "x, y", "torch.bitwise_not(x)." + name + "(y)", &flags, kNative});
  rows.push_back({"aten::bitwise_not_", "x, y", "torch.bitwise_or(x, y).bitwise_not_()", &flags, kNative});
  rows.push_back({"aten::dropout_", "x", "torch.dropout_(x * 2, 0.5, False)", &few_alone, kNative});
  rows.push_back({"aten::index_put_.hacked_twin", "x, i: List[Tensor], v",
                  "graph(%self, %x : Tensor, %i : Tensor[], %v : Tensor):\n"
                  "  %no : bool = prim::Constant[value=0]()\n  %c : Tensor = aten::relu(%x)\n"
                  "  %y : Tensor = aten::index_put_(%c, %i, %v, %no)\n  %z : Tensor = aten::relu(%y)\n"
                  "  return (%z)\n",
                  &with_list, kNative});
  return rows;
}

const OracleTable registered{&in_place_rows};

TEST_CASE("ops that work in place equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : in_place_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

TEST_CASE("what is written in place is seen through views and by the caller", "[oracle][ops]") {
  OracleOptions options = kNative;
  options.managed = "aten::add_.Tensor";
  check_script(
      "def forward(self, x, y):\n    a = x * 2\n    b = a.t() if a.dim() == 2 else a\n    b[0].add_(1)\n"
      "    a.add_(y)\n    return a + 0, b + 1\n",
      {{sample({3, 3}), sample({3, 3})}, {sample({3, 3}), sample({3, 3})}, {sample({4, 4}), sample({4})}},
      options);
  check_script("def forward(self, x, y):\n    x.add_(y)\n    return x * y\n", few_pairs(), options);
  check_script(
      "def forward(self, x, y):\n    a = x + y\n    for i in range(3):\n        a.add_(y)\n"
      "        a = a.mul_(2)\n    return a\n",
      few_pairs(), options);
}

}  // namespace sr::test::ops_in_place_tests
