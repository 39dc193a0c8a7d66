// Views and conversions through typed handles against the interpreter.
#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_typed_views_tests {

namespace {

const OracleOptions kNative{.rounds = 3, .expected_path = "native"};
const c10::IValue kNone;

std::vector<InputSet> complexes() {
  const at::Tensor a = sample({3, 2}, at::kComplexFloat);
  return {{a}, {a}, {sample({2, 2}, at::kComplexDouble)}, {a.t()}, {a.conj()}, {sample({3, 2})}, {a}};
}
std::vector<InputSet> pairs_of_reals() {
  return {{sample({3, 2})},
          {sample({5, 4, 2})},
          {sample({3, 3})},
          {transposed(sample({3, 2}))},
          {sample({3, 2})}};
}
std::vector<InputSet> matrices() {
  return {{sample({4, 6})},    {sample({4, 6})}, {transposed(sample({4, 6}))},
          {sample({2, 6, 4})}, {sample({6})},    {sample({4, 6}, at::kDouble)},
          {sample({0, 4})},    {sample({4, 6})}};
}
std::vector<InputSet> cubes() {
  return {{sample({4, 6, 2})},
          {sample({2, 4, 6})},
          {sample({4, 6, 2}).transpose(0, 2)},
          {sample({4, 6})},
          {sample({4, 6, 2})}};
}
std::vector<InputSet> same_count() {
  return {{sample({4, 6}), sample({6, 4})},
          {sample({4, 6}), sample({2, 12})},
          {transposed(sample({4, 6})), sample({4, 6})},
          {sample({4, 6}), sample({5})},
          {sample({4, 6}), sample({24})}};
}
std::vector<InputSet> with_start() {
  return {{sample({4, 6}), at::tensor(1)},
          {sample({4, 6}), at::tensor(0)},
          {sample({5, 6}), at::tensor(-2)},
          {sample({4, 6}), at::tensor(9)}};
}
std::vector<InputSet> with_sections() {
  return {
      {sample({4, 6}), at::tensor(2)}, {sample({4, 6}), at::tensor({1, 3})}, {sample({5, 6}), at::tensor(2)}};
}
std::vector<InputSet> conversions() {
  std::vector<InputSet> runs;
  for (const at::Tensor& tensor : few()) {
    runs.push_back({tensor, 6, false});
    runs.push_back({tensor, 7, true});
    runs.push_back({tensor, kNone, false});
  }
  return runs;
}
std::vector<InputSet> copies() {
  std::vector<InputSet> runs;
  for (const at::Tensor& tensor : few()) runs.push_back({tensor, false});
  return runs;
}

}  // namespace

