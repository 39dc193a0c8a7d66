// What a signature describes, and arguments that share memory.
#include <cstddef>
#include <string>
#include <vector>

#include <sr/replay/trace/signature_text.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::signature_tests {

TEST_CASE("a signature describes dtypes, sizes, strides, numbers and structure", "[replay]") {
  const at::Tensor x = sample({4, 4});
  const auto same = [](const std::vector<c10::IValue>& a, const std::vector<c10::IValue>& b) {
    replay::SignatureWords words;
    REQUIRE(replay::describe_call(a, words));
    std::byte* leaves[8] = {};
    return replay::matches(b, words, replay::Environment::now(), leaves);
  };
  CHECK(same({x}, {sample({4, 4})}));
  CHECK_FALSE(same({x}, {sample({4, 5})}));
  CHECK_FALSE(same({x}, {sample({4, 4, 1})}));
  CHECK_FALSE(same({x}, {x.t()}));
  CHECK_FALSE(same({x}, {x.to(at::kDouble)}));
  CHECK_FALSE(same({x}, {x, x}));
  CHECK_FALSE(same({x}, {c10::IValue()}));
  CHECK_FALSE(same({c10::IValue()}, {x}));
  CHECK_FALSE(same({1}, {x}));
  CHECK_FALSE(same({x}, {at::Tensor()}));
  const at::Tensor scalar = sample({}), empty = sample({0, 4});
  CHECK(same({scalar, empty}, {sample({}), at::empty({0, 4})}));
  CHECK_FALSE(same({scalar}, {sample({1})}));
  CHECK_FALSE(same({scalar}, {c10::scalar_to_tensor(1.0)}));
  const at::Tensor freed = sample({4, 4});
  freed.storage().unsafeGetStorageImpl()->set_data_ptr(at::DataPtr());
  CHECK_FALSE(same({x}, {freed}));
  CHECK_FALSE(same({x, 1}, {x, 2}));
  CHECK_FALSE(same({x, 1}, {x, 1.0}));
  CHECK_FALSE(same({x, 1}, {x, true}));
  CHECK(same({x, 0.5, true, std::string("a name longer than eight"), c10::IValue()},
             {x, 0.5, true, std::string("a name longer than eight"), c10::IValue()}));
  CHECK_FALSE(same({std::string("a name longer than eight")}, {std::string("a name longer than eighT")}));
  CHECK(same({std::vector<at::Tensor>{x, x}}, {std::vector<at::Tensor>{x, x}}));
  CHECK_FALSE(same({std::vector<at::Tensor>{x, x}}, {std::vector<at::Tensor>{x}}));
  CHECK(same({std::vector<std::int64_t>{1, 2}}, {std::vector<std::int64_t>{1, 2}}));
  CHECK_FALSE(same({std::vector<std::int64_t>{1, 2}}, {std::vector<std::int64_t>{1, 3}}));
  replay::SignatureWords words;
  CHECK_FALSE(replay::describe_call(std::vector<c10::IValue>{x.to_sparse()}, words));
  CHECK_FALSE(replay::describe_call(std::vector<c10::IValue>{at::conj(x.to(at::kComplexFloat))}, words));
  CHECK_FALSE(replay::describe_call(std::vector<c10::IValue>{at::Tensor()}, words));
  CHECK_FALSE(replay::describe_call(std::vector<c10::IValue>{freed}, words));
  const std::vector<c10::IValue> text{sample({2, 3}), sample({}), 7};
  words.clear();
  REQUIRE(replay::describe_call(text, words));
  CHECK(replay::text_of(words) == "Float[2, 3], Float[], 7");
}

TEST_CASE("arguments that share memory are recorded and replayed", "[replay]") {
  const char* const source =
      "def forward(self, x, y, z):\n    a = x * y\n    return x, y.t(), z, a, torch.relu(z - a)\n";
  torch::jit::Module reference = script(source);
  StaticRuntime<> runtime{StaticModule(script(source))};
  const at::Tensor batch = sample({3, 4, 4}), part = sample({4, 4});
  const std::vector<InputSet> calls{{batch[0], batch[1], batch[2]},
                                    {part, part, part.t()},
                                    {batch[0], batch[0], sample({4, 4})},
                                    {sample({4, 4}), sample({4, 4}), sample({4, 4})}};
  for (int run = 0; run < 3; ++run) {
    for (const InputSet& call : calls) {
      const c10::IValue result = runtime(call, {});
      const auto expected = interpret(reference, call).toTuple()->elements();
      const auto& found = result.toTupleRef().elements();
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(at::equal(found[i].toTensor(), expected[i].toTensor()));
      CHECK(found[0].toTensor().is_same(call[0].toTensor()));
      CHECK(found[1].toTensor().is_alias_of(call[1].toTensor()));
      CHECK(found[2].toTensor().is_same(call[2].toTensor()));
    }
  }
  CHECK(runtime.report().bailouts.empty());
  CHECK(runtime.replayed_calls() >= 9);
}

TEST_CASE("arguments that share memory in one call do not rule out their signature", "[replay]") {
  // Not recorded on copies: random numbers are drawn.
  const char* const source = "def forward(self, x, y):\n    return torch.bernoulli(x * 0) + x + y\n";
  StaticRuntime<> runtime{StaticModule(script(source))};
  const at::Tensor x = sample({4, 3}), y = sample({4, 3});
  runtime.reserve({x, x});
  CHECK(plans(runtime) == 0);
  CHECK(says(runtime.report(), "share memory"));
  for (int run = 0; run < 4; ++run) CHECK(at::equal(runtime(x, y).toTensor(), x + y));
  CHECK(runtime.replayed_calls() == 2);
  CHECK(at::equal(runtime(x, x).toTensor(), x + x));
  CHECK(runtime.replayed_calls() == 3);
}

TEST_CASE("a model that asks whether its arguments are one tensor is answered for those", "[replay]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x, y):\n    return x + (1 if x is y else 2)\n"))};
  const at::Tensor x = sample({4, 3}), y = sample({4, 3});
  for (int run = 0; run < 3; ++run) {
    CHECK(at::equal(runtime(x, x).toTensor(), x + 1));
    CHECK(at::equal(runtime(x, y).toTensor(), x + 2));
  }
}

TEST_CASE("a change of the default dtype is another signature", "[replay][traps]") {
  StaticRuntime<> runtime{
      StaticModule(script("def forward(self, x):\n    return x / 2, torch.zeros([x.size(0)])\n"))};
  const at::Tensor x = at::tensor({1, 2, 3});
  for (int run = 0; run < 3; ++run)
    CHECK(runtime(x).toTupleRef().elements()[1].toTensor().scalar_type() == at::kFloat);
  at::set_default_dtype(caffe2::TypeMeta::Make<double>());
  const auto wide = runtime(x).toTuple();
  at::set_default_dtype(caffe2::TypeMeta::Make<float>());
  CHECK(wide->elements()[0].toTensor().scalar_type() == at::kDouble);
  CHECK(wide->elements()[1].toTensor().scalar_type() == at::kDouble);
  CHECK(runtime(x).toTupleRef().elements()[0].toTensor().scalar_type() == at::kFloat);
}

}  // namespace sr::test::signature_tests
