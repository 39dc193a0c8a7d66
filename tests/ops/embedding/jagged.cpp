// Operators of FBGEMM on jagged tensors, with stand-ins for its library.
#include <algorithm>
#include <string>
#include <vector>

#include <torch/library.h>

#include <sr/sr.hpp>

#include "support/block_runs.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::fbgemm_tests {

namespace {

at::Tensor complete(const at::Tensor& lengths) {
  const at::Tensor sums = lengths.cumsum(-1, lengths.scalar_type());
  return at::constant_pad_nd(sums, {1, 0}, 0);
}
at::Tensor padded(const at::Tensor& values, at::TensorList offsets, at::IntArrayRef most, double padding) {
  const std::int64_t rows = offsets[0].size(0) - 1;
  std::vector<std::int64_t> sizes{rows, most[0]};
  if (values.dim() == 2) sizes.push_back(values.size(1));
  at::Tensor out = at::full(sizes, padding, values.options());
  const at::Tensor wide = offsets[0].to(at::kLong);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto begin = wide[row].item<std::int64_t>(), end = wide[row + 1].item<std::int64_t>();
    TORCH_CHECK(begin <= end && end <= values.size(0), "offsets are out of range");
    const std::int64_t count = std::min(end - begin, most[0]);
    out[row].narrow(0, 0, count).copy_(values.narrow(0, begin, count));
  }
  return out;
}

// Registers what FBGEMM's library registers, unless it is loaded.
void load_operators() {
  if (c10::Dispatcher::singleton().findSchema({"fbgemm::asynchronous_complete_cumsum", ""})) return;
  static torch::Library library(torch::Library::FRAGMENT, "fbgemm", std::nullopt, __FILE__, __LINE__);
  library.def("asynchronous_complete_cumsum(Tensor t_in) -> Tensor", &complete);
  library.def("asynchronous_exclusive_cumsum(Tensor t_in) -> Tensor", [](const at::Tensor& lengths) {
    return complete(lengths.flatten()).slice(0, 0, -1).reshape(lengths.sizes()).clone();
  });
  library.def("asynchronous_inclusive_cumsum(Tensor t_in) -> Tensor", [](const at::Tensor& lengths) {
    return lengths.flatten().cumsum(0, lengths.scalar_type()).reshape(lengths.sizes());
  });
  library.def(
      "jagged_to_padded_dense(Tensor values, Tensor[] offsets, SymInt[] max_lengths, float padding_value=0.) "
      "-> Tensor",
      [](const at::Tensor& values, const std::vector<at::Tensor>& offsets, at::IntArrayRef most,
         double padding) { return padded(values, offsets, most, padding); });
  library.def(
      "bounds_check_indices(Tensor rows_per_table, Tensor(a!) indices, Tensor(b!) offsets, int "
      "bounds_check_mode, Tensor(c!) warning, Tensor(d!)? weights=None) -> ()",
      [](const at::Tensor& rows, const at::Tensor& indices, const at::Tensor& offsets, std::int64_t mode,
         const at::Tensor& warning, const std::optional<at::Tensor>&) {
        const std::int64_t tables = rows.size(0), bags = (offsets.size(0) - 1) / tables;
        const at::Tensor is_late = offsets[-1] != indices.size(0);
        TORCH_CHECK(mode != 0 || !is_late.item<bool>(), "the last offset is not the number of indices");
        if (is_late.item<bool>()) offsets[-1].fill_(indices.size(0));
        const at::Tensor ends = offsets.to(at::kLong);
        for (std::int64_t table = 0; table < tables; ++table) {
          const at::Tensor part = indices.slice(0, ends[table * bags].item<std::int64_t>(),
                                                ends[(table + 1) * bags].item<std::int64_t>());
          const at::Tensor is_wrong = (part >= rows[table]).logical_or(part < -1);
          TORCH_CHECK(mode != 0 || !is_wrong.any().item<bool>(), "an index is out of range");
          warning.add_(is_wrong.sum());
          part.masked_fill_(is_wrong, 0);
        }
      });
  library.def(
      "permute_2D_sparse_data(Tensor permute, Tensor lengths, Tensor values, Tensor? weights=None, SymInt? "
      "permuted_lengths_sum=None) -> (Tensor, Tensor, Tensor?)",
      [](const at::Tensor& permute, const at::Tensor& lengths, const at::Tensor& values,
         const std::optional<at::Tensor>& weights, std::optional<std::int64_t>) {
        const at::Tensor starts = complete(lengths.sum(1));
        std::vector<at::Tensor> parts, parts_of_weights;
        for (std::int64_t i = 0; i < permute.size(0); ++i) {
          const auto row = permute[i].item<std::int64_t>();
          const auto begin = starts[row].item<std::int64_t>(), end = starts[row + 1].item<std::int64_t>();
          parts.push_back(values.slice(0, begin, end));
          if (weights) parts_of_weights.push_back(weights->slice(0, begin, end));
        }
        return std::tuple(lengths.index_select(0, permute), at::cat(parts),
                          weights ? std::optional(at::cat(parts_of_weights)) : std::nullopt);
      });
}

