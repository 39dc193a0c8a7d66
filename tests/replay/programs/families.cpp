// One plan for calls that differ in sizes only.
#include "support/families.hpp"

#include <regex>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::families_tests {
namespace {

// The sizes on both sides of the borders of all families of one symbol.
std::vector<std::int64_t> sizes_at_borders(const Report& report) {
  static const std::regex range("(\\d+) <= s0(?: <= (\\d+))?.*"), hole(".*s0 != (\\d+).*");
  std::vector<std::int64_t> sizes;
  const auto add = [&](const std::string& number) {
    if (number.empty()) return;
    for (const std::int64_t beside : {-1, 0, 1}) sizes.push_back(std::stoll(number) + beside);
  };
  for (const PlanReport& plan : report.plans) {
    for (const std::string& condition : plan.conditions) {
      std::smatch found;
      if (std::regex_match(condition, found, range)) add(found[1]), add(found[2]);
      if (std::regex_match(condition, found, hole)) add(found[1]);
    }
  }
  return sizes;
}

}  // namespace

TEST_CASE("a batch that varies: pointwise operators, reductions and joins", "[families]") {
  check_family("def forward(self, x, y):\n    return torch.relu((x + y) * 2)\n", [](std::int64_t n) {
    return InputSet{at::randn({n, 3}), at::randn({3})};
  });
  check_family(
      "def forward(self, x):\n    y = (x - self.mu) * self.sigma\n    return y.clamp(-1.0, 1.0), y.sum(1), "
      "y.mean(1, "
      "keepdim=True)\n",
      [](std::int64_t n) {
        return InputSet{at::randn({n, 50})};
      },
      {{"mu", weight({50})}, {"sigma", weight({50})}});
  check_family(
      "def forward(self, x, y):\n    return torch.cat([x * 2, y.relu()], 1), torch.stack([x, y + 1], 1)\n",
      [](std::int64_t n) {
        return InputSet{at::randn({n, 6}), at::randn({n, 6})};
      });
  check_family("def forward(self, x, y):\n    return torch.cat([x * 2, y.relu(), x], 0)\n",
               [](std::int64_t n) {
                 return InputSet{at::randn({n, 6}), at::randn({3, 6})};
               });
  check_family("def forward(self, x):\n    return x * 2, x.size(0) + 1, (x.relu(), x.size(0) * x.size(1))\n",
               [](std::int64_t n) {
                 return InputSet{at::randn({n, 3})};
               });
  // The write is made functional, which replaces the tuple of the results.
  check_family(
      "def forward(self, x):\n    y = x.clone()\n    y.neg_()\n    return (y, x.size(0) * 2 - 1), "
      "x.size(0)\n",
      [](std::int64_t n) {
        return InputSet{at::randn({n, 3})};
      });
  // transformers' DynamicCache begins with an empty vector, which cat skips.
  check_family(
      "def forward(self, x, y):\n    past = torch.cat([self.empty, x], -2)\n"
      "    return torch.cat([past, y.view([1, 1, 2, 5]).transpose(1, 2)], -2), torch.cat([self.empty, x[0, "
      "0, :, "
      "0]])\n",
      [](std::int64_t n) {
        return InputSet{at::randn({1, 2, n, 5}), at::randn({10})};
      },
      {{"empty", at::empty({0})}});
  check_family("def forward(self, x):\n    return torch.softmax(x, -1), torch.softmax(x, 1)\n",
               [](std::int64_t n) {
                 return InputSet{at::randn({n, 4, 5})};
               });
}

TEST_CASE("a batch that varies: products", "[families]") {
  const Attributes attributes{{"w", weight({16, 8})}, {"b", weight({16})}, {"v", weight({4, 16})}};
  check_family(
      "def forward(self, x):\n    h = torch.relu(torch.linear(x, self.w, self.b))\n    return "
      "torch.linear(h, self.v)\n",
      [](std::int64_t n) {
        return InputSet{at::randn({n, 8})};
      },
      attributes);
  check_family("def forward(self, x, y):\n    return torch.bmm(x, y), torch.matmul(x, y).sigmoid()\n",
               [](std::int64_t n) {
                 return InputSet{at::randn({n, 2, 8}), at::randn({n, 8, 3})};
               });
  check_family("def forward(self, x, y):\n    return torch.bmm(x, y.transpose(1, 2)).flatten(1)\n",
               [](std::int64_t n) {
                 return InputSet{at::randn({n, 1, 32}), at::randn({n, 1, 32})};
               });
  check_family(
      "def forward(self, x):\n    return torch.mm(x, self.v), torch.addmm(self.b, x, self.v)\n",
      [](std::int64_t n) {
        return InputSet{at::randn({n, 4})};
      },
      attributes);
}

