// A call depends on modes of its thread and of the process: a plan recorded under one mode is not used under
// another, and the general path obeys the modes.
#include <vector>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/script.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"

namespace sr::test::process_state_tests {
namespace {

// Like `with torch.autocast('cpu', dtype):`.
class Autocast {
 public:
  explicit Autocast(at::ScalarType dtype = at::kBFloat16)
      : was_on_(at::autocast::is_autocast_enabled(at::kCPU)),
        dtype_before_(at::autocast::get_autocast_dtype(at::kCPU)) {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, dtype);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_dtype(at::kCPU, dtype_before_);
    at::autocast::set_autocast_enabled(at::kCPU, was_on_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool was_on_;
  at::ScalarType dtype_before_;
};

class DefaultDtype {
 public:
  explicit DefaultDtype(at::ScalarType dtype) : before_(at::get_default_dtype()) {
    at::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
  }
  ~DefaultDtype() { at::set_default_dtype(before_); }
  DefaultDtype(const DefaultDtype&) = delete;
  DefaultDtype& operator=(const DefaultDtype&) = delete;

 private:
  caffe2::TypeMeta before_;
};

// New memory is filled with NaN.
class Deterministic {
 public:
  Deterministic() { at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true); }
  ~Deterministic() { at::globalContext().setDeterministicAlgorithms(false, false); }
  Deterministic(const Deterministic&) = delete;
  Deterministic& operator=(const Deterministic&) = delete;
};

class FlushDenormal {
 public:
  FlushDenormal() { at::globalContext().setFlushDenormal(true); }
  ~FlushDenormal() { at::globalContext().setFlushDenormal(false); }
  FlushDenormal(const FlushDenormal&) = delete;
  FlushDenormal& operator=(const FlushDenormal&) = delete;
};

// Makes calls under the modes in `modes`, with and without replay, and compares each with the interpreter
// under the same mode.
template <class Mode>
void check_under(const torch::jit::Module& model, const InputSet& inputs, const OracleOptions& options = {},
                 const std::vector<bool>& modes = {false, false, false, true, true, true, false, true,
                                                   false}) {
  for (const bool replay : {true, false}) {
    StaticModuleOptions how;
    how.debug.enable_replay = replay;
    const StaticModule module(model, how);
    StaticRuntime<> runtime{module};
    torch::jit::Module reference = model.deepcopy();
    for (std::size_t call = 0; call < modes.size(); ++call) {
      CAPTURE(replay, call, modes[call]);
      const auto one = [&] {
        const c10::IValue expected = interpret(reference, copy_inputs(inputs));
        CHECK(difference(expected, runtime(copy_inputs(inputs), {}), options) == "");
      };
      if (modes[call]) {
        const Mode mode;
        one();
      } else {
        one();
      }
    }
  }
}

const char* const kTwoLinears =
    "def forward(self, x):\n"
    "    h = torch.relu(torch.linear(x, self.w, self.b))\n"
    "    return torch.linear(h, self.v), h * 2.0 + x.sum()\n";

Attributes weights_of_two_linears() {
  return {{"w", at::randn({16, 8})}, {"b", at::randn({16})}, {"v", at::randn({4, 16})}};
}

}  // namespace

TEST_CASE("a call under autocast has the dtypes and values of the interpreter's", "[process_state]") {
  const torch::jit::Module model = script(kTwoLinears, weights_of_two_linears());
  OracleOptions options = close(1e-2);
  options.rtol = 1e-2;
  check_under<Autocast>(model, {at::randn({3, 8})}, options);
  check_under<Autocast>(model, {at::randn({3, 8})}, options,
                        {true, true, true, true, false, false, false, true});
}

TEST_CASE("autocast reaches branches, loops and every iteration of them", "[process_state]") {
  const torch::jit::Module model = script(
      "def forward(self, x, n: int):\n"
      "    y = x\n"
      "    for i in range(n):\n"
      "        y = torch.matmul(y, self.w)\n"
      "        if bool(y.sum() > -1e9):\n"
      "            y = y.float() + 1.0\n"
      "    return y, torch.matmul(y, self.w)\n",
      {{"w", at::eye(4)}});
  OracleOptions options = close(1e-1);
  options.rtol = 2e-2;
  check_under<Autocast>(model, {at::randn({3, 4}), 3}, options);
}

TEST_CASE("calls under autocast are not replayed, and the report says so", "[process_state]") {
  const StaticModule module(script(kTwoLinears, weights_of_two_linears()));
  StaticRuntime<> runtime{module};
  const at::Tensor x = at::randn({3, 8});
  {
    const Autocast autocast;
    for (int call = 0; call < 4; ++call) runtime(x);
  }
  CHECK(runtime.replayed_calls() == 0);
  CHECK(says(runtime.report(), "autocast"));
  for (int call = 0; call < 4; ++call) runtime(x);
  CHECK(runtime.replayed_calls() != 0);
}

TEST_CASE("a plan of one mode of inference is not used in the other", "[process_state]") {
  const char* const programs[] = {
      "def forward(self, x):\n    return (x > 0).sum()\n",
      "def forward(self, x):\n    return x.double().sum(0)\n",
      "def forward(self, x):\n    return torch.relu(x + 1.0) * 2.0, x.sum(0)\n",
      "def forward(self, x):\n    y = x.clone()\n    y.add_(1.0)\n    return y, x.cumsum(0)\n",
  };
  for (const char* program : programs) {
    CAPTURE(program);
    const torch::jit::Module model = script(program);
    check_under<c10::InferenceMode>(model, {at::randn({300, 300})}, close(1e-2));
    check_under<c10::InferenceMode>(model, {at::randn({300, 300})}, close(1e-2),
                                    {true, true, true, true, false, false, false, false, true, true});
  }
}

TEST_CASE("results of a call in inference mode are inference tensors, others are not", "[process_state]") {
  const StaticModule module(script("def forward(self, x):\n    return torch.relu(x + 1.0), x.sum(0)\n"));
  StaticRuntime<> runtime{module};
  const at::Tensor x = at::randn({3, 4});
  for (int round = 0; round < 3; ++round) {
    for (int call = 0; call < 4; ++call) {
      const c10::InferenceMode mode(round % 2 == 0);
      const c10::IValue result = runtime(x);
      for (const c10::IValue& one : result.toTupleRef().elements()) {
        CAPTURE(round, call);
        CHECK(one.toTensor().is_inference() == (round % 2 == 0));
      }
    }
  }
}

// Values folded when a module is loaded keep the default dtype of that time; none of these are folded.
TEST_CASE("results follow the default dtype of the call, not of the recording", "[process_state]") {
  struct Double : DefaultDtype {
    Double() : DefaultDtype(at::kDouble) {}
  };
  const char* const programs[] = {
      "def forward(self, x):\n    return x / 2\n",
      "def forward(self, x):\n    return torch.zeros([x.size(0), 3]) + x.sum()\n",
      "def forward(self, x):\n    return torch.sqrt(x), x * 1.5\n",
      "def forward(self, x):\n    return x.float() + torch.arange(0, x.size(0), 0.25).sum()\n",
      "def forward(self, x):\n    return torch.tensor(float(x.size(0))) * x\n",
      "def forward(self, x):\n    return torch.result_type(x, 1.5)\n",
      "def forward(self, x):\n"
      "    y = x\n"
      "    if bool(x.sum() > 0):\n"
      "        y = x / 2\n"
      "    return y\n",
  };
  for (const char* program : programs) {
    CAPTURE(program);
    check_under<Double>(script(program), {at::arange(1, 7).reshape({2, 3})}, close());
  }
}

TEST_CASE("deterministic algorithms fill new memory, in replays as well", "[process_state]") {
  const torch::jit::Module model =
      script("def forward(self, x):\n    return torch.empty([x.size(0)]) * x, torch.empty_like(x) * 1.0\n");
  StaticModule module(model);
  StaticRuntime<> runtime{module};
  const at::Tensor x = at::ones({3});
  for (int round = 0; round < 2; ++round) {
    for (int call = 0; call < 4; ++call) runtime(x);
    const Deterministic deterministic;
    for (int call = 0; call < 4; ++call) {
      CAPTURE(round, call);
      const c10::IValue result = runtime(x);
      for (const c10::IValue& one : result.toTupleRef().elements())
        CHECK(one.toTensor().isnan().all().item<bool>());
    }
  }
}

TEST_CASE("values computed from weights alone follow the denormal mode", "[process_state]") {
  const torch::jit::Module model = script(
      "def forward(self, x):\n"
      "    tiny = torch.full([3], 1e-30, dtype=x.dtype) * torch.full([3], 1e-10, dtype=x.dtype)\n"
      "    return x + tiny * 1e38\n");
  check_under<FlushDenormal>(model, {at::zeros({3})});
}

}  // namespace sr::test::process_state_tests
