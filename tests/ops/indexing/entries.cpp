// Indexing by tensors, and bags of rows, against the interpreter; plans have kernels for them.
#include <algorithm>
#include <cstdint>
#include <string>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/families.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_indexing_tests {

namespace {

const OracleOptions kBags{.rtol = 1e-5, .atol = 1e-5, .expected_path = "native"};

at::Tensor integers(std::int64_t below, at::IntArrayRef sizes) {
  return at::randint(0, below, sizes, at::kLong);
}

at::Tensor with_last(at::Tensor indices, std::int64_t last) {
  indices.view(-1)[-1] = last;
  return indices;
}

// A tensor, and an index for dimension 1 as ATen's gather takes it.
std::vector<InputSet> along_dim_1() {
  const at::Tensor x = sample({4, 6, 5});
  return {{x, integers(6, {4, 3, 5})},
          {x, integers(6, {2, 9, 3})},
          {sample({7, 6}), integers(6, {7, 1})},
          {sample({7, 6}, at::kDouble), integers(6, {7, 6})},
          {sample({7, 6}, at::kBool), integers(6, {7, 6})},
          {sample({7, 6}, at::kBFloat16), integers(6, {7, 6})},
          {sample({7, 6}, at::kComplexDouble), integers(6, {7, 6})},
          {x, integers(6, {4, 3, 1}).expand({4, 3, 5})},
          {x.permute({2, 1, 0}), integers(6, {4, 3, 5}).permute({2, 1, 0})},
          {channels_last({2, 3, 4, 5}), integers(3, {2, 3, 4, 5})},
          {stepped(sample({4, 6})), stepped(integers(6, {4, 6}))},
          {sample({6}).expand({3, 6}), integers(6, {3, 4})},
          {x, integers(6, {4, 0, 5})},
          {x, integers(6, {4, 3, 5}).to(at::kInt)},
          {sample({2, 6}), integers(6, {2, 2500})},
          {sample({2, 6}, at::kDouble), integers(6, {2, 2500}).to(at::kInt)},
          {sample({2, 6}), with_last(integers(6, {2, 2500}), 6)},   // refused
          {sample({2, 6}), with_last(integers(6, {2, 2500}), -1)},  // refused
          {x, at::full({4, 3, 5}, 6, at::kLong)},                   // refused
          {x, at::full({4, 3, 5}, -1, at::kLong)},                  // refused
          {x, integers(6, {5, 3, 5})},                              // refused
          {x, integers(6, {4, 3, 5})}};
}

std::vector<InputSet> with_broadcasts() {
  std::vector<InputSet> runs = along_dim_1();
  runs.push_back({sample({1, 6, 5}), integers(6, {4, 3, 1})});
  runs.push_back({sample({3, 6}), integers(6, {1, 2})});
  return runs;
}

std::vector<InputSet> choices() {
  const at::Tensor x = sample({4, 6, 5});
  std::vector<InputSet> runs;
  for (const at::Tensor& one : {x, x.permute({2, 1, 0}), x.to(at::kHalf), sample({4, 6}),
                                channels_last({2, 6, 3, 4}), sample({6}).expand({4, 6}), x}) {
    runs.push_back({one, integers(6, {3})});
    runs.push_back({one, integers(6, {7}).to(at::kInt)});
    runs.push_back({one, stepped(integers(6, {7, 2})).select(1, 1)});
    runs.push_back({one, integers(6, {})});
    runs.push_back({one, integers(6, {0})});
    runs.push_back({one, at::tensor({0, 6}, at::kLong)});
  }
  return runs;
}

// One index tensor of any shape, with negative ones, and masks.
std::vector<InputSet> one_index() {
  const at::Tensor x = sample({6, 6, 5});
  return {{x, integers(6, {3})},
          {x, integers(6, {2, 4})},
          {x, integers(6, {2, 4}) - 6},
          {x, integers(6, {4, 2}).t()},
          {x, integers(6, {})},
          {x, integers(6, {3}).to(at::kInt)},
          {x, integers(6, {0})},
          {x.permute({1, 2, 0}).slice(1, 0, 5), integers(5, {3})},
          {x.to(at::kDouble), integers(6, {3, 1})},
          {x.to(at::kComplexFloat), integers(6, {3})},
          {sample({6, 6}, at::kBool), integers(6, {3})},
          {x, at::tensor({0, 6}, at::kLong)},   // refused
          {x, at::tensor({0, -7}, at::kLong)},  // refused
          {x, sample({6}, at::kBool)},          // a mask
          {x, integers(6, {3})}};
}

std::vector<InputSet> two_indices() {
  const at::Tensor x = sample({6, 6, 6, 3});
  return {{x, integers(6, {3}), integers(6, {3})},
          {x, integers(6, {2, 1}), integers(6, {4}) - 3},
          {x, integers(6, {}), integers(6, {4})},
          {x, integers(6, {4}).to(at::kInt), integers(6, {4}).to(at::kInt)},
          {x, integers(6, {4}).to(at::kInt), integers(6, {4})},
          {x.permute({2, 0, 1, 3}), integers(6, {3}), integers(6, {3})},
          {x.to(at::kLong), integers(6, {2, 3}), integers(6, {3})},
          {x, at::tensor({0, 6}, at::kLong), integers(6, {2})},  // refused
          {x, integers(6, {3}), integers(6, {2})},               // refused
          {x, sample({6}, at::kBool), integers(6, {1})},
          {x, integers(6, {3}), integers(6, {3})}};
}

// Table, indices, offsets; the table has ten rows.
std::vector<InputSet> bags() {
  std::vector<InputSet> runs;
  const at::Tensor offsets = at::tensor({0, 3, 3, 5}, at::kLong);
  for (const std::int64_t columns : {1, 4, 8, 19, 40, 64, 130, 300}) {
    const at::Tensor table = sample({10, columns});
    runs.push_back({table, integers(10, {12}), offsets});
  }
  const at::Tensor table = sample({10, 4}), few = integers(10, {5});
  runs.insert(runs.end(), {{table, few.to(at::kInt), offsets.to(at::kInt)},
                           {table, few.to(at::kInt), offsets},
                           {table, few, at::tensor({0}, at::kLong)},
                           {table, few, at::tensor({0, 5, 5}, at::kLong)},
                           {table, integers(10, {0}), at::tensor({0, 0}, at::kLong)},
                           {table, stepped(integers(10, {7, 2})).select(1, 0), offsets},
                           {sample({4, 10}).t(), few, offsets},
                           {sample({10, 8}).slice(1, 2, 6), few, offsets},
                           {at::full({10, 4}, NAN), few, offsets},
                           {table.to(at::kDouble), few, offsets},
                           // Refused, as all below. One bag alone is wrong: LibTorch's threads each take some
                           // bags, and whose error is thrown first would be chance.
                           {table, at::tensor({10, 1, 2, 3, 4}, at::kLong), offsets},
                           {table, at::tensor({-1, 1, 2, 3, 4}, at::kLong), offsets},
                           {table, few, at::tensor({1, 3}, at::kLong)},
                           {table, few, at::tensor({0, 6}, at::kLong)},
                           {table, few, offsets}});
  return runs;
}

std::vector<InputSet> bags_to_the_last_offset() {
  const at::Tensor table = sample({10, 20});
  return {{table, integers(10, {12}), at::tensor({0, 3, 3, 12}, at::kLong)},
          {table, integers(10, {5}), at::tensor({0, 5}, at::kLong)},
          {table, integers(10, {5}), at::tensor({0}, at::kLong)},
          {table, integers(10, {12}), at::tensor({0, 3, 3, 12}, at::kLong)}};
}

std::vector<InputSet> weighted_bags() {
  std::vector<InputSet> runs = bags();
  for (InputSet& run : runs) {
    const at::Tensor table = run[0].toTensor();
    run.push_back(sample({run[1].toTensor().numel()}).to(table.scalar_type()));
  }
  runs.push_back({sample({10, 4}), integers(10, {3}), at::tensor({0, 1}, at::kLong),
                  stepped(sample({3, 2})).select(1, 1)});
  runs.push_back(
      {sample({10, 4}), integers(10, {3}), at::tensor({0, 1}, at::kLong), sample({2})});  // refused
  return runs;
}

std::string bag_call(const std::string& mode, const std::string& rest) {
  return "torch.embedding_bag(w, i, o, False, " + mode + ", False, " + rest + ")[0]";
}

std::vector<OpRow> indexing_rows() {
  const std::string bag = "w, i, o";
  return {
      {"aten::gather", "x, i", "torch.gather(x, 1, i)", &along_dim_1},
      {"aten::gather", "x, i", "torch.gather(x, -1, i.clamp(max=1))", &along_dim_1},
      {"aten::gather", "x, i", "torch.gather(x, 0, i.clamp(max=1))", &along_dim_1},
      {"aten::take_along_dim", "x, i", "torch.take_along_dim(x, i, 1)", &with_broadcasts},
      {"aten::take_along_dim", "x, i", "torch.take_along_dim(x, i)", &along_dim_1},
      {"aten::index_select", "x, i", "torch.index_select(x, 1, i)", &choices},
      {"aten::index_select", "x, i", "torch.index_select(x, -1, i.clamp(max=2))", &choices},
      {"aten::index_select", "x, i", "torch.index_select(x, 0, i.clamp(max=1))", &choices},
      {"aten::index.Tensor", "x, i", "x[i]", &one_index},
      {"aten::index.Tensor", "x, i", "x[:, i]", &one_index},
      {"aten::index.Tensor", "x, i", "x[i, None]", &one_index},
      {"aten::index.Tensor", "x, i, j", "x[i, j]", &two_indices},
      {"aten::index.Tensor", "x, i, j", "x[:, i, j]", &two_indices},
      {"aten::index.Tensor", "x, i, j", "x[i, :, j]", &two_indices},
      {"aten::index.Tensor", "x, i, j", "x[i, j, i]", &two_indices},
      {"aten::embedding_bag", bag, bag_call("0", "None"), &bags, kBags},
      {"aten::embedding_bag", bag, bag_call("1", "None"), &bags, kBags},
      {"aten::embedding_bag", bag, bag_call("2", "None"), &bags, kBags},
      {"aten::embedding_bag", bag + ", s", bag_call("0", "s"), &weighted_bags, kBags},
      {"aten::embedding_bag", bag, bag_call("1", "None, True"), &bags_to_the_last_offset, kBags},
      {"aten::embedding_bag.padding_idx", bag, bag_call("0", "None, False, 3"), &bags, kBags},
      {"aten::embedding_bag.padding_idx", bag, bag_call("1", "None, False, -2"), &bags, kBags},
      {"aten::embedding_bag.padding_idx", bag, bag_call("2", "None, False, 3"), &bags, kBags},
      {"aten::embedding_bag.padding_idx", bag + ", s", bag_call("0", "s, False, 3"), &weighted_bags, kBags},
      {"aten::embedding_bag.padding_idx", bag, bag_call("1", "None, True, None"), &bags_to_the_last_offset,
       kBags},
  };
}

const OracleTable registered{&indexing_rows};

}  // namespace

