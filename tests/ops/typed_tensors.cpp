// Operators that make new tensors through typed handles, against the interpreter.
#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_others_tests {

namespace {

const OracleOptions kNative{.rounds = 3, .expected_path = "native"};
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
std::vector<InputSet> normed() {
  const at::Tensor w = sample({3}), b = sample({3});
  return {{sample({2, 3, 4}), w, b},
          {sample({2, 3, 4}), w, b},
          {sample({1, 3, 9}), w, b},
          {sample({2, 3, 4}), kNone, kNone},
          {sample({2, 3, 4}, at::kDouble), w.to(at::kDouble), b.to(at::kDouble)},
          {sample({2, 5, 4}), w, b},
          {sample({2, 3, 4}), w, b}};
}
std::vector<InputSet> normed_channels() {
  const at::Tensor w = sample({3}), b = sample({3}), m = sample({3}), v = sample({3}).abs() + 0.5;
  const auto wide = [](const at::Tensor& x) { return x.to(at::kDouble); };
  return {{sample({2, 3, 4}), w, b, m, v},
          {sample({2, 3, 4}), w, b, m, v},
          {sample({1, 3, 9}), w, kNone, m, v},
          {transposed(sample({3, 5})), kNone, b, m, v},
          {sample({2, 3, 4}), kNone, kNone, m, v},
          {wide(sample({2, 3, 4})), wide(w), wide(b), wide(m), wide(v)},
          {sample({0, 3, 4}), w, b, m, v},
          {sample({2, 3, 4, 5}).to(at::MemoryFormat::ChannelsLast), w, b, m, v},
          {sample({2, 3, 4}), w, b, m, v}};
}
std::vector<InputSet> normed_rows() {
  const at::Tensor w = sample({3}), b = sample({3});
  return {{sample({4, 3}), w, b},         {sample({4, 3}), w, b},
          {sample({2, 5, 3}), w, b},      {transposed(sample({4, 3})), w, b},
          {sample({4, 3}), kNone, kNone}, {sample({4, 5}), w, b},
          {sample({4, 3}), w, b}};
}
std::vector<InputSet> points() {
  return {{sample({4, 3}), sample({5, 3})}, {sample({4, 3}), sample({5, 3})},
          {sample({2, 3}), sample({2, 3})}, {transposed(sample({4, 3})), sample({5, 3})},
          {sample({4, 3}), sample({5, 2})}, {sample({4, 3}), sample({5, 3})}};
}
std::vector<InputSet> indices() {
  return {{at::arange(3).flip(0)},         {at::arange(3).flip(0)},        {at::full({2}, 3, at::kLong)},
          {at::arange(2).reshape({1, 2})}, {at::full({1}, -1, at::kLong)}, {sample({2})}};
}
std::vector<InputSet> images() {
  return {{sample({2, 4, 6, 4})},
          {sample({2, 4, 6, 4})},
          {sample({1, 8, 2, 2})},
          {channels_last({2, 4, 6, 4})},
          {sample({2, 4, 6, 4}, at::kDouble)},
          {sample({2, 3, 5, 5})},
          {sample({2, 4, 6, 4})}};
}
std::vector<InputSet> grids() {
  return {{sample({1, 2, 4, 4}), at::rand({1, 3, 3, 2}) * 2 - 1},
          {sample({1, 2, 4, 4}), at::rand({1, 5, 3, 2}) * 2 - 1},
          {sample({1, 2, 4, 4}), sample({3, 3})}};
}
std::vector<InputSet> affine() {
  return {{sample({2, 2, 3})}, {sample({2, 2, 3})}, {sample({3, 3})}};
}
std::vector<InputSet> with_mask() {
  std::vector<InputSet> runs;
  for (const at::Tensor& tensor : few())
    runs.push_back({tensor, sample(tensor.sizes(), at::kBool), sample(tensor.sizes(), tensor.scalar_type())});
  return runs;
}
std::vector<InputSet> with_rows() {
  const at::Tensor rows = at::arange(0, 3, 2);
  return {{sample({3, 3}), rows},
          {sample({3, 3}), rows},
          {transposed(sample({3, 3})), rows},
          {sample({5, 3}), rows},
          {sample({3, 3}, at::kLong), rows},
          {sample({3, 3}), at::full({1}, 7, at::kLong)},
          {sample({3, 3}), rows}};
}
std::vector<InputSet> counts() {
  return {{sample({3, 2}), at::tensor({1, 0, 2})},
          {sample({3, 2}), at::tensor({2, 2, 2})},
          {sample({3, 2}), at::tensor({1})}};
}
std::vector<InputSet> finite() {
  std::vector<InputSet> runs = few_alone();
  runs.push_back({at::tensor({1.0, double(INFINITY), double(NAN), -double(INFINITY)}, at::kFloat)});
  return runs;
}
std::vector<InputSet> bags() {
  const at::Tensor table = sample({10, 4});
  const auto numbers = [](std::vector<std::int64_t> of) { return at::tensor(of, at::kLong); };
  return {{table, numbers({1, 2, 4, 5}), numbers({0, 2})},
          {table, numbers({1, 2, 4, 5}), numbers({0, 3})},
          {table, numbers({9}), numbers({0})},
          {table, numbers({1, 2, 4, 5}), numbers({0, 2})}};
}
std::vector<InputSet> sizes() {
  return {{3, 2}, {3, 2}, {5, 1}, {0, 2}, {3, 2}};
}
std::vector<InputSet> boundaries() {
  return {{at::tensor(0.5), at::tensor({0.0, 1.0, 2.0})},
          {at::tensor(1.5), at::tensor({0.0, 1.0})},
          {at::tensor(1), at::tensor({0.0, 1.0})}};
}
std::vector<InputSet> bilinear() {
  return {{sample({4, 3}), sample({4, 2}), sample({5, 3, 2})},
          {sample({2, 3}), sample({2, 2}), sample({5, 3, 2})},
          {sample({4, 3}), sample({4, 3}), sample({5, 3, 2})}};
}

class Rows {
 public:
  void add(const std::string& key, const std::string& expression,
           std::vector<InputSet> (*runs)() = &few_alone, const std::string& parameters = "x",
           int results = 1) {
    OracleOptions options = kNative;
    options.rtol = options.atol = 1e-5;  // sums may be split differently at other addresses
    rows.push_back({"aten::" + key, parameters, expression, runs, options, results});
  }
  std::vector<OpRow> rows;
};

void add_layers(Rows& rows) {
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
  const std::string affine_parameters = "x, w: Optional[Tensor], b: Optional[Tensor]";
  rows.add("instance_norm", "torch.instance_norm(x, w, b, None, None, True, 0.1, 1e-5, True)", &normed,
           affine_parameters);
  rows.add("native_layer_norm", "torch.native_layer_norm(x, [3], w, b, 1e-5)", &normed_rows,
           affine_parameters, 3);
  rows.add("native_group_norm",
           "torch.native_group_norm(x, w, b, x.size(0), 3, x.numel() // (3 * x.size(0)), 3, 1e-5)", &normed,
           affine_parameters, 3);
  rows.add("_native_batch_norm_legit_no_training",
           "torch._native_batch_norm_legit_no_training(x, w, b, m, v, 0.1, 1e-5)", &normed_channels,
           affine_parameters + ", m, v", 3);
  rows.add("rms_norm", "torch.rms_norm(x, [3], w)", &normed_rows, affine_parameters);
  rows.add("_embedding_bag", "torch._embedding_bag(x, i, o)", &bags, "x, i, o", 4);
  rows.add("_embedding_bag_forward_only", "torch._embedding_bag_forward_only(x, i, o, False, 1)", &bags,
           "x, i, o", 4);
  for (const char* padding : {"4", "-2", "99"}) {
    rows.add("_embedding_bag",
             std::string("torch._embedding_bag(x, i, o, False, 0, False, None, False, ") + padding + ")[0]",
             &bags, "x, i, o");
  }
}

void add_functions(Rows& rows) {
  rows.add("cdist", "torch.cdist(x, y)", &points, "x, y");
  rows.add("bilinear", "torch.bilinear(x, y, w)", &bilinear, "x, y, w");
  rows.add("cosine_similarity", "torch.cosine_similarity(x, y, 0)", &few_pairs, "x, y");
  rows.add("pairwise_distance", "torch.pairwise_distance(x, y)", &few_pairs, "x, y");
  rows.add("grid_sampler", "torch.grid_sampler(x, g, 0, 0, False)", &grids, "x, g");
  rows.add("grid_sampler_2d", "torch.grid_sampler_2d(x, g, 0, 0, False)", &grids, "x, g");
  rows.add("affine_grid_generator", "torch.affine_grid_generator(x, [2, 1, 3, 4], False)", &affine);
  rows.add("selu", "torch.selu(x)");
  rows.add("celu", "torch.celu(x, 0.5)");
  rows.add("prelu", "torch.prelu(x, torch.full([1], 0.25))");
  rows.add("isinf", "torch.isinf(x)", &finite);
  rows.add("isfinite", "torch.isfinite(x)", &finite);
  rows.add("isclose", "torch.isclose(x, y)", &few_pairs, "x, y");
  for (const std::string name : {"var_mean", "std_mean"}) {
    rows.add(name, "torch." + name + "(x)", &few_alone, "x", 2);
    rows.add(name + ".dim", "torch." + name + "(x, [0], False)", &few_alone, "x", 2);
    rows.add(name + ".correction", "torch." + name + "(x, [0], correction=2)", &few_alone, "x", 2);
  }
  rows.add("trace", "torch.trace(x)");
  rows.add("median", "torch.median(x)");
  rows.add("bucketize.Scalar", "torch.bucketize(x.item(), b)", &boundaries, "x, b");
  rows.add("bincount", "torch.bincount(x)", &indices);
  rows.add("cov", "torch.cov(x)");
  rows.add("corrcoef", "torch.corrcoef(x)");
  for (const std::string call :
       {"rand([n, m])", "randn([n, m])", "randint(5, [n, m])", "randint(2, 5, [n, m])"}) {
    const std::string name = call == "randint(2, 5, [n, m])" ? "randint.low" : call.substr(0, call.find('('));
    rows.add(name, "torch." + call + " * 0", &sizes, "n: int, m: int");
  }
  rows.add("randperm", "torch.randperm(n) * 0", &sizes, "n: int, m: int");
  rows.add("rand_like", "torch.rand_like(x) * 0");
  rows.add("randn_like", "torch.randn_like(x) * 0");
  rows.add("hann_window", "torch.hann_window(n)", &sizes, "n: int, m: int");
  rows.add("eye", "torch.eye(n)", &sizes, "n: int, m: int");
  rows.add("eye.m", "torch.eye(n, m)", &sizes, "n: int, m: int");
}

void add_rearrangements(Rows& rows) {
  rows.add("pixel_shuffle", "torch.pixel_shuffle(x, 2)", &images);
  rows.add("pixel_unshuffle", "torch.pixel_unshuffle(x, 2)", &images);
  rows.add("channel_shuffle", "torch.channel_shuffle(x, 2)", &images);
  rows.add("masked_scatter", "torch.masked_scatter(x, m, y)", &with_mask, "x, m, y");
  rows.add("fill.Scalar", "torch.fill(x, 3)");
  rows.add("fill.Tensor", "torch.fill(x, y.sum())", &few_pairs, "x, y");
  rows.add("zero", "torch.zero(x)");
  rows.add("copy", "torch.copy(x, y)", &few_pairs, "x, y");
  rows.add("index_fill.int_Scalar", "torch.index_fill(x, 0, i, 3)", &with_rows, "x, i");
  rows.add("index_fill.int_Tensor", "torch.index_fill(x, 0, i, x.sum())", &with_rows, "x, i");
  rows.add("roll", "torch.roll(x, [1], [0])");
  rows.add("roll", "torch.roll(x, 2)");
  rows.add("flip", "torch.flip(x, [0])");
  rows.add("fliplr", "torch.fliplr(x)");
  rows.add("flipud", "torch.flipud(x)");
  rows.add("rot90", "torch.rot90(x)");
  rows.add("quantile", "torch.quantile(x, torch.sigmoid(y).flatten(), 0)", &few_pairs, "x, y");
  rows.add("nanquantile", "torch.nanquantile(x, torch.sigmoid(y).flatten(), 0)", &few_pairs, "x, y");
  rows.add("trapezoid.dx", "torch.trapezoid(x, dim=0)");
  rows.add("tile", "torch.tile(x, [2])");
  rows.add("repeat_interleave.Tensor", "torch.repeat_interleave(c)", &counts, "x, c");
  rows.add("repeat_interleave.self_Tensor", "torch.repeat_interleave(x, c, 0)", &counts, "x, c");
  rows.add("repeat_interleave.self_int", "torch.repeat_interleave(x, 2, 0)");
  rows.add("constant_pad_nd", "torch.constant_pad_nd(x, [1, 2], 0.5)");
  rows.add("pad", "torch.pad(x, [1, 2])");
  rows.add("one_hot", "torch.one_hot(x, 4)", &indices);
  rows.add("argsort", "torch.argsort(x)");
  rows.add("argwhere", "torch.argwhere(x)");
  rows.add("diag_embed", "torch.diag_embed(x)");
  rows.add("block_diag", "torch.block_diag([x, y])", &few_pairs, "x, y");
  rows.add("einsum", "torch.einsum('ij,kj->ik', [x, y])", &points, "x, y");
  rows.add("einsum", "torch.einsum('ij->ji', [x])");
  rows.add("sum_to_size", "x.sum_to_size([1])");
  rows.add("where", "torch.where(x)", &few_alone, "x", 0);
  rows.add("nonzero_numpy", "torch.nonzero_numpy(x)", &few_alone, "x", 0);
  rows.add("unsafe_chunk", "torch.unsafe_chunk(x, 2)", &few_alone, "x", 0);
  rows.add("unsafe_split.Tensor", "torch.unsafe_split(x, 2)", &few_alone, "x", 0);
  rows.add("meshgrid", "torch.meshgrid([x, x])", &indices, "x", 0);
  rows.add("meshgrid.indexing", "torch.meshgrid([x, x], indexing='xy')", &indices, "x", 0);
  rows.add("allclose", "torch.allclose(x, y)", &few_pairs, "x, y", 0);
  rows.add("equal", "torch.equal(x, y)", &few_pairs, "x, y", 0);
  rows.add("is_floating_point", "torch.is_floating_point(x)", &few_alone, "x", 0);
  rows.add("is_complex", "torch.is_complex(x)", &few_alone, "x", 0);
  rows.add("result_type.Tensor", "torch.result_type(x, y)", &few_pairs, "x, y", 0);
  rows.add("result_type.Scalar", "torch.result_type(x, 0.5)", &few_alone, "x", 0);
}

}  // namespace

std::vector<OpRow> other_rows() {
  Rows rows;
  add_layers(rows);
  add_functions(rows);
  add_rearrangements(rows);
  return std::move(rows.rows);
}

TEST_CASE("ops through typed handles equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : other_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      at::manual_seed(6);
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

}  // namespace sr::test::ops_others_tests
