// Questions about tensors without a functor of sr, against the interpreter.
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::language_without_functor_tests {

namespace {

std::vector<OpRow> all_rows() {
  NativeRows rows;
  rows.add("is_floating_point", "torch.is_floating_point(x)", &few_alone, "x", 0);
  rows.add("is_complex", "torch.is_complex(x)", &few_alone, "x", 0);
  rows.add("result_type.Tensor", "torch.result_type(x, y)", &few_pairs, "x, y", 0);
  rows.add("result_type.Scalar", "torch.result_type(x, 0.5)", &few_alone, "x", 0);
  return std::move(rows.rows);
}

const OracleTable registered{&all_rows};

}  // namespace

TEST_CASE("questions about tensors without a functor equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : all_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      at::manual_seed(6);
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::language_without_functor_tests
