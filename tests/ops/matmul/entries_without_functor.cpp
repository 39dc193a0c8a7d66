// Products without a functor of sr, against the interpreter.
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::matmul_without_functor_tests {

namespace {

std::vector<InputSet> points() {
  return {{sample({4, 3}), sample({5, 3})}, {sample({4, 3}), sample({5, 3})},
          {sample({2, 3}), sample({2, 3})}, {transposed(sample({4, 3})), sample({5, 3})},
          {sample({4, 3}), sample({5, 2})}, {sample({4, 3}), sample({5, 3})}};
}

std::vector<InputSet> bilinear() {
  return {{sample({4, 3}), sample({4, 2}), sample({5, 3, 2})},
          {sample({2, 3}), sample({2, 2}), sample({5, 3, 2})},
          {sample({4, 3}), sample({4, 3}), sample({5, 3, 2})}};
}

std::vector<OpRow> all_rows() {
  NativeRows rows;
  rows.add("bilinear", "torch.bilinear(x, y, w)", &bilinear, "x, y, w");
  rows.add("einsum", "torch.einsum('ij,kj->ik', [x, y])", &points, "x, y");
  rows.add("einsum", "torch.einsum('ij->ji', [x])", &few_alone);
  return std::move(rows.rows);
}

const OracleTable registered{&all_rows};

}  // namespace

TEST_CASE("products without a functor equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : all_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      at::manual_seed(6);
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::matmul_without_functor_tests
