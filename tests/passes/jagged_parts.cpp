// Jagged features: bags of the parts of one tensor, whose lengths are the elements of another.
#include <string>
#include <utility>
#include <vector>

#include <sr/sr.hpp>

#include "support/block_runs.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/outcome.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::jagged_tests {

namespace {

// Sums of each feature's lengths, then bags of the features' values, as EmbeddingBagCollection computes them.
std::string two_features(const std::string& sizes, const std::string& first_bag,
                         const std::string& more = "") {
  return "def forward(self, values, lengths, v, w, samples):\n    per = lengths.view(2, -1)\n"
         "    sums = per.sum(1)\n" +
         sizes + "    a, b = torch.split_with_sizes(values, n)\n" + more +
         "    zero = torch.zeros_like(per[:, :1])\n    offsets = torch.cat([zero, per.cumsum(1)], 1)\n"
         "    x = " +
         first_bag +
         "\n    y = torch.embedding_bag(w, b, offsets[1], False, 0, False, None, True)[0]\n"
         "    return torch.relu(torch.cat([x, y], 1) * 2)\n";
}
const std::string kByItems = "    s, t = torch.unbind(sums)\n    n = [int(s), int(t)]\n";
const std::string kByList = "    n: List[int] = sums.tolist()\n";
const std::string kMean = "torch.embedding_bag(v, a, offsets[0], False, 1, False, None, True)[0]";
const std::string kMax = "torch.embedding_bag(v, a, offsets[0], False, 2, False, None, True, 1)[0]";
const std::string kWeighted = "torch.embedding_bag(v, a, offsets[0], False, 0, False, c, True)[0]";
const std::string kWeights = "    c, d = torch.split_with_sizes(samples, n)\n";

// Bags of zero and more values, for each feature and row.
InputSet batch(const at::Tensor& lengths, at::ScalarType type = at::kLong) {
  const std::int64_t count = lengths.sum().item<std::int64_t>();
  return {at::randint(0, 7, {count}, type), lengths.to(type), sample({7, 4}), sample({7, 5}),
          sample({count})};
}
std::vector<InputSet> batches(at::ScalarType type = at::kLong) {
  std::vector<InputSet> runs;
  for (int i = 0; i < 12; ++i) runs.push_back(batch(at::randint(0, 5, {6}, at::kLong), type));
  runs.push_back(batch(at::tensor({0, 0, 0, 1, 2, 3}), type));
  runs.push_back(batch(at::tensor({1, 0, 2, 0, 0, 0}), type));
  return runs;
}

// Compares a call with the interpreter's, which may throw.
void compare(torch::jit::Module& module, StaticRuntime<>& runtime, const InputSet& inputs) {
  const Outcome expected = run(inputs, [&](InputSet given) { return interpret(module, std::move(given)); });
  const Outcome actual = run(inputs, [&](InputSet given) { return runtime(std::move(given), {}); });
  CHECK(expected.threw == actual.threw);
  if (expected.threw) {
    CHECK(expected.message.find(first_line(actual.message)) != std::string::npos);
  } else {
    CHECK(difference(expected.result, actual.result, close(1e-5)) == "");
  }
}

bool reads_parts(const std::string& source) {
  const std::string graph = StaticModule(script(source)).graph().toString(/*print_source_locations=*/false);
  return graph.find("sr::embedding_bag_of_part") != std::string::npos &&
         graph.find("aten::split_with_sizes") == std::string::npos;
}

}  // namespace

TEST_CASE("jagged features of any lengths have one plan of kernels", "[passes][jagged]") {
  for (const std::string& source :
       {two_features(kByItems, kMean), two_features(kByItems, kMax), two_features(kByList, kMean),
        two_features(kByItems, kWeighted, kWeights)}) {
    INFO(source);
    CHECK(reads_parts(source));
    for (const at::ScalarType type : {at::kLong, at::kInt}) {
      const Report report = check(source, batches(type), 3);
      CAPTURE(report.bailouts, report.misses);
      CHECK(report.plans.size() <= 2);
      CHECK(report.replayed_calls >= 38);
    }
    const Report report = check(source, batches(), 3);
    REQUIRE_FALSE(report.plans.empty());
    CHECK(report.plans[0].interpreted == 0);
  }
}

TEST_CASE("lengths that are not those of the values are refused as before", "[passes][jagged]") {
  for (const std::string& sizes : {kByItems, kByList}) {
    const std::string source = two_features(sizes, kWeighted, kWeights);
    torch::jit::Module module = script(source);
    StaticRuntime<> runtime{StaticModule(module)};
    for (int round = 0; round < 5; ++round) {
      const InputSet right = batch(at::tensor({1, 2, 0, 3, 0, 1}));
      CHECK(difference(interpret(module, right), runtime(InputSet(right), {}), close()) == "");
      InputSet wrong = right;
      wrong[1] = at::tensor({1, 2, 0, 3, 0, 2});  // more than there are
      compare(module, runtime, wrong);
      wrong[1] = at::tensor({1, 2, 0, 3, 0, 0});
      compare(module, runtime, wrong);
      wrong[1] = at::tensor({4, -1, 0, 3, 0, 1});  // a negative length in a sum that is right
      compare(module, runtime, wrong);
      wrong[1] = at::tensor({-1, 0, 0, 3, 4, 1});
      compare(module, runtime, wrong);
      wrong = right;
      wrong[4] = sample({8});  // more weights than values
      compare(module, runtime, wrong);
      wrong = right;
      wrong[0] = at::tensor({1, 2, 3, 4, 5, 6, 99});  // outside of the table
      compare(module, runtime, wrong);
    }
  }
}

TEST_CASE("parts that more than bags read stay parts", "[passes][jagged]") {
  for (const std::string& source :
       {two_features(kByItems, kMean, "    v = v + a.sum()\n"),
        two_features("    s, t = torch.unbind(sums)\n    n = [int(t), int(s)]\n", kMean),
        two_features(
            kByItems,
            "torch.embedding_bag(v, a, offsets[0], False, 0, False, samples[:a.size(0)], True)[0]")}) {
    INFO(source);
    CHECK_FALSE(reads_parts(source));
    check(source, {batch(at::tensor({1, 2, 0, 3, 0, 0})), batch(at::tensor({0, 2, 1, 1, 0, 2}))});
  }
}

TEST_CASE("assertions on lengths throw their own messages", "[passes][jagged]") {
  const std::string assertions =
      kByItems + "    assert n[0] >= 0, 'first'\n    assert n[0] + n[1] <= values.size(0), 'sum'\n";
  const std::string source = two_features(assertions, kMean);
  torch::jit::Module module = script(source);
  StaticRuntime<> runtime{StaticModule(module)};
  for (int round = 0; round < 4; ++round) {
    for (const at::Tensor& lengths :
         {at::tensor({1, 2, 0, 3, 0, 1}), at::tensor({1, 2, 0, 3, 0, 9}), at::tensor({-1, 0, 0, 1, 0, 1})}) {
      InputSet inputs = batch(at::tensor({1, 2, 0, 3, 0, 1}));
      inputs[1] = lengths;
      compare(module, runtime, inputs);
    }
  }
}

TEST_CASE("the oracle finds no difference in bags of parts", "[oracle][jagged]") {
  check_script(two_features(kByItems, kWeighted, kWeights), batches(), close(1e-5));
}

}  // namespace sr::test::jagged_tests
