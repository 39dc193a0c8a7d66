// Convolution in a replay: windows of every kind over images of every size, against LibTorch.
#include <limits>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "image_plans.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::images_tests {

namespace {

struct Windows {
  std::vector<std::int64_t> weight;
  std::string arguments;  // stride, padding, dilation, groups
  std::vector<at::Tensor> images;
};

// What a model returns of the convolution y, and perhaps of z, which is another one; and how many steps that
// takes.
struct Result {
  std::string text;
  std::size_t steps;
};

const std::vector<Result>& results() {
  static const std::vector<Result> kResults{{"y", 1},
                                            {"torch.relu(y)", 1},
                                            {"torch.sigmoid(y) + 1", 2},
                                            {"torch.clamp(y, -0.2, 0.3)", 1},
                                            {"torch.clamp(y, None, 0.1)", 1},
                                            {"torch.hardtanh(y, -0.1, 0.2)", 1},
                                            {"torch.relu(torch.clamp(y, 0.1, 0.3))", 2},
                                            {"torch.relu(z + y)", 2},
                                            {"torch.relu6(y + z)", 2},
                                            {"y.add_(z).relu_()", 2},
                                            {"y + z, z", 2},
                                            {"z + torch.relu(y)", 3},
                                            {"(y + z) + z", 3},
                                            {"torch.add(z, y, alpha=2)", 3},
                                            {"y + y", 2}};
  return kResults;
}

torch::jit::Module module_of(const Windows& windows, const std::string& bias, const std::string& result) {
  const auto call = [&](const std::string& weight) {
    return "torch.conv2d(x, self." + weight + ", " + bias + ", " + windows.arguments + ")\n    ";
  };
  const std::string other = result.find('z') == std::string::npos ? "" : "z = " + call("u");
  return script("def forward(self, x):\n    " + other + "y = " + call("w") + "return " + result + "\n",
                {{"w", sample(windows.weight)},
                 {"u", sample(windows.weight)},
                 {"b", sample({windows.weight[0]})},
                 {"v", at::rand({windows.weight[0]}) + 1}});
}

}  // namespace

TEST_CASE("images: convolutions are kernels, whatever their window", "[replay][ops]") {
  const std::vector<Windows> all = {
      {{16, 1, 3, 3}, "[1, 1], [1, 1]", {sample({1, 1, 28, 28}), sample({2, 1, 5, 3}), sample({1, 1, 1, 1})}},
      {{32, 16, 3, 3}, "[1, 1], [1, 1]", {sample({3, 16, 14, 14}), sample({1, 16, 7, 7})}},
      {{7, 3, 3, 3}, "[1, 1]", {sample({2, 3, 20, 40}), sample({1, 3, 3, 3}), sample({1, 3, 18, 19})}},
      {{5, 3, 3, 3}, "[2, 2], [1, 1]", {sample({2, 3, 7, 9}), sample({1, 3, 32, 64}), sample({1, 3, 2, 2})}},
      {{9, 4, 1, 1}, "[1, 1]", {sample({2, 4, 5, 6}), sample({1, 4, 1, 1}), sample({1, 4, 3, 50})}},
      {{9, 4, 1, 1}, "[2, 2]", {sample({2, 4, 5, 6}), sample({1, 4, 40, 40})}},
      {{6, 1, 3, 3}, "[1, 1], [1, 1], [1, 1], 6", {sample({2, 6, 9, 9}), sample({1, 6, 30, 17})}},
      {{6, 2, 3, 5}, "[1, 2], [1, 2], [1, 1], 2", {sample({2, 4, 9, 9}), sample({1, 4, 3, 40})}},
      {{4, 2, 3, 3}, "[1, 1], [2, 2], [2, 2]", {sample({1, 2, 9, 9}), sample({2, 2, 6, 33})}},
      {{4, 2, 5, 3}, "[2, 3], [4, 0], [1, 2]", {sample({1, 2, 9, 11}), sample({1, 2, 1, 60})}},
      {{3, 2, 2, 2}, "[3, 3]", {sample({1, 2, 10, 11}), sample({0, 2, 10, 11})}},
      {{17, 8, 3, 3}, "[1, 1], [1, 1]", {sample({8, 12, 12}), sample({8, 4, 100})}},
      // Rows that leave most of a register idle, and strided windows: the kernel keeps channels in registers.
      {{33, 20, 3, 3}, "[1, 1], [1, 1]", {sample({2, 20, 7, 7}), sample({1, 20, 1, 1})}},
      {{40, 12, 3, 3}, "[2, 2], [1, 1]", {sample({2, 12, 15, 17}), sample({1, 12, 2, 2})}},
      {{16, 12, 1, 1}, "[2, 2]", {sample({2, 12, 15, 17}), sample({1, 12, 9, 1})}},
      {{24, 6, 3, 5}, "[3, 2], [2, 1], [1, 2], 3", {sample({2, 18, 14, 19})}},
      {{32, 24, 2, 3}, "[1, 2], [0, 0], [2, 1]", {sample({1, 24, 9, 9}), sample({0, 24, 9, 9})}},
  };
  for (const Windows& windows : all) {
    CAPTURE(windows.weight, windows.arguments);
    const char* bias = "None";
    for (const auto& [result, steps] : results()) {
      bias = bias == std::string("None") ? "self.b" : "None";
      const torch::jit::Module module = module_of(windows, bias, result);
      CAPTURE(bias, result);
      check_model(module, thrice(windows.images), close());
      if (windows.images[0].numel() == 0) continue;
      CHECK(steps_of(module, windows.images[0]) == std::pair<std::size_t, std::size_t>(steps, 0));
    }
  }
}

