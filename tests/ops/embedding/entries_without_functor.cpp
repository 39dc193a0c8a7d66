// Embedding bags without a functor of sr, against the interpreter.
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::embedding_without_functor_tests {

namespace {

std::vector<InputSet> bags() {
  const at::Tensor table = sample({10, 4});
  const auto numbers = [](std::vector<std::int64_t> of) { return at::tensor(of, at::kLong); };
  return {{table, numbers({1, 2, 4, 5}), numbers({0, 2})},
          {table, numbers({1, 2, 4, 5}), numbers({0, 3})},
          {table, numbers({9}), numbers({0})},
          {table, numbers({1, 2, 4, 5}), numbers({0, 2})}};
}

std::vector<OpRow> all_rows() {
  NativeRows rows;
  rows.add("_embedding_bag", "torch._embedding_bag(x, i, o)", &bags, "x, i, o", 4);
  rows.add("_embedding_bag_forward_only", "torch._embedding_bag_forward_only(x, i, o, False, 1)", &bags,
           "x, i, o", 4);
  for (const char* padding : {"4", "-2", "99"}) {
    rows.add("_embedding_bag",
             std::string("torch._embedding_bag(x, i, o, False, 0, False, None, False, ") + padding + ")[0]",
             &bags, "x, i, o");
  }
  return std::move(rows.rows);
}

const OracleTable registered{&all_rows};

}  // namespace

TEST_CASE("embedding bags without a functor equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : all_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      at::manual_seed(6);
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::embedding_without_functor_tests
