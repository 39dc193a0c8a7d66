// Convolutions, pooling and resampling without a functor of sr, against the interpreter.
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::convolution_without_functor_tests {

namespace {

const c10::IValue kNone;

template <int Dims>
std::vector<InputSet> filtered() {
  const auto of = [](std::vector<std::int64_t> sizes, std::int64_t size, at::ScalarType dtype = at::kFloat) {
    sizes.resize(Dims + 2, size);
    return sample(sizes, dtype);
  };
  const at::Tensor weight = of({3, 3}, 3), bias = sample({3});
  return {{of({2, 3}, 7), weight, bias},
          {of({2, 3}, 7), weight, bias},
          {of({1, 3}, 9), weight, bias},
          {of({2, 3}, 7), weight, kNone},
          {of({2, 3}, 7, at::kDouble), weight.to(at::kDouble), bias.to(at::kDouble)},
          {of({2, 4}, 7), weight, bias},  // refused
          {of({2, 3}, 7), weight, bias}};
}

template <int Dims>
std::vector<InputSet> pooled() {
  std::vector<InputSet> runs;
  for (const InputSet& run : filtered<Dims>()) runs.push_back({run[0]});
  return runs;
}

std::vector<InputSet> grids() {
  return {{sample({1, 2, 4, 4}), at::rand({1, 3, 3, 2}) * 2 - 1},
          {sample({1, 2, 4, 4}), at::rand({1, 5, 3, 2}) * 2 - 1},
          {sample({1, 2, 4, 4}), sample({3, 3})}};
}

std::vector<InputSet> affine() {
  return {{sample({2, 2, 3})}, {sample({2, 2, 3})}, {sample({3, 3})}};
}

std::vector<OpRow> all_rows() {
  NativeRows rows;
  const std::string filter = "x, w, b: Optional[Tensor]";
  rows.add("conv1d.padding", "torch.conv1d(x, w, b, padding='same')", &filtered<1>, filter);
  rows.add("conv2d.padding", "torch.conv2d(x, w, b, padding='same')", &filtered<2>, filter);
  rows.add("conv3d.padding", "torch.conv3d(x, w, b, padding='valid')", &filtered<3>, filter);
  rows.add("conv_transpose1d", "torch.conv_transpose1d(x, w, b)", &filtered<1>, filter);
  rows.add("conv_transpose2d.input", "torch.conv_transpose2d(x, w, b, stride=[2, 2])", &filtered<2>, filter);
  rows.add("conv_transpose3d.input", "torch.conv_transpose3d(x, w, b)", &filtered<3>, filter);
  rows.add("convolution", "torch.convolution(x, w, b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)",
           &filtered<2>, filter);
  rows.add("_convolution",
           "torch._convolution(x, w, b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, True, True)",
           &filtered<2>, filter);
  rows.add("max_pool1d", "torch.max_pool1d(x, 2)", &pooled<1>);
  rows.add("max_pool3d", "torch.max_pool3d(x, 2)", &pooled<3>);
  rows.add("avg_pool1d", "torch.avg_pool1d(x, 2)", &pooled<1>);
  rows.add("adaptive_avg_pool1d", "torch.adaptive_avg_pool1d(x, 3)", &pooled<1>);
  rows.add("adaptive_avg_pool2d", "torch.adaptive_avg_pool2d(x, [2, 3])", &pooled<2>);
  rows.add("adaptive_avg_pool2d", "torch.adaptive_avg_pool2d(x, [1, 1])", &pooled<2>);
  rows.add("adaptive_max_pool1d", "torch.adaptive_max_pool1d(x, 3)", &pooled<1>, "x", 2);
  rows.add("grid_sampler", "torch.grid_sampler(x, g, 0, 0, False)", &grids, "x, g");
  rows.add("grid_sampler_2d", "torch.grid_sampler_2d(x, g, 0, 0, False)", &grids, "x, g");
  rows.add("affine_grid_generator", "torch.affine_grid_generator(x, [2, 1, 3, 4], False)", &affine);
  return std::move(rows.rows);
}

const OracleTable registered{&all_rows};

}  // namespace

TEST_CASE("convolutions pooling and resampling without a functor equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : all_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      at::manual_seed(6);
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::convolution_without_functor_tests
