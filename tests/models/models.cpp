#include "models.hpp"

#include <cmath>
#include <cstdint>
#include <utility>

#include <ATen/ATen.h>

#include "../support/ir.hpp"

namespace sr::test {

namespace {

// A module with named weights, whose forward is composed of lines.
class Builder {
 public:
  // A weight whose spread keeps the values of deep models near one.
  std::string weight(const std::string& name, const std::vector<std::int64_t>& sizes) {
    std::int64_t inputs = 1;
    for (std::size_t d = 1; d < sizes.size(); ++d) inputs *= sizes[d];
    weights_.emplace_back(name, at::randn(sizes) / std::sqrt(static_cast<double>(inputs)));
    return "self." + name;
  }
  std::string filled(const std::string& name, std::int64_t size, double low, double high) {
    weights_.emplace_back(name, at::empty({size}).uniform_(low, high));
    return "self." + name;
  }
  void line(const std::string& text) { body_ += "    " + text + "\n"; }
  // target = linear(source)
  void linear(const std::string& name, const std::string& target, const std::string& source, std::int64_t in,
              std::int64_t out) {
    const std::string w = weight(name + "_w", {out, in}), b = filled(name + "_b", out, -0.1, 0.1);
    line(target + " = torch.linear(" + source + ", " + w + ", " + b + ")");
  }
  void layer_norm(const std::string& name, const std::string& value, std::int64_t width) {
    const std::string w = filled(name + "_w", width, 0.5, 1.5), b = filled(name + "_b", width, -0.1, 0.1);
    line(value + " = torch.layer_norm(" + value + ", [" + std::to_string(width) + "], " + w + ", " + b + ")");
  }
  void batch_norm(const std::string& name, const std::string& value, std::int64_t channels) {
    const std::string w = filled(name + "_w", channels, 0.5, 1.5),
                      b = filled(name + "_b", channels, -0.1, 0.1);
    const std::string mean = filled(name + "_m", channels, -0.1, 0.1),
                      variance = filled(name + "_v", channels, 0.5, 2);
    line(value + " = torch.batch_norm(" + value + ", " + w + ", " + b + ", " + mean + ", " + variance +
         ", False, 0.1, 1e-5, True)");
  }
  void convolution(const std::string& name, const std::string& target, const std::string& source,
                   std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, bool bias) {
    const std::string w = weight(name + "_w", {out, in, kernel, kernel});
    const std::string b = bias ? filled(name + "_b", out, -0.1, 0.1) : "None";
    const std::string s = std::to_string(stride), p = std::to_string(kernel / 2);
    line(target + " = torch.conv2d(" + source + ", " + w + ", " + b + ", [" + s + ", " + s + "], [" + p +
         ", " + p + "])");
  }

  SmallModel finish(const std::string& name, const std::string& parameters,
                    std::vector<InputSet> runs) const {
    return {name, script("def forward(self, " + parameters + "):\n" + body_, weights_), std::move(runs)};
  }

