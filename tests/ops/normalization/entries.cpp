// Normalisation of rows, groups of channels and channels against the interpreter; plans have kernels for it.
#include <string>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_norms_tests {

namespace {

const OracleOptions kNative{.rtol = 1e-5, .atol = 1e-5, .expected_path = "native"};
const OracleOptions kOut{.rtol = 1e-5, .atol = 1e-5};

// Rows of five columns: the tensor, gamma and beta.
std::vector<InputSet> rows() {
  const at::Tensor w = sample({5}), b = sample({5});
  const c10::IValue none;
  return {{sample({2, 5}), w, b},
          {sample({7, 5}), w, b},
          {sample({2, 3, 5}), w, none},
          {sample({5}), w, b},
          {sample({2, 5}), none, none},
          {sample({2, 5}), none, b},
          {sample({5, 6}).t(), w, b},
          {sample({3, 10, 5}).slice(1, 0, 10, 2).transpose(0, 1), w, b},
          {stepped(sample({6, 5})), w, b},
          {sample({6, 5}), stepped(sample({5, 2})).select(1, 0), b},
          {at::full({6, 5}, 1000.25), w, b},
          {sample({2, 5}, at::kDouble), w.to(at::kDouble), b.to(at::kDouble)},
          {sample({2, 5}, at::kBFloat16), w.to(at::kBFloat16), b.to(at::kBFloat16)},
          {sample({2, 5}, at::kBFloat16), w, b},
          {sample({0, 5}), w, b},
          {sample({2, 4}), w, b},  // refused
          {sample({2, 5}), sample({4}), b},
          {sample({2, 5}), w, b}};
}

std::vector<InputSet> wide_rows() {
  const at::Tensor w = sample({37, 11}), b = sample({37, 11});
  return {{sample({9, 37, 11}), w, b}, {sample({37, 11}), w, b}, {sample({9, 37, 11}), w, b}};
}

// Images of six channels.
std::vector<InputSet> images() {
  const at::Tensor w = sample({6}), b = sample({6});
  const c10::IValue none;
  return {{sample({2, 6, 3, 5}), w, b},
          {sample({3, 6, 4}), w, b},
          {sample({1, 6, 9, 9}), none, b},
          {sample({5, 6, 2}), w, none},
          {sample({2, 6, 3, 1, 2}), none, none},
          {sample({2, 3, 6, 5}).transpose(1, 2), w, b},
          {channels_last({2, 6, 3, 5}), w, b},
          {sample({2, 6, 3, 5}, at::kDouble), w.to(at::kDouble), b.to(at::kDouble)},
          {sample({2, 6, 3, 5}, at::kBFloat16), w, b},
          {sample({0, 6, 4}), w, b},
          {sample({2, 4, 4}), w, b},  // refused
          {sample({2, 6, 3, 5}), w, b}};
}

std::vector<InputSet> images_and_features() {
  std::vector<InputSet> runs = images();
  runs.push_back({sample({7, 6}), sample({6}), sample({6})});
  runs.push_back({sample({3, 6, 1}), sample({6}), sample({6})});
  return runs;
}

std::vector<OpRow> norm_rows() {
  const std::string weights = "x, w: Optional[Tensor], b: Optional[Tensor]";
  const std::string stats = ", None, None, True, 0.1, 1e-5, False)";
  return {
      {"aten::layer_norm", weights, "torch.layer_norm(x, [5], w, b)", &rows, kOut},
      {"aten::layer_norm", weights, "torch.layer_norm(x, [37, 11], w, b)", &wide_rows, kOut},
      {"aten::native_layer_norm", weights, "torch.native_layer_norm(x, [5], w, b, 1e-5)[0]", &rows, kNative},
      {"aten::native_layer_norm", weights, "torch.native_layer_norm(x, [5], w, b, 1e-5)", &rows, kNative, 3},
      {"aten::rms_norm", weights, "torch.rms_norm(x, [5], w)", &rows, kNative},
      {"aten::rms_norm", weights, "torch.rms_norm(x, [5], w, 0.1)", &rows, kNative},
      {"aten::rms_norm", weights, "torch.rms_norm(x, [37, 11], w)", &wide_rows, kNative},
      {"aten::group_norm", weights, "torch.group_norm(x, 1, w, b)", &images_and_features, kNative},
      {"aten::group_norm", weights, "torch.group_norm(x, 2, w, b, 1e-3)", &images_and_features, kNative},
      {"aten::group_norm", weights, "torch.group_norm(x, 6, w, b)", &images, kNative},
      {"aten::instance_norm", weights, "torch.instance_norm(x, w, b" + stats, &images, kNative},
  };
}

const OracleTable registered{&norm_rows};

}  // namespace

TEST_CASE("normalisations equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : norm_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

TEST_CASE("replays normalise by our kernels", "[ops][replay]") {
  const at::Tensor x = sample({4, 6, 5}), w = sample({5}), c = sample({6});
  check_kernels("x, w", "torch.layer_norm(x, [5], w, w)", {x, w});
  check_kernels("x, w", "torch.native_layer_norm(x, [5], w, w, 1e-5)[0]", {x, w});
  check_kernels("x, w", "torch.rms_norm(x, [5], w)", {x, w});
  check_kernels("x", "torch.rms_norm(x, [6, 5])", {x});
  check_kernels("x, w", "torch.group_norm(x, 3, w, w)", {x, c});
  check_kernels("x, w", "torch.group_norm(x.transpose(1, 2), 5, w)", {x, w}, 2);
  check_kernels("x, w", "torch.instance_norm(x, w, w, None, None, True, 0.1, 1e-5, False)", {x, c});
}

TEST_CASE("norms in training are left to LibTorch", "[oracle][ops]") {
  check_script(
      "def forward(self, x, m, v):\n"
      "    y = torch.instance_norm(x, None, None, m, v, True, 0.1, 1e-5, False)\n"
      "    z = torch.instance_norm(x, None, None, m, v, False, 0.1, 1e-5, False)\n"
      "    return y, z, m + 0\n",
      {{sample({2, 3, 5}), sample({3}), at::rand({3}) + 1}}, {.rtol = 1e-5, .atol = 1e-5});
}

}  // namespace sr::test::ops_norms_tests
