// The parser of schema literals. The compiler checks nearly all of it; the test cases repeat the checks at
// run time.
#include <string_view>

#include <sr/base/fixed_string.hpp>
#include <sr/registry/schema.hpp>

#include "support/catch.hpp"

using namespace sr;

namespace {

// The text before the name of an argument, as the parser sees it.
constexpr ArgumentKind kind(std::string_view type) {
  return detail::kind_of(type);
}

constexpr bool is(const SchemaArgument& argument, std::string_view type, std::string_view name) {
  return argument.type == type && argument.name == name;
}

template <FixedString Literal>
struct Parsed {
  static constexpr Schema schema = parse_schema(Literal.view());
};

}  // namespace

// True at compile time and at run time.
#define BOTH(...)             \
  static_assert(__VA_ARGS__); \
  CHECK((__VA_ARGS__))

TEST_CASE("a fixed string has the text and length of its literal", "[schema]") {
  constexpr FixedString relu = "aten::relu";
  BOTH(relu.view() == "aten::relu");
  BOTH(relu.view().size() == 10);
  BOTH(relu == FixedString("aten::relu"));
  BOTH(!(relu == FixedString("aten::reLu")));
  BOTH(FixedString("").view().empty());
  BOTH(Parsed<"aten::relu(Tensor self) -> Tensor">::schema.key == "aten::relu");
  CHECK(&Parsed<"a::b() -> ()">::schema == &Parsed<"a::b() -> ()">::schema);
}

TEST_CASE("the key is the name with its overload", "[schema]") {
  BOTH(parse_schema("aten::relu(Tensor self) -> Tensor").key == "aten::relu");
  BOTH(parse_schema("aten::add.Tensor(Tensor self, Tensor other) -> Tensor").key == "aten::add.Tensor");
  BOTH(parse_schema("aten::__is__(t1 self, t2 obj) -> bool").key == "aten::__is__");
  BOTH(parse_schema("_my_lib2::op.out_1() -> ()").key == "_my_lib2::op.out_1");
}

TEST_CASE("every kind of argument", "[schema]") {
  BOTH(kind("Tensor") == ArgumentKind::tensor);
  BOTH(kind("Tensor?") == ArgumentKind::optional_tensor);
  BOTH(kind("Tensor[]") == ArgumentKind::tensor_list);
  BOTH(kind("int") == ArgumentKind::integer);
  BOTH(kind("SymInt") == ArgumentKind::integer);
  BOTH(kind("int?") == ArgumentKind::optional_integer);
  BOTH(kind("SymInt?") == ArgumentKind::optional_integer);
  BOTH(kind("int[]") == ArgumentKind::integer_list);
  BOTH(kind("int[2]") == ArgumentKind::integer_list);
  BOTH(kind("SymInt[3]") == ArgumentKind::integer_list);
  BOTH(kind("int[]?") == ArgumentKind::optional_integer_list);
  BOTH(kind("int[1]?") == ArgumentKind::optional_integer_list);
  BOTH(kind("SymInt[]?") == ArgumentKind::optional_integer_list);
  BOTH(kind("float") == ArgumentKind::floating);
  BOTH(kind("float?") == ArgumentKind::optional_floating);
  BOTH(kind("bool") == ArgumentKind::boolean);
  BOTH(kind("bool?") == ArgumentKind::optional_boolean);
  BOTH(kind("Scalar") == ArgumentKind::scalar);
  BOTH(kind("Scalar?") == ArgumentKind::optional_scalar);
  BOTH(kind("str") == ArgumentKind::string);
  BOTH(kind("str?") == ArgumentKind::optional_string);
  BOTH(kind("ScalarType") == ArgumentKind::dtype);
  BOTH(kind("ScalarType?") == ArgumentKind::optional_dtype);
}

TEST_CASE("arguments of other types stay boxed", "[schema]") {
  for (const char* type : {"Device?",
                           "MemoryFormat",
                           "Layout?",
                           "Generator?",
                           "t[]",
                           "Dict(str, Tensor)",
                           "(Tensor, Tensor)",
                           "float[]",
                           "bool[3]",
                           "str[]",
                           "Scalar[]",
                           "Tensor?[]",
                           "Tensor[]?",
                           "Tensor[][]",
                           "int[][]",
                           "int?[]",
                           "integer",
                           "Int",
                           "TensorList",
                           "__torch__.torch.classes.quantized.LinearPackedParamsBase",
                           "int.a",
                           ""}) {
    INFO(type);
    CHECK(kind(type) == ArgumentKind::other);
  }
  static_assert(kind("Dict(str, Tensor)") == ArgumentKind::other);
  static_assert(kind("int[][]") == ArgumentKind::other);
  static_assert(kind("Tensor?[]") == ArgumentKind::other);
}

