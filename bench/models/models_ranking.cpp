// Ranking networks: many small operators on few numbers.
#include <ATen/ATen.h>

#include "light.hpp"
#include "models.hpp"

namespace sr::bench {
namespace {

// Without embeddings, and with other operators and sizes.
Model wide_tanh(std::int64_t batch) {
  constexpr std::int64_t features = 40;
  ModelBuilder build("wide_tanh_b" + std::to_string(batch));
  const auto mean = build.weight("mean", {1, features});
  const auto scale = build.weight("scale", {1, features}).abs_().add_(0.5);
  const auto weight = build.weight("weight", {1, features}, 0.2);
  const auto bias = build.weight("bias", {1});
  const auto x = build.input({batch, features});
  build.script(R"(
def forward(self, x):
    scaled = torch.relu((x - self.mean) / self.scale)
    return torch.tanh(torch.linear(scaled, self.weight, self.bias))
)");
  return build.finish(
      [=] { return at::tanh(at::linear(at::relu(at::div(at::sub(x, mean), scale)), weight, bias)); },
      [=, in = floats(x),
       w = light::Wide{floats(mean), floats(scale), floats(weight), floats(bias), features}](float* out) {
        light::wide_tanh(w, static_cast<int>(batch), in, out);
      });
}

}  // namespace

Model deep_wide(std::int64_t batch) {
  constexpr std::int64_t width = 32, features = 50;
  ModelBuilder build("deep_wide_b" + std::to_string(batch));
  const auto mu = build.weight("mu", {1, features});
  const auto sigma = build.weight("sigma", {1, features});
  const auto weight = build.weight("weight", {1, features + 1}, 0.1);
  const auto bias = build.weight("bias", {1});
  const auto ad = build.input({batch, 1, width});
  const auto user = build.input({batch, 1, width});
  const auto wide = build.input({batch, features});
  build.script(R"(
def forward(self, ad, user, wide):
    preprocessed = torch.clamp((wide + self.mu) * self.sigma, 0., 10.)
    product = torch.flatten(torch.bmm(ad, torch.transpose(user, 1, 2)), 1)
    joined = torch.cat([product, preprocessed], 1)
    return torch.sigmoid(torch.linear(joined, self.weight, self.bias))
)");
  const light::DeepWide w{floats(mu), floats(sigma), floats(weight), floats(bias), width, features};
  return build.finish(
      [=] {
        const auto preprocessed = at::clamp(at::mul(at::add(wide, mu), sigma), 0., 10.);
        const auto product = at::flatten(at::bmm(ad, at::transpose(user, 1, 2)), 1);
        return at::sigmoid(at::linear(at::cat({product, preprocessed}, 1), weight, bias));
      },
      [=, a = floats(ad), u = floats(user), x = floats(wide)](float* out) {
        light::deep_wide(w, static_cast<int>(batch), a, u, x, out);
      });
}

void add_ranking_models(std::vector<Model>& models) {
  for (const std::int64_t batch : {1, 8, 20}) models.push_back(deep_wide(batch));
  models.push_back(wide_tanh(1));
  models.push_back(wide_tanh(16));
}

}  // namespace sr::bench
