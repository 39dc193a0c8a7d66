// The layouts in which programs keep images between convolutions.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <torch/script.h>

#include <sr/replay/lowering/image_layouts.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::image_layouts_tests {

namespace {

constexpr std::int64_t kChannels = 32;

Attributes weights() {
  const auto weight = [](at::IntArrayRef sizes) { return sample(sizes) * 0.2; };
  return {{"first", weight({kChannels, 3, 3, 3})},
          {"square", weight({kChannels, kChannels, 3, 3})},
          {"one", weight({kChannels, kChannels, 1, 1})},
          {"wide", weight({kChannels, 2 * kChannels, 1, 1})},
          {"deep", weight({kChannels, 1, 3, 3})},
          {"grouped", weight({kChannels, kChannels / 2, 3, 3})},
          {"few", weight({2, kChannels, 1, 1})},
          {"half", weight({kChannels, kChannels / 2, 3, 3})},
          {"five", weight({kChannels, kChannels, 5, 5})},
          {"matrix", weight({kChannels, kChannels})},
          {"bias", sample({kChannels})},
          {"gamma", at::rand({kChannels}) + 0.5},
          {"variance", at::rand({kChannels}) + 0.5}};
}

torch::jit::Module model(const std::string& body) {
  return script(
      "def forward(self, x):\n    x = torch.conv2d(x, self.first, self.bias, [2, 2], [1, 1])\n    " + body +
          "\n",
      weights());
}

std::string conv(const std::string& of, const std::string& weight = "square", int groups = 1, int step = 1) {
  const std::string pad = weight == "one" || weight == "wide" || weight == "few" ? "0" : "1";
  return "torch.conv2d(" + of + ", self." + weight + ", None, [" + std::to_string(step) + ", " +
         std::to_string(step) + "], [" + pad + ", " + pad + "], [1, 1], " + std::to_string(groups) + ")";
}

std::vector<InputSet> images() {
  std::vector<InputSet> runs;
  for (const std::int64_t batch : {1, 1, 1, 3, 2, 5, 0, 1}) runs.push_back({sample({batch, 3, 18, 14})});
  for (int i = 0; i < 3; ++i) runs.push_back({sample({2, 3, 5, 9})});
  for (int i = 0; i < 3; ++i) runs.push_back({sample({2, 3, 1, 1})});
  for (int i = 0; i < 3; ++i)
    runs.push_back({sample({2, 3, 8, 8}).contiguous(at::MemoryFormat::ChannelsLast)});
  return runs;
}

const std::string kNorm =
    "torch.batch_norm(x, self.gamma, self.bias, self.bias, self.variance, False, 0.1, 1e-5, True)";

const std::vector<std::string> kBodies{
    "x = torch.relu(" + conv("x") + ")\n    return x.mean([2, 3])",
    "x = torch.relu(" + kNorm + ")\n    x = " + conv("x", "square", 1, 2) +
        "\n    return x.mean([2, 3], keepdim=True)",
    "y = torch.hardtanh(" + conv("x", "deep", 32) + ", 0.0, 6.0)\n    return " + conv("y", "one") +
        ".mean([2, 3])",
    "y = " + conv("x", "grouped", 2) + "\n    return (" + conv("y", "one") + " + x).mean([2, 3])",
    "y = torch.max_pool2d(x, [3, 3], [2, 2], [1, 1])\n    return torch.adaptive_avg_pool2d(" + conv("y") +
        ", [1, 1])",
    "y = torch.avg_pool2d(" + conv("x") + ", [2, 2], [1, 1], [1, 1])\n    return " + conv("y", "one") +
        ".mean([2, 3])",
    "y = torch.cat([torch.relu(x), " + conv("x") + "], 1)\n    return " + conv("y", "wide") + ".mean([2, 3])",
    "y = torch.cat([x, " + conv("x") + ", x * 2], 2)\n    return " + conv("y", "one") + ".mean([2, 3])",
    "s = torch.sigmoid(" + conv("x.mean([2, 3], keepdim=True)", "one") + ")\n    return " +
        conv("x * s", "one") + ".mean([2, 3])",
    "y = " + conv("x") + "\n    return y, " + conv("y", "one") + ".mean([2, 3])",
    "y = " + conv("x") + "\n    return " + conv("torch.relu(y)", "one") + ".mean([2, 3]), y.flatten(1) * 2",
    "y = " + conv("x") + "\n    return " + conv("y.transpose(2, 3)", "one") + ".mean([2, 3])",
    "y = " + conv("x") + "\n    return " + conv("torch.relu(y)", "few"),
    "y = " + conv("x") + "\n    y.add_(x)\n    y.mul_(2)\n    return " + conv("y", "one") + ".mean([2, 3])",
    "y = torch.silu(" + conv("x") + ")\n    return (" + conv("y") + " * torch.sigmoid(y) + y).mean([2, 3])",
    "y = " + conv("x") + "\n    for i in range(3):\n        y = torch.relu(" + conv("y") +
        ") + y\n    return y.mean([2, 3])",
    "y = torch.hardswish(" + conv("x") + ")\n    y = torch.prelu(" + conv("y") +
        ", self.bias)\n    return torch.leaky_relu(" + conv("y", "one") + ", 0.1).mean([2, 3])",
    "y = " + conv("x") + "\n    return torch.cumsum(" + conv("y") + ", 1).mean([2, 3])",
    "y = " + conv("x") + "\n    return " + conv("torch.softmax(y, 1)", "one") + ".mean([2, 3])",
    "y = torch.conv2d(x, self.five, self.bias, [1, 1], [2, 2])\n"
    "    y = torch.silu(torch.conv2d(y, self.square, None, [1, 2], [4, 3], [3, 2]))\n"
    "    return y.mean([2, 3])",
    "y = torch.conv2d(x, self.grouped, None, [2, 1], [3, 2], [1, 2], 2)\n    return torch.silu(" + conv("y") +
        " + y).mean([2, 3])",
};

// Counts the steps of each kind in the program for an image.
std::size_t copies_for(const torch::jit::Module& module, const at::Tensor& image) {
  StaticRuntime<> runtime{StaticModule(module)};
  for (int call = 0; call < 3; ++call) runtime(image);
  const Report report = runtime.report();
  CAPTURE(report.bailouts);
  REQUIRE(report.plans.size() == 1);
  CHECK(report.plans[0].interpreted + report.plans[0].calls == 0);
  return static_cast<std::size_t>(std::ranges::count(report.plans[0].steps, "copy", &StepReport::kind));
}

}  // namespace

