// Multilayer perceptrons and transformer blocks.
#include <cmath>

#include <ATen/ATen.h>

#include "light.hpp"
#include "models.hpp"

namespace sr::bench {
namespace {

// Weights of a linear layer in TorchScript's order, and transposed for the loops.
struct Dense {
  at::Tensor weight, bias, packed;

  Dense(ModelBuilder& build, const std::string& name, std::int64_t in, std::int64_t out)
      : weight(build.weight(name + "_w", {out, in}, 1 / std::sqrt(static_cast<double>(in)))),
        bias(build.weight(name + "_b", {out}, 0.1)),
        packed(weight.t().contiguous()) {}

  at::Tensor operator()(const at::Tensor& x) const { return at::linear(x, weight, bias); }
  light::Dense loops() const {
    return {floats(packed), floats(bias), static_cast<int>(weight.size(1)), static_cast<int>(weight.size(0))};
  }
};

Model perceptron(std::int64_t batch, const std::vector<std::int64_t>& widths, bool relu) {
  std::string name = relu ? "mlp" : "mlp_sigmoid";
  for (const std::int64_t width : widths) name += "_" + std::to_string(width);
  ModelBuilder build(name + "_b" + std::to_string(batch));
  const std::string activation = relu ? "relu" : "sigmoid";
  const auto x = build.input({batch, widths[0]});
  std::vector<Dense> layers;
  std::vector<light::Dense> loops;
  std::string text = "def forward(self, x):\n";
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    const std::string layer = "l" + std::to_string(i);
    layers.emplace_back(build, layer, widths[i], widths[i + 1]);
    loops.push_back(layers.back().loops());
    if (i != 0) text += "    x = torch." + activation + "(x)\n";
    text += "    x = torch.linear(x, self." + layer + "_w, self." + layer + "_b)\n";
  }
  build.script(text + "    return x\n");
  return build.finish(
      [=] {
        at::Tensor y = layers[0](x);
        for (std::size_t i = 1; i < layers.size(); ++i) y = layers[i](relu ? at::relu(y) : at::sigmoid(y));
        return y;
      },
      [=, in = floats(x), count = static_cast<int>(loops.size())](float* out) {
        const auto between = relu ? light::Activation::relu : light::Activation::sigmoid;
        light::perceptron(loops.data(), count, between, static_cast<int>(batch), in, out);
      });
}

struct TransformerLayer {
  at::Tensor gain_1, shift_1, gain_2, shift_2;
  Dense qkv, mix, up, down;

  TransformerLayer(ModelBuilder& build, const std::string& n, std::int64_t d, std::int64_t hidden)
      : gain_1(build.weight(n + "gain_1", {d})),
        shift_1(build.weight(n + "shift_1", {d})),
        gain_2(build.weight(n + "gain_2", {d})),
        shift_2(build.weight(n + "shift_2", {d})),
        qkv(build, n + "qkv", d, 3 * d),
        mix(build, n + "mix", d, d),
        up(build, n + "up", d, hidden),
        down(build, n + "down", hidden, d) {}

  at::Tensor operator()(at::Tensor x, std::int64_t heads, bool gelu) const {
    const std::int64_t rows = x.size(0), d = x.size(1);
    const auto normed = at::layer_norm(x, {d}, gain_1, shift_1);
    const auto split = qkv(normed).view({rows, 3, heads, d / heads}).permute({1, 2, 0, 3});
    const auto scores = at::matmul(split.select(0, 0), split.select(0, 1).transpose(1, 2));
    const auto shares = at::softmax(at::mul(scores, 1 / std::sqrt(static_cast<double>(d / heads))), -1);
    const auto mixed = at::matmul(shares, split.select(0, 2)).transpose(0, 1).reshape({rows, d});
    x = at::add(x, mix(mixed));
    const auto wide = up(at::layer_norm(x, {d}, gain_2, shift_2));
    return at::add(x, down(gelu ? at::gelu(wide) : at::relu(wide)));
  }