 private:
  std::string body_;
  Attributes weights_;
};

at::Tensor ids(at::IntArrayRef sizes, std::int64_t below) {
  return at::randint(below, sizes, at::kLong);
}

}  // namespace

SmallModel digits_convnet() {
  Builder build;
  build.convolution("c1", "y", "x", 1, 8, 3, 1, true);
  build.line("y = torch.max_pool2d(torch.relu(y), [2, 2])");
  build.convolution("c2", "y", "y", 8, 16, 3, 1, true);
  build.line("y = torch.max_pool2d(torch.relu(y), [2, 2]).flatten(1)");
  build.linear("l1", "y", "y", 64, 32);
  build.linear("l2", "y", "torch.relu(y)", 32, 10);
  build.line("return torch.log_softmax(y, 1)");
  return build.finish("digits convnet", "x", {{at::rand({1, 1, 8, 8})}, {at::rand({5, 1, 8, 8})}});
}

SmallModel bert_like_encoder() {
  constexpr std::int64_t width = 32, heads = 4, layers = 2, words = 50, longest = 16;
  const std::string split = ".view([ids.size(0), ids.size(1), 4, 8]).transpose(1, 2)";
  Builder build;
  const std::string word = build.weight("word", {words, width}),
                    place = build.weight("place", {longest, width});
  build.line("x = torch.embedding(" + word + ", ids) + " + place + "[:ids.size(1)]");
  build.layer_norm("n0", "x", width);
  build.line("hidden = ((1 - mask) * -10000.0).unsqueeze(1).unsqueeze(2)");
  for (std::int64_t l = 0; l < layers; ++l) {
    const std::string n = std::to_string(l);
    for (const std::string part : {"q", "k", "v"}) {
      build.linear(part + n, part, "x", width, width);
      build.line(part + " = " + part + split);
    }
    build.line("a = torch.matmul(q, k.transpose(-2, -1)) / " +
               std::to_string(std::sqrt(double{width / heads})) + " + hidden");
    build.line("a = torch.matmul(torch.softmax(a, -1), v).transpose(1, 2).contiguous()");
    build.linear("o" + n, "a", "a.view([ids.size(0), ids.size(1), " + std::to_string(width) + "])", width,
                 width);
    build.line("x = x + a");
    build.layer_norm("n1" + n, "x", width);
    build.linear("f" + n, "y", "x", width, 2 * width);
    build.linear("g" + n, "y", "torch.gelu(y)", 2 * width, width);
    build.line("x = x + y");
    build.layer_norm("n2" + n, "x", width);
  }
  build.line("return x, torch.tanh(x[:, 0])");
  return build.finish(
      "BERT-like encoder", "ids, mask",
      {{ids({1, 7}, words), at::ones({1, 7})}, {ids({3, 12}, words), at::rand({3, 12}).round()}});
}

SmallModel resnet_like() {
  Builder build;
  build.convolution("stem", "x", "x", 3, 8, 7, 2, false);
  build.batch_norm("stem_n", "x", 8);
  build.line("x = torch.max_pool2d(torch.relu_(x), [3, 3], [2, 2], [1, 1])");
  std::int64_t channels = 8;
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    for (std::int64_t block = 0; block < 2; ++block) {
      const std::string n = std::to_string(stage) + std::to_string(block);
      const bool narrows = stage != 0 && block == 0;
      const std::int64_t out = narrows ? 2 * channels : channels;
      build.line("skip = x");
      build.convolution("a" + n, "y", "x", channels, out, 3, narrows ? 2 : 1, false);
      build.batch_norm("an" + n, "y", out);
      build.convolution("b" + n, "y", "torch.relu_(y)", out, out, 3, 1, false);
      build.batch_norm("bn" + n, "y", out);
      if (narrows) {
        build.convolution("s" + n, "skip", "x", channels, out, 1, 2, false);
        build.batch_norm("sn" + n, "skip", out);
      }
      build.line("y += skip");
      build.line("x = torch.relu_(y)");
      channels = out;
    }
  }
  build.line("x = torch.adaptive_avg_pool2d(x, [1, 1]).flatten(1)");
  build.linear("head", "x", "x", channels, 10);
  build.line("return x");
  return build.finish("ResNet-18-like", "x", {{at::randn({1, 3, 32, 32})}, {at::randn({2, 3, 48, 40})}});
}

SmallModel lstm_tagger() {
  constexpr std::int64_t words = 40, width = 12, hidden = 10;
  Builder build;
  const std::string word = build.weight("word", {words, width});
  std::string weights;
  for (const std::string direction : {"f", "b"}) {
    weights += build.weight("wi" + direction, {4 * hidden, width}) + ", ";
    weights += build.weight("wh" + direction, {4 * hidden, hidden}) + ", ";
    weights += build.filled("bi" + direction, 4 * hidden, -0.1, 0.1) + ", ";
    weights += build.filled("bh" + direction, 4 * hidden, -0.1, 0.1) + (direction == "f" ? ", " : "");
  }
  build.line("x = torch.embedding(" + word + ", ids)");
  build.line("h = torch.zeros([2, ids.size(0), " + std::to_string(hidden) + "])");
  build.line("y, last, cell = torch.lstm(x, [h, h], [" + weights + "], True, 1, 0.0, False, True, True)");
  build.linear("tag", "y", "y", 2 * hidden, 6);
  build.line("return torch.log_softmax(y, 2), torch.argmax(y, 2)");
  return build.finish("LSTM tagger", "ids", {{ids({1, 5}, words)}, {ids({4, 9}, words)}});
}