// Bodies that read views of images.
const std::vector<std::string> kViews{
    "y = " + conv("x") + "\n    a, b = torch.chunk(y, 2, 1)\n    return (" + conv("a", "half") + " + " +
        conv("torch.relu(b)", "half") + ").mean([2, 3])",
    "y = " + conv("x") +
        "\n    y = y.view(y.size(0), 2, 16, y.size(2), y.size(3)).transpose(1, 2).reshape(y.size())\n"
        "    return " +
        conv("y") + ".mean([2, 3])",
    "y = " + conv("x") +
        "\n    z = torch.layer_norm(y.permute(0, 2, 3, 1), [32], self.gamma, self.bias)\n"
        "    z = torch.gelu(torch.linear(z, self.matrix)).permute(0, 3, 1, 2) + y\n    return " +
        conv("z") + ".mean([2, 3])",
    "y = " + conv("x") + "\n    return torch.linear(y.flatten(2).transpose(1, 2), self.matrix).sum(1)",
    "y = " + conv("x") + "\n    return (" + conv("y[:, :, :-1, 1:] * 2", "one") + " + " +
        conv("y[:, :, 1:, :-1]", "one") + ").mean([2, 3])",
    "y = " + conv("x") + "\n    return " + conv("y[:, 5:21]", "half") + ".mean([2, 3]), y[:, 3].sum([1, 2])",
    "y = " + conv("x") + "\n    return " + conv("y[:1]", "one") +
        ".mean([2, 3]) + y.view(y.size(0), -1).sum()",
    "y = torch.relu(" + conv("x") + ")\n    z = torch.cat([y[:, :16], " + conv("y") +
        "[:, 16:]], 1)\n    return " + conv("z") + ".mean([2, 3])",
    "y = " + conv("x") + "\n    return " + conv("torch.silu(y[:1])", "one") + ".mean([2, 3])",
    "y = " + conv("x") + "\n    return " + conv("torch.silu(y[:, :16])", "half") + ".mean([2, 3])",
    "y = " + conv("x") + "\n    return " + conv("torch.hardtanh(y[:1])", "one") + ".mean([2, 3])",
    "y = " + conv("x") + "\n    return torch.max_pool2d(" + conv("y") +
        "[:, ::2], [2, 2], [1, 1], [1, 1]).mean([2, 3])",
    "y = " + conv("x") +
        "\n    y = y * 0.1\n    return torch.matmul(y.flatten(2), y.flatten(2).transpose(1, 2))",
};

