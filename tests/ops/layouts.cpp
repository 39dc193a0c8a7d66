// Every rule of layouts against the interpreter: for each dimension that varies, on many layouts and sizes.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"

namespace sr::test::layouts_tests {
namespace {

enum class Lies { in_order, permuted, reversed, stepped, inside, expanded };

// A tensor of these sizes in this layout.
at::Tensor lying(std::array<std::int64_t, 3> sizes, Lies lies) {
  const auto [a, b, c] = sizes;
  switch (lies) {
    case Lies::in_order:
      return at::randn({a, b, c});
    case Lies::permuted:
      return at::randn({a, c, b}).transpose(1, 2);
    case Lies::reversed:
      return at::randn({c, b, a}).permute({2, 1, 0});
    case Lies::stepped:
      return at::randn({a, b, 2 * c}).slice(2, 0, 2 * c, 2);
    case Lies::inside:
      return at::randn({a + 1, b + 2, c + 1}).slice(0, 1).slice(1, 1, b + 1).slice(2, 0, c);
    case Lies::expanded:
      return at::randn({1, b, c}).expand({a, b, c});
  }
  return {};
}

// Each uses x [a, b, c], y [b, c], w [c, 4] or v [4, c], and k, which is half of the size that varies.
const std::vector<std::string> kExpressions{
    "x.relu() + 1",
    "x * y - x",
    "(x + y).sigmoid(), x > 0",
    "torch.where(x > 0, x, y)",
    "x.view(-1).neg()",
    "x.reshape(-1, x.size(2)) * 2",
    "x.reshape(x.size(0), -1).relu()",
    "x.reshape(x.size(0) * x.size(1), 1, x.size(2)) + 1",
    "x.flatten() * 2, x.flatten(1) * 2, x.flatten(0, 1) * 2",
    "x.permute(2, 0, 1) + 1, x.permute(1, 0, 2).contiguous() * 2",
    "x.transpose(0, 1).relu(), x.transpose(-1, -2).reshape(-1).exp()",
    "y.t() + 1, y.t().contiguous() * 2",
    "x.unsqueeze(0) * 2, x.unsqueeze(2) * 2, x.unsqueeze(-1) * 2",
    "x.unsqueeze(1).squeeze(1) + 1, x.squeeze(0) + 1",
    "x[0] * 2, x[:, -1] * 2, x[:, :, 1] * 2",
    "x[1:] * 2, x[:, :k] * 2, x[:, :, k:] * 2, x[:-1] * 2",
    "x[::2] * 2, x[:, 1::2] * 2, x[:, :, k::3] * 2",
    "x.narrow(0, 1, x.size(0) - 1) * 2, x.narrow(1, 0, k) * 2",
    "y.expand(x.size(0), -1, -1) * 2, y.unsqueeze(0).expand_as(x) + x",
    "x.contiguous() * 2, x.contiguous()",
    "x.clone(), x.double() * 2, x.float()",
    "x.long(), x[:, :, 1:2].double(), x[1:2].long() + 1, x.permute(2, 0, 1)[1:].double()",
    "x.unsqueeze(0).transpose(0, 2) * 2, x.unsqueeze(1).transpose(1, 3).relu(), x[:1].transpose(0, 1).neg()",
    "torch.constant_pad_nd(x, [1, -1, 0, 2], 0.5), torch.roll(x, [1], [1]), torch.repeat_interleave(x, 2, 1)",
    "torch.tensordot(x, w, [2], [0]), torch.tensordot(x, y, [1, 2], [0, 1])",
    "x.split(2, 0)[0] * 2, x.split(3, 1)[-1] * 2",
    "x.chunk(2, 2)[0] * 2, x.chunk(3, 0)[-1] * 2, x.chunk(2, 1)[-1] * 2",
    "torch.cat([x, x * 2], 0), torch.cat([x, x.neg()], 1), torch.cat([x * 3, x], -1)",
    "torch.stack([x, x * 2], 0), torch.stack([x * 3, x], -1)",
    "torch.cat([x[:, :k], x[:, k:]], 1) * 2",
    "torch.linear(x, v), torch.linear(x.relu(), v) + 1",
    "torch.matmul(x, w), torch.matmul(y, w)",
    "torch.matmul(x, x.transpose(1, 2)), torch.bmm(x, x.transpose(1, 2)).relu()",
    "torch.mm(y, w), torch.mm(y.t(), y)",
    "x.sum(0), x.sum([1, 2]), x.sum(-1, True), x.sum()",
    "x.mean(1), x.mean([0, 1], True)",
    "torch.amax(x, 1), torch.amax(x, [0, 2], True)",
    "torch.softmax(x, 0), torch.softmax(x, -1), torch.log_softmax(x, 1)",
    "torch.layer_norm(x, [x.size(2)]), torch.layer_norm(x, [x.size(1), x.size(2)])",
    "torch.embedding(w, (y > 0).long()), torch.embedding(v, torch.ones_like(y).long())",
    "x.numel() + x.size(1) * 2 - x.size(0) // 2, x.size(), len(x), x.dim()",
    "x + x.size(0), x * (x.size(1) % 3), x.view([x.size(0), x.size(1) * x.size(2)]) + 1",
    "x.unsqueeze(1).squeeze() * 2, x.squeeze([0, -1]) + 1, x.squeeze([1]).neg()",
    "x.transpose(0, 1).clone(memory_format=0), "
    "x.clone(memory_format=1)",
    "torch.native_layer_norm(x, [x.size(2)], None, None, 1e-5), torch.native_layer_norm(x, x.size()[1:], "
    "None, "
    "None, 1e-5)[0]",
    "torch.native_group_norm(x, None, None, x.size(0), x.size(1), x.size(2), 1, 1e-5), "
    "torch.native_group_norm(x, None, None, x.size(0), x.size(1), x.size(2), 2, 1e-5)[0]",
    "torch._native_batch_norm_legit_no_training(x, None, y[:, 0], y[:, 0], y[:, 0] ** 2 + 1, 0.1, "
    "1e-5)",
    "torch.convolution(x, x[:, :, :2].contiguous(), None, [1], [1], [1], False, [0], 1)",
    "torch._convolution(x, x[:, :, :1].contiguous(), None, [2], [0], [1], False, [0], 1, False, False, "
    "False, False)",
    "torch._embedding_bag(w, (y > 0).long().view(-1), torch.arange(0, y.numel(), y.size(1)))[0], "
    "torch._embedding_bag(w, (y > 0).long().view(-1), torch.arange(0, y.numel(), y.size(1)), False, 1)",
    "torch.scaled_dot_product_attention(x, x, x), "
    "torch.scaled_dot_product_attention(x.unsqueeze(1), x.unsqueeze(1), x.unsqueeze(1)).transpose(1, 2) * 2",
    "torch.scaled_dot_product_attention(x.unsqueeze(0), x.unsqueeze(0), x.unsqueeze(0), x[:, :1, :1])",
    "torch.scaled_dot_product_attention(x.unsqueeze(1).permute(2, 0, 1, 3), x.unsqueeze(1).permute(2, 0, 1, "
    "3), "
    "x.unsqueeze(1).permute(2, 0, 1, 3))",
    "torch.scaled_dot_product_attention(x.unsqueeze(0).expand(2, -1, -1, -1), x[None, :1].expand(2, -1, -1, "
    "-1), "
    "x[None, :1].expand(2, -1, -1, -1), enable_gqa=True)",
    "torch.scaled_dot_product_attention(x.unsqueeze(0), x.unsqueeze(0), x[None, ..., :2])",
};

InputSet inputs(std::size_t varying, std::int64_t size, Lies lies) {
  std::array<std::int64_t, 3> sizes{3, 4, 5};
  sizes[varying] = size;
  return {lying(sizes, lies), at::randn({sizes[1], sizes[2]}), at::randn({sizes[2], 4}),
          at::randn({4, sizes[2]}), size / 2};
}

// The text of what a call returns or throws.
template <class Call>
std::string outcome(const Call& call, c10::IValue& result) {
  try {
    result = call();
    return "";
  } catch (const std::exception&) {
    return "throws";
  }
}

}  // namespace

TEST_CASE("the rules of layouts say what LibTorch does, whatever sizes and layouts are", "[families]") {
  const std::vector<std::int64_t> sizes{5, 7, 2, 3, 4, 6, 9, 16, 31, 1, 0, 8};
  std::size_t families = 0, all = 0;
  for (const std::string& expression : kExpressions) {
    const std::string source = "def forward(self, x, y, w, v, k: int):\n    return " + expression + "\n";
    torch::jit::Module reference = script(source);
    for (std::size_t varying = 0; varying < 3; ++varying) {
      for (const Lies lies :
           {Lies::in_order, Lies::permuted, Lies::reversed, Lies::stepped, Lies::inside, Lies::expanded}) {
        StaticRuntime<> runtime{StaticModule(script(source))};
        for (const std::int64_t size : sizes) {
          CAPTURE(expression, varying, static_cast<int>(lies), size);
          const InputSet given = inputs(varying, size, lies);
          c10::IValue expected, actual;
          const std::string wanted =
              outcome([&] { return interpret(reference, copy_inputs(given)); }, expected);
          CHECK(outcome([&] { return runtime(copy_inputs(given), {}); }, actual) == wanted);
          if (wanted.empty()) CHECK(difference(expected, actual, close()) == "");
        }
        ++all;
        for (const PlanReport& plan : runtime.report().plans) families += plan.conditions.empty() ? 0 : 1;
      }
    }
  }
  CHECK(families * 3 > all);  // else the rules were hardly asked
}

}  // namespace sr::test::layouts_tests
