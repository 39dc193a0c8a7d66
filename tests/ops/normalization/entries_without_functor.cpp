// Normalization layers without a functor of sr, against the interpreter.
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::normalization_without_functor_tests {

namespace {

const c10::IValue kNone;

std::vector<InputSet> normed() {
  const at::Tensor w = sample({3}), b = sample({3});
  return {{sample({2, 3, 4}), w, b},
          {sample({2, 3, 4}), w, b},
          {sample({1, 3, 9}), w, b},
          {sample({2, 3, 4}), kNone, kNone},
          {sample({2, 3, 4}, at::kDouble), w.to(at::kDouble), b.to(at::kDouble)},
          {sample({2, 5, 4}), w, b},
          {sample({2, 3, 4}), w, b}};
}

std::vector<InputSet> normed_channels() {
  const at::Tensor w = sample({3}), b = sample({3}), m = sample({3}), v = sample({3}).abs() + 0.5;
  const auto wide = [](const at::Tensor& x) { return x.to(at::kDouble); };
  return {{sample({2, 3, 4}), w, b, m, v},
          {sample({2, 3, 4}), w, b, m, v},
          {sample({1, 3, 9}), w, kNone, m, v},
          {transposed(sample({3, 5})), kNone, b, m, v},
          {sample({2, 3, 4}), kNone, kNone, m, v},
          {wide(sample({2, 3, 4})), wide(w), wide(b), wide(m), wide(v)},
          {sample({0, 3, 4}), w, b, m, v},
          {sample({2, 3, 4, 5}).to(at::MemoryFormat::ChannelsLast), w, b, m, v},
          {sample({2, 3, 4}), w, b, m, v}};
}

std::vector<InputSet> normed_rows() {
  const at::Tensor w = sample({3}), b = sample({3});
  return {{sample({4, 3}), w, b},         {sample({4, 3}), w, b},
          {sample({2, 5, 3}), w, b},      {transposed(sample({4, 3})), w, b},
          {sample({4, 3}), kNone, kNone}, {sample({4, 5}), w, b},
          {sample({4, 3}), w, b}};
}

std::vector<OpRow> all_rows() {
  NativeRows rows;
  const std::string affine_parameters = "x, w: Optional[Tensor], b: Optional[Tensor]";
  rows.add("instance_norm", "torch.instance_norm(x, w, b, None, None, True, 0.1, 1e-5, True)", &normed,
           affine_parameters);
  rows.add("native_layer_norm", "torch.native_layer_norm(x, [3], w, b, 1e-5)", &normed_rows,
           affine_parameters, 3);
  rows.add("native_group_norm",
           "torch.native_group_norm(x, w, b, x.size(0), 3, x.numel() // (3 * x.size(0)), 3, 1e-5)", &normed,
           affine_parameters, 3);
  rows.add("_native_batch_norm_legit_no_training",
           "torch._native_batch_norm_legit_no_training(x, w, b, m, v, 0.1, 1e-5)", &normed_channels,
           affine_parameters + ", m, v", 3);
  rows.add("rms_norm", "torch.rms_norm(x, [3], w)", &normed_rows, affine_parameters);
  return std::move(rows.rows);
}

const OracleTable registered{&all_rows};

}  // namespace

TEST_CASE("normalization layers without a functor equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : all_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      at::manual_seed(6);
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::normalization_without_functor_tests
