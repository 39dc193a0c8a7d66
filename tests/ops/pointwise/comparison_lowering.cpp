// Float steps with bools, integers, doubles or bfloat16 inside.
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::conditions_tests {

namespace {

OracleOptions close_to() {
  OracleOptions options;
  options.rtol = 1e-5;
  options.atol = 1e-5;
  options.rounds = 1;
  return options;
}

struct Body {
  std::string text;
  int kernels = 1;  // our steps in a replay, for matrices of one layout
};

std::string source_of(const std::string& body) {
  return "def forward(self, x, y, mask, number, wide, half):\n    " + body + "\n";
}

InputSet matrices(std::int64_t rows, std::int64_t columns, at::ScalarType half) {
  at::Tensor x = sample({rows, columns});
  if (x.numel() > 40) {
    x.view(-1)[7] = NAN;
    x.view(-1)[9] = 0;
    x.view(-1)[11] = INFINITY;
  }
  return {x,
          at::where(sample({rows, columns}) > 0.5, x, sample({rows, columns})),
          sample({rows, columns}, at::kBool),
          sample({rows, columns}, at::kLong),
          sample({rows, columns}, at::kDouble),
          sample({rows, columns}, half)};
}

// Transposed, broadcast along either dimension, and strided.
InputSet in_other_layouts(std::int64_t rows, std::int64_t columns, at::ScalarType half) {
  return {sample({columns, rows}).t(),
          sample({rows, 2 * columns}).slice(1, 0, 2 * columns, 2),
          sample({1, columns}, at::kBool),
          sample({columns, rows}, at::kLong).t(),
          sample({rows, 1}, at::kDouble).expand({rows, columns}),
          sample({2 * columns, rows}, half).slice(0, 0, 2 * columns, 2).t()};
}

std::vector<InputSet> every_run(at::ScalarType half) {
  std::vector<InputSet> runs;
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {2, 3}, {5, 13}, {16, 64}, {3, 1100}, {0, 4}}) {
    for (int i = 0; i < 3; ++i) runs.push_back(matrices(rows, columns, half));
    for (int i = 0; i < 3; ++i) runs.push_back(in_other_layouts(rows, columns, half));
  }
  return runs;
}

const std::vector<Body>& bodies() {
  static const std::vector<Body> all = {
      {"return torch.where(x > y, x * 2, y + 1)"},
      {"return x > y, x >= 0.5, x < y, x <= 0.25, x == y, x != y"},
      {"return x.masked_fill(mask, -1e9) * 2"},
      {"return torch.masked_fill(x + 1, ~mask, float('-inf'))"},
      {"return torch.where(mask & (x > 0), x, 0.5) + torch.where(mask | (y < 0), 1.0, y)"},
      {"return (x > 0) ^ mask, torch.logical_not(x), torch.logical_and(x, number), torch.logical_or(mask, "
       "x)"},
      {"return torch.logical_xor(x, mask), torch.isnan(x), torch.isnan(x / y) & mask"},
      {"a = x > y\n    return a, torch.where(a, x, y), a.float() * 3"},
      {"return x * mask, number + y, (1 - mask.float()) * -10000.0"},
      {"return number.float() * 0.5, mask.to(6) + x, number / 3"},
      {"return x.double(), (x * 3).long(), (x > 0).long(), (y * 100).int(), x.to(11)"},
      {"return wide.float() * x, half.float() + x"},
      {"a = half * 2 + half\n    b = torch.sigmoid(a + half)\n    return b, (b * half).float() + x"},
      {"return torch.relu(half) - half / 3, half.double(), x.to(15)"},
      {"a = half * 300 * half * 300\n    return a, a - a, (x * 60000).to(5), wide.to(5), number.to(5), "
       "half.long()",
       0},
      {"return torch.addcmul(x, y, y), torch.addcmul(x, y, y, value=0.5)"},
      {"return torch.addcdiv(x, y, y.abs() + 1, value=-2.0), torch.lerp(x, y, 0.3)"},
      {"return torch.lerp(x, y, torch.sigmoid(x)), torch.clamp(x, y, y + 1), torch.clamp(x, max=y)"},
      {"return torch.softplus(x), x ** 3, torch.relu6(x * 4), (x.abs() + 0.5) ** -0.5"},
      {"return torch.eq(mask, x > 0), torch.ne(mask, ~mask)"},
      {"a = x.to(11)\n    b = (x * 3).to(11)\n    return a.float() * 2 + b, (y + 0.5).to(11) & a"},
      {"a = (x * 7).long()\n    return a.float() * 0.5, a + 1", 0},
      {"a = (number + 4294967295).to(3)\n    return a.long() + number, (wide * 7).long().double() + wide", 0},
      {"a = torch.where(x > 0, number, y)\n    return a * (a < 2).to(a.dtype)"},
      {"return torch.cat([(x > 0).float(), mask.float()], 1), torch.cat([x > 0, mask.expand(x.size(0), -1)])",
       0},
      {"a = wide * 2 + 1\n    return torch.where(a > 0, a, wide / 3), a.float(), a >= x, torch.isnan(a)", 0},
      {"return torch.clamp(wide, -0.5, 0.5) - wide.abs(), torch.relu(wide), wide ** 2, "
       "wide.masked_fill(mask, 7.0)",
       0},
      {"return torch.addcmul(wide, wide, wide, value=0.3), torch.lerp(wide, wide * 2, 0.25), (wide * "
       "9).long()",
       0},
      {"a = number * 2 + 1\n    return a > number, torch.clamp(a, -2, 3), torch.where(mask, a, number), "
       "a.to(3)",
       0},
      {"return number == 2, (number != 0) & mask, number.masked_fill(mask, 9), number.to(11), -number, "
       "number ** 2",
       0},
      {"return torch.maximum(number, number - 1) - number.abs(), torch.sign(number), number + mask, "
       "mask.long() * 3",
       0},
      {"return torch.where(x > 0, mask, x > 1), torch.where(mask, half, half * 2)"},
  };
  return all;
}

}  // namespace

