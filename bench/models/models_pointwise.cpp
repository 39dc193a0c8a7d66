// Chains of pointwise operators, on sizes from one register to more than the L2 cache holds.
#include <ATen/ATen.h>

#include "light.hpp"
#include "models.hpp"

namespace sr::bench {
namespace {

Model leaky_relu(std::int64_t rows, bool constant) {
  constexpr double slope = 0.1;
  ModelBuilder build((constant ? "leaky_relu_const_" : "leaky_relu_") + std::to_string(rows) + "x32");
  const auto x = build.input({rows, 32});
  if (!constant) build.input_number(slope);
  std::string text = constant ? "def forward(self, x):\n" : "def forward(self, x, slope: float):\n";
  for (int i = 0; i < 5; ++i)
    text += constant ? "    x = torch.leaky_relu(x, 0.1)\n" : "    x = torch.leaky_relu(x, slope)\n";
  build.script(text + "    return x\n");
  return build.finish(
      [=] {
        at::Tensor y = x;
        for (int i = 0; i < 5; ++i) y = at::leaky_relu(y, slope);
        return y;
      },
      [in = floats(x), n = static_cast<int>(x.numel())](float* out) {
        light::leaky_relu_5(n, static_cast<float>(slope), in, out);
      });
}

Model elu_3(std::int64_t rows) {
  ModelBuilder build("elu_3_" + std::to_string(rows) + "x19");
  const auto x = build.input({rows, 19});
  build.script("def forward(self, x):\n    return torch.elu(torch.elu(torch.elu(x)))\n");
  return build.finish(
      [=] { return at::elu(at::elu(at::elu(x))); },
      [in = floats(x), n = static_cast<int>(x.numel())](float* out) { light::elu_3(n, in, out); });
}

Model signed_log1p(std::int64_t n) {
  ModelBuilder build("signed_log1p_" + std::to_string(n));
  const auto x = build.input({n});
  build.script("def forward(self, x):\n    return torch.sign(x) * torch.log1p(torch.abs(x))\n");
  return build.finish([=] { return at::mul(at::sign(x), at::log1p(at::abs(x))); },
                      [in = floats(x), n](float* out) { light::signed_log1p(static_cast<int>(n), in, out); });
}

Model signed_sqrt(std::int64_t n) {
  ModelBuilder build("signed_sqrt_" + std::to_string(n));
  const auto x = build.input({n});
  build.script("def forward(self, x):\n    return torch.sqrt(torch.abs(x)) * torch.sign(x)\n");
  return build.finish([=] { return at::mul(at::sqrt(at::abs(x)), at::sign(x)); },
                      [in = floats(x), n](float* out) { light::signed_sqrt(static_cast<int>(n), in, out); });
}

// The long model: ten dependent operators on three inputs.
Model long_chain(std::string name, std::int64_t side, bool reuse) {
  ModelBuilder build(std::move(name));
  const auto a = build.input({side, side}), b = build.input({side, side}), c = build.input({side, side});
  build.script(kLongChain);
  Model model = build.finish(
      [=] {
        const auto ab = at::relu(at::mul(a, b)), ac = at::relu(at::mul(a, c));
        const auto product = at::relu(at::mul(ac, ab));
        return at::relu(at::mul(at::relu(at::mul(product, product)), c));
      },
      [x = floats(a), y = floats(b), z = floats(c), n = static_cast<int>(a.numel())](float* out) {
        light::long_chain(n, x, y, z, out);
      });
  model.optimize_memory = reuse;
  return model;
}

Model other_chain(std::int64_t rows, std::int64_t columns) {
  ModelBuilder build("chain_7_" + std::to_string(rows) + "x" + std::to_string(columns));
  const auto x = build.input({rows, columns}), y = build.input({rows, columns});
  build.script(R"(
def forward(self, x, y):
    distance = torch.abs(torch.tanh(x - y))
    root = torch.sqrt(distance + 0.5)
    return x / torch.maximum(root, y)
)");
  return build.finish(
      [=] {
        const auto distance = at::abs(at::tanh(at::sub(x, y)));
        return at::div(x, at::maximum(at::sqrt(at::add(distance, 0.5)), y));
      },
      [a = floats(x), b = floats(y), n = static_cast<int>(x.numel())](float* out) {
        light::other_chain(n, a, b, out);
      });
}

}  // namespace

void add_pointwise_models(std::vector<Model>& models) {
  for (const bool constant : {false, true}) {
    for (const std::int64_t rows : {1, 20}) models.push_back(leaky_relu(rows, constant));
  }
  models.push_back(elu_3(7));
  for (const std::int64_t n : {16, 512, 65536}) models.push_back(signed_log1p(n));
  models.push_back(signed_sqrt(300));
  models.push_back(long_chain("chain_10_8x8", 8, true));
  models.push_back(other_chain(5, 13));
  models.push_back(long_chain("long_512x512", 512, true));
  models.push_back(long_chain("long_512x512_no_reuse", 512, false));
  models.push_back(other_chain(300, 200));
}

}  // namespace sr::bench
