// Every element-by-element functor against the interpreter.
#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_pointwise_tests {

namespace {

const char* const kUnary[] = {"sigmoid", "tanh",  "exp",        "expm1", "log",         "log1p",
                              "sqrt",    "rsqrt", "reciprocal", "erf",   "neg",         "sin",
                              "cos",     "floor", "ceil",       "sign",  "bitwise_not", "relu"};
const char* const kBinary[] = {"add.Tensor",        "sub.Tensor", "mul.Tensor", "div.Tensor",
                               "pow.Tensor_Tensor", "eq.Tensor",  "ne.Tensor",  "lt.Tensor",
                               "le.Tensor",         "gt.Tensor",  "ge.Tensor",  "bitwise_and.Tensor",
                               "bitwise_or.Tensor", "maximum",    "minimum"};
const char* const kWithNumber[] = {
    "add.Scalar", "sub.Scalar", "mul.Scalar", "div.Scalar", "pow.Tensor_Scalar", "eq.Scalar", "ne.Scalar",
    "lt.Scalar",  "le.Scalar",  "gt.Scalar",  "ge.Scalar",  "clamp_min",         "clamp_max"};

std::string function_of(const std::string& key) {
  return "torch." + key.substr(0, key.find('.'));
}

}  // namespace

std::vector<OpRow> pointwise_rows() {
  std::vector<OpRow> rows;
  for (const std::string name : kUnary)
    rows.push_back({"aten::" + name, "x", "torch." + name + "(x)", &unary});
  rows.push_back({"aten::silu", "x", "torch.silu(x)", &unary});
  for (const std::string name : kBinary) {
    rows.push_back({"aten::" + name, "x, y", function_of(name) + "(x, y)", &binary});
  }
  for (const std::string name : kWithNumber) {
    rows.push_back({"aten::" + name, "x, n: int", function_of(name) + "(x, n)", [] {
                      std::vector<InputSet> runs = with_each_tensor({2});
                      for (const int n : {0, -3, 1}) runs.push_back({sample({2, 3}), n});
                      return runs;
                    }});
    rows.push_back({"aten::" + name, "x, n: float", function_of(name) + "(x, n)", [] {
                      std::vector<InputSet> runs = with_each_tensor({0.5});
                      for (const double n : {0.0, -1.5, 2.0}) runs.push_back({sample({2, 3}), n});
                      return runs;
                    }});
  }
  rows.push_back({"aten::add.Tensor", "x, y", "torch.add(x, y, alpha=2)", &binary});
  rows.push_back({"aten::sub.Tensor", "x, y", "torch.sub(x, y, alpha=0.5)", &binary});
  rows.push_back({"aten::clamp", "x", "torch.clamp(x, -0.5, 0.5)", &unary});
  rows.push_back({"aten::clamp", "x", "torch.clamp(x, min=-1, max=1)", &unary});
  rows.push_back({"aten::clamp", "x", "torch.clamp(x, max=1)", &unary});
  rows.push_back(
      {"aten::clamp", "x, low: Optional[float], high: Optional[float]", "torch.clamp(x, low, high)", [] {
         const at::Tensor x = sample({2, 3});
         return std::vector<InputSet>{{x, 0.0, 1.0},
                                      {x, c10::IValue(), 0.5},
                                      {x, -0.5, c10::IValue()},
                                      {x, c10::IValue(), c10::IValue()}};
       }});
  rows.push_back({"aten::leaky_relu", "x", "torch.leaky_relu(x, 0.2)", &unary});
  rows.push_back({"aten::gelu", "x", "torch.gelu(x)", &unary});
  rows.push_back({"aten::gelu", "x", "torch.gelu(x, approximate='tanh')", &unary});
  rows.push_back({"aten::elu", "x", "torch.elu(x, 0.7)", &unary});
  rows.push_back({"aten::softplus", "x", "torch.softplus(x)", &unary});
  return rows;
}

const OracleTable registered{&pointwise_rows};

TEST_CASE("pointwise ops equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : pointwise_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression << " with " << row.parameters) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::ops_pointwise_tests