TEST_CASE("images: convolutions read and write channels that lie last as they are", "[replay][ops]") {
  const std::vector<Windows> all = {
      {{32, 16, 3, 3},
       "[1, 1], [1, 1]",
       {channels_last({3, 16, 14, 14}), channels_last({1, 16, 7, 9}), channels_last({1, 16, 80, 80})}},
      {{40, 12, 3, 3}, "[2, 2], [1, 1]", {channels_last({2, 12, 15, 17}), channels_last({1, 12, 2, 3})}},
      {{9, 3, 7, 7}, "[2, 2], [3, 3]", {channels_last({2, 3, 20, 40}), channels_last({1, 3, 33, 33})}},
      {{24, 20, 1, 1}, "[1, 1]", {channels_last({2, 20, 5, 6}), channels_last({1, 20, 60, 50})}},
      {{24, 20, 1, 1}, "[2, 2]", {channels_last({2, 20, 5, 6})}},
      {{16, 12, 3, 5},
       "[1, 2], [4, 0], [2, 1]",
       {channels_last({2, 12, 9, 11}), channels_last({1, 12, 3, 30})}},
      {{16, 2, 2, 2}, "[2, 2], [0, 0], [1, 1], 2", {channels_last({2, 4, 9, 11})}},
      {{21, 1, 7, 7},
       "[1, 1], [3, 3], [1, 1], 21",
       {channels_last({2, 21, 14, 14}), channels_last({1, 21, 1, 5})}},
      {{40, 1, 3, 3}, "[2, 2], [1, 1], [1, 1], 40", {channels_last({3, 40, 13, 8})}},
      {{40, 1, 3, 3}, "[1, 1], [0, 0], [1, 2], 40", {channels_last({1, 40, 13, 8})}},
      {{8, 1, 1, 1}, "[1, 1], [0, 0], [1, 1], 8", {channels_last({2, 8, 4, 3})}},
  };
  for (const Windows& windows : all) {
    CAPTURE(windows.weight, windows.arguments);
    std::vector<Result> all_results = results();
    const std::string scaled = "torch.batch_norm(y, self.b, self.b, self.b, self.v, False, 0.1, 1e-5, True)";
    all_results.insert(all_results.end(), {{scaled, 1}, {scaled, 1}});
    const char* bias = "None";
    for (const auto& [result, steps] : all_results) {
      // The step applies functions of one result itself.
      const bool is_activated =
          result.starts_with("torch.sigmoid(y)") || result.starts_with("torch.relu(torch.clamp");
      bias = bias == std::string("None") ? "self.b" : "None";
      const torch::jit::Module module = module_of(windows, bias, result);
      CAPTURE(bias, result);
      check_model(module, thrice(windows.images), close());
      CHECK(steps_of(module, windows.images[0]) ==
            std::pair<std::size_t, std::size_t>(is_activated ? 1 : steps, 0));
    }
  }
  // Slices of the channels of an image.
  for (const auto& [weight, groups] :
       {std::pair(sample({9, 8, 3, 3}), "1"), std::pair(sample({8, 1, 3, 3}), "8"),
        std::pair(sample({9, 8, 1, 1}), "1")}) {
    CAPTURE(weight.sizes());
    const torch::jit::Module module =
        script("def forward(self, x):\n    return torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], " +
                   std::string(groups) + ")\n",
               {{"w", weight}});
    const at::Tensor image = channels_last({2, 21, 7, 9});
    check_model(module,
                thrice({image.slice(1, 13, 21), image.slice(1, 0, 8), image.slice(1, 13, 21).slice(2, 1, 6)}),
                close());
    CHECK(steps_of(module, image.slice(1, 13, 21)) == std::pair<std::size_t, std::size_t>(1, 0));
  }
  // The layout of a result differs from that of the image where one of them has both.
  const torch::jit::Module line =
      script("def forward(self, x):\n    return torch.conv1d(x.transpose(1, 2), self.w, self.b, [2], [1])\n",
             {{"w", sample({12, 10, 3})}, {"b", sample({12})}});
  check_model(line, thrice({sample({3, 50, 10}), sample({1, 9, 10}), sample({1, 1, 10})}), close());
  const torch::jit::Module gray =
      script("def forward(self, x):\n    return torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])\n",
             {{"w", sample({12, 1, 3, 3})}, {"b", sample({12})}});
  check_model(gray, thrice({channels_last({3, 1, 9, 9}), sample({2, 1, 9, 9})}), close());
}

