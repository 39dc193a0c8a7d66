// Tensors of one value, ranges and uninitialised tensors, against the interpreter.
#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_factories_tests {

namespace {

using Ints = c10::List<std::int64_t>;

std::vector<InputSet> shapes() {
  return {{2, 3}, {2, 3}, {4, 1}, {0, 3}, {2, 3}, {-1, 3}, {2, 3}};
}
std::vector<InputSet> shapes_and_number() {
  return {{2, 3, 0.5}, {2, 3, 0.5}, {4, 1, -2.0}, {0, 3, 1.0}, {-1, 2, 1.0}, {2, 3, 0.25}};
}
std::vector<InputSet> shapes_and_integer() {
  return {{2, 3, 7}, {2, 3, 8}, {4, 1, 7}, {2, 3, 7}};
}
std::vector<InputSet> tensors_and_sizes() {
  const at::Tensor a = sample({2, 3});
  return {{a, Ints({2, 3})},
          {a, Ints({2, 3})},
          {a, Ints({5})},
          {sample({2, 3}, at::kLong), Ints({2, 3})},
          {sample({2, 3}, at::kBFloat16), Ints({2, 0})},
          {a, Ints()},
          {a, Ints({-2})},
          {a, Ints({2, 3})}};
}
// Sizes of one element match the strides of every memory format: the results of later operators must not be
// taken for contiguous.
std::vector<InputSet> images() {
  return {{sample({2, 1, 1, 1})},
          {sample({2, 3, 4, 5})},
          {channels_last({2, 3, 4, 5})},
          {sample({2, 3, 4, 5})},
          {sample({2, 3, 1, 1})},
          {sample({3, 2, 5, 4})},
          {sample({2, 3, 4, 5}, at::kDouble)},
          {sample({2, 3})}};
}
std::vector<InputSet> ends() {
  return {{5, 0}, {5, 1}, {0, 0}, {7, 2}, {-1, 0}, {5, 0}};
}
std::vector<InputSet> steps() {
  return {{0, 10, 3}, {0, 10, 3}, {10, 0, -2}, {2, 3, 1}, {0, 10, 0}, {0, 10, -1}, {0, 10, 3}};
}
std::vector<InputSet> float_steps() {
  return {{0.0, 1.0, 0.25}, {0.5, 2.0, 0.5}, {1.0, 0.0, -0.1}, {0.0, 1.0, 0.25}};
}
std::vector<InputSet> points() {
  return {{0.0, 1.0, 5}, {0.0, 1.0, 5}, {-1.0, 3.0, 1}, {0.0, 1.0, 0}, {0.0, 1.0, -2}, {2.0, 1.0, 9}};
}

}  // namespace

std::vector<OpRow> factory_rows() {
  std::vector<OpRow> rows;
  for (const std::string name : {"zeros", "ones"}) {
    rows.push_back({"aten::" + name, "n: int, m: int", "torch." + name + "([n, m])", &shapes});
    rows.push_back({"aten::" + name, "n: int, m: int", "torch." + name + "([n, m], dtype=4)", &shapes});
    rows.push_back({"aten::" + name + "_like", "x", "torch." + name + "_like(x)", &unary});
    rows.push_back({"aten::" + name + "_like", "x", "torch." + name + "_like(x, dtype=7)", &unary});
    rows.push_back({"aten::" + name + "_like", "x", "torch." + name + "_like(x, memory_format=2)", &images});
    rows.push_back({"aten::new_" + name, "x, n: List[int]", "x.new_" + name + "(n)", &tensors_and_sizes});
    rows.push_back(
        {"aten::new_" + name, "x, n: List[int]", "x.new_" + name + "(n, dtype=4)", &tensors_and_sizes});
  }
  rows.push_back({"aten::full", "n: int, m: int, v: float", "torch.full([n, m], v)", &shapes_and_number});
  rows.push_back({"aten::full", "n: int, m: int, v: int", "torch.full([n, m], v)", &shapes_and_integer});
  rows.push_back(
      {"aten::full", "n: int, m: int, v: int", "torch.full([n, m], v, dtype=6)", &shapes_and_integer});
  rows.push_back({"aten::full_like", "x", "torch.full_like(x, 3)", &unary});
  rows.push_back({"aten::full_like", "x", "torch.full_like(x, 0.5, dtype=6)", &unary});
  rows.push_back({"aten::full_like", "x", "torch.full_like(x, 1, memory_format=2)", &images});
  rows.push_back({"aten::new_full", "x, n: List[int]", "x.new_full(n, 3)", &tensors_and_sizes});
  rows.push_back({"aten::empty_like", "x", "torch.empty_like(x).fill_(1)", &unary});
  rows.push_back({"aten::empty_like", "x", "torch.empty_like(x, memory_format=2).fill_(1)", &images});
  rows.push_back({"aten::new_empty", "x, n: List[int]", "x.new_empty(n).fill_(1)", &tensors_and_sizes});
  rows.push_back({"aten::scalar_tensor", "n: int, v: int", "torch.scalar_tensor(v)", &ends});
  rows.push_back({"aten::scalar_tensor", "a: float, b: float, c: float", "torch.scalar_tensor(a, dtype=7)",
                  &float_steps});
  rows.push_back({"aten::tensor.int", "n: int, v: int", "torch.tensor(n)", &ends});
  rows.push_back({"aten::tensor.float", "a: float, b: float, c: float", "torch.tensor(b)", &float_steps});
  rows.push_back({"aten::tensor.bool", "n: int, v: int", "torch.tensor(n == v)", &ends});
  rows.push_back({"aten::arange", "n: int, v: int", "torch.arange(n)", &ends});
  rows.push_back({"aten::arange", "n: int, v: int", "torch.arange(n, dtype=6)", &ends});
  rows.push_back({"aten::arange.start", "n: int, v: int", "torch.arange(v, n)", &ends});
  rows.push_back({"aten::arange.start_step", "a: int, b: int, c: int", "torch.arange(a, b, c)", &steps});
  rows.push_back(
      {"aten::arange.start_step", "a: float, b: float, c: float", "torch.arange(a, b, c)", &float_steps});
  rows.push_back({"aten::linspace", "a: float, b: float, n: int", "torch.linspace(a, b, n)", &points});
  rows.push_back(
      {"aten::linspace", "a: float, b: float, n: int", "torch.linspace(a, b, n, dtype=7)", &points});
  return rows;
}

const OracleTable registered{&factory_rows};

TEST_CASE("tensors of one value and of ranges equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : factory_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::ops_factories_tests
