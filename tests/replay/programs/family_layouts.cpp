// Families of strided arguments, of views that begin elsewhere in each call, and of results that are views.
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/families.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace sr::test::families_tests {

TEST_CASE("views of what varies begin elsewhere in each call", "[families]") {
  check_family(
      "def forward(self, x):\n    n = x.size(0) // 2\n    return x[n:] * 2, (x + 1)[n], (x * 3)[n:].sum(1)\n",
      [](std::int64_t n) {
        return InputSet{at::randn({n + 2, 6})};
      });
  check_family(
      "def forward(self, x):\n    a, b = x.relu().chunk(2, 1)\n    return a * b, torch.cat([b, a], 1)\n",
      [](std::int64_t n) {
        return InputSet{at::randn({3, 2 * n})};
      });
}

TEST_CASE("parts of weights that begin elsewhere in each call", "[families]") {
  // A decoder reads its table of positions like this. Also products, whose weights would be packed, and other
  // dtypes.
  const auto calls = [](std::int64_t n) { return InputSet{at::randn({2, 6}), n}; };
  const Attributes weights{{"w", weight({1100, 6})},
                           {"b", weight({1100})},
                           {"i", at::randint(-9, 9, {1100, 6}, at::kLong)},
                           {"h", weight({1100, 6}).to(at::kBFloat16)}};
  check_family(
      "def forward(self, x, n: int):\n    return x * self.w[n:n + 1], x + self.w[n], x - self.i[n], "
      "x * self.h[n]\n",
      calls, weights);
  check_family(
      "def forward(self, x, n: int):\n    return torch.linear(x, self.w[n:n + 4], self.b[n:n + 4]), "
      "(x @ self.w[n:n + 6]).relu()\n",
      calls, weights);
  check_family(
      "def forward(self, x, n: int):\n    return torch.cat([x, self.w[n:n + 2]]), self.w[n:n + 2].sum(0), "
      "torch.layer_norm(x, [6], self.w[n], self.w[n + 1])\n",
      calls, weights);
}

TEST_CASE("layouts that vary with the sizes", "[families]") {
  check_family(
      "def forward(self, x):\n    return x.relu(), x.sum(0), x.contiguous() * 2\n",
      [](std::int64_t n) {
        return InputSet{at::randn({6, n}).t()};
      },
      {}, 8);
  check_family(
      "def forward(self, x):\n    return x * 2 + 1\n",
      [](std::int64_t n) {
        return InputSet{at::randn({n, 12}).slice(1, 0, 5)};
      },
      {}, 8);
}

TEST_CASE("results that views of arguments and literals depend on", "[families]") {
  check_family(
      "def forward(self, x):\n    n = x.size(0)\n    return torch.ones([n, 3]) * x, torch.arange(n), "
      "self.p[:n], x.t()\n",
      [](std::int64_t n) {
        return InputSet{at::randn({n, 3})};
      },
      {{"p", weight({1100, 2})}}, 30);
}

}  // namespace sr::test::families_tests
