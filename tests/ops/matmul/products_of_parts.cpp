// Products with one column: behind the pointwise operations that make the rows, and part by part where the
// rows are a concatenation.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::products_of_parts_tests {

namespace {

// x [n, 50], y [n, 1] and z [n, 1]; weights of one column for rows of 51, 52 and 50.
const Attributes& weights() {
  static const Attributes all{
      {"w51", sample({1, 51})},    {"w52", sample({1, 52})}, {"w50", sample({1, 50})},
      {"column", sample({51, 1})}, {"w3", sample({1, 3})},   {"bias", sample({1})},
      {"row", sample({50})},       {"two", sample({2, 51})}, {"matrix", sample({1, 1})}};
  return all;
}

InputSet inputs_of(std::int64_t rows) {
  return {sample({rows, 50}), sample({rows, 1}), sample({rows, 1})};
}

torch::jit::Module module_of(const std::string& body) {
  return script("def forward(self, x, y, z):\n    " + body + "\n", weights());
}

// The kernels of the program for 20 rows.
std::vector<std::string> steps_of(const std::string& body) {
  sr::StaticRuntime<> runtime{sr::StaticModule(module_of(body))};
  const InputSet inputs = inputs_of(20);
  for (int run = 0; run < 3; ++run) runtime(inputs[0].toTensor(), inputs[1].toTensor(), inputs[2].toTensor());
  const sr::Report report = runtime.report();
  REQUIRE(report.plans.size() == 1);
  std::vector<std::string> names;
  for (const StepReport& step : report.plans[0].steps) names.push_back(step.kind);
  return names;
}

// In fixed sizes, in families, and for the empty and the single row.
void check(const std::string& body) {
  CAPTURE(body);
  std::vector<InputSet> runs;
  for (const std::int64_t rows : {20, 20, 20, 1, 1, 1, 0, 0, 0, 21, 2, 200, 7, 1000})
    runs.push_back(inputs_of(rows));
  check_model(module_of(body), runs, close());
}

using Steps = std::vector<std::string>;

}  // namespace

TEST_CASE("products with one column: a fused step multiplies the rows that it makes", "[replay][ops]") {
  const std::string rows = "rows = torch.clamp(x * self.row, -1, 1)\n    ";
  const std::string linear = rows + "return torch.linear(rows, self.w50, self.bias)";
  CHECK(steps_of(linear) == Steps{"fused"});
  check(linear);
  check(rows + "return torch.mm(rows, self.w50.t()), rows");
  check(rows + "return torch.linear(rows, self.w50, self.bias).relu(), torch.softmax(rows, 1)");
  // The rows are a part of the result, have another shape, or are transposed.
  check(rows + "return torch.linear(rows[:, 3:], self.w50[:, 3:])");
  check(rows + "return torch.linear(rows.view(-1, 5, 50), self.w50) if x.size(0) % 5 == 0 else rows");
  check("rows = x.t() * 2\n    return torch.mm(rows.t(), self.w50.t())");
}

TEST_CASE("products with one column: the parts of a concatenation are multiplied where they are",
          "[replay][ops]") {
  const std::string joined =
      "rows = torch.cat([torch.sum(x * x, 1, keepdim=True), torch.relu(x + self.row)], 1)\n    ";
  const std::string addmm = joined + "return torch.sigmoid(torch.addmm(self.bias, rows, self.w51.t()))";
  CHECK(steps_of(addmm) == Steps{"fused", "fused"});
  check(addmm);
  check(joined + "return torch.linear(rows, self.w51, self.bias)");
  check(joined + "return torch.linear(rows, self.w51)");
  check(joined + "return torch.mm(rows, self.column)");
  check(joined + "return torch.matmul(rows, self.column) * 2");
  check(joined + "return torch.addmm(self.matrix, rows, self.column)");
  // The parts are arguments. There are columns before and behind the wide part.
  check("return torch.linear(torch.cat([y, x, z], 1), self.w52, self.bias)");
  check("return torch.linear(torch.cat([y, x, y], -1), self.w52)");
  const std::string columns =
      "return torch.sigmoid(torch.linear(torch.cat([y, z, y * z], 1), self.w3, self.bias))";
  CHECK(steps_of(columns) == Steps{"fused"});
  check(columns);
  check("return torch.linear(torch.cat([y, z, y * z], 1), self.w3)");
  // The tensors have three dimensions.
  check("return torch.linear(torch.cat([y.unsqueeze(1), x.unsqueeze(1)], 2), self.w51)");
}

TEST_CASE("products with one column: a concatenation is made where it is needed", "[replay][ops]") {
  const std::string joined = "rows = torch.cat([y * 2, x + 1], 1)\n    ";
  // The concatenation is also read by another operator, is returned, or is read through a view.
  check(joined + "return torch.linear(rows, self.w51), rows.sum()");
  check(joined + "return torch.linear(rows, self.w51), rows");
  check(joined + "return torch.linear(rows[1:], self.w51)");
  // The product has two columns or a scale, or the concatenation is along the rows.
  check(joined + "return torch.linear(rows, self.two)");
  check(joined + "return torch.addmm(self.bias, rows, self.column, beta=0.5, alpha=2)");
  check("return torch.linear(torch.cat([x, x * 2], 0), self.w50)");
  // Two parts have several columns.
  check("return torch.linear(torch.cat([x[:, :25] * 2, x[:, 25:], y], 1), self.w51)");
  // A part changes before the product.
  check(
      "part = y * 2\n    rows = torch.cat([part, x], 1)\n    part.add_(1)\n    return torch.linear(rows, "
      "self.w51), part");
  check("rows = torch.cat([y, x], 1)\n    y.add_(1)\n    return torch.linear(rows, self.w51)");
  check(joined + "rows.mul_(3)\n    return torch.linear(rows, self.w51)");
  // The product is a part of another concatenation.
  check(joined + "return torch.cat([torch.linear(rows, self.w51), x], 1)");
}

TEST_CASE("products with one column: a part that is NaN or infinite", "[replay][ops]") {
  InputSet odd = inputs_of(3);
  odd[1].toTensor()[0][0] = std::numeric_limits<float>::quiet_NaN();
  odd[0].toTensor()[1][7] = std::numeric_limits<float>::infinity();
  check_model(module_of("return torch.linear(torch.cat([y, x * 2, z], 1), self.w52, self.bias)"),
              {odd, odd, odd}, close());
}

}  // namespace sr::test::products_of_parts_tests