TEST_CASE("indexing by tensors equals the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : indexing_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

TEST_CASE("replays index by our kernels", "[ops][replay]") {
  const at::Tensor x = sample({4, 6, 5}), i = integers(4, {3}), all = integers(4, {2, 3, 5});
  check_kernels("x, i", "torch.gather(x, 1, i)", {x, all});
  check_kernels("x, i", "torch.gather(x, -1, i)", {x.permute({2, 1, 0}), all});
  check_kernels("x, i", "torch.take_along_dim(x, i, 1)", {x, integers(6, {4, 2, 1})});
  check_kernels("x, i", "torch.index_select(x, 2, i)", {x, i});
  check_kernels("x, i", "torch.index_select(x, 1, i)", {x.permute({2, 1, 0}), i});
  check_kernels("x, i", "x[i]", {x, i});
  check_kernels("x, i", "x[:, i]", {x, i});
  check_kernels("x, i", "x[i, :, i]", {x, i});
  const at::Tensor table = sample({10, 4}), offsets = at::tensor({0, 1}, at::kLong);
  check_kernels("w, i, o", bag_call("1", "None"), {table, i, offsets});
  // All four tensors: not ours.
  StaticRuntime<> runtime{StaticModule(script(
      "def forward(self, w, i, o):\n    return torch.embedding_bag(w, i, o, False, 1, False, None)\n"))};
  for (int run = 0; run < 3; ++run) runtime(table, i, offsets);
  REQUIRE(runtime.report().plans.size() == 1);
  CHECK(runtime.report().plans[0].kernels == 0);
}

TEST_CASE("indexing in calls whose sizes vary is done by our kernels", "[families][ops]") {
  const auto check = [](const std::string& expression, const MakeInputs& inputs) {
    INFO(expression);
    const std::string source = "def forward(self, x, i):\n    return " + expression + "\n";
    check_family(source, inputs);
    Compared model(source);
    for (const std::int64_t n : {5, 9, 17, 9}) model.call(inputs(n));
    for (const PlanReport& plan : model.runtime().report().plans) {
      CHECK(plan.calls == 0);
      CHECK(plan.interpreted == 0);
    }
  };
  const auto rows = [](std::int64_t n) { return InputSet{sample({9, 4}), integers(9, {n})}; };
  const auto table = [](std::int64_t n) {
    return InputSet{sample({n, 4}), integers(std::max<std::int64_t>(n, 1), {n == 0 ? 0 : 3})};
  };
  const auto both = [](std::int64_t n) {
    return InputSet{sample({n, 6}), integers(std::max<std::int64_t>(n, 1), {n})};
  };
  check("x[i]", rows);
  check("x[:, 1:3][i] * 2", rows);
  check("x[:, i - i]", [&](std::int64_t n) { return InputSet{sample({9, 4}), integers(4, {n})}; });
  check("x[i]", table);
  check("x[i] + x[i - 1]", both);
  check("x[i, i - i]", both);
  check("x.t()[:, i]", both);
  check("x.gather(0, i[:, None])", both);
}

TEST_CASE("bags of indices of two dimensions have literal offsets", "[oracle][ops]") {
  const std::string source =
      "def forward(self, i):\n"
      "    o = torch.arange(0, i.numel(), i.size(1))\n"
      "    return torch.cat([torch.embedding_bag(self.w, i.reshape(-1), o, False, 0, False, None)[0]] * 2, "
      "1)\n";
  const at::Tensor refused = integers(50, {9, 40});
  refused[0][3] = 50;  // in one bag alone, as above
  check_model(script(source, {{"w", sample({50, 33})}}),
              {{integers(50, {4, 7})}, {integers(50, {1, 1})}, {integers(50, {9, 40})}, {refused}},
              {.rtol = 1e-5, .atol = 1e-5});
}

}  // namespace sr::test::ops_indexing_tests