TEST_CASE("images between convolutions have the values of the interpreter", "[replay]") {
  at::manual_seed(4);
  for (const std::string& body : kBodies) {
    CAPTURE(body);
    check_model(model(body), images(), close());
  }
}

TEST_CASE("replays agree with the interpreter step by step, in any layout", "[replay]") {
  for (const std::string& body : kBodies) {
    CAPTURE(body);
    StaticRuntime<> runtime{StaticModule(model(body), {.debug = {.check_every = 1}})};
    for (const std::int64_t batch : {2, 2, 2, 3, 4, 7}) runtime(sample({batch, 3, 18, 14}));
    CHECK(runtime.replayed_calls() >= 3);
  }
}

TEST_CASE("views of images in any layout have the values of the interpreter", "[replay]") {
  for (const std::string& body : kViews) {
    CAPTURE(body);
    const torch::jit::Module module = model(body);
    std::vector<InputSet> runs;
    for (const std::int64_t batch : {1, 1, 1, 3, 2, 5}) runs.push_back({sample({batch, 3, 18, 14})});
    for (int i = 0; i < 3; ++i) runs.push_back({sample({2, 3, 6, 9})});
    check_model(module, runs, close());
    StaticRuntime<> runtime{StaticModule(module, {.debug = {.check_every = 1}})};
    for (const std::int64_t batch : {2, 2, 2, 3, 4, 7}) runtime(sample({batch, 3, 18, 14}));
    CHECK(runtime.replayed_calls() >= 3);
  }
}

TEST_CASE("images without elements keep their layout", "[replay]") {
  const torch::jit::Module module = script(
      "def forward(self, x):\n    y = torch.relu(x) + x.sum([2, 3], keepdim=True)\n    y = torch.cat([y, y * "
      "2], 1)\n    return y + 1\n");
  for (const std::vector<std::int64_t>& sizes :
       std::vector<std::vector<std::int64_t>>{{2, 0, 3, 4}, {2, 3, 0, 4}, {0, 3, 2, 4}, {2, 3, 4, 0}})
    check_model(module, {{sample(sizes)}, {sample(sizes)}}, close());
}

TEST_CASE("the layout of a view follows that of its image", "[replay]") {
  // An image of 2 x 6 channels x 4 x 5, and views of it.
  const at::Tensor image = at::arange(240).view({2, 6, 4, 5});
  const at::Tensor moved = image.contiguous(at::MemoryFormat::ChannelsLast);
  const auto view = [](const at::Tensor& x, int i) {
    switch (i) {
      case 0:
        return x.slice(1, 2, 5);
      case 1:
        return x.slice(2, 1, 4, 2).slice(3, 1, 5, 3);
      case 2:
        return x.flatten(2).transpose(1, 2);
      case 3:
        return x.permute({0, 2, 3, 1}).flatten(1, 2);
      case 4:
        return x.unflatten(1, {2, 3}).transpose(1, 2);
      case 5:
        return x.select(1, 4).select(1, 3);
      case 6:
        return x.slice(0, 1, 2).unsqueeze(2);
      default:
        return x;
    }
  };
  const replay::Dims sizes = replay::constant_dims(image.sizes());
  for (int i = 0; i < 8; ++i) {
    CAPTURE(i);
    const at::Tensor before = view(image, i);
    const auto layout = replay::view_with_channels_last(sizes, replay::TensorLayout::of(before));
    REQUIRE(layout);
    const at::Tensor after = moved.as_strided(replay::pinned(layout->sizes), replay::pinned(layout->strides),
                                              layout->offset.recorded());
    CHECK(at::equal(before, after));
  }
  const auto is_known = [&](const at::Tensor& x) {
    return replay::view_with_channels_last(sizes, replay::TensorLayout::of(x)).has_value();
  };
  CHECK(is_known(image.view({2, 3, 2, 20})));
  CHECK_FALSE(is_known(image.view({2, 120})));
  CHECK_FALSE(is_known(image.view({240})));
  CHECK_FALSE(is_known(image.view({2, 6, 2, 2, 5}).flatten(1, 2)));
  CHECK_FALSE(is_known(image.as_strided({2, 10}, {120, 3})));
}

