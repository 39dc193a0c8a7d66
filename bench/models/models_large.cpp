// Models in which arithmetic takes most of the time: recommendation, a convolutional network, larger
// transformers. They have no handwritten loops, since libraries set the standard for such products.
#include <cmath>

#include <ATen/ATen.h>

#include "models.hpp"

namespace sr::bench {
namespace {

double scale_of(std::int64_t inputs) {
  return 1 / std::sqrt(static_cast<double>(inputs));
}

// x = relu(x w0' + b0), ... for the widths of the layers. The last layer has a relu only if `to_the_end`.
class Tower {
 public:
  Tower(ModelBuilder& build, const std::string& name, const std::vector<std::int64_t>& widths,
        bool to_the_end)
      : to_the_end_(to_the_end) {
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      const std::string layer = name + std::to_string(i);
      weights_.push_back(build.weight(layer + "_w", {widths[i + 1], widths[i]}, scale_of(widths[i])));
      biases_.push_back(build.weight(layer + "_b", {widths[i + 1]}, 0.1));
      text_ += "    NAME = torch.linear(NAME, self." + layer + "_w, self." + layer + "_b)\n";
      if (to_the_end || i + 2 < widths.size()) text_ += "    NAME = torch.relu(NAME)\n";
    }
  }
  std::string text(const std::string& variable) const {
    std::string text = text_;
    for (std::size_t at = text.find("NAME"); at != std::string::npos; at = text.find("NAME"))
      text.replace(at, 4, variable);
    return text;
  }
  at::Tensor operator()(at::Tensor x) const {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      x = at::linear(x, weights_[i], biases_[i]);
      if (to_the_end_ || i + 1 < weights_.size()) x = at::relu(x);
    }
    return x;
  }

 private:
  bool to_the_end_;
  std::vector<at::Tensor> weights_, biases_;
  std::string text_;
};

// One row of each table; the dot products of all rows with one another and with the dense features.
Model dlrm(std::int64_t batch, std::int64_t tables, std::int64_t width) {
  constexpr std::int64_t rows = 1000, dense_features = 13;
  ModelBuilder build("dlrm_" + std::to_string(tables) + "x" + std::to_string(width) + "_b" +
                     std::to_string(batch));
  const auto dense = build.input({batch, dense_features});
  const auto indices =
      build.input(at::arange(batch * tables).mul(7919).remainder(rows).view({batch, tables}));
  const Tower bottom(build, "bottom", {dense_features, 8 * width, 4 * width, width}, true);
  std::string gather = "    rows = [x";
  std::vector<at::Tensor> all;
  for (std::int64_t t = 0; t < tables; ++t) {
    const std::string name = "table_" + std::to_string(t);
    all.push_back(build.weight(name, {rows, width}, 0.1));
    gather += ", torch.embedding(self." + name + ", indices.select(1, " + std::to_string(t) + "))";
  }
  const std::int64_t features = tables + 1;
  const auto below = at::tril_indices(features, features, -1);
  const auto pairs = build.constant("pairs", below[0].mul(features).add(below[1]));
  const std::int64_t joined = width + pairs.numel();
  const Tower top(build, "top", {joined, 512, 256, 1}, false);
  build.script("def forward(self, x, indices):\n" + bottom.text("x") + gather + "]\n" + R"(
    features = torch.stack(rows, 1)
    products = torch.flatten(torch.bmm(features, torch.transpose(features, 1, 2)), 1)
    y = torch.cat([x, torch.index_select(products, 1, self.pairs)], 1)
)" + top.text("y") +
               "    return torch.sigmoid(y)\n");
  return build.finish([=] {
    const auto x = bottom(dense);
    std::vector<at::Tensor> gathered{x};
    for (std::int64_t t = 0; t < tables; ++t) {
      gathered.push_back(at::embedding(all[static_cast<std::size_t>(t)], indices.select(1, t)));
    }
    const auto stacked = at::stack(gathered, 1);
    const auto products = at::flatten(at::bmm(stacked, at::transpose(stacked, 1, 2)), 1);
    return at::sigmoid(top(at::cat({x, at::index_select(products, 1, pairs)}, 1)));
  });
}

// Two convolutions, each followed by pooling, and a linear layer.
Model convnet(std::int64_t batch, std::int64_t side, std::int64_t first, std::int64_t second) {
  ModelBuilder build("convnet_" + std::to_string(side) + "_" + std::to_string(first) + "_" +
                     std::to_string(second) + "_b" + std::to_string(batch));
  const auto x = build.input({batch, 1, side, side});
  const auto w1 = build.weight("w1", {first, 1, 3, 3}, scale_of(9));
  const auto b1 = build.weight("b1", {first}, 0.1);
  const auto w2 = build.weight("w2", {second, first, 3, 3}, scale_of(9 * first));
  const auto b2 = build.weight("b2", {second}, 0.1);
  const std::int64_t flat = second * (side / 4) * (side / 4);
  const auto w3 = build.weight("w3", {10, flat}, scale_of(flat));
  const auto b3 = build.weight("b3", {10}, 0.1);
  build.script(R"(
def forward(self, x):
    y = torch.relu(torch.conv2d(x, self.w1, self.b1, [1, 1], [1, 1]))
    y = torch.max_pool2d(y, [2, 2])
    y = torch.relu(torch.conv2d(y, self.w2, self.b2, [1, 1], [1, 1]))
    y = torch.max_pool2d(y, [2, 2])
    return torch.linear(torch.flatten(y, 1), self.w3, self.b3)
)");
  return build.finish([=] {
    auto y = at::max_pool2d(at::relu(at::conv2d(x, w1, b1, 1, 1)), 2);
    y = at::max_pool2d(at::relu(at::conv2d(y, w2, b2, 1, 1)), 2);
    return at::linear(at::flatten(y, 1), w3, b3);
  });
}

}  // namespace

void add_large_models(std::vector<Model>& models) {
  for (const std::int64_t batch : {1, 64}) models.push_back(dlrm(batch, 26, 64));
  models.push_back(dlrm(7, 12, 32));
  models.push_back(convnet(1, 28, 16, 32));
  models.push_back(convnet(3, 20, 12, 20));
}

}  // namespace sr::bench
