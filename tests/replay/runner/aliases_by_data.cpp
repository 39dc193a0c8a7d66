// Tests that what shares memory with what is as the interpreter has it, where data decide about it.
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::aliases_by_data_tests {
namespace {

// For each pair of tensors among the inputs and the results: whether they share memory.
std::vector<bool> shared_memory(const InputSet& inputs, const c10::IValue& result) {
  std::vector<at::Tensor> all;
  for (const c10::IValue& input : inputs) all.push_back(input.toTensor());
  if (result.isTensor()) {
    all.push_back(result.toTensor());
  } else {
    for (const c10::IValue& element : result.toTupleRef().elements()) all.push_back(element.toTensor());
  }
  std::vector<bool> shares;
  for (const at::Tensor& a : all) {
    for (const at::Tensor& b : all) shares.push_back(a.is_alias_of(b));
  }
  return shares;
}

const std::vector<std::string> kSources{
    // Fuzzed: the second branch returns what the first one has returned, which is an argument.
    "def forward(self, x, y):\n    v = torch.sort(torch.where(y > 0, y, y).reshape([-1]), 0)[0]\n"
    "    if bool((x > 0.5).any()):\n        a = y\n    else:\n        a = torch.relu(v)\n"
    "    if bool((v > 0.5).any()):\n        b = a\n    else:\n        b = torch.relu(a)\n    return b\n",
    "def forward(self, x, y):\n    a = y\n    if bool((x > 0.5).any()):\n        a = torch.relu(y[:2])\n"
    "    b = a\n    if bool((y > 0.5).any()):\n        b = torch.relu(a)\n    return a, b\n",
    "def forward(self, x, y):\n    a = torch.relu(y)\n    if bool((x > 0.5).any()):\n        a = "
    "torch.relu(y[:2])\n"
    "    b = a[:2]\n    if bool((y > 0.5).any()):\n        b = a * 2\n    return a, b, b + 1\n",
    "def forward(self, x, y):\n    parts = [y * 2]\n    if bool((x > 0.5).any()):\n        parts = [y * 3, "
    "y[:1] + 1]\n"
    "    a = parts[0]\n    b = parts[-1]\n    return a, b\n",
};

}  // namespace

TEST_CASE("results share memory as in the interpreter, whatever branches return", "[replay][blocks]") {
  for (const std::string& source : kSources) {
    CAPTURE(source);
    torch::jit::Module reference = script(source);
    StaticRuntime<> runtime{StaticModule(script(source))};
    for (int call = 0; call < 48; ++call) {
      const at::Tensor x = at::full({3}, call % 3 == 0 ? 1.0 : 0.0),
                       y = sample({5}) * 0.2 + (call % 4 < 2 ? 1 : -1);
      CAPTURE(call);
      const InputSet expected_inputs = copy_inputs({x, y}), inputs = copy_inputs({x, y});
      const c10::IValue expected = interpret(reference, expected_inputs);
      const c10::IValue result = runtime(InputSet(inputs), {});
      CHECK(difference(expected, result, close()) == "");
      CHECK(shared_memory(expected_inputs, expected) == shared_memory(inputs, result));
    }
  }
}

}  // namespace sr::test::aliases_by_data_tests
