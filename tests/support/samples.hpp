// Inputs for the oracle: shapes, dtypes and layouts on which operators have been wrong.
#pragma once

#include <string>
#include <utility>
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

// All tables of rows. A family registers its own by a static initialiser.
class OracleTable {
 public:
  explicit OracleTable(std::vector<OpRow> (*rows)()) { tables().push_back(rows); }

  static std::vector<OpRow> all_rows() {
    std::vector<OpRow> all;
    for (const auto rows : tables()) {
      for (OpRow& row : rows()) all.push_back(std::move(row));
    }
    return all;
  }

 private:
  static std::vector<std::vector<OpRow> (*)()>& tables() {
    static std::vector<std::vector<OpRow> (*)()> registered;
    return registered;
  }
};

// Rows of operators without a functor that replays call: results may be summed in another order at other
// addresses.
class NativeRows {
 public:
  void add(const std::string& key, const std::string& expression, std::vector<InputSet> (*runs)(),
           const std::string& parameters = "x", int results = 1) {
    OracleOptions options{.rounds = 3, .expected_path = "native"};
    options.rtol = options.atol = 1e-5;
    rows.push_back({"aten::" + key, parameters, expression, runs, options, results});
  }
  std::vector<OpRow> rows;
};

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
