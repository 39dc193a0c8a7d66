// The selection of a functor for a node, and what the report says about the choice.
#include <atomic>
#include <sstream>

#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/library.h>
#include <torch/script.h>

#include <sr/registry/registry.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"

namespace sr::test::selection_tests {

namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A user's operators. Each counts the calls of its functors.
std::atomic<int> out_calls = 0;
std::atomic<int> native_calls = 0;
std::atomic<int> dispatcher_calls = 0;

at::Tensor twice(const at::Tensor& self) {
  ++dispatcher_calls;
  return self * 2;
}
at::Tensor choosy(const at::Tensor& self, std::int64_t) {
  return twice(self);
}
std::tuple<at::Tensor, at::Tensor> bounds(const at::Tensor& self, std::int64_t by) {
  return {self - by, self + by};
}

struct Twice {
  void operator()(const at::Tensor& self, at::Tensor& out) const {
    ++out_calls;
    at::mul_out(out, self, at::scalar_tensor(2, self.options()));
  }
};
struct ChoosyOut {
  static bool accepts(const torch::jit::Node& node) {
    return torch::jit::toIValue(node.input(1)) == c10::IValue(0);
  }
  void operator()(const at::Tensor& self, std::int64_t, at::Tensor& out) const { Twice{}(self, out); }
};
struct ChoosyNative {
  static constexpr OutTraits traits{.makes_new_tensor = true};
  static bool accepts(const torch::jit::Node& node) {
    return torch::jit::toIValue(node.input(1)) != c10::IValue(2);
  }
  at::Tensor operator()(const at::Tensor& self, std::int64_t) const {
    ++native_calls;
    return self * 2;
  }
};
struct Bounds {
  void operator()(const at::Tensor& self, std::int64_t by, at::Tensor& low, at::Tensor& high) const {
    at::sub_out(low, self, at::scalar_tensor(by, self.options()));
    at::add_out(high, self, at::scalar_tensor(by, self.options()));
  }
};

const OutVariant<"sr_test::twice(Tensor self) -> Tensor", Twice> registered_twice;
const OutVariant<"sr_test::choosy(Tensor self, int mode) -> Tensor", ChoosyOut> registered_choosy_out;
const Native<"sr_test::choosy(Tensor self, int mode) -> Tensor", ChoosyNative> registered_choosy_native;
const OutVariant<"sr_test::bounds(Tensor self, int by) -> (Tensor low, Tensor high)", Bounds>
    registered_bounds;

TORCH_LIBRARY_FRAGMENT(sr_test, library) {
  library.def("twice(Tensor self) -> Tensor", &twice);
  library.def("choosy(Tensor self, int mode) -> Tensor", &choosy);
  library.def("bounds(Tensor self, int by) -> (Tensor low, Tensor high)", &bounds);
  library.def("plain(Tensor self) -> Tensor", &twice);
}

// `sr_test.twice(x)`, which is torch.ops.sr_test.twice(x) in Python.
struct CustomOps : torch::jit::NativeResolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(const std::string& name,
                                                         torch::jit::GraphFunction& method,
                                                         const torch::jit::SourceRange& place) override {
    if (name == "sr_test") return std::make_shared<torch::jit::BuiltinModule>(name);
    return NativeResolver::resolveValue(name, method, place);
  }
};

torch::jit::Module scripted(const std::string& source) {
  torch::jit::Module module("M");
  module.define(source, std::make_shared<CustomOps>());
  module.eval();
  return module;
}

const NodeReport& node_of(const Report& report, const std::string& key, std::size_t which = 0) {
  for (const NodeReport& node : report.nodes) {
    if (node.key == key && which-- == 0) return node;
  }
  throw std::runtime_error("no node " + key);
}

std::string printed(const Report& report) {
  std::ostringstream text;
  text << report;
  return text.str();
}

}  // namespace

TEST_CASE("a ProcessedFunction is two words", "[registry]") {
  static_assert(sizeof(ProcessedFunction) == 2 * sizeof(void*));
  static_assert(std::is_trivially_copyable_v<ProcessedFunction>);
  const auto entry = registry().find("sr_test::twice", NodeKind::out_variant);
  REQUIRE(entry);
  CHECK(entry->function.run != nullptr);
  CHECK(entry->function == registry().find("sr_test::twice", NodeKind::out_variant)->function);
  CHECK_FALSE(entry->function == registry().find("sr_test::bounds", NodeKind::out_variant)->function);
}

