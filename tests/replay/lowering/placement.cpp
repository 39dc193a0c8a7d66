// Results that are written directly into a concatenation.
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::placement_tests {

TEST_CASE("operands of a concatenation are written into its result", "[replay][ops]") {
  check_script(
      "def forward(self, x):\n    a = x * 2\n    b = (x + 1).sum(1, keepdim=True)\n    c = torch.cat([a, b, "
      "x], 1)\n"
      "    return torch.stack([c, c * 2, c.relu()], 1), torch.cat([c.exp(), c.neg()])\n",
      {{sample({3, 4})}, {sample({1, 4})}, {sample({3, 4})}, {sample({0, 4})}, {sample({4, 3}).t()}});
  check_script(
      "def forward(self, x):\n    a = torch.cat([x * 2, x * 2])\n    return torch.cat([a.t(), a.t() + 1]), "
      "a\n",
      {{sample({3, 4})}, {sample({2, 2})}});
}

}  // namespace sr::test::placement_tests
