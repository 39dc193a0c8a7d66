// From a functor to a node that runs it: the registry, unpacking of arguments, the choice between paths, what
// the report and the observers say about it.
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <sstream>

#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/library.h>
#include <torch/script.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"

namespace sr::test {

namespace {

struct First {
  void operator()(const at::Tensor& self, at::Tensor& out) const { at::add_out(out, self, self); }
};
struct Second {
  void operator()(const at::Tensor& self, at::Tensor& out) const {
    at::mul_out(out, self, at::scalar_tensor(2));
  }
};

template <class Functor>
OpEntry entry_of(const std::string& key, NodeKind kind = NodeKind::out_variant) {
  OpEntry entry;
  entry.key = key;
  entry.kind = kind;
  entry.functor = c10::demangle_type<Functor>();
  return entry;
}

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return {};
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Operators of a user. Each counts the calls of its functors.
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

// `sr_test.twice(x)`: what is torch.ops.sr_test.twice(x) in Python.
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

template <class T>
auto unpacked(const c10::IValue& value) {
  return Argument<T>(value).get();
}

// An argument that is None where None is not taken, and one of another type.
template <class T>
bool refuses(const c10::IValue& value) {
  try {
    Argument<T> argument(value);
  } catch (const c10::Error&) {
    return true;
  }
  return false;
}

struct Counter {
  void begin(Phase) {}
  void end(Phase) {}
  void before(std::uint32_t block, std::size_t index, const ProcessedNode&) { ++entered[{block, index}]; }
  void after(std::uint32_t block, std::size_t index, const ProcessedNode&) { ++left[{block, index}]; }
  std::map<std::pair<std::uint32_t, std::size_t>, int> entered, left;
};

}  // namespace

TEST_CASE("what a node calls is two words", "[registry]") {
  static_assert(sizeof(ProcessedFunction) == 2 * sizeof(void*));
  static_assert(std::is_trivially_copyable_v<ProcessedFunction>);
  const auto entry = registry().find("sr_test::twice", NodeKind::out_variant);
  REQUIRE(entry);
  CHECK(entry->function.run != nullptr);
  CHECK(entry->function == registry().find("sr_test::twice", NodeKind::out_variant)->function);
  CHECK_FALSE(entry->function == registry().find("sr_test::bounds", NodeKind::out_variant)->function);
}

TEST_CASE("an op is found by key and kind", "[registry]") {
  Registry table;
  CHECK(table.empty());
  CHECK_FALSE(table.find("aten::relu", NodeKind::out_variant));
  table.add(entry_of<First>("aten::relu"));
  CHECK_FALSE(table.empty());
  REQUIRE(table.find("aten::relu", NodeKind::out_variant));
  CHECK(holds(table.find("aten::relu", NodeKind::out_variant)->functor, "First"));
  CHECK_FALSE(table.find("aten::relu", NodeKind::native));
  CHECK_FALSE(table.find("aten::relu.out", NodeKind::out_variant));
  table.add(entry_of<Second>("aten::relu", NodeKind::native));  // another kind: no conflict
  CHECK(holds(table.find("aten::relu", NodeKind::native)->functor, "Second"));
}

TEST_CASE("the same functor twice is one entry, another one is refused by name", "[registry]") {
  Registry table;
  table.add(entry_of<First>("aten::relu"));
  CHECK_NOTHROW(table.add(entry_of<First>("aten::relu")));
  CHECK(table.entries().size() == 1);
  const std::string message = message_of([&] { table.add(entry_of<Second>("aten::relu")); });
  INFO(message);
  CHECK(holds(message, "aten::relu"));
  CHECK(holds(message, "sr::test::(anonymous namespace)::First"));
  CHECK(holds(message, "sr::test::(anonymous namespace)::Second"));
  CHECK_THROWS_AS(table.add(entry_of<Second>("aten::relu")), RegistryError);
  CHECK(holds(table.find("aten::relu", NodeKind::out_variant)->functor, "First"));  // the first stays
}

TEST_CASE("entries are sorted by key, out variants first", "[registry]") {
  Registry table;
  for (const char* key : {"b::z", "a::b.c", "a::b", "c::a"}) table.add(entry_of<First>(key));
  table.add(entry_of<Second>("a::b", NodeKind::native));
  std::vector<std::string> keys;
  for (const OpEntry& entry : table.entries()) keys.push_back(entry.key + " " + name_of(entry.kind));
  CHECK(keys == std::vector<std::string>{"a::b out", "a::b native", "a::b.c out", "b::z out", "c::a out"});
}

TEST_CASE("what a registered op says about itself", "[registry]") {
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

TEST_CASE("arguments are unpacked as what the functor asks for", "[registry]") {
  const at::Tensor tensor = at::ones({2});
  const at::Tensor other = at::zeros({3});
  const c10::IValue boxed = tensor;
  CHECK(&Argument<at::Tensor>(boxed).get() == &boxed.toTensor());
  CHECK(unpacked<const at::Tensor*>(boxed) == &boxed.toTensor());
  CHECK(unpacked<std::optional<at::Tensor>>(boxed)->is_same(tensor));
  CHECK(&Argument<c10::IValue>(boxed).get() == &boxed);

  const c10::IValue list = c10::List<at::Tensor>({tensor, other});
  const Argument<at::TensorList> span(list);
  REQUIRE(span.get().size() == 2);
  CHECK(span.get()[1].is_same(other));
  const Argument<at::ITensorListRef> reference(list);
  REQUIRE(reference.get().size() == 2);
  CHECK(reference.get().front().is_same(tensor));

  CHECK(unpacked<std::int64_t>(-7) == -7);
  CHECK(unpacked<std::optional<std::int64_t>>(7) == 7);
  CHECK(unpacked<double>(0.5) == 0.5);
  CHECK(unpacked<std::optional<double>>(0.5) == 0.5);
  CHECK(unpacked<bool>(true));
  CHECK(unpacked<std::optional<bool>>(false) == false);
  CHECK(unpacked<at::Scalar>(3).isIntegral(false));
  CHECK(unpacked<at::Scalar>(0.25).toDouble() == 0.25);
  CHECK(unpacked<at::Scalar>(true).isBoolean());
  CHECK(unpacked<std::optional<at::Scalar>>(0.25)->toDouble() == 0.25);
  CHECK(unpacked<at::ScalarType>(static_cast<std::int64_t>(at::kLong)) == at::kLong);
  CHECK(unpacked<std::optional<at::ScalarType>>(static_cast<std::int64_t>(at::kBool)) == at::kBool);

  const c10::IValue text = std::string("tanh");
  CHECK(unpacked<std::string_view>(text) == "tanh");
  CHECK(unpacked<std::optional<std::string_view>>(text) == "tanh");
  const c10::IValue numbers = c10::List<std::int64_t>({1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(Argument<at::IntArrayRef>(numbers).get() == at::IntArrayRef({1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(*Argument<at::OptionalIntArrayRef>(numbers).get() == at::IntArrayRef({1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(Argument<at::IntArrayRef>(c10::List<std::int64_t>()).get().empty());
  const Argument<at::OptionalIntArrayRef> empty(c10::List<std::int64_t>{});
  CHECK((empty.get().has_value() && empty.get()->empty()));  // an empty list is not None
}

TEST_CASE("None is nothing where the schema has a question mark", "[registry]") {
  const c10::IValue none;
  CHECK(unpacked<const at::Tensor*>(none) == nullptr);
  CHECK_FALSE(unpacked<std::optional<at::Tensor>>(none));
  CHECK_FALSE(unpacked<std::optional<std::int64_t>>(none));
  CHECK_FALSE(Argument<at::OptionalIntArrayRef>(none).get().has_value());
  CHECK_FALSE(unpacked<std::optional<double>>(none));
  CHECK_FALSE(unpacked<std::optional<bool>>(none));
  CHECK_FALSE(unpacked<std::optional<at::Scalar>>(none));
  CHECK_FALSE(unpacked<std::optional<std::string_view>>(none));
  CHECK_FALSE(unpacked<std::optional<at::ScalarType>>(none));
  CHECK(Argument<c10::IValue>(none).get().isNone());
}

TEST_CASE("a value of another type is refused, not read as what it is not", "[registry]") {
  const c10::IValue none;
  const c10::IValue text = std::string("x");
  const c10::IValue number = 1;
  CHECK(refuses<at::Tensor>(none));
  CHECK(refuses<at::Tensor>(number));
  CHECK(refuses<const at::Tensor*>(number));
  CHECK(refuses<std::optional<at::Tensor>>(number));
  CHECK(refuses<at::TensorList>(number));
  CHECK(refuses<at::ITensorListRef>(number));
  CHECK(refuses<std::int64_t>(none));
  CHECK(refuses<std::int64_t>(text));
  CHECK(refuses<std::int64_t>(1.5));
  CHECK(refuses<std::optional<std::int64_t>>(text));
  CHECK(refuses<at::IntArrayRef>(number));
  CHECK(refuses<at::IntArrayRef>(none));
  CHECK(refuses<at::OptionalIntArrayRef>(number));
  CHECK(refuses<double>(text));
  CHECK(refuses<std::optional<double>>(text));
  CHECK(refuses<bool>(number));
  CHECK(refuses<std::optional<bool>>(number));
  CHECK(refuses<std::string_view>(number));
  CHECK(refuses<std::optional<std::string_view>>(number));
  CHECK(refuses<at::ScalarType>(text));
  CHECK(refuses<std::optional<at::ScalarType>>(text));
  CHECK(refuses<at::Scalar>(text));
  CHECK(refuses<at::Scalar>(none));
  CHECK(refuses<std::optional<at::Scalar>>(text));
}

TEST_CASE("the schema parser agrees with LibTorch's on every operator of LibTorch", "[registry]") {
  std::size_t compared = 0;
  for (const std::shared_ptr<torch::jit::Operator>& op : torch::jit::getAllOperators()) {
    const c10::FunctionSchema& theirs = op->schema();
    if (theirs.is_vararg() || theirs.is_varret() || theirs.arguments().size() > kMaxSchemaArguments) continue;
    const std::string text = c10::toString(theirs);
    INFO(text);
    const Schema ours = parse_schema(text);
    const auto is_tensor = [](const c10::Argument& argument) {
      return argument.type()->kind() == c10::TypeKind::TensorType;
    };
    const auto& returns = theirs.returns();
    bool same = ours.key == c10::toString(theirs.operator_name()) &&
                ours.argument_count == theirs.arguments().size() && ours.return_count == returns.size() &&
                ours.tensor_return_count ==
                    static_cast<std::size_t>(std::count_if(returns.begin(), returns.end(), is_tensor));
    for (std::size_t i = 0; same && i < ours.argument_count; ++i) {
      const c10::Argument& argument = theirs.arguments()[i];
      same = ours.arguments[i].name == argument.name() &&
             ours.arguments[i].keyword_only == argument.kwarg_only() &&
             ours.arguments[i].has_default == argument.default_value().has_value() &&
             (ours.arguments[i].kind == ArgumentKind::tensor) == is_tensor(argument) &&
             ours.arguments[i].is_written ==
                 (argument.alias_info() != nullptr && argument.alias_info()->isWrite());
    }
    if (!same) FAIL_CHECK("parsed otherwise");
    ++compared;
  }
  CHECK(compared > 2000);
}

TEST_CASE("an op of the user runs through its functor and its output is managed", "[registry]") {
  const StaticModule module(scripted("def forward(self, x):\n    return torch.relu(sr_test.twice(x + 1))\n"),
                            {.enable_replay = false});
  StaticRuntime<> runtime(module);
  const at::Tensor x = at::linspace(-3, 3, 8);
  dispatcher_calls = out_calls = 0;
  for (int run = 0; run < 4; ++run) CHECK(at::equal(runtime(x).toTensor(), at::relu((x + 1) * 2)));
  CHECK(dispatcher_calls == 1);  // the first run made the output
  CHECK(out_calls == 3);
  const Report report = runtime.report();
  const NodeReport& node = node_of(report, "sr_test::twice");
  CHECK(node.path == NodeKind::out_variant);
  CHECK(node.functor == "sr::test::(anonymous namespace)::Twice");
  CHECK(holds(node.why, node.functor));
  REQUIRE(node.outputs.size() == 1);
  CHECK(node.outputs[0].managed);
  CHECK(node.outputs[0].bytes >= 8 * sizeof(float));
  CHECK(node.outputs[0].first == node.index);
  CHECK(holds(printed(report), "%" + node.outputs[0].name + ": managed"));
}

TEST_CASE("a replay calls the functor of an op of the user and nobody else", "[registry][replay]") {
  const StaticModule module(scripted("def forward(self, x):\n    return torch.relu(sr_test.twice(x + 1))\n"));
  StaticRuntime<> runtime(module);
  const at::Tensor x = at::linspace(-3, 3, 8);
  dispatcher_calls = out_calls = 0;
  for (int run = 0; run < 5; ++run) CHECK(at::equal(runtime(x).toTensor(), at::relu((x + 1) * 2)));
  CHECK(dispatcher_calls == 2);  // the first run, and the one that is recorded
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

TEST_CASE("a functor may decline: then the native one is asked, then the interpreter", "[registry]") {
  const StaticModule module(scripted("def forward(self, x):\n    a = sr_test.choosy(x, 0)\n    b = "
                                     "sr_test.choosy(a, 1)\n"
                                     "    return sr_test.choosy(b, 2) + 1\n"),
                            {.enable_replay = false});
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

TEST_CASE("without out variants nothing is one and nothing is managed", "[registry]") {
  StaticModuleOptions options;
  options.enable_out_variant = false;
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

TEST_CASE("the report says why", "[registry]") {
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
  CHECK(holds(text, "arena (linear_scan)"));
}

TEST_CASE("strict refuses a model that needs the interpreter and says where", "[registry]") {
  StaticModuleOptions strict;
  strict.strict = true;
  CHECK_NOTHROW(StaticModule(scripted("def forward(self, x):\n    return x + 1\n"), strict));
  const torch::jit::Module module =
      scripted("def forward(self, x):\n    y = x + 1\n    return sr_test.plain(y)\n");
  const std::string message = message_of([&] { StaticModule refused(module, strict); });
  INFO(message);
  CHECK(holds(message, "strict"));
  CHECK(holds(message, "sr_test::plain"));
  CHECK(holds(message, ":3)"));
  CHECK_THROWS_AS(StaticModule(module, strict), UnsupportedOp);
}

TEST_CASE("observers see every node once for each time it runs", "[registry]") {
  const StaticModule module(
      scripted("def forward(self, x, n: int):\n    y = x * 2\n    for i in range(n):\n        if i == 1:\n"
               "            y = y + 1\n        else:\n            y = torch.relu(y)\n    return y - 1\n"));
  StaticRuntime<memory::LinearScan, Counter> counting(module);
  const int iterations[] = {3, 0, 4};
  for (const int n : iterations) counting(at::ones({2}), n);
  const Counter& counter = counting.observer();
  CHECK(counter.entered == counter.left);
  const std::vector<BlockInfo>& blocks = module.content()->blocks;
  REQUIRE(blocks.size() == 4);  // the top, the loop's body, the two branches
  const int times[] = {3, 7, 2, 5};
  for (std::uint32_t block = 0; block < 4; ++block) {
    REQUIRE_FALSE(blocks[block].nodes.empty());
    for (std::size_t node = 0; node < blocks[block].nodes.size(); ++node) {
      INFO("node " << block << "." << node);
      CHECK((counter.entered.at({block, node}) == times[block]));
    }
  }

  StaticRuntime<memory::LinearScan, TimingObserver> timing(module);
  timing(at::ones({2}), 3);
  const TimingObserver& observer = timing.observer();
  CHECK(observer.starts.empty());
  REQUIRE(observer.node_ns.size() == 4);
  for (std::size_t block = 0; block < 4; ++block) {
    REQUIRE(observer.node_ns[block].size() == blocks[block].nodes.size());
    for (const double spent : observer.node_ns[block]) CHECK(spent > 0);
  }
}

}  // namespace sr::test