TEST_CASE("the registry describes an op", "[registry]") {
  const auto out = registry().find("sr_test::choosy", NodeKind::out_variant);
  const auto native = registry().find("sr_test::choosy", NodeKind::native);
  REQUIRE((out && native));
  CHECK(out->schema == "sr_test::choosy(Tensor self, int mode) -> Tensor");
  CHECK(out->argument_count == 2);
  CHECK(out->accepts != nullptr);
  CHECK(out->traits.writes_in_place == -1);
  CHECK(native->traits.makes_new_tensor);
  CHECK(registry().find("aten::relu", NodeKind::out_variant)->traits.writes_in_place == 0);
  CHECK(registry().find("aten::relu", NodeKind::out_variant)->accepts == nullptr);
}

TEST_CASE("an op of the user runs through its functor and its output is managed", "[registry]") {
  const StaticModule module(scripted("def forward(self, x):\n    return torch.relu(sr_test.twice(x + 1))\n"),
                            {.debug = {.enable_replay = false}});
  StaticRuntime<> runtime(module);
  const at::Tensor x = at::linspace(-3, 3, 8);
  dispatcher_calls = out_calls = 0;
  for (int run = 0; run < 4; ++run) CHECK(at::equal(runtime(x).toTensor(), at::relu((x + 1) * 2)));
  CHECK(dispatcher_calls == 1);  // the first run made the output
  CHECK(out_calls == 3);
  const Report report = runtime.report();
  const NodeReport& node = node_of(report, "sr_test::twice");
  CHECK(node.path == NodeKind::out_variant);
  CHECK(node.functor == "sr::test::selection_tests::(anonymous namespace)::Twice");
  CHECK(holds(node.why, node.functor));
  REQUIRE(node.outputs.size() == 1);
  CHECK(node.outputs[0].managed);
  CHECK(node.outputs[0].bytes >= 8 * sizeof(float));
  CHECK(node.outputs[0].first == node.index);
  CHECK(holds(printed(report), "%" + node.outputs[0].name + ": managed"));
}

TEST_CASE("a replay calls the functor of a user's op", "[registry][replay]") {
  const StaticModule module(scripted("def forward(self, x):\n    return torch.relu(sr_test.twice(x + 1))\n"));
  StaticRuntime<> runtime(module);
  const at::Tensor x = at::linspace(-3, 3, 8);
  dispatcher_calls = out_calls = 0;
  for (int run = 0; run < 5; ++run) CHECK(at::equal(runtime(x).toTensor(), at::relu((x + 1) * 2)));
  CHECK(dispatcher_calls == 2);  // the first run and the recorded one
  CHECK(out_calls == 3);
  CHECK(runtime.replayed_calls() == 3);
}

TEST_CASE("an out variant of two outputs", "[registry]") {
  const StaticModule module(
      scripted("def forward(self, x, n: int):\n    low, high = sr_test.bounds(x, n)\n    return low "
               "* high\n"));
  StaticRuntime<> runtime(module);
  for (const int size : {3, 3, 5, 2}) {
    const at::Tensor x = at::arange(size).to(at::kFloat);
    CHECK(at::equal(runtime(x, 2).toTensor(), (x - 2) * (x + 2)));
  }
  const Report report = runtime.report();
  const NodeReport& node = node_of(report, "sr_test::bounds");
  REQUIRE(node.outputs.size() == 2);
  CHECK(node.outputs[0].managed);
  CHECK(node.outputs[1].managed);
  CHECK(node.outputs[0].offset != node.outputs[1].offset);
}