SmallModel dlrm_like() {
  constexpr std::int64_t tables = 4, rows = 100, width = 8;
  Builder build;
  build.linear("b1", "x", "dense", 13, 32);
  build.linear("b2", "x", "torch.relu(x)", 32, width);
  build.line("x = torch.relu(x)");
  std::string parts = "x";
  for (std::int64_t t = 0; t < tables; ++t) {
    const std::string n = std::to_string(t), table = build.weight("t" + n, {rows, width});
    build.line("e" + n + " = torch.embedding_bag(" + table + ", ids[" + n + "], offsets, False, 0)[0]");
    parts += ", e" + n;
  }
  build.line("all = torch.stack([" + parts + "], 1)");
  build.line("dots = torch.bmm(all, all.transpose(1, 2))");
  build.line("pairs = torch.tril_indices(5, 5, -1)");
  build.line("x = torch.cat([x, dots[:, pairs[0], pairs[1]]], 1)");
  build.linear("u1", "x", "x", width + 10, 32);
  build.linear("u2", "x", "torch.relu(x)", 32, 1);
  build.line("return torch.sigmoid(x)");
  const auto run = [&](std::int64_t batch) {
    return InputSet{at::rand({batch, 13}), ids({tables, 3 * batch}, rows), at::arange(0, 3 * batch, 3)};
  };
  return build.finish("DLRM-like", "dense, ids, offsets", {run(1), run(6)});
}

// Scores and boxes of a grid of cells; boxes that overlap a better one are dropped.
SmallModel detection_head() {
  Builder build;
  build.convolution("trunk", "y", "image", 4, 8, 3, 1, true);
  build.line("y = torch.relu(y)");
  build.convolution("score", "s", "y", 8, 1, 1, 1, true);
  build.convolution("box", "b", "y", 8, 4, 1, 1, true);
  build.line("score = torch.sigmoid(s).flatten()");
  build.line("raw = b.permute([0, 2, 3, 1]).reshape([-1, 4])");
  build.line("n = min(most, score.size(0))");
  build.line("best, order = torch.topk(score, n)");
  build.line("raw = torch.index_select(raw, 0, order)");
  build.line("center, size = torch.split(raw, 2, 1)");
  build.line("size = torch.exp(torch.clamp(size, -4.0, 4.0))");
  build.line("boxes = torch.cat([center - size * 0.5, center + size * 0.5], 1)");
  build.line("area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])");
  build.line("alive = torch.ones_like(best) > 0");
  build.line("kept = [boxes[0]]");
  build.line("for i in range(n):");
  build.line("    if bool(alive[i]):");
  build.line("        if i > 0:");
  build.line("            kept.append(boxes[i])");
  build.line("        low = torch.max(boxes[:, :2], boxes[i, :2])");
  build.line("        high = torch.min(boxes[:, 2:], boxes[i, 2:])");
  build.line("        overlap = torch.clamp(high - low, 0.0).prod(1)");
  build.line("        alive = torch.logical_and(alive, overlap / (area + area[i] - overlap) <= 0.5)");
  build.line("return torch.stack(kept), best, alive");
  return build.finish(
      "detection head", "image, most: int",
      {{at::randn({1, 4, 6, 6}), 8}, {at::randn({1, 4, 3, 5}), 20}, {at::randn({1, 4, 1, 1}), 3}});
}

}  // namespace sr::test