TEST_CASE("arguments keep their order, types and names", "[schema]") {
  constexpr Schema schema = parse_schema(
      "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor");
  BOTH(schema.argument_count == 5);
  BOTH(is(schema.arguments[0], "Tensor", "self"));
  BOTH(is(schema.arguments[2], "Tensor", "mat2"));
  BOTH(is(schema.arguments[4], "Scalar", "alpha"));
  BOTH(schema.arguments[4].kind == ArgumentKind::scalar);
  BOTH(schema.arguments[5].name.empty());
}

TEST_CASE("arguments after the star are keyword-only, and the star is none", "[schema]") {
  constexpr Schema schema = parse_schema("aten::sub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  BOTH(schema.argument_count == 3);
  BOTH(!schema.arguments[1].keyword_only);
  BOTH(schema.arguments[2].keyword_only);
  constexpr Schema all = parse_schema("aten::f(*, int a, int b) -> ()");
  BOTH(all.argument_count == 2);
  BOTH(all.arguments[0].keyword_only && all.arguments[1].keyword_only);
}

TEST_CASE("alias annotations are not part of the kind", "[schema]") {
  BOTH(kind("Tensor(a)") == ArgumentKind::tensor);
  BOTH(kind("Tensor(a!)") == ArgumentKind::tensor);
  BOTH(kind("Tensor(a -> *)") == ArgumentKind::tensor);
  BOTH(kind("Tensor(a! -> a|b)") == ArgumentKind::tensor);
  BOTH(kind("Tensor(a)?") == ArgumentKind::optional_tensor);
  BOTH(kind("Tensor(a!)?") == ArgumentKind::optional_tensor);
  BOTH(kind("Tensor(a)[]") == ArgumentKind::tensor_list);
  BOTH(kind("Tensor(a!)[]") == ArgumentKind::tensor_list);
  BOTH(kind("Tensor[](a!)") == ArgumentKind::tensor_list);

  constexpr Schema schema =
      parse_schema("aten::f(Tensor(a -> *) self, Tensor(b!)[] out, int[](c!) sizes) -> ()");
  BOTH(schema.argument_count == 3);
  BOTH(is(schema.arguments[0], "Tensor(a -> *)", "self"));
  BOTH(is(schema.arguments[1], "Tensor(b!)[]", "out"));
  BOTH(!schema.arguments[0].is_written);
  BOTH(schema.arguments[1].is_written);
  BOTH(schema.arguments[2].is_written);
}

TEST_CASE("defaults: lists, strings, negative numbers, words", "[schema]") {
  constexpr Schema schema = parse_schema(
      "aten::f(Tensor self, int[2] stride=[1, 1], int[1] dim=[], *, str approximate='none', int axis=-1, "
      "float eps=1e-05, bool keep=False, MemoryFormat format=contiguous_format, Tensor? bias=None) -> "
      "Tensor");
  BOTH(schema.argument_count == 9);
  BOTH(!schema.arguments[0].has_default);
  BOTH(is(schema.arguments[1], "int[2]", "stride"));
  BOTH(is(schema.arguments[2], "int[1]", "dim"));
  BOTH(is(schema.arguments[3], "str", "approximate"));
  BOTH(is(schema.arguments[4], "int", "axis"));
  BOTH(is(schema.arguments[7], "MemoryFormat", "format"));
  BOTH(is(schema.arguments[8], "Tensor?", "bias"));
  for (std::size_t i = 1; i < schema.argument_count; ++i) CHECK(schema.arguments[i].has_default);
}

TEST_CASE("a string default may hold commas, brackets, equals signs, arrows and quotes", "[schema]") {
  constexpr Schema schema =
      parse_schema(R"(aten::f(str a=', ', str b='(', str c="]) -> ", str d='=', str e='it\'s', str f='\\', )"
                   R"(str g="'", int h=1) -> ())");
  BOTH(schema.argument_count == 8);
  BOTH(is(schema.arguments[0], "str", "a"));
  BOTH(is(schema.arguments[2], "str", "c"));
  BOTH(is(schema.arguments[4], "str", "e"));
  BOTH(is(schema.arguments[6], "str", "g"));
  BOTH(is(schema.arguments[7], "int", "h"));
  BOTH(schema.return_count == 0);
}

