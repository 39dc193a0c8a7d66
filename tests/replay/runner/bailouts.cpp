// Has a program for each reason why a call is not recorded. Checks the reason, and the results against the
// interpreter's.
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::bailout_tests {

namespace {

// Operators with functors of sr.
struct ViewAndNew {
  std::tuple<at::Tensor, at::Tensor> operator()(const at::Tensor& x) const { return {x.view(-1), x + 1}; }
};
const Native<"sr_test::view_and_new(Tensor(a) x) -> (Tensor(a), Tensor)", ViewAndNew> registered_view_and_new;

struct ViewAsOther {
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& y) const { return x.view(y.sizes()); }
};
const Native<"sr_test::view_as_other(Tensor(a) x, Tensor y) -> Tensor(a)", ViewAsOther>
    registered_view_as_other;

// Registers those operators with LibTorch, and others that sr has no functor for.
TORCH_LIBRARY_FRAGMENT(sr_test, library) {
  library.def("view_and_new(Tensor(a) x) -> (Tensor(a), Tensor)",
              [](const at::Tensor& x) { return ViewAndNew()(x); });
  library.def("add_one_(Tensor(a!) x) -> ()", [](at::Tensor x) { x.add_(1); });
  library.def("view_as_other(Tensor(a) x, Tensor y) -> Tensor(a)",
              [](const at::Tensor& x, const at::Tensor& y) { return ViewAsOther()(x, y); });
  library.def("unknown_view(Tensor(a) x, Tensor y) -> Tensor(a)",
              [](const at::Tensor& x, const at::Tensor& y) { return x.view(y.sizes()); });
  library.def("unknown(Tensor x) -> Tensor", [](const at::Tensor& x) { return x + 1; });
}

struct Program {
  std::string source;  // of forward, after "def forward"
  std::vector<c10::IValue> inputs;
  std::string reason;  // a part of it
  Attributes attributes = {};
};

}  // namespace

