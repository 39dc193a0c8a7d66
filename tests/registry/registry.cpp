// The table of operators: keys, kinds, conflicts.
#include <functional>
#include <string>
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
OpEntry entry_of(const std::string& key, NodeKind kind = NodeKind::out_variant) {
  OpEntry entry;
  entry.key = key;
  entry.kind = kind;
  entry.functor = c10::demangle_type<Functor>();
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
  CHECK(holds(table.find("aten::relu", NodeKind::out_variant)->functor, "First"));  // the first one stays
}

TEST_CASE("an operator has the parts of one entry", "[registry]") {
  Registry table;
  CHECK(table.operator_of("aten::floor").to_kernel == nullptr);
  table.add(detail::operator_spec<Lower<&lower>>("aten::floor", "aten::floor"));
  table.add(detail::operator_spec<Lower<&lower>>("aten::floor", "aten::floor"));  // of another library
  table.add(detail::operator_spec<LowerToIterator<&lower>>("aten::ceil", "aten::ceil"));
  CHECK(table.operator_of("aten::floor").to_kernel == &lower);
  CHECK(table.operator_of("aten::floor").to_iterator == nullptr);
  CHECK(table.operator_of("aten::ceil").to_iterator == &lower);
  REQUIRE(table.operators().size() == 2);
  CHECK(table.operators()[0].key == "aten::ceil");
  const std::string message = message_of(
      [&] { table.add(detail::operator_spec<LowerToIterator<&lower>>("aten::floor", "aten::floor")); });
  CHECK(holds(message, "Two entries say how a replay runs aten::floor: "));
  CHECK_FALSE(table.find("aten::floor", NodeKind::out_variant));
}

TEST_CASE("entries are sorted by key, out variants first", "[registry]") {
  Registry table;
  for (const char* key : {"b::z", "a::b.c", "a::b", "c::a"}) table.add(entry_of<First>(key));
  table.add(entry_of<Second>("a::b", NodeKind::native));
  std::vector<std::string> keys;
  for (const OpEntry& entry : table.entries()) keys.push_back(entry.key + " " + name_of(entry.kind));
  CHECK(keys == std::vector<std::string>{"a::b out", "a::b native", "a::b.c out", "b::z out", "c::a out"});
}

}  // namespace sr::test::registry_tests
