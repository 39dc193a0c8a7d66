// Inputs for the oracle: shapes, dtypes and layouts on which operators have been wrong.
#pragma once

#include <string>
#include <vector>

#include "support/oracle.hpp"

namespace sr::test {

// A row in the table of an operator family.
struct OpRow {
  std::string key;         // as in the registry and the report
  std::string parameters;  // of the scripted function
  std::string expression;
  std::vector<InputSet> (*runs)();
  OracleOptions options = {};
  int results = 1;
};

namespace ops_pointwise_tests {
std::vector<OpRow> pointwise_rows();
}
namespace ops_concat_tests {
std::vector<OpRow> concat_rows();
}
namespace ops_matmul_tests {
std::vector<OpRow> gemm_rows();
}
namespace ops_reductions_tests {
std::vector<OpRow> reduction_rows();
}
namespace ops_views_tests {
std::vector<OpRow> view_rows();
}
namespace ops_numbers_tests {
std::vector<OpRow> number_rows();
}
namespace ops_language_tests {
std::vector<OpRow> language_rows();
}
namespace ops_conversions_tests {
std::vector<OpRow> conversion_rows();
}
namespace ops_factories_tests {
std::vector<OpRow> factory_rows();
}
namespace ops_rearranging_tests {
std::vector<OpRow> rearranging_rows();
}
namespace ops_pointwise_variants_tests {
std::vector<OpRow> pointwise_variant_rows();
}
namespace ops_typed_views_tests {
std::vector<OpRow> typed_view_rows();
}
namespace ops_in_place_tests {
std::vector<OpRow> in_place_rows();
}
namespace ops_others_tests {
std::vector<OpRow> other_rows();
}
namespace ops_recurrent_tests {
std::vector<OpRow> recurrent_rows();
}
namespace ops_quantized_tests {
std::vector<OpRow> quantized_rows();
}

using ops_concat_tests::concat_rows;
using ops_conversions_tests::conversion_rows;
using ops_factories_tests::factory_rows;
using ops_in_place_tests::in_place_rows;
using ops_language_tests::language_rows;
using ops_matmul_tests::gemm_rows;
using ops_numbers_tests::number_rows;
using ops_others_tests::other_rows;
using ops_pointwise_tests::pointwise_rows;
using ops_pointwise_variants_tests::pointwise_variant_rows;
using ops_quantized_tests::quantized_rows;
using ops_rearranging_tests::rearranging_rows;
using ops_recurrent_tests::recurrent_rows;
using ops_reductions_tests::reduction_rows;
using ops_typed_views_tests::typed_view_rows;
using ops_views_tests::view_rows;

inline at::Tensor sample(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  if (dtype == at::kBool) return at::randint(0, 2, sizes).to(at::kBool);
  if (at::isIntegralType(dtype, false)) return at::randint(-5, 6, sizes).to(dtype);
  return at::randn(sizes).to(dtype);
}

inline at::Tensor channels_last(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return sample(sizes, dtype).contiguous(at::MemoryFormat::ChannelsLast);
}

// A tensor in every layout and dtype.
inline std::vector<at::Tensor> tensors() {
  at::manual_seed(0);
  const at::Tensor a = sample({2, 3});
  return {a,
          sample({4, 5}),
          sample({1, 2}),
          a,
          sample({2, 3}, at::kDouble),
          a,
          sample({2, 3}, at::kLong),
          sample({4, 5}, at::kLong),
          sample({2, 3}, at::kBool),
          sample({2, 3}, at::kBFloat16),
          transposed(sample({3, 4})),
          transposed(sample({5, 6})),
          stepped(sample({3, 4})),
          sample({3}).expand({4, 3}),
          sample({4, 1}).expand({4, 3}),
          sample({2, 3, 4, 5}),
          channels_last({2, 3, 4, 5}),
          channels_last({2, 3, 4, 5}, at::kDouble),
          channels_last({3, 4, 5, 6}),
          sample({2, 3, 4, 5}),
          sample({2, 3, 4}).permute({1, 2, 0}),
          sample({}),
          sample({}, at::kLong),
          sample({0, 3}),
          sample({0}),
          sample({64, 33}),
          at::full({2, 3}, NAN),
          a};
}

// `rest` are the arguments after the tensor.
inline std::vector<InputSet> with_each_tensor(const InputSet& rest = {}) {
  std::vector<InputSet> runs;
  for (const at::Tensor& tensor : tensors()) {
    runs.push_back({tensor});
    runs.back().insert(runs.back().end(), rest.begin(), rest.end());
  }
  return runs;
}
inline std::vector<InputSet> unary() {
  return with_each_tensor();
}

// One input of each kind, twice the same and then others: for LibTorch's own operators, called in another
// way.
inline std::vector<at::Tensor> few() {
  at::manual_seed(2);
  const at::Tensor a = sample({4, 6});
  return {a,
          a,
          sample({6, 4}),
          transposed(sample({4, 6})),
          stepped(sample({4, 6})),
          sample({4, 6}, at::kDouble),
          sample({4, 6}, at::kLong),
          sample({}),
          sample({0, 4}),
          channels_last({2, 4, 6, 4}),
          a};
}
inline std::vector<InputSet> few_alone() {
  std::vector<InputSet> runs;
  for (const at::Tensor& tensor : few()) runs.push_back({tensor});
  return runs;
}
inline std::vector<InputSet> few_pairs() {
  std::vector<InputSet> runs;
  for (const at::Tensor& tensor : few())
    runs.push_back({tensor, sample(tensor.sizes(), tensor.scalar_type())});
  runs.push_back({sample({4, 6}), sample({6})});
  runs.push_back({sample({4, 6}), sample({4, 6}, at::kLong)});
  runs.push_back({sample({4, 6}), sample({5, 6})});  // refused
  runs.push_back(runs.front());
  return runs;
}

inline std::vector<InputSet> binary() {
  at::manual_seed(1);
  const at::Tensor a = sample({2, 3}), same = sample({3, 3});
  return {{a, sample({2, 3})},
          {sample({4, 5}), sample({4, 5})},
          {sample({1, 2}), sample({1, 2})},
          {a, sample({2, 3})},
          {a, sample({3})},
          {sample({2, 1}), sample({1, 3})},
          {sample({3}), sample({2, 3})},
          {a, sample({2, 3}, at::kDouble)},
          {a, sample({2, 3}, at::kLong)},
          {sample({2, 3}, at::kLong), sample({2, 3}, at::kLong)},
          {sample({2, 3}, at::kInt), sample({2, 3}, at::kLong)},
          {sample({2, 3}, at::kBool), sample({2, 3}, at::kBool)},
          {sample({2, 3}, at::kBool), a},
          {sample({2, 3}, at::kBFloat16), sample({2, 3}, at::kBFloat16)},
          {sample({2, 3}, at::kBFloat16), a},
          {a, sample({}, at::kDouble)},
          {sample({}, at::kDouble), a},
          {sample({2, 3}, at::kLong), sample({})},
          {transposed(sample({3, 4})), sample({3, 4})},
          {sample({3, 4}), transposed(sample({3, 4}))},
          {transposed(sample({3, 4})), transposed(sample({3, 4}))},
          {stepped(sample({3, 4})), sample({3, 4})},
          {sample({4}).expand({3, 4}), sample({3, 4})},
          {sample({4}).expand({3, 4}), sample({3, 1}).expand({3, 4})},
          {channels_last({2, 3, 4, 5}), channels_last({2, 3, 4, 5})},
          {channels_last({2, 3, 4, 5}), sample({2, 3, 4, 5})},
          {sample({2, 3, 4, 5}), channels_last({2, 3, 4, 5})},
          {channels_last({2, 3, 4, 5}), sample({3, 1, 1})},
          {same, same},
          {same, same.t()},
          {sample({0, 3}), sample({0, 3})},
          {sample({0, 3}), sample({1, 3})},
          {sample({}), sample({})},
          {a, sample({4, 5})},  // refused
          {sample({40, 33}), sample({40, 33})},
          {a, sample({2, 3})}};
}

}  // namespace sr::test