TEST_CASE("types with blanks and brackets", "[schema]") {
  constexpr Schema schema = parse_schema(
      "aten::f(Dict(str, Tensor(a!)) self, (Tensor, Tensor) hx, Future(t) f) -> (Dict(str, int), Tensor)");
  BOTH(schema.argument_count == 3);
  BOTH(is(schema.arguments[0], "Dict(str, Tensor(a!))", "self"));
  BOTH(schema.arguments[0].is_written);
  BOTH(is(schema.arguments[1], "(Tensor, Tensor)", "hx"));
  BOTH(schema.return_count == 2);
  BOTH(schema.tensor_return_count == 1);
}

TEST_CASE("returns: none, one, several, named or not", "[schema]") {
  constexpr auto returns = [](std::string_view text) { return parse_schema(text).return_count; };
  constexpr auto tensors = [](std::string_view text) { return parse_schema(text).tensor_return_count; };
  BOTH(returns("aten::f() -> ()") == 0);
  BOTH(returns("aten::f() -> Tensor") == 1);
  BOTH(returns("aten::f() -> (Tensor)") == 1);
  BOTH(returns("aten::f() -> (Tensor, Tensor)") == 2);
  BOTH(tensors("aten::f() -> (Tensor, Tensor)") == 2);
  BOTH(tensors("aten::f() -> (Tensor values, Tensor indices)") == 2);
  BOTH(tensors("aten::f() -> (Tensor(a!) values, Tensor(b!) indices)") == 2);
  BOTH(tensors("aten::f() -> (Tensor, int, Tensor? grad, Tensor[] rest)") == 1);
  BOTH(returns("aten::f() -> (Tensor, int, Tensor? grad, Tensor[] rest)") == 4);
  BOTH(tensors("aten::f() -> int[]") == 0);
  BOTH(tensors("aten::f() -> TensorLike") == 0);
  BOTH(returns("aten::f() -> (Tensor, Tensor)[]") == 1);
}

TEST_CASE("returns that may be an argument are counted apart", "[schema]") {
  constexpr auto aliases = [](std::string_view text) { return parse_schema(text).alias_return_count; };
  BOTH(aliases("aten::t(Tensor(a) self) -> Tensor(a)") == 1);
  BOTH(aliases("aten::relu_(Tensor(a!) self) -> Tensor(a!)") == 1);
  BOTH(aliases("aten::f(Tensor(a) self) -> (Tensor(a) x, Tensor y)") == 1);
  BOTH(aliases("aten::relu(Tensor self) -> Tensor") == 0);
  BOTH(aliases("aten::relu(Tensor self) -> Tensor  named") == 0);
}

TEST_CASE("blanks do not matter", "[schema]") {
  constexpr Schema schema = parse_schema(
      "  aten::f.x  ( Tensor   self ,int  dim = 1,*  , bool? b=None )   ->   ( Tensor  a , Tensor b )  ");
  BOTH(schema.key == "aten::f.x");
  BOTH(schema.argument_count == 3);
  BOTH(is(schema.arguments[0], "Tensor", "self"));
  BOTH(is(schema.arguments[1], "int", "dim"));
  BOTH(schema.arguments[1].has_default);
  BOTH(is(schema.arguments[2], "bool?", "b"));
  BOTH(schema.arguments[2].keyword_only);
  BOTH(schema.tensor_return_count == 2);
  BOTH(parse_schema("aten::f()->Tensor").return_count == 1);
  BOTH(parse_schema("aten::f( )->( )").argument_count == 0);
}

TEST_CASE("a schema may have 32 arguments", "[schema]") {
  constexpr Schema schema = parse_schema(
      "aten::f(int a0, int a1, int a2, int a3, int a4, int a5, int a6, int a7, int a8, int a9, int b0, int "
      "b1, int b2, "
      "int b3, int b4, int b5, int b6, int b7, int b8, int b9, int c0, int c1, int c2, int c3, int c4, int "
      "c5, int c6, "
      "int c7, int c8, int c9, int d0, *, Tensor last) -> ()");
  static_assert(kMaxSchemaArguments == 32);
  BOTH(schema.argument_count == 32);
  BOTH(is(schema.arguments[31], "Tensor", "last"));
  BOTH(schema.arguments[31].keyword_only);
}