TEST_CASE("images: convolutions of one dimension, and of images in other layouts", "[replay][ops]") {
  const at::Tensor image = sample({2, 4, 12, 20});
  const torch::jit::Module plane =
      script("def forward(self, x):\n    return torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])\n",
             {{"w", sample({5, 4, 3, 3})}, {"b", sample({5})}});
  check_model(plane,
              thrice({image, image.transpose(2, 3), image.slice(3, 2, 18), image.slice(2, 1, 9, 2),
                      image.slice(3, 0, 20, 2), sample({4, 12, 20}).expand({3, 4, 12, 20}),
                      image.contiguous(at::MemoryFormat::ChannelsLast)}),
              close());
  for (const char* const arguments : {"[1], [1]", "[2], [0], [2]", "[1], [0], [1], 2"}) {
    CAPTURE(arguments);
    const std::int64_t groups = arguments[std::string(arguments).size() - 1] == '2' ? 2 : 1;
    const torch::jit::Module line = script(
        "def forward(self, x):\n    return torch.conv1d(x, self.w, self.b, " + std::string(arguments) + ")\n",
        {{"w", sample({6, 4 / groups, 3})}, {"b", sample({6})}});
    check_model(line, thrice({sample({3, 4, 50}), sample({4, 9}), sample({1, 4, 200})}), close());
  }
  // Weights that are arguments are not packed.
  check_script("def forward(self, x, w):\n    return torch.conv2d(x, w)\n",
               {{image, sample({3, 4, 3, 3})}, {image, sample({3, 4, 3, 3})}, {image, sample({3, 4, 3, 3})}},
               close());
}

