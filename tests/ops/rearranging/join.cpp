// cat, stack, embeddings and containers of tensors against the interpreter.
#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_concat_tests {

namespace {

c10::IValue list(std::vector<at::Tensor> tensors) {
  return c10::List<at::Tensor>(std::move(tensors));
}

std::vector<InputSet> lists() {
  const at::Tensor a = sample({2, 3});
  return {{list({a, sample({2, 3})}), 0},
          {list({sample({4, 5}), sample({4, 5}), sample({4, 5})}), 1},
          {list({sample({1, 2})}), 0},
          {list({a, sample({2, 3})}), -1},
          {list({a, sample({2, 3}, at::kDouble)}), 0},
          {list({sample({2, 3}, at::kLong), sample({2, 3}, at::kBool)}), 0},
          {list({a, sample({5, 3})}), 0},
          {list({sample({3, 2}).t(), sample({3, 2}).t()}), 1},
          {list({stepped(a), sample({3}).expand({2, 3})}), 0},
          {list({channels_last({2, 3, 4, 5}), channels_last({2, 3, 4, 5})}), 1},
          {list({channels_last({2, 3, 4, 5}), sample({2, 3, 4, 5})}), 1},
          {list({sample({0, 3}), a}), 0},
          {list({sample({0}), a}), 0},
          {list({sample({}), sample({})}), 0},
          {list({a, a}), 0},
          {list({a, a}), 5},
          {list({}), 0},
          {list({a, sample({2, 3})}), 0}};
}

}  // namespace

std::vector<OpRow> concat_rows() {
  return {
      {"aten::cat", "x: List[Tensor], d: int", "torch.cat(x, d)", &lists},
      {"aten::stack", "x: List[Tensor], d: int", "torch.stack(x, d)", &lists},
      {"prim::VarConcat", "x, y", "torch.cat([x, y], 0)", &binary},
      {"prim::VarConcat", "x, y", "torch.cat([x, y, x], -1)", &binary},
      {"prim::VarStack", "x, y", "torch.stack([x, y], 0)", &binary},
      {"prim::VarStack", "x, y", "torch.stack([x, y], -1)", &binary},
      {"aten::embedding", "w, i", "torch.embedding(w, i)",
       [] {
         const at::Tensor w = sample({10, 4});
         const auto indices = [](at::IntArrayRef sizes) { return at::randint(0, 10, sizes); };
         return std::vector<InputSet>{{w, indices({3})},
                                      {w, indices({4, 5})},
                                      {w, indices({})},
                                      {w, indices({0})},
                                      {w.t().contiguous().t(), indices({2, 3})},
                                      {w.to(at::kDouble), indices({3})},
                                      {w, indices({3}).to(at::kInt)},
                                      {w, indices({5, 4}).t()},
                                      {w, at::full({2}, 11, at::kLong)},
                                      {w, sample({2})},
                                      {sample({3, 0}), at::zeros({2}, at::kLong)},
                                      {w, indices({2, 0})},
                                      {w, indices({3})}};
       }},
  };
}

const OracleTable registered{&concat_rows};

TEST_CASE("cat and stack equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : concat_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::ops_concat_tests
