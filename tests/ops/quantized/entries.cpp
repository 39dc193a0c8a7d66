// Quantized embeddings and layers against the interpreter. The model packs the weights itself, in its first
// part.
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_quantized_tests {

namespace {

const c10::IValue kNone;

OracleOptions native() {
  return {.rtol = 1e-5, .atol = 1e-5, .rounds = 2, .expected_path = "native"};
}
OracleOptions out() {
  return {.rtol = 1e-5, .atol = 1e-5, .rounds = 2};
}

std::vector<InputSet> rows_and_weights() {
  at::manual_seed(9);
  const at::Tensor weight = sample({5, 8}), bias = sample({5});
  return {{sample({3, 8}), weight, bias},
          {sample({3, 8}), weight, bias},
          {sample({1, 8}), weight, bias},
          {sample({2, 3, 8}), weight, bias},
          {sample({3, 8}), weight, bias}};
}
std::vector<InputSet> images_and_weights() {
  at::manual_seed(10);
  const at::Tensor weight = sample({4, 3, 3, 3}), bias = sample({4});
  return {{at::rand({1, 3, 6, 6}), weight, bias},
          {at::rand({1, 3, 6, 6}), weight, bias},
          {at::rand({2, 3, 5, 5}), weight, bias}};
}
std::vector<InputSet> tables() {
  at::manual_seed(11);
  const at::Tensor table = sample({10, 16});
  const auto numbers = [](std::vector<std::int64_t> of) { return at::tensor(of, at::kLong); };
  return {{table, numbers({1, 2, 4, 5}), numbers({0, 2})},
          {table, numbers({1, 2, 4, 5}), numbers({0, 2})},
          {table, numbers({9, 0, 3}), numbers({0, 1})},
          {table, numbers({7}), numbers({0})},
          {table, numbers({1, 2, 4, 5}), numbers({0, 2})}};
}
std::vector<InputSet> finely() {
  return {
      {sample({4, 6})}, {sample({4, 6})}, {sample({2, 3})}, {transposed(sample({4, 6}))}, {sample({0, 4})}};
}
std::vector<InputSet> pairs() {
  return {
      {sample({4, 6}), sample({4, 6})}, {sample({4, 6}), sample({4, 6})}, {sample({2, 3}), sample({2, 3})}};
}
std::vector<InputSet> with_parameters() {
  const at::Tensor scale = at::tensor(0.05), zero = at::tensor(3, at::kInt);
  return {{sample({4, 6}), scale, zero}, {sample({4, 6}), scale, zero}, {sample({2, 6}), scale, zero}};
}
std::vector<InputSet> by_channel() {
  const at::Tensor scales = at::tensor({0.05, 0.1, 0.02}), zeros = at::tensor({0, 1, 2}, at::kInt);
  return {{sample({3, 6}), scales, zeros}, {sample({3, 6}), scales, zeros}, {sample({3, 2}), scales, zeros}};
}

}  // namespace

std::vector<OpRow> quantized_rows() {
  const std::string q = "torch.quantize_per_tensor(", int8 = "12", uint8 = "13";
  const std::string rows = "x, w, b", qx = q + "x, 0.05, 64, " + uint8 + ")",
                    qw = q + "w, 0.05, 0, " + int8 + ")";
  const std::string packed = "quantized.linear_prepack(" + qw + ", b)",
                    half = "quantized.linear_prepack_fp16(w, b)";
  const std::string filter = "quantized.conv2d_prepack(" + qw + ", b, [1, 1], [0, 0], [1, 1], 1)";
  const std::string byte = "quantized.embedding_bag_byte_prepack(x)",
                    four = "quantized.embedding_bag_4bit_prepack(x)";
  std::vector<OpRow> all = {
      {"quantized::linear_dynamic_fp16", rows, "quantized.linear_dynamic_fp16(x, " + half + ")",
       &rows_and_weights, out()},
      {"quantized::linear_relu_dynamic_fp16", rows, "quantized.linear_relu_dynamic_fp16(x, " + half + ")",
       &rows_and_weights, out()},
      {"quantized::linear_dynamic", rows, "quantized.linear_dynamic(x, " + packed + ")", &rows_and_weights,
       native()},
      {"quantized::linear_relu_dynamic", rows, "quantized.linear_relu_dynamic(x, " + packed + ")",
       &rows_and_weights, native()},
      {"quantized::linear", rows, "quantized.linear(" + qx + ", " + packed + ", 0.1, 64).dequantize()",
       &rows_and_weights, native()},
      {"quantized::linear_relu", rows,
       "quantized.linear_relu(" + qx + ", " + packed + ", 0.1, 64).dequantize()", &rows_and_weights,
       native()},
      {"quantized::conv2d.new", rows, "quantized.conv2d(" + qx + ", " + filter + ", 0.1, 64).dequantize()",
       &images_and_weights, native()},
      {"quantized::conv2d_relu.new", rows,
       "quantized.conv2d_relu(" + qx + ", " + filter + ", 0.1, 64).dequantize()", &images_and_weights,
       native()},
      {"quantized::embedding_bag_byte_prepack", "x, i, o", byte, &tables, native()},
      {"quantized::embedding_bag_byte_unpack", "x, i, o", "quantized.embedding_bag_byte_unpack(" + byte + ")",
       &tables, native()},
      {"quantized::embedding_bag_byte_rowwise_offsets", "x, i, o",
       "quantized.embedding_bag_byte_rowwise_offsets(" + byte + ", i, o)", &tables, native()},
      {"quantized::embedding_bag_4bit_rowwise_offsets", "x, i, o",
       "quantized.embedding_bag_4bit_rowwise_offsets(" + four + ", i, o)", &tables, native()},
      {"aten::quantize_per_tensor", "x", q + "x, 0.05, 64, " + uint8 + ").dequantize()", &finely, native()},
      {"aten::quantize_per_tensor.tensor_qparams", "x, s, z", q + "x, s, z, " + uint8 + ").dequantize()",
       &with_parameters, native()},
      {"aten::quantize_per_channel", "x, s, z",
       "torch.quantize_per_channel(x, s, z, 0, " + int8 + ").dequantize()", &by_channel, native()},
      {"aten::dequantize.self", "x", q + "x, 0.05, 64, " + uint8 + ").dequantize()", &finely, native()},
      {"aten::fake_quantize_per_tensor_affine", "x",
       "torch.fake_quantize_per_tensor_affine(x, 0.05, 3, 0, 255)", &finely, native()},
      {"aten::fake_quantize_per_tensor_affine.tensor_qparams", "x, s, z",
       "torch.fake_quantize_per_tensor_affine(x, s, z, 0, 255)", &with_parameters, native()},
      {"aten::fake_quantize_per_channel_affine", "x, s, z",
       "torch.fake_quantize_per_channel_affine(x, s, z, 0, 0, 255)", &by_channel, native()},
  };
  for (const std::string name : {"add", "add_relu", "mul"}) {
    all.push_back(
        {"quantized::" + name, "x, y",
         "quantized." + name + "(" + qx + ", " + q + "y, 0.05, 64, " + uint8 + "), 0.1, 64).dequantize()",
         &pairs, native()});
  }
  return all;
}

const OracleTable registered{&quantized_rows};

TEST_CASE("quantized layers and look-ups equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : quantized_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

TEST_CASE("replays read tables of bytes and half bytes by our kernels", "[oracle][ops][replay]") {
  at::manual_seed(12);
  const at::Tensor table = sample({10, 38});
  const auto indices = [](std::vector<std::int64_t> of) { return at::tensor(of, at::kLong); };
  const std::vector<InputSet> bags{{indices({1, 2, 4, 5}), indices({0, 2}), at::rand({4})},
                                   {indices({9, 0, 3, 3, 3}), indices({0, 0, 5}), at::rand({5})},
                                   {indices({7}), indices({0, 1}), at::rand({1})},
                                   {at::empty({0}, at::kLong), indices({0}), at::rand({0})},
                                   {indices({1, 2, 40, 5}), indices({0, 2}), at::rand({4})},
                                   {indices({1, 2, 4, 5}), indices({0, 2}), at::rand({4})}};
  const auto integers = [](std::int64_t below, at::IntArrayRef sizes) {
    return at::randint(below, sizes, at::kLong);
  };
  const std::vector<InputSet> rows{{integers(10, {4, 3})}, {integers(10, {4, 3})}, {integers(10, {7, 1})},
                                   {integers(10, {0, 3})}, {integers(10, {2, 5})}, {integers(10, {4, 3})}};
  OracleOptions exact = native();  // the bits of LibTorch's kernel
  exact.rtol = exact.atol = 0;
  for (const char* const name : {"byte", "4bit"}) {
    torch::jit::Module prepack = script(
        std::string("def forward(self, x):\n    return quantized.embedding_bag_") + name + "_prepack(x)\n");
    const at::Tensor weight = prepack.forward({table}).toTensor();
    const std::string call = std::string("quantized.embedding_bag_") + name + "_rowwise_offsets(self.w, i";
    const auto model = [&](const std::string& arguments) {
      return script("def forward(self, i, o, s):\n    return " + call + arguments + "\n", {{"w", weight}});
    };
    check_model(model(", o)"), bags, exact);
    check_model(model(", o, per_sample_weights=s)"), bags, exact);
    check_model(model(", o, include_last_offset=True)"),
                {bags[1], bags[1], {indices({7, 8}), indices({0, 2}), at::rand({2})}, bags[1]}, exact);
    check_model(model(".int(), o.int())"), bags, exact);
    check_model(script("def forward(self, i):\n    return " + call + ")\n", {{"w", weight}}), rows, exact);
    StaticRuntime<> runtime{StaticModule(model(", o, per_sample_weights=s)"))};
    for (int run = 0; run < 3; ++run) runtime(bags[0]);
    REQUIRE(runtime.report().plans.size() == 1);
    CHECK(runtime.report().plans[0].kernels == 1);
    CHECK(runtime.report().plans[0].interpreted == 0);
  }
}

TEST_CASE("an operator whose .out overload does not resize runs with any number of rows", "[oracle][ops]") {
  const auto bytes = [](at::IntArrayRef sizes) { return at::randint(-8, 8, sizes, at::kChar); };
  const at::Tensor weights = bytes({16, 8});
  const std::vector<InputSet> runs{{bytes({32, 16}), weights},
                                   {bytes({20, 16}), weights},
                                   {bytes({32, 16}), weights},
                                   {bytes({48, 16}), weights}};
  check_script("def forward(self, x, w):\n    return torch._int_mm(x, w), torch._int_mm(x, w) + 1\n", runs);
  const torch::jit::Module model = script("def forward(self, x, w):\n    return torch._int_mm(x, w)\n");
  StaticRuntime<> runtime{StaticModule(model)};
  runtime(runs[0][0].toTensor(), weights);
  CHECK_THROWS_AS(runtime(bytes({20, 15}), weights), c10::Error);
  CHECK(at::equal(runtime(runs[1][0].toTensor(), weights).toTensor(),
                  at::_int_mm(runs[1][0].toTensor(), weights)));
}

}  // namespace sr::test::ops_quantized_tests