TEST_CASE("results have LibTorch's strides", "[replay]") {
  const torch::jit::Module module = model("y = " + conv("x") + "\n    return torch.relu(" + conv("y") + ")");
  StaticRuntime<> runtime{StaticModule(module)};
  for (int call = 0; call < 4; ++call) CHECK(runtime(sample({2, 3, 8, 8})).toTensor().is_contiguous());
  CHECK(runtime.replayed_calls() >= 2);
}

TEST_CASE("no image is converted between convolutions", "[replay]") {
  const at::Tensor image = sample({2, 3, 18, 14});
  for (const std::size_t i : {0, 1, 2, 3, 4, 5, 8, 14, 15}) {
    CAPTURE(kBodies[i]);
    CHECK(copies_for(model(kBodies[i]), image) == 0);
  }
  CHECK(copies_for(model(kBodies[6]), image) == 0);  // convolutions write their parts of the joined image
}

TEST_CASE("images that are written in place lie as others do", "[replay]") {
  const auto steps_of = [](const std::string& body) {
    StaticRuntime<> runtime{StaticModule(model(body))};
    for (int call = 0; call < 3; ++call) runtime(sample({2, 3, 18, 14}));
    const Report report = runtime.report();
    CAPTURE(body, report.bailouts);
    REQUIRE(report.plans.size() == 1);
    std::vector<std::pair<std::string, std::size_t>> steps;  // and how many bytes they write
    for (const StepReport& step : report.plans[0].steps) {
      std::size_t bytes = 0;
      for (const auto& written : step.writes) bytes += written.bytes;
      steps.emplace_back(step.kind, bytes);
    }
    return steps;
  };
  CHECK(steps_of("y = " + conv("x") + "\n    y.add_(x)\n    y.relu_()\n    return " + conv("y") +
                 ".mean([2, 3])") ==
        steps_of("y = torch.relu(" + conv("x") + " + x)\n    return " + conv("y") + ".mean([2, 3])"));
}

TEST_CASE("images go through convolutions one by one, in the memory of one", "[replay]") {
  const torch::jit::Module module = model("y = torch.max_pool2d(torch.relu(" + conv("x") +
                                          "), [3, 3], [1, 1], [1, 1])\n    y = " + conv(conv("y"), "one") +
                                          " + y\n    return " + conv("y", "one") + ".mean([2, 3])");
  const auto arena_bytes = [&](std::int64_t batch, std::size_t check_every) {
    StaticRuntime<> runtime{
        StaticModule(module, {.debug = {.enable_families = false, .check_every = check_every}})};
    const at::Tensor image = sample({batch, 3, 18, 14});
    for (int call = 0; call < 3; ++call) runtime(image);
    const Report report = runtime.report();
    REQUIRE(report.plans.size() == 1);
    return report.plans[0].memory.arena;
  };
  constexpr std::size_t kImage = kChannels * 9 * 7 * sizeof(float);
  CHECK(arena_bytes(9, 0) == arena_bytes(2, 0));
  CHECK(arena_bytes(9, 1) > 9 * 2 * kImage);
}

TEST_CASE("images of exact programs keep LibTorch's layout", "[replay]") {
  OracleOptions exact;
  exact.rounds = 1;
  const torch::jit::Module module = model(kBodies[0]);
  StaticRuntime<> runtime{StaticModule(module, {.numerics = Numerics::exact})};
  torch::jit::Module reference = module.deepcopy();
  for (int call = 0; call < 4; ++call) {
    const at::Tensor image = sample({2, 3, 18, 14});
    CHECK(difference(reference.forward({image}), runtime(image)) == "");
  }
}

}  // namespace sr::test::image_layouts_tests