TEST_CASE("a length that varies: attention, norms, look-ups, slices of weights", "[families]") {
  const Attributes attributes{{"e", weight({30, 16})},
                              {"p", weight({1100, 16})},
                              {"w", weight({48, 16})},
                              {"g", weight({16})},
                              {"c", weight({16})}};
  const std::string start =
      "def forward(self, ids):\n"
      "    b, n = ids.shape[0], ids.shape[1]\n"
      "    x = torch.embedding(self.e, ids) + self.p[:n]\n"
      "    x = torch.layer_norm(x, [16], self.g, self.c)\n"
      "    q, k, v = torch.linear(x, self.w).chunk(3, -1)\n"
      "    q = q.view(b, n, 4, 4).transpose(1, 2)\n"
      "    k = k.view(b, n, 4, 4).transpose(1, 2)\n"
      "    v = v.reshape(b, n, 4, 4).transpose(1, 2)\n";
  const auto ids = [](std::int64_t n) { return InputSet{at::randint(30, {2, n}, at::kLong)}; };
  const std::vector<std::int64_t> sizes{5, 7, 7, 3, 2, 64, 65, 33, 200, 4, 12, 1, 9, 5};
  check_family(start +
                   "    y = torch.softmax(torch.matmul(q, k.transpose(-2, -1)) * 0.5, -1)\n"
                   "    return torch.matmul(y, v).transpose(1, 2).reshape(b, n, 16) + x\n",
               ids, attributes, 4, sizes);
  check_family(start +
                   "    y = torch.scaled_dot_product_attention(q, k, v)\n"
                   "    return y.transpose(1, 2).contiguous().view(b, n, -1) + x\n",
               ids, attributes, 4, sizes);
}

TEST_CASE("columns by index, and elements that tensors of indices choose", "[families]") {
  const auto inputs = [](std::int64_t n) {
    return InputSet{at::randn({n, 6}), at::randint(6, {n, 4}, at::kLong)};
  };
  check_family(
      "def forward(self, x, i):\n    return torch.index_select(x, 1, self.p) * 2, x.gather(1, i) + 1\n",
      inputs, {{"p", at::tensor({5, 0, 3})}});
  check_family("def forward(self, x, i):\n    return torch.cat([x, torch.index_select(x, 1, self.p)], 1)\n",
               inputs, {{"p", at::tensor({5, 0, 3})}});
  check_family(
      "def forward(self, x, i):\n    y = x.view(-1, 2, 3)\n"
      "    return torch.cat([y, torch.index_select(y, 1, self.p), torch.index_select(y, 2, self.q)], 1)\n",
      inputs, {{"p", at::tensor({1, 0, 1})}, {"q", at::tensor({2, 0, 1})}});
  check_family(
      "def forward(self, x, i):\n    return torch.index_select(x, 0, torch.clamp(i[:, 0], 0, 0)) * 2\n",
      inputs);
}

TEST_CASE("two sizes that vary independently", "[families]") {
  Compared model(
      "def forward(self, x, y):\n    return (x.unsqueeze(1) * y.unsqueeze(0)).sum(-1), x.size(0) * "
      "y.size(0)\n");
  for (const auto& [n, m] : std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 4},
                                                                               {5, 6},
                                                                               {5, 6},
                                                                               {6, 5},
                                                                               {2, 100},
                                                                               {100, 2},
                                                                               {7, 7},
                                                                               {8, 8},
                                                                               {9, 10},
                                                                               {1, 5},
                                                                               {5, 1},
                                                                               {0, 3}}) {
    CAPTURE(n, m);
    model.call({at::randn({n, 4}), at::randn({m, 4})});
  }
  CHECK(model.plan_count() <= 4);
}

TEST_CASE("sizes that were equal part later", "[families]") {
  Compared model("def forward(self, x, y):\n    return x + y, x.relu()\n");
  for (const auto& [n, m] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {3, 3}, {5, 5}, {6, 6}, {6, 1}, {1, 6}, {4, 4}, {6, 5}, {9, 9}, {9, 8}}) {
    CAPTURE(n, m);
    model.call({at::randn({n, 4}), at::randn({m, 4})});
  }
}

TEST_CASE("a branch on a size is a condition, tested on both sides", "[families]") {
  Compared model(
      "def forward(self, x):\n"
      "    if x.size(0) > 10:\n"
      "        return x.relu() + 1\n"
      "    if x.size(0) * 2 == 8:\n"
      "        return x * 3\n"
      "    return x - x.size(0)\n");
  for (const std::int64_t n : {3, 5, 9, 10, 11, 12, 4, 10, 11, 5, 4, 100, 3, 1, 0}) {
    CAPTURE(n);
    model.call({at::randn({n, 4})});
  }
}

