// Operators in models whose sizes vary: one plan serves all sizes, and agrees with the interpreter.
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "support/catch.hpp"
#include "support/families.hpp"

namespace sr::test::family_operators_tests {
namespace {

// What the operators do, and an expression with them that `forward(self, x)` returns.
using Operators = std::vector<std::pair<const char*, const char*>>;

const Operators kOfRows{
    {"sums along a dimension", "torch.cumsum(x, 1), torch.cumsum(x, 0), torch.cumprod(x * 0.1, 1)"},
    {"places of extrema",
     "torch.argmax(x, 1), torch.argmin(x, 1, True), torch.max(x, 1), torch.min(x, 1, True)"},
    {"sorting", "torch.topk(x, 3, 1), torch.sort(x, 1), torch.sort(x, 1, True)"},
    {"triangles", "torch.tril(x @ x.t()), torch.triu(x)"},
    {"norms", "torch.norm(x, 2, [1], True), torch.linalg_vector_norm(x, 2, [1]), torch.norm(x)"},
    {"numbers of all elements",
     "torch.mean(x), torch.max(x), torch.min(x), torch.prod(x * 0.1), torch.any(x > 0), torch.all(x > 0)"},
    {"conditions",
     "torch.any(x > 0, 1), torch.all(x > 0, 1, True), (x > 0) & (x < 1), (x > 0) | (x < 1), (x > 0) ^ (x < "
     "1)"},
    {"other reductions", "torch.logsumexp(x, [1]), torch.prod(x * 0.1, 1), torch.amin(x, [1])"},
    {"doubles",
     "torch.sum(x.double(), 1), torch.mean(x.double(), 1), torch.mean(x.double()), torch.lgamma(x)"},
    {"integers", "torch.sum(x.long(), 1), torch.fmod(x.long(), 3), x.long() + x, torch.prod(x.long(), 1)"},
    {"tensors of numbers",
     "torch.zeros([x.size(0), 2]) + 1, torch.ones([2, x.size(0)]), torch.full([x.size(0)], 2.5)"},
    {"tensors like others",
     "torch.zeros_like(x) + x, torch.ones_like(x), torch.full_like(x, 3), x.new_zeros([x.size(0), 3]), "
     "x.new_ones([x.size(0)])"},
    {"ranges",
     "torch.arange(x.size(0)) + 1, torch.arange(2, x.size(0) + 3), x + torch.arange(x.size(0)).unsqueeze(1)"},
    {"copies with other sizes",
     "x.repeat([1, 2]), x.repeat([2, 1, 3]), torch.constant_pad_nd(x, [1, 2]), torch.constant_pad_nd(x, [0, "
     "0, 2, 1], 0.5)"},
    {"repeated and padded",
     "torch.pad(x, [1, 1]), torch.constant_pad_nd(x, [-1, 2, 1, 0], 3), torch.pad(x, [0, -3]), "
     "torch.repeat_interleave(x, 2, 1), torch.repeat_interleave(x, 3)"},
    {"bags",
     "torch.embedding_bag(self.e, x.long().clamp(0, 9).flatten(), torch.arange(0, x.numel(), 16))[0], "
     "torch.embedding_bag(self.e, x.long().clamp(0, 9).flatten(), torch.arange(0, x.numel(), 16), False, "
     "1)[0]"},
    {"views of weights", "torch.var(self.w[:x.size(0) + 2], 0), torch.std(self.w[x.size(0):])"},
    {"rows of weights",
     "torch.cumsum(self.w[x.size(0):x.size(0) * 2], 0), torch.gather(self.n.unsqueeze(0), 1, "
     "self.n[:x.size(0)].unsqueeze(0)), torch.atan2(x, self.n[:x.size(0)].unsqueeze(1))"},
    {"conversions",
     "x.to(x.device, 11), x.long().to(x.device, 11) & (x > 0), x.to(x.long()), x.to(x.device, 7), x.to(x) + "
     "1, x.type_as(x.long())"},
    {"conversions of slices",
     "x[:, 1:2].long() + 1, x[:, :4].double(), x[:, 3].to(6).int(), x.t()[2:5].long(), x[::2].to(7), "
     "x.t().double()"},
    {"lists of sizes compared",
     "x if x.size() == [x.size(0), 16] else x * 2, x if x.size() != [x.size(0) + 1, 16] else x + 1, x.size() "
     "== "
     "[x.size(0)]"},
    {"lists of sizes",
     "x.view(x.shape[:-1] + [4, 4]) * 2, torch.zeros(x.shape[1:] + x.shape[::2]), (x + "
     "1).view(list(x.shape)), "
     "torch.ones(x.shape[-1:] + [2]), torch.full(x.shape[:-5] + [x.size(0), 2], 1.5)"},
    {"bags of bytes",
     "quantized.embedding_bag_byte_rowwise_offsets(self.t, x.long().clamp(0, 9)), "
     "quantized.embedding_bag_byte_rowwise_offsets(self.t, x.long().clamp(0, 9).flatten(), "
     "torch.arange(0, x.numel(), 16))"},
    {"rearranged", "torch.roll(x, [1], [1]), torch.roll(x, [-21], [-1]), torch.flip(x, [0, 1])"},
    {"activations", "torch.hardswish(x), torch.prelu(x, self.p), torch.glu(x)"},
    {"buckets and classes",
     "torch.bucketize(x, self.b), torch.one_hot(torch.abs(x * 3).long().clamp(0, 9), 10)"},
    {"products of vectors",
     "torch.outer(x[:, 0], x[:, 1]), torch.matmul(x, self.v), torch.tensordot(x, self.w[:16], [1], [0])"},
    {"numbers that are sizes", "x / x.size(0), x * x.size(0) + 1, x.sum(0) / x.size(0)"},
    {"elements by index",
     "x[:, self.i], x[torch.arange(x.size(0)), self.i[0]], x.scatter(1, torch.zeros_like(x).long(), x)"},
    {"dimensions of one index, whose strides are odd",
     "torch.relu(x.unsqueeze(0).transpose(0, 1)), torch.relu(x.t()[2:7]) * 2, x.view(-1, 4, 4).permute(2, 0, "
     "1)[1:3] + 1"},
    {"expanded", "torch.norm(x, 2, [1], True).expand_as(x) + x"},
    {"in place", "x.clone().add_(1).mul_(x), torch.relu_(x + 1), (x * 2).clamp_(0, 1)"},
};

const Operators kOfImages{
    {"convolutions",
     "torch.conv2d(x, self.k, self.kb, [1, 1], [1, 1]), torch.conv2d(x, self.k, None, [2, 2]), "
     "torch.conv1d(x.flatten(2), self.k1), torch.conv2d(x, self.k, self.kb, [1, 1], 'same')"},
    {"convolutions of channels that lie last",
     "torch.conv2d(x.permute(0, 3, 1, 2), self.k8, None, [1, 1], [1, 1]), torch.conv2d(x.permute(0, 3, 1, "
     "2), self.d8, None, [1, 1], [1, 1], [1, 1], 8)"},
    {"pools",
     "torch.max_pool2d(x, [2, 2]), torch.avg_pool2d(x, [3, 3], [2, 2], [1, 1]), torch.adaptive_avg_pool2d(x, "
     "[1, 1])"},
    {"other sizes", "torch.pixel_shuffle(x, 2), torch.upsample_nearest2d(x, None, [2.0, 2.0])"},
    {"norms over channels",
     "torch.batch_norm(x, self.g, self.c, self.m, self.s, False, 0.1, 1e-5, False), torch.group_norm(x, 2, "
     "self.g, self.c)"},
};

at::Tensor in_bytes(const at::Tensor& table) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow("quantized::embedding_bag_byte_prepack", "")
      .typed<at::Tensor(const at::Tensor&)>()
      .call(table);
}

}  // namespace