InputSet sequences(const at::Tensor& lengths, at::ScalarType type) {
  return {sample({lengths.sum().item<std::int64_t>(), 3}), lengths.to(type)};
}

}  // namespace

TEST_CASE("jagged sequences are padded by kernels, with one plan", "[ops][jagged]") {
  load_operators();
  for (const std::string source :
       {"def forward(self, values, lengths):\n    o = fbgemm.asynchronous_complete_cumsum(lengths)\n"
        "    x = fbgemm.jagged_to_padded_dense(values, [o], [4], 0.5)\n    return torch.tanh(x * "
        "2), o\n",
        "def forward(self, values, lengths):\n    o = fbgemm.asynchronous_complete_cumsum(lengths)\n"
        "    return fbgemm.jagged_to_padded_dense(values[:, 0], [o], [4], -1.0)\n"}) {
    INFO(source);
    for (const at::ScalarType type : {at::kLong, at::kInt}) {
      std::vector<InputSet> runs;
      for (int i = 0; i < 9; ++i) runs.push_back(sequences(at::randint(0, 7, {5}) + 1, type));
      runs.push_back(sequences(at::tensor({0, 9, 0, 2, 0}), type));
      const Report report = check(source, runs, 3);
      CAPTURE(report.bailouts);
      CHECK(report.plans.size() <= 2);
      REQUIRE_FALSE(report.plans.empty());
      CHECK(report.plans[0].interpreted == 0);
    }
  }
}

TEST_CASE("sums of lengths are those of FBGEMM's operators", "[ops][jagged]") {
  load_operators();
  const std::string source =
      "def forward(self, x, y):\n    return (fbgemm.asynchronous_complete_cumsum(x), "
      "fbgemm.asynchronous_complete_cumsum(y), fbgemm.asynchronous_exclusive_cumsum(y), "
      "fbgemm.asynchronous_inclusive_cumsum(y))\n";
  for (const at::ScalarType type : {at::kLong, at::kInt}) {
    std::vector<InputSet> runs;
    for (int n = 0; n < 7; ++n)
      runs.push_back({at::randint(0, 9, {n}, type), at::randint(0, 9, {3, n}, type).t().contiguous().t()});
    check(source, runs, 3);
  }
}

TEST_CASE("offsets out of range throw what the operator throws", "[ops][jagged]") {
  load_operators();
  torch::jit::Module module = script(
      "def forward(self, values, offsets):\n    return fbgemm.jagged_to_padded_dense(values, "
      "[offsets], [4], 0.0) + 1\n");
  StaticRuntime<> runtime{StaticModule(module)};
  for (int round = 0; round < 4; ++round) {
    const InputSet right{sample({6, 2}), at::tensor({0, 1, 6})};
    CHECK(difference(interpret(module, right), runtime(InputSet(right), {}), close()) == "");
    CHECK_THROWS(runtime(InputSet{sample({6, 2}), at::tensor({0, 1, 7})}, {}));
    CHECK_THROWS(runtime(InputSet{sample({6, 2}), at::tensor({0, 5, 1})}, {}));
  }
}

TEST_CASE("permuted features of any lengths are replayed", "[ops][jagged]") {
  load_operators();
  const std::string source =
      "def forward(self, permute, lengths, values):\n"
      "    l, v, w = fbgemm.permute_2D_sparse_data(permute, lengths, values, None, None)\n"
      "    return torch.relu(v * 2 + 1), l\n";
  std::vector<InputSet> runs;
  for (int i = 0; i < 9; ++i) {
    const at::Tensor lengths = at::randint(1, 5, {3, 2}, at::kLong);
    runs.push_back({at::tensor({2, 0}), lengths, sample({lengths.sum().item<std::int64_t>()})});
  }
  const Report report = check(source, runs, 3);
  CAPTURE(report.bailouts);
  CHECK(report.replayed_calls > 20);
}

