// Operators that cut tensors without a functor of sr, against the interpreter.
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::views_without_functor_tests {

namespace {

std::vector<InputSet> indices() {
  return {{at::arange(3).flip(0)},         {at::arange(3).flip(0)},        {at::full({2}, 3, at::kLong)},
          {at::arange(2).reshape({1, 2})}, {at::full({1}, -1, at::kLong)}, {sample({2})}};
}

std::vector<OpRow> all_rows() {
  NativeRows rows;
  rows.add("unsafe_chunk", "torch.unsafe_chunk(x, 2)", &few_alone, "x", 0);
  rows.add("unsafe_split.Tensor", "torch.unsafe_split(x, 2)", &few_alone, "x", 0);
  rows.add("meshgrid", "torch.meshgrid([x, x])", &indices, "x", 0);
  rows.add("meshgrid.indexing", "torch.meshgrid([x, x], indexing='xy')", &indices, "x", 0);
  return std::move(rows.rows);
}

const OracleTable registered{&all_rows};

}  // namespace

TEST_CASE("operators that cut tensors without a functor equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : all_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      at::manual_seed(6);
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::views_without_functor_tests