TEST_CASE("operators on rows whose number varies", "[families]") {
  const Attributes attributes{{"p", at::tensor({0.25f})}, {"b", at::tensor({-1.0f, 0.0f, 1.0f})},
                              {"v", weight({16})},        {"i", at::tensor({3, 0, 15})},
                              {"e", weight({10, 6})},     {"w", weight({500, 16})},
                              {"n", at::arange(500)},     {"t", in_bytes(weight({10, 6}))}};
  for (const auto& [what, results] : kOfRows) {
    INFO(what);
    check_family(
        std::string("def forward(self, x):\n    return ") + results + "\n",
        [](std::int64_t n) {
          return InputSet{at::randn({n, 16})};
        },
        attributes);
  }
}

TEST_CASE("spreads of rows whose number varies", "[families]") {
  const std::vector<std::int64_t> sizes{5,  7, 7,  3, 2, 64, 65,
                                        33, 4, 12, 9, 5, 8,  31};  // without 0, of which LibTorch warns
  check_family(
      "def forward(self, x):\n"
      "    return torch.std(x, 1), torch.var(x, [1], True, True), torch.var(x, [1], correction=0), "
      "torch.std(x)\n",
      [](std::int64_t n) {
        return InputSet{at::randn({n, 16})};
      },
      {}, 4, sizes);
}