TEST_CASE("a bounds check of indices that counts in a buffer is replayed", "[ops][jagged]") {
  load_operators();
  const Attributes attributes{{"rows", at::tensor({20}, at::kLong)},
                              {"warnings", at::zeros({1}, at::kLong)},
                              {"table", sample({20, 4})}};
  const std::string source =
      "def forward(self, x, offsets):\n"
      "    fbgemm.bounds_check_indices(self.rows, x, offsets, 1, self.warnings)\n"
      "    return torch.embedding_bag(self.table, x, offsets, include_last_offset=True)[0]\n";
  torch::jit::Module reference = script(source, attributes);
  StaticRuntime<> runtime{StaticModule(script(source, attributes))};
  for (int call = 0; call < 20; ++call) {
    CAPTURE(call);
    const std::int64_t most = call % 5 == 4 ? 40 : 20;  // some calls have indices out of range
    const at::Tensor x = at::randint(0, most, {3 + call}), offsets = at::tensor({0, 2, 2, 3 + call});
    const InputSet expected_inputs = copy_inputs({x, offsets}), inputs = copy_inputs({x, offsets});
    CHECK(difference(interpret(reference, expected_inputs), runtime(InputSet(inputs), {}), close()) == "");
    CHECK(at::equal(expected_inputs[0].toTensor(), inputs[0].toTensor()));
  }
  CHECK(runtime.replayed_calls() > 10);
}

TEST_CASE("a bounds check of many indices stores nothing and is replayed", "[ops][jagged]") {
  load_operators();
  const std::int64_t mode = GENERATE(0, 1, 2);
  const c10::ScalarType type = GENERATE(at::kLong, at::kInt);
  CAPTURE(mode, type);
  // Not shared, since the interpreter writes the counter.
  const auto attributes = [] {
    return Attributes{{"rows", at::tensor({50, 70}, at::kLong)}, {"warnings", at::zeros({1}, at::kLong)}};
  };
  const std::string source =
      "def forward(self, x, offsets):\n"
      "    fbgemm.bounds_check_indices(self.rows, x, offsets, " +
      std::to_string(mode) +
      ", self.warnings)\n"
      "    return x * 2 + 1, offsets + 1\n";
  torch::jit::Module reference = script(source, attributes());
  StaticRuntime<> runtime{StaticModule(script(source, attributes()))};
  std::size_t right_calls = 0;
  for (int call = 0; call < 24; ++call) {
    CAPTURE(call);
    const std::int64_t count = 20000 + 7 * call;  // more bytes than a replay stores to undo writes
    at::Tensor x = at::randint(-1, 50, {count}, type);
    at::Tensor offsets = at::tensor({std::int64_t{0}, std::int64_t{5}, count / 2, count / 2, count}).to(type);
    const bool is_right = call % 8 < 5;
    if (call % 8 == 5) x[count - 1] = 70;  // beyond the second table
    if (call % 8 == 6) x[0] = 60;          // beyond the first one
    if (call % 8 == 7) offsets[4] = count - 1;
    const InputSet expected_inputs = copy_inputs({x, offsets}), inputs = copy_inputs({x, offsets});
    if (mode == 0 && !is_right) {
      CHECK_THROWS(interpret(reference, expected_inputs));
      CHECK_THROWS(runtime(InputSet(inputs), {}));
    } else {
      CHECK(difference(interpret(reference, expected_inputs), runtime(InputSet(inputs), {}), close()) == "");
    }
    CHECK(at::equal(expected_inputs[0].toTensor(), inputs[0].toTensor()));
    CHECK(at::equal(expected_inputs[1].toTensor(), inputs[1].toTensor()));
    right_calls += is_right ? 1 : 0;
  }
  const Report report = runtime.report();
  CAPTURE(report.bailouts);
  CHECK(report.replayed_calls + 4 >= right_calls);
  REQUIRE_FALSE(report.plans.empty());
  CHECK(report.plans.back().interpreted == 0);
}

TEST_CASE("a bounds check of no indices", "[ops][jagged]") {
  load_operators();
  const Attributes attributes{{"rows", at::tensor({50, 70}, at::kLong)},
                              {"warnings", at::zeros({1}, at::kLong)}};
  torch::jit::Module module = script(
      "def forward(self, x, offsets):\n"
      "    fbgemm.bounds_check_indices(self.rows, x, offsets, 1, self.warnings)\n"
      "    return x * 2 + 1, offsets + 1\n",
      attributes);
  StaticRuntime<> runtime{StaticModule(module)};
  for (int call = 0; call < 6; ++call) {
    const InputSet inputs{at::empty({0}, at::kLong), at::zeros({1 + 2 * (call % 2)}, at::kLong)};
    CHECK(difference(interpret(module, copy_inputs(inputs)), runtime(copy_inputs(inputs), {}), close()) ==
          "");
  }
}

}  // namespace sr::test::fbgemm_tests
