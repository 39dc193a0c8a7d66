// Operators with indices and masks without a functor of sr, against the interpreter.
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::indexing_without_functor_tests {

namespace {

std::vector<InputSet> indices() {
  return {{at::arange(3).flip(0)},         {at::arange(3).flip(0)},        {at::full({2}, 3, at::kLong)},
          {at::arange(2).reshape({1, 2})}, {at::full({1}, -1, at::kLong)}, {sample({2})}};
}

std::vector<InputSet> with_mask() {
  std::vector<InputSet> runs;
  for (const at::Tensor& tensor : few())
    runs.push_back({tensor, sample(tensor.sizes(), at::kBool), sample(tensor.sizes(), tensor.scalar_type())});
  return runs;
}

std::vector<InputSet> with_rows() {
  const at::Tensor rows = at::arange(0, 3, 2);
  return {{sample({3, 3}), rows},
          {sample({3, 3}), rows},
          {transposed(sample({3, 3})), rows},
          {sample({5, 3}), rows},
          {sample({3, 3}, at::kLong), rows},
          {sample({3, 3}), at::full({1}, 7, at::kLong)},
          {sample({3, 3}), rows}};
}

std::vector<InputSet> boundaries() {
  return {{at::tensor(0.5), at::tensor({0.0, 1.0, 2.0})},
          {at::tensor(1.5), at::tensor({0.0, 1.0})},
          {at::tensor(1), at::tensor({0.0, 1.0})}};
}

std::vector<OpRow> all_rows() {
  NativeRows rows;
  rows.add("bucketize.Scalar", "torch.bucketize(x.item(), b)", &boundaries, "x, b");
  rows.add("masked_scatter", "torch.masked_scatter(x, m, y)", &with_mask, "x, m, y");
  rows.add("index_fill.int_Scalar", "torch.index_fill(x, 0, i, 3)", &with_rows, "x, i");
  rows.add("index_fill.int_Tensor", "torch.index_fill(x, 0, i, x.sum())", &with_rows, "x, i");
  rows.add("one_hot", "torch.one_hot(x, 4)", &indices);
  rows.add("argwhere", "torch.argwhere(x)", &few_alone);
  rows.add("where", "torch.where(x)", &few_alone, "x", 0);
  rows.add("nonzero_numpy", "torch.nonzero_numpy(x)", &few_alone, "x", 0);
  return std::move(rows.rows);
}

const OracleTable registered{&all_rows};

}  // namespace

TEST_CASE("operators with indices and masks without a functor equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : all_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      at::manual_seed(6);
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::indexing_without_functor_tests