TEST_CASE("every reason why a call is not recorded is given, and the call is right", "[replay]") {
  at::manual_seed(7);
  const at::Tensor x = sample({3, 4}), square = sample({3, 3}), positive = at::rand({3, 4}) + 1;
  const at::Tensor complex = at::randn({3, 3}, at::kComplexFloat);
  c10::List<at::Tensor> tensors({x.clone(), positive});
  const c10::List<at::Tensor> none;
  c10::Dict<at::Tensor, std::int64_t> of_tensors;
  of_tensors.insert(positive, 1);
  c10::Dict<std::string, at::Tensor> by_name;
  by_name.insert("a", x.clone());
  const std::vector<Program> programs{
      {"(self, x):\n    y = x + 1\n    y.t_()\n    return y * 2\n",
       {x},
       "changes the shape of a tensor in place."},
      {"(self, x):\n    y = sr_test.unknown(x)\n    y.add_(1)\n    return y * 2\n",
       {x},
       "changes the result of an operator of which nothing is known."},
      {"(self, x):\n    y = x + 1\n    sr_test.add_one_(y)\n    return y * 2\n",
       {x},
       "changes a tensor in place."},
      {"(self, x):\n    return x + self.w.to_dense()\n",
       {square},
       "A weight of the model is sparse.",
       {{"w", square.to_sparse()}}},
      {"(self, x):\n    i = 0\n    while i < 21000:\n        x = x + 1\n        i += 1\n    return x\n",
       {sample({})},
       "is beyond the longest record a plan is made of."},
      {"(self, x):\n    return torch.nonzero(x.to_sparse().to_dense())\n",
       {square},
       "makes a sparse tensor."},
      {"(self, x):\n    y = x * 2\n    if bool(x.sum() > 1000):\n        y.t_()\n    return y\n",
       {x},
       "is a branch or loop that data decide about, and that changes a list, a dictionary or the sizes"},
      {"(self, x):\n    print('')\n    return x * 2\n", {x}, "has a side effect"},
      {"(self, x):\n    return torch.as_strided(x, [2, 2], [1, 1]) * 2\n",
       {sample({4, 4}).slice(0, 1)},
       "reads memory outside of its input tensor"},
      {"(self, x):\n    return x * x.storage_offset()\n",
       {sample({4, 4}).slice(0, 1)},
       "reads the storage offset, the version or the autograd state"},
      {"(self, x, y):\n    return x * 2 if x is y else x * 3\n",
       {x, positive},
       "compares the identity of two values"},
      {"(self, x, mean, var):\n    return torch.batch_norm(x, None, None, mean, var, True, 0.1, 1e-5, "
       "True)\n",
       {x, sample({4}), at::rand({4})},
       "trains: it writes its running statistics."},
      {"(self, x):\n    l = [x + 1, x]\n    l.remove(x)\n    return l[0] * 2\n",
       {sample({})},
       "compares the tensors of a list."},
      {"(self, x, l: List[Tensor], m: List[Tensor]):\n    l.append(x)\n    l.clear()\n    return x * 2\n",
       {x, none, none},
       "A list or dictionary is given twice, and the model changes it."},
      {"(self, x):\n    d = {1: 2}\n    d[int(x.sum().item())] = 3\n    return x * len(d)\n",
       {x},
       "changes a list or dictionary by a value that the input data decide."},
      {"(self, x, d: Dict[Tensor, int]):\n    return x * 2 if x in d else x * 3\n",
       {x, of_tensors},
       "looks up a tensor among the keys of a dictionary."},
      {"(self, x):\n    return torch.imag(torch.conj(torch.nonzero(x.real).to(9)))\n",
       {complex},
       "makes a lazily conjugated or negated tensor, or one that is not dense."},
      {"(self, x):\n    v, n = sr_test.view_and_new(x)\n    return v * 2, n * 2\n",
       {x},
       "returns both views of its inputs and new tensors."},
      {"(self, l: List[Tensor]):\n    return torch.view_as_complex(l[0]) * 2\n",
       {c10::List<at::Tensor>({sample({3, 2})})},
       "views a tensor that lies in a list or dictionary in a larger dtype"},
      {"(self, x, y):\n    return sr_test.view_as_other(x + 1, y) * 2\n",
       {x, sample({4, 3})},
       "makes a view whose shape another tensor decides."},
      {"(self, x, y):\n    return sr_test.unknown_view(x + 1, y) * 2\n",
       {x, sample({4, 3})},
       "returns a tensor that shares memory with one of its inputs."},
      {"(self, x, d: Dict[str, Tensor]):\n    if bool(x.sum() > 1000):\n        x = d['a'] + 1\n    return x "
       "* 2\n",
       {x, by_name},
       "is a branch or loop that data decide about, and that reads a list or dictionary."},
      {"(self, x):\n    r = torch.bernoulli(x * 0)\n    y = [x, x][int(x.sum() > 1000)]\n    return y * 2 + "
       "r\n",
       {x},
       "returns a tensor that may be one of its inputs, depending on the input data."},
      {"(self, x):\n    l = torch.split(x, int(x.abs().sum() > 0) + 1)\n    return l[0].bernoulli_(0.0) * "
       "2\n",
       {x},
       "returns a list or dictionary of tensors whose length the input data decide."},
      {"(self, x, i):\n    y = sr_test.call(x)\n    return torch.bernoulli(y * 0), torch.index_select(x, 0, "
       "i)\n",
       {x, at::tensor({0, 2})},
       "Random numbers are drawn from a generator of the model, or code is called of which nothing is known"},
      {"(self, x, y):\n    return x.bernoulli(0.0) + y\n", {x, x}, "Two arguments share memory"},
      {"(self, x):\n    x = x + self.w\n    return sr_test.unknown(x)\n",
       {x},
       "An argument shares memory with a weight of the model.",
       {{"w", x}}},
  };
  for (const Program& program : programs) {
    CAPTURE(program.source);
    torch::jit::Module reference = script("def forward" + program.source, program.attributes);
    StaticRuntime<> runtime{StaticModule(script("def forward" + program.source, program.attributes))};
    for (int call = 0; call < 4; ++call) {
      const c10::IValue expected = interpret(reference, copy_inputs(program.inputs));
      const bool shares = program.reason.find("share") != std::string::npos ||
                          program.reason.find("given twice") != std::string::npos;
      const c10::IValue found = runtime(shares ? program.inputs : copy_inputs(program.inputs), {});
      CHECK(difference(expected, found) == "");
    }
    const Report report = runtime.report();
    CAPTURE(report.bailouts);
    CHECK(says(report, program.reason));
    CHECK(report.replayed_calls == 0);
  }
}