TEST_CASE("conditions: types within a step of floats", "[replay][ops]") {
  at::manual_seed(11);
  const at::ScalarType half = GENERATE(at::kBFloat16, at::kHalf);
  for (const Body& body : bodies()) {
    if (half != at::kBFloat16 && body.text.find("half") == std::string::npos) continue;
    DYNAMIC_SECTION(body.text << " in " << half) {
      // No more signatures than there may be plans.
      const std::vector<InputSet> runs = every_run(half);
      for (std::size_t i = 0; i < runs.size(); i += 18) {
        check_script(
            source_of(body.text),
            std::vector<InputSet>(runs.begin() + static_cast<std::ptrdiff_t>(i),
                                  runs.begin() + static_cast<std::ptrdiff_t>(std::min(i + 18, runs.size()))),
            close_to());
      }
      sr::StaticRuntime<> runtime{sr::StaticModule(script(source_of(body.text)))};
      for (int run = 0; run < 4; ++run) runtime(matrices(4, 8, half));
      REQUIRE(runtime.report().plans.size() == 1);
      CHECK(runtime.report().plans[0].interpreted == 0);
      if (body.kernels != 0)
        CHECK(runtime.report().plans[0].kernels == static_cast<std::size_t>(body.kernels));
    }
  }
}

TEST_CASE("conditions: constants of other types", "[replay][ops]") {
  torch::jit::Module module("masked");
  module.register_buffer("kept", sample({1, 13}, at::kBool));
  module.register_buffer("scale", sample({5, 1}, at::kLong));
  module.define(
      "def forward(self, x):\n    return x.masked_fill(self.kept, -1.0) * self.scale + self.scale\n");
  module.eval();
  check_model(module, {{sample({5, 13})}, {sample({5, 13})}, {sample({1, 13})}, {sample({2, 5, 13})}},
              close_to());
}

TEST_CASE("conditions: a view of a tensor under another type is another operand", "[replay][ops]") {
  check_script("def forward(self, x):\n    a = x.view(3)\n    return (x + 1) * a, (x > 0) & (a != 0)\n",
               {{sample({3, 9})}, {sample({3, 9})}, {sample({3, 9})}}, close_to());
}

TEST_CASE("conditions: powers of any exponent", "[replay][ops]") {
  const std::string source =
      "def forward(self, x, y):\n"
      "    return x ** 1.7, x ** y, torch.pow(0.3, y), x.abs() ** 0.5, (x * 3) ** 3, x ** 0, x ** 1, "
      "torch.pow(x, -2.5)\n";
  check_script(source,
               {{sample({5, 13}), sample({5, 13})},
                {at::rand({40, 33}), sample({33})},
                {sample({3, 3}), at::full({3, 3}, 2)},
                {sample({3}, at::kDouble), sample({3}, at::kDouble)},
                {sample({3}), sample({3}, at::kLong)}},
               close_to());
}

TEST_CASE("conditions: prelu", "[replay][ops]") {
  const std::string source = "def forward(self, x, w):\n    return torch.prelu(x * 2, w) + 1\n";
  check_script(source,
               {{sample({2, 3}), sample({1})},
                {sample({2, 3}), sample({3})},
                {sample({2, 3, 4, 5}), sample({3})},
                {sample({2, 3, 7}), sample({1})},
                {sample({3}), sample({1})}},
               close_to());
}

}  // namespace sr::test::conditions_tests
