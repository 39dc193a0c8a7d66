// Conversions between tensors, numbers, strings and lists, against the interpreter.
#include <limits>

#include <sr/ops/language/scalars.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_conversions_tests {

namespace {

const OracleOptions kNative{.rounds = 2, .expected_path = "native"};

std::vector<InputSet> numbers_in_tensors() {
  return {{at::tensor(3)},
          {at::tensor(2.5)},
          {at::ones({1, 1})},
          {at::ones({2})},
          {at::ones({0})},
          {at::ones({}, at::kBool)},
          {at::tensor(std::numeric_limits<double>::quiet_NaN(), at::kDouble)}};
}
std::vector<InputSet> implicit_numbers() {
  return {{at::tensor(3)}, {at::tensor(2.5)}, {at::ones({1})}, {at::tensor(4)}};
}
std::vector<InputSet> nested_lists() {
  at::manual_seed(3);
  const at::Tensor a = sample({2, 3});
  return {{a},
          {a.t()},
          {sample({0, 3})},
          {sample({2, 3}, at::kDouble)},
          {sample({2, 3}, at::kBFloat16)},
          {sample({2, 3}, at::kLong)},
          {sample({3})},
          {a}};
}
std::vector<InputSet> nested_integers() {
  return {{sample({2, 3}, at::kLong)},
          {sample({2, 3}, at::kInt)},
          {stepped(sample({2, 3}, at::kLong))},
          {sample({2}, at::kLong)}};
}

}  // namespace

std::vector<OpRow> conversion_rows() {
  std::vector<OpRow> rows;
  const auto add = [&](const std::string& key, const std::string& parameters, const std::string& expression,
                       std::vector<InputSet> (*runs)()) {
    rows.push_back({key, parameters, expression, runs, kNative, 0});
  };
  add("aten::Bool.Tensor", "x", "bool(x)", &numbers_in_tensors);
  add("aten::Bool.int", "a: int, b: int", "bool(a)", [] { return std::vector<InputSet>{{0, 0}, {-2, 0}}; });
  add("aten::Bool.float", "a: float", "bool(a)", [] {
    return std::vector<InputSet>{{0.0}, {0.25}, {std::numeric_limits<double>::quiet_NaN()}};
  });
  add("aten::Int.Tensor", "x", "int(x)", &numbers_in_tensors);
  add("aten::Int.bool", "a: bool", "int(a)", [] { return std::vector<InputSet>{{true}, {false}}; });
  add("aten::Int.float", "a: float", "int(a)", [] { return std::vector<InputSet>{{2.9}, {-2.9}, {1e12}}; });
  add("aten::Int.Scalar", "x", "int(x.item())", &numbers_in_tensors);
  add("aten::Int.str", "a: str", "int(a)", [] {
    return std::vector<InputSet>{{"12"}, {" -7"}, {"12a"}, {""}, {"99999999999999999999"}};
  });
  add("aten::Float.Tensor", "x", "float(x)", &numbers_in_tensors);
  add("aten::Float.bool", "a: bool", "float(a)", [] { return std::vector<InputSet>{{true}, {false}}; });
  add("aten::Float.Scalar", "x", "float(x.item())", [] {
    return std::vector<InputSet>{{at::tensor(3)}, {at::tensor(0.1, at::kDouble)}};
  });
  add("aten::Float.str", "a: str", "float(a)", [] {
    return std::vector<InputSet>{{"1.5"}, {"1e3"}, {"1.5x"}, {""}};
  });
  for (const auto& [key, type] : std::vector<std::pair<std::string, std::string>>{
           {"IntImplicit", "int"}, {"FloatImplicit", "float"}, {"ScalarImplicit", "Scalar"}}) {
    add("aten::" + key, "x",
        "graph(%self, %x : Tensor):\n  %n : " + type + " = aten::" + key + "(%x)\n  return (%n)\n",
        &implicit_numbers);
  }
  add("aten::item", "x", "x.item()", &numbers_in_tensors);
  add("aten::_unwrap_optional", "a: Optional[int]",
      "graph(%self, %a : int?):\n  %n : int = aten::_unwrap_optional(%a)\n  return (%n)\n", [] {
        return std::vector<InputSet>{{3}, {c10::IValue()}, {4}};
      });
  add("prim::unchecked_cast", "a: Optional[int]", "0 if a is None else a + 1", [] {
    return std::vector<InputSet>{{3}, {c10::IValue()}, {4}};
  });
  add("prim::unchecked_unwrap_optional", "a: Optional[int]",
      "graph(%self, %a : int?):\n  %n : int = prim::unchecked_unwrap_optional(%a)\n  return (%n)\n", [] {
        return std::vector<InputSet>{{3}, {4}};
      });
  add("prim::IfThenElse", "c: bool, a: int, b: int",
      "graph(%self, %c : bool, %a : int, %b : int):\n  %n : int = prim::IfThenElse(%c, %a, %b)\n  return "
      "(%n)\n",
      [] {
        return std::vector<InputSet>{{true, 1, 2}, {false, 1, 2}};
      });
  add("prim::device", "x", "x.device", &few_alone);
  add("prim::is_cuda", "x", "x.is_cuda", &few_alone);
  return rows;
}

