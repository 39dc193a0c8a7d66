// Pointwise operators without a functor of sr, against the interpreter.
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::pointwise_without_functor_tests {

namespace {

std::vector<InputSet> finite() {
  std::vector<InputSet> runs = few_alone();
  runs.push_back({at::tensor({1.0, double(INFINITY), double(NAN), -double(INFINITY)}, at::kFloat)});
  return runs;
}

std::vector<OpRow> all_rows() {
  NativeRows rows;
  rows.add("selu", "torch.selu(x)", &few_alone);
  rows.add("celu", "torch.celu(x, 0.5)", &few_alone);
  rows.add("prelu", "torch.prelu(x, torch.full([1], 0.25))", &few_alone);
  rows.add("isinf", "torch.isinf(x)", &finite);
  rows.add("isfinite", "torch.isfinite(x)", &finite);
  rows.add("isclose", "torch.isclose(x, y)", &few_pairs, "x, y");
  return std::move(rows.rows);
}

const OracleTable registered{&all_rows};

}  // namespace

TEST_CASE("pointwise operators without a functor equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : all_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      at::manual_seed(6);
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::pointwise_without_functor_tests
