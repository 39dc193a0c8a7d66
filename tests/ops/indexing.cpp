// Bags of rows of a table against the interpreter; and that plans have kernels for them.
#include <string>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test {

namespace {

const OracleOptions kBags{.rtol = 1e-5, .atol = 1e-5, .expected_path = "native"};

at::Tensor integers(std::int64_t below, at::IntArrayRef sizes) {
  return at::randint(0, below, sizes, at::kLong);
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
                           {table, at::full({5}, 10, at::kLong), offsets},  // refused, as all below
                           {table, at::full({5}, -1, at::kLong), offsets},
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

}  // namespace

TEST_CASE("bags of rows equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : indexing_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

TEST_CASE("plans have a kernel for bags", "[ops][replay]") {
  const at::Tensor i = integers(4, {3});
  const at::Tensor table = sample({10, 4}), offsets = at::tensor({0, 1}, at::kLong);
  check_kernels("w, i, o", bag_call("1", "None"), {table, i, offsets});
  // All four tensors: not ours.
  StaticRuntime<> runtime{StaticModule(script(
      "def forward(self, w, i, o):\n    return torch.embedding_bag(w, i, o, False, 1, False, None)\n"))};
  for (int run = 0; run < 3; ++run) runtime(table, i, offsets);
  REQUIRE(runtime.report().plans.size() == 1);
  CHECK(runtime.report().plans[0].kernels == 0);
}

TEST_CASE("bags of indices of two dimensions have literal offsets", "[oracle][ops]") {
  const std::string source =
      "def forward(self, i):\n"
      "    o = torch.arange(0, i.numel(), i.size(1))\n"
      "    return torch.cat([torch.embedding_bag(self.w, i.reshape(-1), o, False, 0, False, None)[0]] * 2, "
      "1)\n";
  check_model(
      script(source, {{"w", sample({50, 33})}}),
      {{integers(50, {4, 7})}, {integers(50, {1, 1})}, {integers(50, {9, 40})}, {integers(51, {9, 40})}},
      {.rtol = 1e-5, .atol = 1e-5});
}

}  // namespace sr::test
