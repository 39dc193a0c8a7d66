// Convolutions with constant weights: LibTorch's (oneDNN), our kernel, the one that a program uses
// (ops/convolution/lowering.hpp), and a product of matrices with as many multiply-adds.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "../calls/steps.hpp"
#include "../output.hpp"
#include "../program.hpp"
#include "../rounds.hpp"

namespace sr::bench {
namespace {

struct ConvolutionOptions {
  int rounds = 25, threads = 1;
  double slice_ms = 5;
  std::string shapes;  // a file
};

struct Shape {
  std::int64_t in = 1, out = 1, size = 1, kernel = 1, step = 1, groups = 1, images = 1;
  bool channels_last = false;

  std::string name() const {
    const auto text = [](std::int64_t value) { return std::to_string(value); };
    std::string name = text(in) + "->" + text(out) + ", " + text(kernel) + "x" + text(kernel) + " on " +
                       (images == 1 ? "" : text(images) + " x ") + text(size) + "x" + text(size);
    if (step != 1) name += ", step " + text(step);
    if (groups != 1) name += groups == in ? ", depthwise" : ", groups " + text(groups);
    return channels_last ? name + ", channels last" : name;
  }
  std::int64_t pixels() const {  // of the results
    const std::int64_t edge = (size - 1) / step + 1;
    return images * edge * edge;
  }
  std::int64_t taps() const { return in / groups * kernel * kernel; }
  double work() const { return static_cast<double>(pixels() * out * taps()); }  // multiply-adds
};

std::vector<Shape> shapes() {
  const std::vector<Shape> contiguous{
      {1, 16, 28, 3},         {16, 32, 28, 3},           {16, 32, 28, 3, 1, 1, 8},
      {3, 32, 56, 3, 2},      {3, 64, 112, 7, 2},        {64, 64, 56, 3},
      {64, 128, 56, 3, 2},    {128, 128, 28, 3},         {256, 256, 14, 3},
      {512, 512, 7, 3},       {64, 256, 56, 1},          {256, 64, 56, 1},
      {256, 512, 28, 1, 2},   {512, 512, 7, 1},          {64, 64, 56, 3, 1, 64},
      {64, 64, 56, 3, 2, 64}, {512, 512, 14, 3, 1, 512}, {64, 64, 56, 3, 1, 4},
  };
  std::vector<Shape> all = contiguous;
  for (Shape shape : contiguous) {
    shape.channels_last = true;
    all.push_back(shape);
  }
  return all;
}

// Reads a file of shapes, one in a line: in,out,size,kernel,step,groups. `./dev bench peers vision --shapes`
// writes such files. The images have their channels last, as within a network.
std::vector<Shape> shapes_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("The file '" + path + "' cannot be read.");
  std::vector<Shape> all;
  for (std::string line; std::getline(file, line);) {
    std::ranges::replace(line, ',', ' ');
    std::istringstream fields(line);
    Shape shape;
    if (!(fields >> shape.in >> shape.out >> shape.size >> shape.kernel >> shape.step >> shape.groups))
      throw std::runtime_error(path + ": '" + line + "' is not in,out,size,kernel,step,groups.");
    shape.channels_last = true;
    all.push_back(shape);
  }
  return all;
}

// A product of as many multiply-adds: a row for each pixel, a column for each channel.
std::shared_ptr<Runtime> product_of(const Shape& shape) {
  torch::jit::Module module("Product");
  module.register_buffer("w", at::randn({shape.out, shape.taps()}) * 0.1);
  module.register_buffer("b", at::randn({shape.out}));
  module.define("def forward(self, x):\n    return torch.linear(x, self.w, self.b)\n");
  module.eval();
  return std::make_shared<Runtime>(sr_module(module, true));
}

struct Convolution {
  Shape shape;
  at::Tensor in, weight, bias;

  explicit Convolution(const Shape& from) : shape(from) {
    in = at::randn({shape.images, shape.in, shape.size, shape.size});
    weight = at::randn({shape.out, shape.in / shape.groups, shape.kernel, shape.kernel}) * 0.1;
    bias = at::randn({shape.out});
    if (shape.channels_last) in = in.contiguous(at::MemoryFormat::ChannelsLast);
  }

  at::Tensor eager() const {
    const std::int64_t pad = shape.kernel / 2;
    return at::conv2d(in, weight, bias, {shape.step, shape.step}, {pad, pad}, {1, 1}, shape.groups);
  }

