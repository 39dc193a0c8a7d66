// Clones, repeats, replaced elements and resized images, against the interpreter.
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_rearranging_tests {

namespace {

const OracleOptions kNative{.expected_path = "native"};

using Ints = c10::List<std::int64_t>;
using Tensors = c10::List<at::Tensor>;

std::vector<InputSet> formats() {
  return {{sample({2, 1, 1, 1})}, {sample({2, 3, 4, 5})}, {channels_last({2, 3, 4, 5})},
          {sample({2, 3, 4, 5})}, {sample({2, 3, 4, 5})}, {sample({3, 2, 5, 4})},
          {sample({2, 3})}};
}
std::vector<InputSet> repeats() {
  const at::Tensor a = sample({2, 3});
  return {{a, Ints({2, 2})},
          {a, Ints({2, 2})},
          {a, Ints({3, 1})},
          {a, Ints({2, 1, 2})},
          {a, Ints({0, 2})},
          {a, Ints({2})},  // refused
          {a, Ints({-1, 2})},
          {transposed(sample({3, 4})), Ints({1, 2})},
          {sample({3}).expand({4, 3}), Ints({2, 1})},
          {sample({}), Ints({3})},
          {sample({}), Ints()},
          {sample({0, 3}), Ints({2, 2})},
          {sample({2, 3}, at::kLong), Ints({2, 2})},
          {channels_last({2, 3, 4, 5}), Ints({1, 2, 1, 2})},
          {a, Ints({2, 2})}};
}
std::vector<InputSet> masked() {
  std::vector<InputSet> runs;
  for (const at::Tensor& tensor : tensors()) runs.push_back({tensor, sample(tensor.sizes(), at::kBool)});
  const at::Tensor a = sample({2, 3});
  runs.push_back({a, sample({3}, at::kBool)});
  runs.push_back({sample({3}), sample({2, 3}, at::kBool)});
  runs.push_back({a, sample({2, 3})});             // no mask
  runs.push_back({a, sample({2, 4}, at::kBool)});  // of other sizes
  runs.push_back({a, sample({2, 3}, at::kBool)});
  return runs;
}
std::vector<InputSet> masked_by_tensor() {
  std::vector<InputSet> runs = masked();
  for (InputSet& run : runs) run.emplace_back(at::tensor(0.5));
  runs.push_back({sample({2, 3}), sample({2, 3}, at::kBool), sample({2})});  // refused
  return runs;
}
std::vector<InputSet> by_indices() {
  const at::Tensor a = sample({4, 3});
  const auto rows = [](std::vector<std::int64_t> numbers) { return at::tensor(numbers, at::kLong); };
  const auto chosen = [&](std::vector<std::int64_t> flags) { return rows(flags).to(at::kBool); };
  return {{a, rows({0, 2}), sample({2, 3})},
          {a, rows({3, 1}), sample({2, 3})},
          {a, rows({-1, 1, 1}), sample({3, 3})},
          {a, rows({1}), sample({})},
          {transposed(sample({4, 3})), rows({0, 2}), sample({2, 3})},
          {sample({4, 3}, at::kDouble), rows({0, 2}), sample({2, 3}, at::kDouble)},
          {a, rows({0, 9}), sample({2, 3})},  // refused
          {a, chosen({1, 0, 1, 0}), sample({2, 3})},
          {a, chosen({1, 1, 1, 0}), sample({3, 3})},
          {a, rows({0, 2}), sample({2, 3})}};
}
std::vector<InputSet> by_lists() {
  std::vector<InputSet> runs;
  for (const InputSet& run : by_indices()) runs.push_back({run[0], Tensors({run[1].toTensor()}), run[2]});
  return runs;
}
template <int Dims>
std::vector<InputSet> pictures() {
  const auto of = [](std::int64_t batch, std::int64_t size, at::ScalarType dtype = at::kFloat) {
    std::vector<std::int64_t> sizes = {batch, 3};
    for (int d = 0; d < Dims; ++d) sizes.push_back(size + d);
    return sample(sizes, dtype);
  };
  std::vector<InputSet> runs = {{of(2, 4)}, {of(2, 4)},   {of(1, 6)}, {of(2, 4, at::kDouble)},
                                {of(0, 4)}, {sample({3})}};
  if (Dims == 2) runs.push_back({channels_last({2, 3, 4, 5})});
  runs.push_back(runs.front());
  return runs;
}

template <int Dims>
std::vector<InputSet> sized_pictures() {
  std::vector<InputSet> runs = pictures<Dims>();
  for (InputSet& run : runs) run.emplace_back(c10::List<std::int64_t>(std::vector<std::int64_t>(Dims, 7)));
  runs.push_back({runs.front()[0], c10::List<std::int64_t>(std::vector<std::int64_t>(Dims, 3))});
  return runs;
}

}  // namespace

std::vector<OpRow> rearranging_rows() {
  std::vector<OpRow> rows;
  for (const std::string call : {"x.clone()", "x.clone(memory_format=0)"})
    rows.push_back({"aten::clone", "x", "torch.relu(" + call + ")", &unary, {}, 0});
  rows.push_back({"aten::clone", "x", "torch.relu(x.clone(memory_format=2))", &formats, {}, 0});
  rows.push_back({"aten::diff", "x", "torch.diff(x)", &unary, kNative});
  rows.push_back({"aten::diff", "x", "torch.diff(x, 2, 0)", &unary, kNative});
  rows.push_back({"aten::diff", "x", "torch.diff(x, 1, 0, x, x)", &unary, kNative});
  rows.push_back({"aten::repeat", "x, n: List[int]", "x.repeat(n)", &repeats});
  rows.push_back({"aten::masked_fill.Scalar", "x, m", "torch.masked_fill(x, m, 1)", &masked});
  rows.push_back({"aten::masked_fill.Scalar", "x, m", "torch.masked_fill(x, m, 0.5)", &masked});
  rows.push_back({"aten::masked_fill.Tensor", "x, m, v", "torch.masked_fill(x, m, v)", &masked_by_tensor});
  rows.push_back(
      {"aten::index.Tensor_hacked_twin", "x, i: List[Tensor], v",
       "graph(%self, %x : Tensor, %i : Tensor[], %v : Tensor):\n  %y : Tensor = aten::index(%x, %i)\n"
       "  %z : Tensor = aten::relu(%y)\n  return (%z)\n",
       &by_lists});
  rows.push_back({"aten::index_put.hacked_twin", "x, i, v", "torch.index_put(x, [i], v)", &by_indices});
  rows.push_back({"aten::index_put", "x, i, v", "torch.index_put(x, [None, i], v)", &by_indices});
  rows.push_back({"aten::index_put", "x, i, v", "torch.index_put(x, [None, i], v, True)", &by_indices});
  const std::string put = "graph(%self, %x : Tensor, %i : Tensor[], %v : Tensor):\n";
  rows.push_back({"aten::index_put.hacked_twin", "x, i: List[Tensor], v",
                  put + "  %no : bool = prim::Constant[value=0]()\n  %c : Tensor = aten::relu(%x)\n"
                        "  %y : Tensor = aten::index_put(%c, %i, %v, %no)\n  %z : Tensor = aten::relu(%y)\n"
                        "  return (%z)\n",
                  &by_lists});
  for (const auto& [name, dims] : std::vector<std::pair<std::string, int>>{{"upsample_nearest1d", 1},
                                                                           {"upsample_nearest2d", 2},
                                                                           {"upsample_nearest3d", 3},
                                                                           {"_upsample_nearest_exact2d", 2},
                                                                           {"upsample_linear1d", 1},
                                                                           {"upsample_bilinear2d", 2},
                                                                           {"upsample_bicubic2d", 2},
                                                                           {"upsample_trilinear3d", 3}}) {
    const bool smooth = name.find("linear") != std::string::npos || name.find("cubic") != std::string::npos;
    const std::string align = smooth ? "False, " : "";
    std::string scales = "1.5";
    for (int d = 1; d < dims; ++d) scales += ", 1.5";
    const auto runs = dims == 1 ? &pictures<1> : dims == 2 ? &pictures<2> : &pictures<3>;
    rows.push_back(
        {"aten::" + name + ".vec", "x", "torch." + name + "(x, None, " + align + "[" + scales + "])", runs});
    const auto sized = dims == 1 ? &sized_pictures<1> : dims == 2 ? &sized_pictures<2> : &sized_pictures<3>;
    rows.push_back({"aten::" + name + ".vec", "x, s: Optional[List[int]]",
                    "torch." + name + "(x, s, " + align + "None)", sized});
  }
  return rows;
}

const OracleTable registered{&rearranging_rows};

TEST_CASE("clones, repetitions and replaced elements equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : rearranging_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

TEST_CASE("rolls and pads are copies of parts", "[oracle][ops][replay]") {
  struct Body {
    std::string text;
    bool is_ours = true;
  };
  const std::vector<InputSet> all{{sample({4, 5})},
                                  {sample({4, 5}, at::kLong)},
                                  {sample({4, 5}, at::kBool)},
                                  {sample({4, 5}, at::kHalf)},
                                  {sample({4, 5}, at::kComplexFloat)},
                                  {transposed(sample({5, 4}))},
                                  {stepped(sample({6, 5}))},
                                  {sample({5}).expand({3, 5})},
                                  {sample({1, 1})},
                                  {sample({0, 5})},
                                  {sample({3, 4, 5})},
                                  {channels_last({2, 3, 4, 5})}};
  for (const Body& body : std::vector<Body>{{"torch.roll(x, [1], [0])"},
                                            {"torch.roll(x, [-7, 12], [-1, 0])"},
                                            {"torch.roll(x, [0, 2], [0, 1])"},
                                            {"torch.roll(x, [1, 1], [0, 0])", false},
                                            {"torch.roll(x, [3], [])", false},
                                            {"torch.constant_pad_nd(x, [1, 2])"},
                                            {"torch.constant_pad_nd(x, [1, 0, 0, 2], 2)"},
                                            {"torch.constant_pad_nd(x, [-1, 2, 3, -1], 1)"},
                                            {"torch.constant_pad_nd(x, [0, 0])"},
                                            {"torch.constant_pad_nd(x, [-3, 1])"},
                                            {"torch.pad(x, [2, 1, 1, 1])"},
                                            {"torch.pad(x, [2, 1], 'constant', -1.5)"},
                                            {"torch.pad(x, [2, 1], 'circular')", false},
                                            {"torch.repeat_interleave(x, 2, -1)"},
                                            {"torch.repeat_interleave(x, 3, 0)"},
                                            {"torch.repeat_interleave(x, 0, 0)", false},
                                            {"torch.repeat_interleave(x, 2)", false}}) {
    CAPTURE(body.text);
    const std::string source = "def forward(self, x):\n    return " + body.text + "\n";
    for (const InputSet& inputs : all) check_script(source, {inputs, inputs, inputs, inputs});
    StaticRuntime<> runtime{StaticModule(script(source))};
    const at::Tensor x = sample({6, 5});
    for (int run = 0; run < 3; ++run) runtime(x);
    REQUIRE(runtime.report().plans.size() == 1);
    CHECK(runtime.report().plans[0].kernels == (body.is_ours ? 1 : 0));
  }
}

}  // namespace sr::test::ops_rearranging_tests