TEST_CASE("images: the padding of a convolution may be named", "[replay][ops]") {
  const auto module_of = [](const std::string& arguments, at::IntArrayRef weight) {
    return script("def forward(self, x):\n    return torch.conv" + std::to_string(weight.size() - 2) +
                      "d(x, self.w, self.b, " + arguments + ")\n",
                  {{"w", sample(weight)}, {"b", sample({weight[0]})}});
  };
  const at::Tensor image = sample({2, 4, 9, 11}), line = sample({2, 4, 30});
  for (const auto& [arguments, weight] : std::vector<std::pair<std::string, std::vector<std::int64_t>>>{
           {"[1, 1], 'same'", {6, 4, 3, 5}},
           {"[1, 1], 'same', [2, 3]", {6, 4, 2, 3}},
           {"[1, 1], 'same', [2]", {6, 2, 3, 3}},
           {"[2, 3], 'valid'", {6, 4, 3, 2}}}) {
    CAPTURE(arguments, weight);
    const torch::jit::Module module = module_of(weight[1] == 2 ? arguments + ", 2" : arguments, weight);
    check_model(module, thrice({image, image.contiguous(at::MemoryFormat::ChannelsLast)}), close());
    CHECK(steps_of(module, image) == std::pair<std::size_t, std::size_t>(1, 0));
  }
  const torch::jit::Module same = module_of("[1], 'same'", {6, 4, 5});
  check_model(same, thrice({line}), close());
  CHECK(steps_of(same, line) == std::pair<std::size_t, std::size_t>(1, 0));
  // ATen pads one side first.
  const torch::jit::Module even = module_of("[1], 'same'", {6, 4, 4});
  check_model(even, thrice({line}), close());
  CHECK(steps_of(even, line).second == 1);
}

TEST_CASE("images: channels may lie last", "[replay][ops]") {
  const auto last = [](const at::Tensor& image) { return image.contiguous(at::MemoryFormat::ChannelsLast); };
  at::Tensor special = sample({2, 4, 9, 10});
  special[0][1][4][7] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<at::Tensor> small{last(special), last(sample({1, 4, 1, 1})), last(sample({3, 4, 8, 1})),
                                      last(sample({1, 4, 1, 30})), last(sample({1, 4, 6, 6}))};
  const at::Tensor large = last(sample({1, 4, 100, 120}));
  struct Case {
    std::string call;
    std::size_t kernels, of_large;  // of_large is 0 where LibTorch computes it
  };
  for (const auto& [call, kernels, of_large] :
       std::vector<Case>{{"torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])", 1, 1},
                         {"torch.relu(torch.conv2d(x, self.w, self.b, [1, 1], [1, 1]))", 1, 1},
                         // Too few channels for a register: the image is copied to our order and back.
                         {"torch.conv2d(x, self.d, None, [2, 2], [1, 1], [1, 1], 4)", 3, 0},
                         {"torch.max_pool2d(x, [3, 3], [2, 2], [1, 1])", 1, 1},
                         {"torch.avg_pool2d(x, [3, 3], [1, 1], [1, 1])", 1, 1},
                         {"torch.adaptive_avg_pool2d(x, [1, 1])", 1, 1}}) {
    CAPTURE(call);
    const torch::jit::Module module =
        script("def forward(self, x):\n    return " + call + "\n",
               {{"w", sample({6, 4, 3, 3})}, {"d", sample({4, 1, 3, 3})}, {"b", sample({6})}});
    check_model(module, thrice(small), close());
    check_model(module, thrice({large}), close());
    CHECK(steps_of(module, small[0]) == std::pair<std::size_t, std::size_t>(kernels, 0));
    CHECK(steps_of(module, large).first == of_large);
  }
}

TEST_CASE("images: convolutions that LibTorch computes faster are left to it", "[replay][ops]") {
  // Too few channels for a register: the image would be copied to our order and back.
  const torch::jit::Module module =
      script("def forward(self, x):\n    return torch.conv2d(x, self.w, None, [1, 1], [1, 1])\n",
             {{"w", sample({2, 64, 3, 3})}});
  for (const auto& [edge, kernels] : {std::pair(20, 3), std::pair(40, 0)}) {
    const at::Tensor image = channels_last({1, 64, edge, edge});
    check_model(module, thrice({image}), close());
    CHECK(steps_of(module, image).first == static_cast<std::size_t>(kernels));
  }
}

TEST_CASE("images: the rank of a convolution's result is not folded", "[traps]") {
  const std::vector<InputSet> runs{
      {sample({3, 5, 7})}, {sample({2, 3, 5, 7})}, {sample({4, 3, 9})}, {sample({5})}};
  for (const char* const result : {"y.dim()", "y, y.dim()", "len(y.size()) + y.dim()"}) {
    check_model(script("def forward(self, x):\n    y = torch.conv2d(x, self.w)\n    return " +
                           std::string(result) + "\n",
                       {{"w", sample({2, 3, 1, 1})}}),
                runs, close());
  }
}

}  // namespace sr::test::images_tests