  // Where the program leaves channels-last images to LibTorch, our kernel between two copies is the
  // alternative.
  std::shared_ptr<Runtime> replay(bool copies) const {
    torch::jit::Module module("Convolution");
    module.register_buffer("w", weight);
    module.register_buffer("b", bias);
    const std::string step = std::to_string(shape.step), pad = std::to_string(shape.kernel / 2);
    module.define("def forward(self, x):\n    y = torch.conv2d(" +
                  std::string(copies ? "x.contiguous()" : "x") + ", self.w, self.b, [" + step + ", " + step +
                  "], [" + pad + ", " + pad + "], [1, 1], " + std::to_string(shape.groups) +
                  ")\n    return " + (copies ? "y.contiguous(memory_format=2)" : "y") + "\n");
    module.eval();
    auto runtime = std::make_shared<Runtime>(sr_module(module, true));
    const at::Tensor expected = eager();
    for (int run = 0; run < 3; ++run) {
      if (!at::allclose((*runtime)(in).toTensor(), expected, 1e-3, 1e-3))
        throw std::runtime_error(shape.name() + ": the result is not LibTorch's.");
    }
    return runtime;
  }
};

bool is_ours(const Runtime& runtime) {
  const Report report = runtime.report();
  if (report.plans.size() != 1) throw std::runtime_error("There is no plan.");
  return report.plans[0].calls + report.plans[0].interpreted == 0;
}

Row time_convolution(const Shape& shape, const ConvolutionOptions& options) {
  const Convolution convolution(shape);
  const std::shared_ptr<Runtime> chosen = convolution.replay(false),
                                 ours = is_ours(*chosen) || !shape.channels_last ? chosen
                                                                                 : convolution.replay(true);
  const auto calls_of = [&](const std::shared_ptr<Runtime>& runtime) -> Many {
    return [&convolution, runtime](std::int64_t times) {
      for (std::int64_t i = 0; i < times; ++i) (*runtime)(convolution.in);
    };
  };
  const std::shared_ptr<Runtime> product = shape.groups == 1 ? product_of(shape) : nullptr;
  const at::Tensor rows = product ? at::randn({shape.pixels(), shape.taps()}) : at::Tensor();
  std::vector<Many> many{[&](std::int64_t times) {
                           for (std::int64_t i = 0; i < times; ++i) convolution.eager();
                         },
                         calls_of(ours), calls_of(chosen)};
  if (product) {
    many.emplace_back([&](std::int64_t times) {
      for (std::int64_t i = 0; i < times; ++i) (*product)(rows);
    });
  }
  const auto times = time_in_rounds(many, options.rounds, options.slice_ms * 1e-3);
  const bool takes_ours = is_ours(*chosen), is_timed = is_ours(*ours);
  const double ratio = median_ratio(times[0], times[1]);
  constexpr double kTolerated = 1.05;
  const bool wrong = is_timed && (takes_ours ? 1 / ratio : ratio) > kTolerated;
  return {shape.name(),
          number(median_of(times[0])),
          is_timed ? number(median_of(times[1])) : "-",
          number(median_of(times[2])),
          is_timed ? number(ratio, 2) : "-",
          number(2 * shape.work() / median_of(times[2]), 1),
          product ? number(median_ratio(times[3], times[2]), 2) : "-",
          takes_ours ? "sr" : "LibTorch",
          wrong ? "the slower" : ""};
}

void time_convolutions(const ConvolutionOptions& options) {
  at::set_num_threads(options.threads);
  const c10::InferenceMode mode;
  std::vector<Row> rows{{"convolution", "LibTorch, ns", "sr's kernel, ns", "plan, ns", "LibTorch/sr",
                         "plan, GF/s", "product/plan", "plan takes", ""}};
  for (const Shape& shape : options.shapes.empty() ? shapes() : shapes_of(options.shapes)) {
    std::cerr << shape.name() << '\n';
    rows.push_back(time_convolution(shape, options));
  }
  print_table(std::cout, rows);
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  sr::bench::ConvolutionOptions options;
  CLI::App app("Convolutions of LibTorch and of sr, and which of them plans take", "bench_convolutions");
  sr::bench::add_timing(app, options, "a convolution");
  app.add_option("--threads", options.threads, "Of LibTorch")->check(CLI::Range(1, 1024));
  app.add_option("--shapes", options.shapes, "A file with lines of in,out,size,kernel,step,groups");
  return sr::bench::run_program(app, argc, argv, [&] { sr::bench::time_convolutions(options); });
}