TEST_CASE("recurrent networks over batches and lengths that vary", "[families]") {
  const Attributes lstm{
      {"a", weight({32, 4})}, {"b", weight({32, 8})}, {"c", weight({32})}, {"d", weight({32})}};
  const Attributes gru{
      {"a", weight({24, 4})}, {"b", weight({24, 8})}, {"c", weight({24})}, {"d", weight({24})}};
  const std::vector<std::int64_t> sizes{5, 7, 7, 3, 2, 64, 33, 4, 12, 1, 9, 5, 8, 31, 6, 10};
  for (const char* const order : {"[n, 6, 4]", "[6, n, 4]"}) {
    for (const char* const batch_first : {"True", "False"}) {
      const std::string start = std::string("def forward(self, x):\n    n = x.size(0)\n    x = x.view(") +
                                order + ")\n    h = torch.zeros([1, x.size(" +
                                (batch_first[0] == 'T' ? "0" : "1") + "), 8])\n";
      const std::string rest = std::string("[self.a, self.b, self.c, self.d], True, 1, 0.0, False, False, ") +
                               batch_first + ")\n    return y * 2, h\n";
      const auto inputs = [](std::int64_t n) { return InputSet{at::randn({n, 24})}; };
      check_family(start + "    y, h, c = torch.lstm(x, [h, h], " + rest, inputs, lstm, 4, sizes);
      check_family(start + "    y, h = torch.gru(x, h, " + rest, inputs, gru, 4, sizes);
    }
  }
}

TEST_CASE("operators on images whose number varies", "[families]") {
  const Attributes attributes{{"k", weight({6, 4, 3, 3})}, {"kb", weight({6})},
                              {"k1", weight({6, 4, 3})},   {"g", weight({4})},
                              {"c", weight({4})},          {"m", weight({4})},
                              {"s", at::rand({4}) + 0.5},  {"k8", weight({12, 8, 3, 3})},
                              {"d8", weight({8, 1, 3, 3})}};
  const std::vector<std::int64_t> sizes{5, 7, 7, 3, 2, 64, 65, 33, 4, 12, 1, 0, 1, 0, 1, 0, 9, 5, 8, 31};
  for (const auto& [what, results] : kOfImages) {
    INFO(what);
    check_family(
        std::string("def forward(self, x):\n    return ") + results + "\n",
        [](std::int64_t n) {
          return InputSet{at::randn({n, 4, 8, 8})};
        },
        attributes, 4, sizes);
  }
}

}  // namespace sr::test::family_operators_tests
