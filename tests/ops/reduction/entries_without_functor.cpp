// Reductions, statistics and distances without a functor of sr, against the interpreter.
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::reduction_without_functor_tests {

namespace {

std::vector<InputSet> points() {
  return {{sample({4, 3}), sample({5, 3})}, {sample({4, 3}), sample({5, 3})},
          {sample({2, 3}), sample({2, 3})}, {transposed(sample({4, 3})), sample({5, 3})},
          {sample({4, 3}), sample({5, 2})}, {sample({4, 3}), sample({5, 3})}};
}

std::vector<InputSet> indices() {
  return {{at::arange(3).flip(0)},         {at::arange(3).flip(0)},        {at::full({2}, 3, at::kLong)},
          {at::arange(2).reshape({1, 2})}, {at::full({1}, -1, at::kLong)}, {sample({2})}};
}

std::vector<OpRow> all_rows() {
  NativeRows rows;
  rows.add("cdist", "torch.cdist(x, y)", &points, "x, y");
  rows.add("cosine_similarity", "torch.cosine_similarity(x, y, 0)", &few_pairs, "x, y");
  rows.add("pairwise_distance", "torch.pairwise_distance(x, y)", &few_pairs, "x, y");
  for (const std::string name : {"var_mean", "std_mean"}) {
    rows.add(name, "torch." + name + "(x)", &few_alone, "x", 2);
    rows.add(name + ".dim", "torch." + name + "(x, [0], False)", &few_alone, "x", 2);
    rows.add(name + ".correction", "torch." + name + "(x, [0], correction=2)", &few_alone, "x", 2);
  }
  rows.add("trace", "torch.trace(x)", &few_alone);
  rows.add("median", "torch.median(x)", &few_alone);
  rows.add("bincount", "torch.bincount(x)", &indices);
  rows.add("cov", "torch.cov(x)", &few_alone);
  rows.add("corrcoef", "torch.corrcoef(x)", &few_alone);
  rows.add("quantile", "torch.quantile(x, torch.sigmoid(y).flatten(), 0)", &few_pairs, "x, y");
  rows.add("nanquantile", "torch.nanquantile(x, torch.sigmoid(y).flatten(), 0)", &few_pairs, "x, y");
  rows.add("trapezoid.dx", "torch.trapezoid(x, dim=0)", &few_alone);
  rows.add("argsort", "torch.argsort(x)", &few_alone);
  rows.add("sum_to_size", "x.sum_to_size([1])", &few_alone);
  rows.add("allclose", "torch.allclose(x, y)", &few_pairs, "x, y", 0);
  rows.add("equal", "torch.equal(x, y)", &few_pairs, "x, y", 0);
  return std::move(rows.rows);
}

const OracleTable registered{&all_rows};

}  // namespace

TEST_CASE("reductions statistics and distances without a functor equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : all_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      at::manual_seed(6);
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::reduction_without_functor_tests