TEST_CASE("calls on both sides of each border are right", "[families]") {
  const Attributes attributes{{"w", weight({16, 8})}, {"g", weight({8})}, {"p", weight({600, 8})}};
  const std::vector<std::string> bodies{
      "torch.softmax(x, 0) * self.g, torch.softmax(x.t(), -1)",
      "torch.mm(x, x.t()), torch.linear(x, self.w).sum(0)",
      "torch.matmul(x.unsqueeze(0), x.t().unsqueeze(0)).relu() + 1",
      "(x.t() * 2 + 1).sum(1), x.t().reshape(-1).exp()",
      "x[3:] * 2, x[:20] + 1, x + self.p[:x.size(0)]",
      "torch.cat([x, x[5:]], 0) * 2, x.view(x.size(0) * 2, 4).sum(1)",
      "torch.scaled_dot_product_attention(x.unsqueeze(0), x.unsqueeze(0), x.unsqueeze(0))",
      "torch.layer_norm(x.t() + 1, [x.size(0)]), (x * 2 if x.size(0) > 33 else x)",
  };
  std::size_t borders = 0;
  for (const std::string& body : bodies) {
    Compared model("def forward(self, x):\n    return " + body + "\n", attributes);
    for (const std::int64_t n : {30, 40}) model.call({at::randn({n, 8})});
    // Calls outside of a family make others, with other borders.
    for (int round = 0; round < 3; ++round) {
      for (const std::int64_t n : sizes_at_borders(model.runtime().report())) {
        if (n < 0 || n > 5000) continue;
        CAPTURE(body, n);
        model.call({at::randn({n, 8})}, close(1e-3));
        ++borders;
      }
    }
  }
  CHECK(borders > 60);
}

TEST_CASE("a loop over a size, and a number that is a size", "[families]") {
  Compared model(
      "def forward(self, x, k: int):\n"
      "    y = x\n"
      "    for i in range(x.size(0)):\n"
      "        y = y + i\n"
      "    return y[:k], y * k, y[-k:], x.size(0) // 2, [k, x.size(1) % 3]\n");
  for (const std::int64_t n : {3, 5, 4, 6, 3, 7, 1, 2}) {
    for (const std::int64_t k : {2, 3, 1, 5}) {
      CAPTURE(n, k);
      model.call({at::randn({n, 4}), k});
    }
  }
}

TEST_CASE("a list of sizes that changes", "[families]") {
  check_family(
      "def forward(self, x):\n"
      "    sizes = [x.size(0)]\n"
      "    sizes.append(3)\n"
      "    sizes[1] = 2\n"
      "    sizes.append(3)\n"
      "    return x.view(sizes) * 2, x.reshape([len(sizes), x.size(0) * 2])\n",
      [](std::int64_t n) {
        return InputSet{at::randn({n, 6})};
      },
      {}, 30);
}

TEST_CASE("an integer argument that varies is a size", "[families]") {
  check_family("def forward(self, x, k: int):\n    return x[:, :k].relu(), x.narrow(1, 1, k) + 1\n",
               [](std::int64_t n) {
                 return InputSet{at::randn({3, 1100}), n};
               });
}

TEST_CASE("a family serves only calls of one kind", "[families]") {
  Compared model(
      "def forward(self, x, y: Optional[Tensor], z: List[Tensor], k: int, scale: float, how: str):\n"
      "    r = x * scale + k\n    if y is not None:\n        r = r + y\n"
      "    for t in z:\n        r = r - t\n    return r.relu() if how == 'relu' else r\n");
  const auto inputs = [](std::int64_t n) {
    return InputSet{
        at::randn({n, 3}), at::randn({n, 3}), c10::List<at::Tensor>({at::randn({3})}), 2, 0.5, "relu"};
  };
  const auto both = [&](InputSet other) {
    model.call(other);
    model.call(inputs(31));
    model.call(other);
    model.call(inputs(32));
  };
  for (const std::int64_t n : {4, 4, 5, 6, 7, 300, 2, 8}) model.call(inputs(n));
  CHECK(model.plan_count() == 2);
  const auto with = [&](std::size_t i, c10::IValue value) {
    InputSet changed = inputs(9);
    changed[i] = std::move(value);
    return changed;
  };
  both(with(0, at::randn({9, 3}, at::kDouble)));
  both(with(0, at::randn({3, 9}).t()));
  both(with(0, at::randn({1, 9, 3})));
  both(with(0, at::randn({9, 3}).expand({9, 3}).narrow(0, 0, 1)));
  both(with(1, c10::IValue()));
  both(with(1, at::randn({9, 1})));
  both(with(2, c10::List<at::Tensor>({at::randn({9, 3})})));
  both(with(2, c10::List<at::Tensor>({at::randn({3}), at::randn({3})})));
  both(with(2, c10::List<at::Tensor>()));
  both(with(3, 7));
  both(with(3, -7));
  both(with(4, 0.25));
  both(with(5, "none"));
  both(with(0, at::randn({0, 3})));
}

}  // namespace sr::test::families_tests
