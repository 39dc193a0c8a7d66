// The table of operators: keys, kinds, conflicts.
#include <functional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include <sr/registry/registry.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"

namespace sr::test::registry_tests {

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
OperatorEntry entry_of(std::string_view key, NodeKind kind = NodeKind::out_variant) {
  OperatorEntry entry;
  entry.key = key;
  entry.kind = kind;
  entry.functor = &typeid(Functor);
  return entry;
}

bool lower(replay::Lowering& /*lowering*/, const replay::TracedNode& /*node*/) {
  return true;
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

}  // namespace

TEST_CASE("an op is found by key and kind", "[registry]") {
  Registry table;
  CHECK(table.empty());
  CHECK(table.find("aten::relu", NodeKind::out_variant) == nullptr);
  table.add(entry_of<First>("aten::relu"));
  CHECK_FALSE(table.empty());
  REQUIRE(table.find("aten::relu", NodeKind::out_variant) != nullptr);
  CHECK(holds(functor_name(*table.find("aten::relu", NodeKind::out_variant)), "First"));
  CHECK(table.find("aten::relu", NodeKind::native) == nullptr);
  CHECK(table.find("aten::relu.out", NodeKind::out_variant) == nullptr);
  table.add(entry_of<Second>("aten::relu", NodeKind::native));  // another kind: no conflict
  CHECK(holds(functor_name(*table.find("aten::relu", NodeKind::native)), "Second"));
}

TEST_CASE("a functor may register twice, another one for its key is rejected by name", "[registry]") {
  Registry table;
  table.add(entry_of<First>("aten::relu"));
  CHECK_NOTHROW(table.add(entry_of<First>("aten::relu")));
  CHECK(table.entries().size() == 1);
  const std::string message = message_of([&] { table.add(entry_of<Second>("aten::relu")); });
  INFO(message);
  CHECK(holds(message, "aten::relu"));
  CHECK(holds(message, "sr::test::registry_tests::(anonymous namespace)::First"));
  CHECK(holds(message, "sr::test::registry_tests::(anonymous namespace)::Second"));
  CHECK_THROWS_AS(table.add(entry_of<Second>("aten::relu")), RegistryError);
  CHECK(
      holds(functor_name(*table.find("aten::relu", NodeKind::out_variant)), "First"));  // the first one stays
}

TEST_CASE("an operator has the parts of one entry", "[registry]") {
  Registry table;
  CHECK(table.operator_of("aten::floor").to_kernel == nullptr);
  table.add(detail::operator_parts<Lower<&lower>>("aten::floor", "aten::floor"));
  table.add(detail::operator_parts<Lower<&lower>>("aten::floor", "aten::floor"));  // of another library
  table.add(detail::operator_parts<LowerToIterator<&lower>>("aten::ceil", "aten::ceil"));
  CHECK(table.operator_of("aten::floor").to_kernel == &lower);
  CHECK(table.operator_of("aten::floor").to_iterator == nullptr);
  CHECK(table.operator_of("aten::ceil").to_iterator == &lower);
  REQUIRE(table.operators().size() == 2);
  CHECK(table.operators()[0].key == "aten::ceil");
  const std::string message = message_of(
      [&] { table.add(detail::operator_parts<LowerToIterator<&lower>>("aten::floor", "aten::floor")); });
  CHECK(holds(message, "Two entries say how a replay runs aten::floor: "));
  CHECK(table.find("aten::floor", NodeKind::out_variant) == nullptr);
}

TEST_CASE("an operator that has other arguments in this LibTorch is left to it, with a warning",
          "[registry]") {
  struct Keep : c10::WarningHandler {
    std::vector<std::string> texts;
    void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
  } warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  Registry table;
  const auto add = [&](std::string_view key, std::string_view schema) {
    OperatorEntry entry = entry_of<First>(key);
    entry.schema = schema;
    table.add(entry);
  };
  add("aten::frac", "aten::frac(Tensor self) -> Tensor");
  add("aten::floor", "aten::floor(Tensor self, int digits) -> Tensor");
  add("aten::ceil", "aten::ceil(Tensor input) -> Tensor");
  add("aten::celu", "aten::celu(Tensor self, Scalar alpha=2.0) -> Tensor");  // a default, which graphs hold
  add("sr_test::never_loaded", "sr_test::never_loaded(Tensor self) -> Tensor");
  static constexpr std::string_view changed = "aten::trunc(Tensor self, bool up) -> Tensor";
  table.add(detail::operator_parts<Lower<&lower>>("aten::trunc", changed));
  for (int again = 0; again < 2; ++again) {
    CHECK(table.find("aten::frac", NodeKind::out_variant) != nullptr);
    CHECK(table.find("aten::floor", NodeKind::out_variant) == nullptr);
    CHECK(table.find("aten::ceil", NodeKind::out_variant) == nullptr);
    CHECK(table.find("aten::celu", NodeKind::out_variant) != nullptr);
    CHECK(table.find("sr_test::never_loaded", NodeKind::out_variant) != nullptr);
    CHECK(table.operator_of("aten::trunc").to_kernel == nullptr);
  }
  REQUIRE(warnings.texts.size() == 3);
  CHECK(holds(warnings.texts[0],
              "aten::floor(Tensor self, int digits) -> Tensor, but this LibTorch has "
              "aten::floor(Tensor self) -> Tensor"));
}

TEST_CASE("entries are sorted by key, out variants first", "[registry]") {
  Registry table;
  for (const char* key : {"b::z", "a::b.c", "a::b", "c::a"}) table.add(entry_of<First>(key));
  table.add(entry_of<Second>("a::b", NodeKind::native));
  std::vector<std::string> keys;
  for (const OperatorEntry& entry : table.entries())
    keys.push_back(std::string(entry.key) + " " + name_of(entry.kind));
  CHECK(keys == std::vector<std::string>{"a::b out", "a::b native", "a::b.c out", "b::z out", "c::a out"});
}

}  // namespace sr::test::registry_tests