const OracleTable registered{&conversion_rows};

TEST_CASE("integers become numbers of double precision", "[oracle][ops]") {
  check_script("def forward(self, a: int):\n    return float(a)\n",
               {{3}, {(1 << 24) + 1}, {123456789123}, {(std::int64_t{1} << 53) + 1}, {-7}});
}

TEST_CASE("conversions equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : conversion_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

TEST_CASE("lists made of tensors", "[oracle][ops]") {
  OracleOptions options = kNative;
  options.managed = "prim::tolist";
  check_script("def forward(self, x):\n    a: List[List[float]] = x.tolist()\n    return a\n", nested_lists(),
               options);
  check_script("def forward(self, x):\n    a: List[List[int]] = x.tolist()\n    return a\n",
               nested_integers(), options);
  check_script("def forward(self, x):\n    a: int = x.tolist()\n    return a\n",
               {{at::tensor(3)}, {at::tensor(2.5)}, {at::ones({1}, at::kLong)}}, options);
  check_script("def forward(self, x):\n    a: List[bool] = x.tolist()\n    return a\n",
               {{sample({3}, at::kBool)}, {at::tensor({1, 2})}}, options);
}

TEST_CASE("a tensor of a number the model computes", "[oracle][ops]") {
  OracleOptions options;
  options.managed = "prim::NumToTensor";
  const std::string graph =
      "graph(%self, %n : Scalar):\n  %t : Tensor = prim::NumToTensor(%n)\n  %two : int = "
      "prim::Constant[value=2]()\n"
      "  %r : Tensor = aten::mul(%t, %two)\n  return (%r)\n";
  check_model(module_of(graph), {{3}, {4}, {0.5}, {3}, {0.25}, {0.75}}, options);
}

TEST_CASE("a check of a tensor's type hands the tensor on", "[oracle][ops]") {
  OracleOptions options = kNative;
  options.managed = "prim::TypeCheck";
  const std::string graph =
      "graph(%self, %x : Tensor):\n"
      "  %y : Tensor, %fits : bool = prim::TypeCheck[types=[Float(2, 3, strides=[3, 1], device=cpu)]](%x)\n"
      "  %both : (Tensor, bool) = prim::TupleConstruct(%y, %fits)\n  return (%both)\n";
  check_model(module_of(graph),
              {{sample({2, 3})}, {sample({3, 2})}, {sample({2, 3}, at::kDouble)}, {sample({2, 3})}}, options);
}

TEST_CASE("members of enumerations are compared", "[ops]") {
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  const auto type = c10::EnumType::create(c10::QualifiedName("__torch__.Color"), c10::IntType::get(),
                                          {{"RED", 1}, {"BLUE", 2}}, unit);
  const auto member = [&](const char* name, int value) {
    return c10::IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(type, name, value));
  };
  CHECK(ops::Same{}(member("RED", 1), member("RED", 1)));
  CHECK_FALSE(ops::Same{}(member("RED", 1), member("BLUE", 2)));
  CHECK(ops::Different{}(member("RED", 1), member("BLUE", 2)));
  CHECK_FALSE(ops::Different{}(member("RED", 1), member("RED", 1)));
}

}  // namespace sr::test::ops_conversions_tests
