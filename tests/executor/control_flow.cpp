// If, Loop and fork: what their bodies read, keep and return.
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::control_flow_tests {

namespace {

const at::Tensor kA = at::linspace(-1, 1, 6).view({2, 3});
const at::Tensor kB = at::linspace(-3, 2, 20).view({4, 5});
const at::Tensor kC = at::linspace(0, 1, 2).view({1, 2});

// The interpreter's own thread may hold the arguments of a forked body a little longer.
const OracleOptions kForked{.use_counts = false};

std::vector<InputSet> with_flags() {
  return {{kA, true},    {kA, false}, {kB, true}, {kC, false}, {kA, true}, {kA.to(at::kDouble), false},
          {kB.t(), true}};
}
std::vector<InputSet> with_counts() {
  return {{kA, 3}, {kB, 0}, {kC, 1}, {kA, 5}, {kA.to(at::kLong), 2}, {kB.t(), 3}};
}

}  // namespace

TEST_CASE("146728: a value read only inside an if body outlives the branch not taken", "[oracle][defects]") {
  check_script(
      "def forward(self, x, flag: bool):\n    a = x * 2\n    b = x + 3\n    c = torch.relu(b)\n    d = c * "
      "c\n"
      "    if flag:\n        r = a + d\n    else:\n        r = d - 1\n    return r * 2\n",
      with_flags());
}

TEST_CASE("146728: a value read only inside a loop body lives as long as the loop", "[oracle][defects]") {
  check_script(
      "def forward(self, x, n: int):\n    a = x * 2\n    acc = x + 1\n    for i in range(n):\n"
      "        acc = torch.sigmoid(acc + 1) * a\n    return acc + 1\n",
      with_counts());
}

TEST_CASE("146728: a value read only inside nested bodies", "[oracle][defects]") {
  check_script(
      "def forward(self, x, n: int):\n    a = x * 2\n    b = torch.exp(x)\n    acc = x + 1\n    for i in "
      "range(n):\n"
      "        t = acc * 2\n        if i % 2 == 0:\n            acc = t + a\n        else:\n            for "
      "j in range(2):\n"
      "                acc = t - b\n    c = acc * 3\n    return c + 1\n",
      with_counts());
}

TEST_CASE("146728: a view of a dead value read inside a body", "[oracle][defects]") {
  check_script(
      "def forward(self, x, flag: bool):\n    a = x * 2\n    v = a.t()\n    b = x + 3\n    c = torch.relu(b) "
      "* 5\n"
      "    if flag:\n        r = v.sum() + c.sum()\n    else:\n        r = c.mean()\n    return r * 2\n",
      {{kA, true}, {kA, false}, {kB, true}, {kA, true}});
}

TEST_CASE("values captured by a fork", "[oracle][defects]") {
  check_script(
      "def body(self, a, b):\n    c = a * b\n    return torch.relu(c) + 1\n"
      "def forward(self, x):\n    a = x * 2\n    b = x + 3\n    f = fork(self.body, a, b)\n"
      "    d = torch.sigmoid(x) * 2\n    e = torch.exp(d)\n    return torch.wait(f) + e\n",
      {{kA}, {kB}, {kC}, {kA}, {kA.to(at::kDouble)}}, kForked);
}

TEST_CASE("a fork that returns its input", "[oracle][traps]") {
  check_script(
      "def body(self, a):\n    return a\n"
      "def forward(self, x):\n    a = x * 2\n    f = fork(self.body, a)\n    d = torch.sigmoid(x) * 2\n"
      "    e = torch.exp(d) + 1\n    r = torch.wait(f)\n    return r + 1, r, e\n",
      {{kA}, {kB}, {kA}}, kForked);
}

TEST_CASE("79292: an exception in a fork reaches the wait", "[oracle][defects][errors]") {
  check_script(
      "def body(self, a, b):\n    return torch.mm(a, b)\n"
      "def forward(self, x, y):\n    f = fork(self.body, x * 1, y * 1)\n    return torch.wait(f) + 1\n",
      {{kA, kA.t()}, {kA, kA}, {kA, kA.t()}, {kB, kB.t()}}, kForked);
}

TEST_CASE("an if returns an outer value, an input, a constant, or one value twice", "[oracle][traps]") {
  check_script(
      "def forward(self, x, flag: bool):\n    a = x * 2\n    if flag:\n        r = a\n    else:\n        r = "
      "x\n"
      "    return r\n",
      with_flags());
  check_script(
      "def forward(self, x, flag: bool):\n    a = x * 2\n    if flag:\n        r, s = a, a\n    else:\n"
      "        r, s = x + 1, a\n    b = r * s\n    return b, r\n",
      with_flags());
  check_script(
      "def forward(self, x, flag: bool):\n    if flag:\n        r = torch.ones([2])\n    else:\n        r = "
      "x.sum(1)\n"
      "    return r * 2, r\n",
      with_flags());
}

TEST_CASE("an if returns a view of a value made in it", "[oracle][traps]") {
  check_script(
      "def forward(self, x, flag: bool):\n    if flag:\n        r = (x * 2).t()\n    else:\n        r = (x + "
      "1)[0]\n"
      "    s = r * 2\n    return s + 1, r.clone()\n",
      with_flags());
}

TEST_CASE("an if without outputs, an if in an if, a branch that returns early", "[oracle][traps]") {
  check_script(
      "def forward(self, x, flag: bool):\n    y = x * 1\n    if flag:\n        y.add_(1)\n    return y * 2\n",
      with_flags());
  check_script(
      "def forward(self, x, flag: bool):\n    y = x * 2\n    if flag:\n        if x.size(0) > 2:\n           "
      " return y\n"
      "        z = y + 1\n        return z.relu()\n    return torch.exp(y)\n",
      with_flags());
}

TEST_CASE("loop-carried values: swapped, kept, aliased, replaced by an input", "[oracle][traps]") {
  check_script(
      "def forward(self, x, n: int):\n    a = x * 2\n    b = x + 1\n    for i in range(n):\n        a, b = "
      "b, a * 1\n"
      "    return a, b\n",
      with_counts());
  check_script(
      "def forward(self, x, n: int):\n    a = x * 2\n    last = a\n    for i in range(n):\n        last = a\n"
      "        a = torch.relu(a) + 1\n    return last + a\n",
      with_counts());
  check_script(
      "def forward(self, x, n: int):\n    a = x * 2\n    for i in range(n):\n        a = a.t()\n    b = a + "
      "1\n"
      "    return b * 2\n",
      with_counts());
  check_script(
      "def forward(self, x, n: int):\n    a = x * 2\n    for i in range(n):\n        if i == 1:\n            "
      "a = x\n"
      "        else:\n            a = a + 1\n    return a\n",
      with_counts());
}

TEST_CASE("a list filled in a loop with values made there", "[oracle][traps]") {
  check_script(
      "def forward(self, x, n: int):\n    all: List[Tensor] = [x * 1]\n    for i in range(n):\n"
      "        all.append(all[i] * 2)\n    return torch.stack(all), all\n",
      with_counts());
  check_script(
      "def forward(self, x, n: int):\n    all: List[Tensor] = []\n    for i in range(n):\n        y = x + i\n"
      "        all.append(y.relu())\n        y.add_(1)\n    return all\n",
      with_counts());
}

TEST_CASE("while loops with conditions on data, break and continue", "[oracle][traps]") {
  check_script(
      "def forward(self, x, n: int):\n    y = x.abs() + 0.1\n    while bool(y.sum() < 50):\n        y = y * "
      "2\n"
      "    return y\n",
      with_counts());
  check_script(
      "def forward(self, x, n: int):\n    y = x * 1\n    for i in range(10):\n        if i == n:\n           "
      " break\n"
      "        if i == 1:\n            continue\n        y = y + i\n    return y\n",
      with_counts());
}

TEST_CASE("shapes that change inside a loop", "[oracle][traps]") {
  check_script(
      "def forward(self, x, n: int):\n    y = x * 1\n    for i in range(n):\n        y = torch.cat([y, y * "
      "2])\n"
      "    return y + 1\n",
      with_counts());
  check_script(
      "def forward(self, x, n: int):\n    total = torch.zeros([1])\n    for i in range(n):\n"
      "        total = total + (x[0][:i] * 2).sum()\n    return total\n",
      with_counts());
}

TEST_CASE("an exception inside a body leaves the runtime usable", "[oracle][errors]") {
  check_script(
      "def forward(self, x, n: int):\n    acc = x * 1\n    for i in range(n):\n        if i == 2:\n"
      "            raise RuntimeError(\"too many\")\n        acc = acc * 2 + 1\n    return acc\n",
      {{kA, 1}, {kA, 4}, {kA, 2}, {kB, 4}, {kB, 1}, {kA, 0}});
}

}  // namespace sr::test::control_flow_tests