  light::Block loops() const {
    return {floats(gain_1), floats(shift_1), floats(gain_2), floats(shift_2),
            qkv.loops(),    mix.loops(),     up.loops(),     down.loops()};
  }
};

std::string transformer_text(int layers, std::int64_t d, std::int64_t heads, bool gelu) {
  std::string text = "def forward(self, x):\n";
  const std::string width = std::to_string(d / heads), pair = "x.size(0), " + std::to_string(d);
  const auto dense = [](const std::string& n, const std::string& x) {
    return "torch.linear(" + x + ", self." + n + "_w, self." + n + "_b)";
  };
  const auto norm = [&](const std::string& n, const std::string& which) {
    return "torch.layer_norm(x, [" + std::to_string(d) + "], self." + n + "gain_" + which + ", self." + n +
           "shift_" + which + ")";
  };
  for (int i = 0; i < layers; ++i) {
    const std::string n = "t" + std::to_string(i) + "_";
    text += "    qkv = " + dense(n + "qkv", norm(n, "1")) + "\n";
    text += "    split = qkv.view([x.size(0), 3, " + std::to_string(heads) + ", " + width + "])";
    text += ".permute([1, 2, 0, 3])\n";
    text += "    scores = torch.matmul(split.select(0, 0), split.select(0, 1).transpose(1, 2))\n";
    text += "    shares = torch.softmax(scores * " +
            std::to_string(1 / std::sqrt(static_cast<double>(d / heads))) + ", -1)\n";
    text += "    mixed = torch.matmul(shares, split.select(0, 2)).transpose(0, 1).reshape([" + pair + "])\n";
    text += "    x = x + " + dense(n + "mix", "mixed") + "\n";
    text += "    wide = " + dense(n + "up", norm(n, "2")) + "\n";
    text += "    x = x + " + dense(n + "down", gelu ? "torch.gelu(wide)" : "torch.relu(wide)") + "\n";
  }
  return text + "    return x\n";
}

Model transformer(int layers, std::int64_t rows, std::int64_t d, std::int64_t heads, std::int64_t hidden,
                  bool gelu) {
  ModelBuilder build("transformer_" + std::to_string(layers) + "_layers_" + std::to_string(rows) + "x" +
                     std::to_string(d) + (gelu ? "_gelu" : "_relu"));
  const auto x = build.input({rows, d});
  std::vector<TransformerLayer> all;
  std::vector<light::Block> loops;
  for (int i = 0; i < layers; ++i) {
    all.emplace_back(build, "t" + std::to_string(i) + "_", d, hidden);
    loops.push_back(all.back().loops());
  }
  build.script(transformer_text(layers, d, heads, gelu));
  const auto eager = [=] {
    at::Tensor y = x;
    for (const TransformerLayer& layer : all) y = layer(y, heads, gelu);
    return y;
  };
  if (rows > light::kBlockRows || d > light::kBlockWidth || hidden > light::kBlockHidden)
    return build.finish(eager);
  return build.finish(eager, [=, in = floats(x)](float* out) {
    light::transformer(loops.data(), layers, static_cast<int>(heads), gelu, static_cast<int>(rows), in, out);
  });
}

}  // namespace

void add_perceptrons(std::vector<Model>& models) {
  for (const std::int64_t batch : {1, 20}) models.push_back(perceptron(batch, {64, 128, 64, 1}, true));
  models.push_back(perceptron(3, {48, 96, 32, 2}, false));
}

void add_transformers(std::vector<Model>& models) {
  models.push_back(transformer(2, 16, 64, 4, 128, true));
  models.push_back(transformer(2, 5, 48, 3, 80, false));
  models.push_back(transformer(12, 8, 32, 4, 64, true));  // the cost of many steps
  for (const std::int64_t rows : {1, 32}) models.push_back(transformer(1, rows, 128, 4, 512, true));
  models.push_back(transformer(6, 32, 384, 6, 1536, true));
}

}  // namespace sr::bench