TEST_CASE("calls under modes that no replay follows say so", "[replay]") {
  const at::Tensor x = sample({3, 4});
  const auto reasons = [&](const std::string& body) {
    StaticRuntime<> runtime{StaticModule(script("def forward(self, x):\n    return " + body + "\n"))};
    for (int call = 0; call < 3; ++call) runtime(x);
    CHECK(runtime.replayed_calls() == 0);
    return runtime.report();
  };
  at::autocast::set_autocast_enabled(at::kCPU, true);
  CHECK(says(reasons("x * 2"), "The call was made under torch.autocast"));
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::globalContext().setDeterministicAlgorithms(true, false);
  CHECK(says(reasons("torch.empty_like(x) * 2"), "fills new memory with NaN"));
  at::globalContext().setDeterministicAlgorithms(false, false);
}

TEST_CASE("a program that data end now and then goes on answering the calls that it fits", "[replay]") {
  const std::string source =
      "def forward(self, x):\n    if bool(x.sum() >= 0):\n        y = torch.nonzero(x)\n    else:\n        y "
      "= torch.nonzero(-x)\n    return y * 2\n";
  torch::jit::Module reference = script(source);
  StaticRuntime<> runtime{StaticModule(script(source))};
  std::uint64_t fitting = 0;
  for (int call = 0; call < 40; ++call) {
    at::Tensor x = at::ones({4});
    if (call % 3 == 2) x[1] = 0;
    fitting += call >= 2 && call % 3 != 2 ? 1 : 0;
    CHECK(difference(interpret(reference, {x}), runtime({x}, {})) == "");
  }
  CHECK(runtime.replayed_calls() == fitting);
  CHECK(runtime.report().recorded_plans == 1);
}

TEST_CASE("calls whose program data ended are recorded again after a while", "[replay]") {
  const std::string source =
      "def forward(self, x):\n    if bool(x.sum() >= 0):\n        y = torch.nonzero(x)\n    else:\n        y "
      "= torch.nonzero(-x)\n    return y * 2\n";
  torch::jit::Module reference = script(source);
  StaticRuntime<> runtime{StaticModule(script(source))};
  for (int call = 0; call < 60; ++call) {
    at::Tensor x = at::ones({4});
    if (call >= 4) x[1] = 0;
    CHECK(difference(interpret(reference, {x}), runtime({x}, {})) == "");
  }
  CHECK(runtime.report().recorded_plans == 2);
  CHECK(runtime.replayed_calls() > 20);
}

TEST_CASE("a program that data lead elsewhere again and again is given up with a reason", "[replay]") {
  const std::vector<std::pair<std::string, std::string>> programs{
      {"(self, x):\n    if bool(x.sum() >= 0):\n        y = torch.nonzero(x)\n    else:\n        y = "
       "torch.nonzero(-x)\n    return y * 2\n",
       "has another shape than when it was recorded"}};
  for (const auto& [source, reason] : programs) {
    CAPTURE(source);
    torch::jit::Module reference = script("def forward" + source);
    StaticRuntime<> runtime{StaticModule(script("def forward" + source))};
    for (int call = 0; call < 12; ++call) {
      const at::Tensor x = at::zeros({4});
      x.slice(0, 0, call < 4 ? 0 : call % 5).fill_(1);
      CHECK(difference(interpret(reference, {x}), runtime({x}, {})) == "");
    }
    const Report report = runtime.report();
    CAPTURE(report.bailouts, report.replayed_calls);
    CHECK(says(report, reason));
  }
}

}  // namespace sr::test::bailout_tests
