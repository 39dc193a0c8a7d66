// A program of a family serves no call for which the interpreter throws.
#include <functional>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::family_errors_tests {
namespace {

// `good` are sizes whose calls make a family, `bad` throw. The sizes of a call are n and m.
struct Case {
  const char* source;
  std::function<InputSet(std::int64_t, std::int64_t)> inputs;
  std::vector<std::pair<std::int64_t, std::int64_t>> good, bad;
};

at::Tensor positions(at::IntArrayRef sizes, std::int64_t end) {
  return at::randint(0, end, sizes, at::kLong);
}

const Case kCases[] = {
    {"def forward(self, x):\n    return torch.layer_norm(x, [8])\n",
     [](auto n, auto m) {
       return InputSet{sample({n, m})};
     },
     {{4, 8}, {5, 8}},
     {{4, 9}, {8, 7}}},
    {"def forward(self, x, w):\n    return torch.layer_norm(x, [x.size(1)], w)\n",
     [](auto n, auto m) {
       return InputSet{sample({4, n}), sample({m})};
     },
     {{8, 8}, {9, 9}},
     {{8, 9}, {9, 8}}},
    {"def forward(self, x, w):\n    return torch.rms_norm(x, [x.size(1)], w)\n",
     [](auto n, auto m) {
       return InputSet{sample({4, n}), sample({m})};
     },
     {{8, 8}, {9, 9}},
     {{8, 9}, {9, 8}}},
    {"def forward(self, x, w, b):\n    return torch.linear(x, w, b)\n",
     [](auto n, auto m) {
       return InputSet{sample({4, 3}), sample({n, 3}), sample({m})};
     },
     {{5, 5}, {6, 6}},
     {{5, 6}, {6, 5}}},
    {"def forward(self, x, w):\n    return torch.linear(x, w)\n",
     [](auto n, auto m) {
       return InputSet{sample({4, n}), sample({6, m})};
     },
     {{5, 5}, {6, 6}},
     {{5, 6}, {6, 5}}},
    {"def forward(self, x, a, b):\n    return torch.addmm(x, a, b)\n",
     [](auto n, auto m) {
       return InputSet{sample({n}), sample({4, 3}), sample({3, m})};
     },
     {{5, 5}, {6, 6}},
     {{5, 6}, {6, 5}}},
    {"def forward(self, a, b):\n    return torch.matmul(a, b)\n",
     [](auto n, auto m) {
       return InputSet{sample({n, 2, 3}), sample({m, 3, 4})};
     },
     {{5, 5}, {6, 6}},
     {{5, 6}, {6, 5}}},
    {"def forward(self, q, mask):\n"
     "    return torch.scaled_dot_product_attention(q, q, q, mask)\n",
     [](auto n, auto m) {
       return InputSet{sample({2, 2, n, 4}), sample({m, m})};
     },
     {{5, 5}, {6, 6}},
     {{5, 6}, {6, 5}}},
    {"def forward(self, x, i):\n    return torch.gather(x, 1, i) + 1\n",
     [](auto n, auto m) {
       return InputSet{sample({n, 3}), positions({m, 2}, 3)};
     },
     {{5, 4}, {6, 5}},
     {{5, 6}, {4, 7}}},
    {"def forward(self, x, y):\n    return torch.cat([x, y], 1)\n",
     [](auto n, auto m) {
       return InputSet{sample({n, 3}), sample({m, 2})};
     },
     {{5, 5}, {6, 6}},
     {{5, 6}, {6, 5}}},
    {"def forward(self, x, y):\n    return x + y\n",
     [](auto n, auto m) {
       return InputSet{sample({n, 3}), sample({m, 3})};
     },
     {{5, 5}, {6, 6}},
     {{5, 6}, {6, 5}}},
    {"def forward(self, x):\n    return x.view([6, 2]) * 2, x.select(0, 3), x.narrow(1, 1, 1)\n",
     [](auto n, auto m) {
       return InputSet{sample({n, m})};
     },
     {{6, 2}, {4, 3}},
     {{3, 4}, {12, 1}, {5, 2}}},
    {"def forward(self, x):\n    return x.reshape([-1, 4]) + 1, x[3]\n",
     [](auto n, auto m) {
       return InputSet{sample({n, m})};
     },
     {{4, 4}, {8, 6}},
     {{5, 5}, {2, 6}, {3, 4}}},
    {"def forward(self, x, n: int):\n    a, b = x.split([n, 3], 0)\n    return a + 1, b\n",
     [](auto n, auto m) {
       return InputSet{sample({n, 2}), m};
     },
     {{5, 2}, {6, 3}},
     {{5, 3}, {6, 2}}},
    {"def forward(self, x, n: int):\n    return x.expand([n, 3]) + 1\n",
     [](auto n, auto m) {
       return InputSet{sample({n, 3}), m};
     },
     {{5, 5}, {6, 6}},
     {{5, 6}, {6, 7}}},
    // The operands of writes overlap in part where both are dense.
    {"def forward(self, x):\n    y = x * 2\n    a = y[1:-1]\n    a += y.narrow(0, 1, 1)\n    return a, y\n",
     [](auto n, auto m) {
       return InputSet{sample({n, m})};
     },
     {{3, 4}, {2, 5}, {3, 2}, {2, 2}},
     {{4, 5}, {5, 3}, {6, 6}}},
    {"def forward(self, x):\n    y = x * 2\n    a = y[:, 1:-1]\n    a += y.narrow(-1, 1, 1)\n    return a\n",
     [](auto n, auto m) {
       return InputSet{sample({n, m})};
     },
     {{2, 5}, {3, 6}, {4, 7}, {1, 3}},
     {{1, 5}, {1, 6}, {1, 4}}},
    {"def forward(self, x):\n    y = torch.relu(x).t()\n    a = y[:2]\n    return a.copy_(y[1:3])\n",
     [](auto n, auto m) {
       return InputSet{sample({n, m})};
     },
     {{2, 5}, {3, 6}, {4, 4}},
     {{1, 5}, {1, 4}, {1, 3}}},
    {"def forward(self, x, k: int):\n    y = torch.relu(x)\n    a = y[:-k]\n    a += y[k:]\n    return a\n",
     [](auto n, auto m) {
       return InputSet{sample({n, 3}), m};
     },
     {{4, 2}, {6, 3}, {8, 4}, {6, 4}, {5, 3}},
     {{4, 1}, {7, 2}, {8, 3}, {6, 2}}},
};

TEST_CASE("calls that throw in the interpreter throw whatever was recorded", "[replay][families]") {
  for (const Case& one : kCases) {
    INFO(one.source);
    auto reference = script(one.source);
    StaticRuntime<> runtime{StaticModule(script(one.source))};
    for (int round = 0; round < 3; ++round) {
      for (const auto& [n, m] : one.good) {
        const InputSet inputs = one.inputs(n, m);
        CHECK(difference(interpret(reference, copy_inputs(inputs)), runtime(copy_inputs(inputs), {}),
                         close()) == "");
      }
      for (const auto& [n, m] : one.bad) {
        INFO(n << ", " << m);
        const InputSet inputs = one.inputs(n, m);
        CHECK_THROWS(interpret(reference, copy_inputs(inputs)));
        CHECK_THROWS(runtime(copy_inputs(inputs), {}));
      }
    }
    // The bad call may come first, too, so that its size is a symbol.
    StaticRuntime<> other{StaticModule(script(one.source))};
    for (int round = 0; round < 3; ++round) {
      for (const auto& [n, m] : one.bad) CHECK_THROWS(other(one.inputs(n, m), {}));
      for (const auto& [n, m] : one.good) CHECK_NOTHROW(other(one.inputs(n, m), {}));
    }
  }
}

}  // namespace
}  // namespace sr::test::family_errors_tests
