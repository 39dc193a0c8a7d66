// Operators that make tensors without a functor of sr, against the interpreter.
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::factories_without_functor_tests {

namespace {

std::vector<InputSet> sizes() {
  return {{3, 2}, {3, 2}, {5, 1}, {0, 2}, {3, 2}};
}

std::vector<OpRow> all_rows() {
  NativeRows rows;
  for (const std::string call :
       {"rand([n, m])", "randn([n, m])", "randint(5, [n, m])", "randint(2, 5, [n, m])"}) {
    const std::string name = call == "randint(2, 5, [n, m])" ? "randint.low" : call.substr(0, call.find('('));
    rows.add(name, "torch." + call + " * 0", &sizes, "n: int, m: int");
  }
  rows.add("randperm", "torch.randperm(n) * 0", &sizes, "n: int, m: int");
  rows.add("rand_like", "torch.rand_like(x) * 0", &few_alone);
  rows.add("randn_like", "torch.randn_like(x) * 0", &few_alone);
  rows.add("hann_window", "torch.hann_window(n)", &sizes, "n: int, m: int");
  rows.add("eye", "torch.eye(n)", &sizes, "n: int, m: int");
  rows.add("eye.m", "torch.eye(n, m)", &sizes, "n: int, m: int");
  rows.add("fill.Scalar", "torch.fill(x, 3)", &few_alone);
  rows.add("fill.Tensor", "torch.fill(x, y.sum())", &few_pairs, "x, y");
  rows.add("zero", "torch.zero(x)", &few_alone);
  rows.add("copy", "torch.copy(x, y)", &few_pairs, "x, y");
  return std::move(rows.rows);
}

const OracleTable registered{&all_rows};

}  // namespace

TEST_CASE("operators that make tensors without a functor equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : all_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      at::manual_seed(6);
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::factories_without_functor_tests
