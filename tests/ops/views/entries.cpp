// Views, sizes and numbers against the interpreter.
#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_views_tests {

namespace {

const OracleOptions kNative{.expected_path = "native"};

std::vector<InputSet> integers() {
  return {{2, 3}, {3, 2}, {-4, -4}, {0, 7}, {2, 3}};
}
std::vector<InputSet> floats() {
  return {{2.0, 3.5}, {3.5, 2.0}, {-4.0, -4.0}, {0.0, std::numeric_limits<double>::quiet_NaN()}, {2.0, 3.5}};
}
std::vector<InputSet> optionals() {
  return {{sample({2})}, {c10::IValue()}, {sample({3})}};
}

}  // namespace

std::vector<OpRow> view_rows() {
  std::vector<OpRow> rows;
  const auto view = [&](const std::string& key, const std::string& expression) {
    rows.push_back({"aten::" + key, "x", expression, &unary, kNative});
    rows.push_back(
        {"aten::" + key, "x",
         expression.substr(0, expression.find('x')) + "(x * 2)" + expression.substr(expression.find('x') + 1),
         &unary, kNative});
  };
  view("transpose.int", "torch.transpose(x, 0, -1)");
  view("t", "torch.t(x)");
  view("view", "(x).view([-1])");
  view("reshape", "(x).reshape([-1])");
  view("flatten.using_ints", "torch.flatten(x)");
  view("flatten.using_ints", "torch.flatten(x, 1)");
  view("permute", "torch.permute(x, [1, 0])");
  view("unsqueeze", "torch.unsqueeze(x, 1)");
  view("squeeze.dim", "torch.squeeze(x, 0)");
  view("squeeze", "torch.squeeze(x)");
  view("select.int", "torch.select(x, 0, -1)");
  view("slice.Tensor", "(x)[1:]");
  view("slice.Tensor", "(x)[-3::2]");
  view("narrow", "torch.narrow(x, 0, 0, 1)");
  view("expand", "(x).expand([5, -1, -1])");
  view("contiguous", "(x).contiguous()");
  view("to.dtype", "(x).to(6)");
  view("to.dtype", "(x).to(7, copy=True)");
  rows.push_back({"aten::expand_as", "x, y", "(x).expand_as(y)", &binary, kNative});
  for (const auto& [key, expression] : std::vector<std::pair<std::string, std::string>>{
           {"aten::split.Tensor", "torch.split(x, 2)"},
           {"aten::split_with_sizes", "torch.split_with_sizes(x, [1, 1])"},
           {"aten::chunk", "torch.chunk(x, 2)"},
           {"aten::unbind.int", "torch.unbind(x)"},
           {"aten::size", "x.size()"},
           {"aten::size.int", "x.size(0)"},
           {"aten::size.int", "x.size(-1)"},
           {"aten::dim", "x.dim()"},
           {"aten::numel", "x.numel()"},
           {"aten::len.Tensor", "len(x)"},
           {"prim::dtype", "x.dtype"}}) {
    rows.push_back({key, "x", expression, &unary, kNative, 0});
  }
  for (const auto& [key, sign] : std::vector<std::pair<std::string, std::string>>{{"add", "+"},
                                                                                  {"sub", "-"},
                                                                                  {"mul", "*"},
                                                                                  {"eq", "=="},
                                                                                  {"ne", "!="},
                                                                                  {"lt", "<"},
                                                                                  {"le", "<="},
                                                                                  {"gt", ">"},
                                                                                  {"ge", ">="}}) {
    rows.push_back({"aten::" + key + ".int", "a: int, b: int", "a " + sign + " b", &integers, kNative, 0});
    if (key == "add" || key == "sub" || key == "mul" || key == "lt" || key == "gt") {
      rows.push_back(
          {"aten::" + key + ".float", "a: float, b: float", "a " + sign + " b", &floats, kNative, 0});
    }
  }
  rows.push_back({"aten::__not__", "a: int, b: int", "not (a < b)", &integers, kNative, 0});
  rows.push_back({"aten::__is__", "a: Optional[Tensor]", "a is None", &optionals, kNative, 0});
  rows.push_back({"aten::__isnot__", "a: Optional[Tensor]", "a is not None", &optionals, kNative, 0});
  rows.push_back({"aten::len.t", "x", "len(x.size())", &unary, kNative, 0});
  return rows;
}

const OracleTable registered{&view_rows};

TEST_CASE("views, sizes and numbers equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : view_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::ops_views_tests