std::vector<OpRow> typed_view_rows() {
  std::vector<OpRow> rows;
  const auto add = [&](const std::string& key, const std::string& expression,
                       std::vector<InputSet> (*runs)() = &matrices, const std::string& parameters = "x",
                       int results = 1) {
    rows.push_back({"aten::" + key, parameters, expression, runs, kNative, results});
  };
  add("conj", "torch.conj(x)", &complexes);
  add("_conj", "torch._conj(x)", &complexes);
  add("_neg_view", "torch._neg_view(x)");
  add("resolve_conj", "torch.resolve_conj(x)", &complexes);
  add("resolve_neg", "torch.resolve_neg(torch._neg_view(x))");
  add("real", "torch.real(x)", &complexes);
  add("imag", "torch.imag(x)", &complexes);
  add("view_as_real", "torch.view_as_real(x)", &complexes);
  add("view_as_complex", "torch.view_as_complex(x)", &pairs_of_reals);
  add("diagonal", "torch.diagonal(x)");
  add("diagonal", "torch.diagonal(x, 1)");
  add("linalg_diagonal", "torch.linalg_diagonal(x)");
  add("numpy_T", "x.T");
  add("matrix_H", "x.H");
  add("mT", "x.mT");
  add("mH", "x.mH");
  add("movedim.intlist", "torch.movedim(x, [0], [1])");
  add("movedim.int", "torch.movedim(x, 0, -1)");
  add("narrow.Tensor", "torch.narrow(x, 0, s, 2)", &with_start, "x, s");
  add("positive", "torch.positive(x)");
  add("ravel", "torch.ravel(x)");
  add("reshape_as", "x.reshape_as(y)", &same_count, "x, y");
  add("view_as", "x.view_as(y)", &same_count, "x, y");
  add("unfold", "x.unfold(0, 2, 1)");
  add("unflatten.int", "torch.unflatten(x, 0, [2, 2])");
  add("squeeze.dims", "torch.squeeze(x, [0, 1])");
  add("as_strided", "torch.as_strided(x, [2, 2], [2, 1], 1)");
  add("to.device", "x.to(device=torch.device('cpu'), dtype=7)");
  add("to.other", "x.to(y)", &few_pairs, "x, y");
  add("to.dtype_layout", "x.to(dtype=7, layout=0)");
  add("type_as", "x.type_as(y)", &few_pairs, "x, y");
  add("atleast_1d", "torch.atleast_1d(x)", &few_alone);
  add("atleast_2d", "torch.atleast_2d(x)", &few_alone);
  add("atleast_3d", "torch.atleast_3d(x)", &few_alone);
  add("_autocast_to_full_precision", "x._autocast_to_full_precision(False, False)");
  add("_autocast_to_reduced_precision", "x._autocast_to_reduced_precision(False, False, 5, 15)");
  add("cpu", "x.cpu()");
  const auto lists = [&](const std::string& key, const std::string& expression,
                         std::vector<InputSet> (*runs)() = &matrices,
                         const std::string& parameters = "x") { add(key, expression, runs, parameters, 0); };
  lists("split.sizes", "x.split([1, 3])");
  lists("tensor_split.sections", "torch.tensor_split(x, 3)");
  lists("tensor_split.indices", "torch.tensor_split(x, [1, 3])");
  lists("tensor_split.tensor_indices_or_sections", "torch.tensor_split(x, s)", &with_sections, "x, s");
  lists("hsplit.int", "torch.hsplit(x, 2)");
  lists("hsplit.array", "torch.hsplit(x, [1, 3])");
  lists("vsplit.int", "torch.vsplit(x, 2)");
  lists("vsplit.array", "torch.vsplit(x, [1, 3])");
  lists("dsplit.int", "torch.dsplit(x, 2)", &cubes);
  lists("dsplit.array", "torch.dsplit(x, [1])", &cubes);
  lists("broadcast_tensors", "torch.broadcast_tensors([x, y])", &few_pairs, "x, y");
  const std::string no = "  %no : bool = prim::Constant[value=0]()\n", end = "  return (%y)\n";
  rows.push_back({"aten::to.prim_dtype", "x, d: Optional[int], c: bool",
                  "graph(%self, %x : Tensor, %d : int?, %c : bool):\n" + no +
                      "  %y : Tensor = aten::to(%x, %d, %no, %c)\n" + end,
                  &conversions, kNative});
  rows.push_back({"aten::to.prim_Device", "x, d: Optional[int], c: bool",
                  "graph(%self, %x : Tensor, %d : int?, %c : bool):\n" + no +
                      "  %cpu : Device = prim::Constant[value=\"cpu\"]()\n"
                      "  %y : Tensor = aten::to(%x, %cpu, %d, %no, %c)\n" +
                      end,
                  &conversions, kNative});
  rows.push_back(
      {"aten::to.prim_other", "x, c: bool",
       "graph(%self, %x : Tensor, %c : bool):\n" + no + "  %y : Tensor = aten::to(%x, %no, %c)\n" + end,
       &copies, kNative});
  return rows;
}

const OracleTable registered{&typed_view_rows};

TEST_CASE("views through typed handles equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : typed_view_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      at::manual_seed(4);
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::ops_typed_views_tests
