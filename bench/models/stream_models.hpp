// Models whose calls differ in one size.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <c10/util/accumulate.h>
#include <torch/csrc/jit/api/module.h>

#include "support/ir.hpp"

namespace sr::bench {

struct SizedModel {
  std::string name;
  torch::jit::Module module;
  std::function<std::vector<c10::IValue>(std::int64_t)> inputs;  // of a call with this batch or length
};

namespace detail {

inline at::Tensor weight(at::IntArrayRef sizes) {
  return at::randn(sizes) * 0.1;
}

// Tensors of different sizes in the same memory. A server that reads its requests into one buffer has such
// inputs. With separate memory for each call, a benchmark would measure how fast the machine reads memory.
class Buffer {
 public:
  explicit Buffer(at::Tensor elements) : elements_(std::move(elements)) {}
  at::Tensor operator()(at::IntArrayRef sizes) const {
    return elements_.narrow(0, 0, c10::multiply_integers(sizes)).view(sizes);
  }

 private:
  at::Tensor elements_;
};

inline Buffer floats(std::int64_t count) {
  return Buffer(at::randn({count}));
}
inline Buffer ids(std::int64_t count) {
  return Buffer(at::randint(1000, {count}, at::kLong));
}

}  // namespace detail

inline constexpr std::int64_t kMostSize = 256;

inline SizedModel sized_deep_and_wide() {
  using detail::weight;
  return {
      "deep and wide, batch",
      test::script(
          "def forward(self, ad, user, wide):\n"
          "    n = torch.clamp((wide + self.mu) * self.sigma, 0.0, 10.0)\n"
          "    dp = torch.flatten(torch.bmm(ad, torch.transpose(user, 1, 2)), 1)\n"
          "    return torch.sigmoid(torch.linear(torch.cat([dp, n], 1), self.w, self.b))\n",
          {{"mu", weight({1, 50})}, {"sigma", weight({1, 50})}, {"w", weight({1, 51})}, {"b", weight({1})}}),
      [ad = detail::floats(kMostSize * 32), user = detail::floats(kMostSize * 32),
       wide = detail::floats(kMostSize * 50)](std::int64_t n) {
        return std::vector<c10::IValue>{ad({n, 1, 32}), user({n, 1, 32}), wide({n, 50})};
      }};
}

inline SizedModel sized_perceptron() {
  using detail::weight;
  return {"MLP 256-512-256-10, batch",
          test::script("def forward(self, x):\n"
                       "    x = torch.relu(torch.linear(x, self.w0, self.b0))\n"
                       "    x = torch.relu(torch.linear(x, self.w1, self.b1))\n"
                       "    return torch.linear(x, self.w2, self.b2)\n",
                       {{"w0", weight({512, 256})},
                        {"b0", weight({512})},
                        {"w1", weight({256, 512})},
                        {"b1", weight({256})},
                        {"w2", weight({10, 256})},
                        {"b2", weight({10})}}),
          [x = detail::floats(kMostSize * 256)](std::int64_t n) {
            return std::vector<c10::IValue>{x({n, 256})};
          }};
}

// Three tables, their pairwise products, and a network on top.
inline SizedModel sized_dlrm() {
  using detail::weight;
  return {"DLRM, batch",
          test::script("def forward(self, dense, a, b, c):\n"
                       "    x = torch.relu(torch.linear(dense, self.w0, self.b0))\n"
                       "    t = torch.stack([x, torch.embedding(self.ta, a), torch.embedding(self.tb, b), "
                       "torch.embedding(self.tc, c)], 1)\n"
                       "    z = torch.bmm(t, t.transpose(1, 2)).flatten(1)\n"
                       "    h = torch.relu(torch.linear(torch.cat([x, z], 1), self.w1, self.b1))\n"
                       "    return torch.sigmoid(torch.linear(h, self.w2, self.b2))\n",
                       {{"w0", weight({64, 13})},
                        {"b0", weight({64})},
                        {"ta", weight({1000, 64})},
                        {"tb", weight({1000, 64})},
                        {"tc", weight({1000, 64})},
                        {"w1", weight({128, 80})},
                        {"b1", weight({128})},
                        {"w2", weight({1, 128})},
                        {"b2", weight({1})}}),
          [dense = detail::floats(kMostSize * 13), a = detail::ids(kMostSize), b = detail::ids(kMostSize),
           c = detail::ids(kMostSize)](std::int64_t n) {
            return std::vector<c10::IValue>{dense({n, 13}), a({n}), b({n}), c({n})};
          }};
}

// A transformer encoder of width 128 with four attention heads in each layer.
inline SizedModel sized_transformer(const std::string& name, int layers, bool embeds) {
  using detail::weight;
  std::string source = embeds ? "def forward(self, ids):\n"
                                "    n = ids.size(1)\n"
                                "    x = torch.embedding(self.tokens, ids) + self.places[:n]\n"
                              : "def forward(self, x):\n    n = x.size(1)\n";
  test::Attributes attributes{{"tokens", weight({1000, 128})}, {"places", weight({300, 128})}};
  for (int i = 0; i < layers; ++i) {
    const std::string l = std::to_string(i);
    source += "    q, k, v = torch.linear(x, self.wa" + l + ", self.ba" + l + ").chunk(3, -1)\n" +
              "    q = q.view(1, n, 4, 32).transpose(1, 2)\n"
              "    k = k.view(1, n, 4, 32).transpose(1, 2)\n"
              "    v = v.view(1, n, 4, 32).transpose(1, 2)\n"
              "    y = torch.scaled_dot_product_attention(q, k, v)\n"
              "    y = y.transpose(1, 2).reshape(1, n, 128)\n"
              "    x = torch.layer_norm(x + torch.linear(y, self.wb" +
              l + ", self.bb" + l + "), [128], self.g" + l + ", self.h" + l + ")\n" +
              "    y = torch.gelu(torch.linear(x, self.wc" + l + ", self.bc" + l + "))\n" +
              "    x = torch.layer_norm(x + torch.linear(y, self.wd" + l + ", self.bd" + l +
              "), [128], self.g" + l + ", self.h" + l + ")\n";
    const auto add = [&](const std::string& key, at::IntArrayRef sizes) {
      attributes.emplace_back(key + l, weight(sizes));
    };
    add("wa", {384, 128}), add("ba", {384}), add("wb", {128, 128}), add("bb", {128}), add("wc", {512, 128});
    add("bc", {512}), add("wd", {128, 512}), add("bd", {128}), add("g", {128}), add("h", {128});
  }
  source += "    return x\n";
  return {name, test::script(source, attributes),
          [embeds, ids = detail::ids(kMostSize), x = detail::floats(kMostSize * 128)](std::int64_t n) {
            return std::vector<c10::IValue>{embeds ? ids({1, n}) : x({1, n, 128})};
          }};
}

// A DLRM of usual size: 26 tables of 1,000 x 64, towers 13-512-256-64 and 415-512-256-1.
inline SizedModel sized_large_dlrm() {
  using detail::weight;
  constexpr std::int64_t kTables = 26, kWidth = 64, kVectors = kTables + 1;
  test::Attributes weights;
  const auto tower = [&](const std::string& name, std::vector<std::int64_t> sizes) {
    std::string text = "x";
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      const std::string layer = name + std::to_string(i);
      weights.emplace_back(layer, weight({sizes[i + 1], sizes[i]}));
      weights.emplace_back(layer + "b", weight({sizes[i + 1]}));
      text = "torch.linear(" + text + ", self." + layer + ", self." + layer + "b)";
      if (i + 2 < sizes.size() || name == "low") text = "torch.relu(" + text + ")";
    }
    return text;
  };
  std::string forward =
      "def forward(self, x, ids):\n    x = " + tower("low", {13, 512, 256, kWidth}) + "\n    rows = [x]\n";
  for (std::int64_t table = 0; table < kTables; ++table) {
    const std::string name = "t" + std::to_string(table);
    weights.emplace_back(name, weight({1000, kWidth}));
    forward +=
        "    rows.append(torch.embedding(self." + name + ", ids.select(1, " + std::to_string(table) + ")))\n";
  }
  const at::Tensor pairs = at::tril_indices(kVectors, kVectors, -1);
  weights.emplace_back("pairs", pairs[0] * kVectors + pairs[1]);
  forward +=
      "    f = torch.stack(rows, 1)\n"
      "    p = torch.flatten(torch.bmm(f, torch.transpose(f, 1, 2)), 1)\n"
      "    x = torch.cat([x, torch.index_select(p, 1, self.pairs)], 1)\n"
      "    return torch.sigmoid(" +
      tower("top", {kWidth + kVectors * (kVectors - 1) / 2, 512, 256, 1}) + ")\n";
  return {
      "DLRM of 26 tables, batch", test::script(forward, weights),
      [dense = detail::floats(kMostSize * 13), ids = detail::ids(kMostSize * kTables)](std::int64_t batch) {
        return std::vector<c10::IValue>{dense({batch, 13}), ids({batch, kTables})};
      }};
}

inline std::vector<SizedModel> sized_models() {
  at::manual_seed(1);
  return {sized_deep_and_wide(), sized_perceptron(), sized_dlrm(),
          sized_transformer("transformer block, length", 1, false),
          sized_transformer("BERT-like of 4 layers, length", 4, true)};
}

}  // namespace sr::bench