TEST_CASE("a node that a functor declines goes to the native functor, then to the interpreter",
          "[registry]") {
  const StaticModule module(scripted("def forward(self, x):\n    a = sr_test.choosy(x, 0)\n    b = "
                                     "sr_test.choosy(a, 1)\n"
                                     "    return sr_test.choosy(b, 2) + 1\n"),
                            {.debug = {.enable_replay = false}});
  StaticRuntime<> runtime(module);
  const at::Tensor x = at::ones({3});
  dispatcher_calls = out_calls = native_calls = 0;
  for (int run = 0; run < 3; ++run) CHECK(at::equal(runtime(x).toTensor(), x * 8 + 1));
  CHECK(out_calls == 2);
  CHECK(native_calls == 3);
  CHECK(dispatcher_calls == 4);  // three fallbacks, and the first run of the out variant
  const Report report = runtime.report();
  const std::string key = "sr_test::choosy";
  CHECK(node_of(report, key, 0).path == NodeKind::out_variant);
  CHECK(holds(node_of(report, key, 0).functor, "ChoosyOut"));
  CHECK(node_of(report, key, 1).path == NodeKind::native);
  CHECK(holds(node_of(report, key, 1).functor, "ChoosyNative"));
  CHECK(node_of(report, key, 2).path == NodeKind::fallback);
  CHECK(node_of(report, key, 2).functor == "interpreter");
}

TEST_CASE("without out variants no tensor is managed", "[registry]") {
  StaticModuleOptions options;
  options.debug.enable_out_variant = false;
  const StaticModule module(
      scripted("def forward(self, x):\n    return torch.relu(sr_test.twice(x + 1).cumsum(0)) * 2\n"),
      options);
  StaticRuntime<> runtime(module);
  const at::Tensor x = at::linspace(-3, 3, 8);
  for (int run = 0; run < 3; ++run) {
    CHECK(at::equal(runtime(x).toTensor(), at::relu(((x + 1) * 2).cumsum(0)) * 2));
  }
  const Report report = runtime.report();
  CHECK(report.out_variants == 0);
  CHECK(report.fallbacks == report.nodes.size());
  CHECK(report.arena_bytes == 0);
  for (const NodeReport& node : report.nodes) {
    CHECK_FALSE(node.outputs.at(0).managed);
    CHECK(node.why == "out variants are switched off.");
  }
}

TEST_CASE("the report says why each node takes its path", "[registry]") {
  const StaticModule module(
      scripted("def forward(self, x):\n    a = sr_test.plain(x)\n    b = (a + 1).t()\n    return "
               "b.cumsum(0)\n"));
  StaticRuntime<> runtime(module);
  runtime(at::ones({2, 3}));
  const Report report = runtime.report();
  CHECK(report.out_variants == 2);
  CHECK(report.natives == 1);
  CHECK(report.fallbacks == 1);
  CHECK(holds(node_of(report, "sr_test::plain").why, "no functor is registered for sr_test::plain"));
  CHECK(node_of(report, "aten::cumsum").functor == "generic out variant");
  CHECK(holds(node_of(report, "aten::t").why, "returns a view"));
  CHECK(holds(node_of(report, "aten::cumsum").outputs.at(0).why_not, "returned to the caller"));
  const std::string text = printed(report);
  INFO(text);
  CHECK(holds(text, "4 nodes: 2 out variants, 1 native, 1 fallback"));
  CHECK(holds(text, "no functor is registered for sr_test::plain"));
  CHECK(holds(text, "not managed, returned to the caller"));
  CHECK(holds(text, "arena of the general path (linear_scan)"));
}

TEST_CASE("strict rejects a model that needs the interpreter and names the node", "[registry]") {
  StaticModuleOptions strict;
  strict.strict = true;
  CHECK_NOTHROW(StaticModule(scripted("def forward(self, x):\n    return x + 1\n"), strict));
  const torch::jit::Module module =
      scripted("def forward(self, x):\n    y = x + 1\n    return sr_test.plain(y)\n");
  std::string message;
  try {
    const StaticModule refused(module, strict);
  } catch (const c10::Error& error) {
    message = error.what_without_backtrace();
  }
  INFO(message);
  CHECK(holds(message, "strict"));
  CHECK(holds(message, "sr_test::plain"));
  CHECK(holds(message, ":3)"));
  CHECK_THROWS_AS(StaticModule(module, strict), UnsupportedOpError);
}

}  // namespace sr::test::selection_tests
