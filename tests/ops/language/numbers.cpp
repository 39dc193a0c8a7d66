// Functions of TorchScript's numbers against the interpreter: of one and two arguments, of every type.
#include <limits>

#include <sr/ops/language/formulas.hpp>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_numbers_tests {

namespace {

using Complex = c10::complex<double>;

const OracleOptions kNative{.rounds = 2, .expected_path = "native"};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const std::vector<c10::IValue>& ints() {
  static const std::vector<c10::IValue> numbers = {3, 0, 1, -7, 12, std::int64_t{1} << 40};
  return numbers;
}
const std::vector<c10::IValue>& floats() {
  static const std::vector<c10::IValue> numbers = {0.75, 2.5, -0.5, -3.25, 0.0, -0.0, 1.0, kNan, kInfinity};
  return numbers;
}
const std::vector<c10::IValue>& complexes() {
  static const std::vector<c10::IValue> numbers = {Complex(0.5, -1.5), Complex(2, 0), Complex(-1, -0.0)};
  return numbers;
}
std::vector<c10::IValue> scalars() {
  return {at::tensor(0.75, at::kDouble), at::tensor(-3, at::kLong), at::tensor(2.0 / 3, at::kDouble),
          at::tensor(5, at::kLong)};
}

std::vector<InputSet> one(const std::vector<c10::IValue>& numbers) {
  std::vector<InputSet> runs;
  for (const c10::IValue& number : numbers) runs.push_back({number});
  return runs;
}
std::vector<InputSet> two(const std::vector<c10::IValue>& first, const std::vector<c10::IValue>& second) {
  std::vector<InputSet> runs;
  for (const c10::IValue& a : first) {
    for (const c10::IValue& b : second) runs.push_back({a, b});
  }
  return runs;
}
// The interpreter crashes on a zero.
std::vector<InputSet> without_zero(std::vector<InputSet> runs) {
  std::erase_if(runs, [](const InputSet& run) { return run[1].isInt() && run[1].toInt() == 0; });
  return runs;
}

std::vector<InputSet> of_int() {
  return one(ints());
}
std::vector<InputSet> of_float() {
  return one(floats());
}
std::vector<InputSet> of_complex() {
  return one(complexes());
}
std::vector<InputSet> of_scalar() {
  return one(scalars());
}
std::vector<InputSet> of_scalar_or_complex() {
  std::vector<c10::IValue> all = scalars();
  all.emplace_back(at::tensor(c10::complex<double>(0.5, 0.25), at::kComplexDouble));
  return one(all);
}

const char* const kOfComplex[] = {"log", "exp",   "log10", "sqrt",  "acos", "asin", "atan", "cos", "sin",
                                  "tan", "acosh", "asinh", "atanh", "cosh", "sinh", "tanh", "neg", "angle"};
const char* const kOfReal[] = {"log1p", "expm1", "erf", "erfc", "lgamma", "round", "floor", "ceil"};

struct Pair {
  const char* overload;
  const char* parameters;
  std::vector<InputSet> (*runs)();
};
const Pair kPairs[] = {
    {".int", "a: int, b: int", [] { return two(ints(), ints()); }},
    {".float", "a: float, b: float", [] { return two(floats(), floats()); }},
    {".int_float", "a: int, b: float", [] { return two(ints(), floats()); }},
    {".float_int", "a: float, b: int", [] { return two(floats(), ints()); }},
    {".complex", "a: complex, b: complex", [] { return two(complexes(), complexes()); }},
    {".int_complex", "a: int, b: complex", [] { return two(ints(), complexes()); }},
    {".complex_int", "a: complex, b: int", [] { return two(complexes(), ints()); }},
    {".float_complex", "a: float, b: complex", [] { return two(floats(), complexes()); }},
    {".complex_float", "a: complex, b: float", [] { return two(complexes(), floats()); }},
};

std::vector<InputSet> of_scalars() {
  return two(scalars(), scalars());
}
std::vector<InputSet> of_divisible_ints() {
  return without_zero(two(ints(), ints()));
}

class Rows {
 public:
  // `pairs` is how many entries of kPairs apply.
  void pairs(const std::string& name, const std::string& expression, std::initializer_list<int> pairs) {
    for (const int p : pairs) {
      const Pair& pair = kPairs[p];
      const bool divides = p == 0 && name == "remainder";
      add("aten::" + name + pair.overload, pair.parameters, expression,
          divides ? &of_divisible_ints : pair.runs);
    }
  }
  void scalars(const std::string& key, const std::string& before, const std::string& between,
               const std::string& after = "") {
    add("aten::" + key, "x, y", before + "x.item()" + between + "y.item()" + after, &of_scalars);
  }
  void add(const std::string& key, const std::string& parameters, const std::string& expression,
           std::vector<InputSet> (*runs)()) {
    rows.push_back({key, parameters, expression, runs, kNative, 0});
  }
  std::vector<OpRow> rows;
};

}  // namespace

std::vector<OpRow> number_rows() {
  Rows rows;
  for (const std::string name : kOfComplex) {
    const std::string call = "torch." + name;
    rows.add("aten::" + name + ".int", "a: int", call + "(a)", &of_int);
    rows.add("aten::" + name + ".float", "a: float", call + "(a)", &of_float);
    rows.add("aten::" + name + ".complex", "a: complex", call + "(a)", &of_complex);
    rows.add("aten::" + name + ".Scalar", "x", call + "(x.item())", &of_scalar_or_complex);
  }
  for (const std::string name : kOfReal) {
    const std::string call = "torch." + name;
    if (name != "ceil") rows.add("aten::" + name + ".int", "a: int", call + "(a)", &of_int);
    rows.add("aten::" + name + ".float", "a: float", call + "(a)", &of_float);
    rows.add("aten::" + name + ".Scalar", "x", call + "(x.item())", &of_scalar);
  }
  for (const auto& [name, sign] :
       std::vector<std::pair<std::string, std::string>>{{"add", "+"}, {"sub", "-"}, {"mul", "*"}}) {
    rows.pairs(name, "a " + sign + " b", {0, 1, 2, 3, 4, 5, 6, 7, 8});
    rows.scalars(name, "", " " + sign + " ");
  }
  for (const auto& [name, sign] :
       std::vector<std::pair<std::string, std::string>>{{"eq", "=="}, {"ne", "!="}}) {
    rows.pairs(name, "a " + sign + " b", {0, 1, 2, 3, 4, 7, 8});
    rows.scalars(name, "", " " + sign + " ");
  }
  for (const auto& [name, sign] : std::vector<std::pair<std::string, std::string>>{
           {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}, {"remainder", "%"}, {"floordiv", "//"}}) {
    rows.pairs(name, "a " + sign + " b", {0, 1, 2, 3});
    rows.scalars(name, "", " " + sign + " ");
  }
  for (const std::string name : {"atan2", "copysign", "polar", "fmod"}) {
    rows.pairs(name, "torch." + name + "(a, b)", {0, 1, 2, 3});
    rows.scalars(name == "copysign" || name == "fmod" ? name : name + ".Scalar_Scalar", "torch." + name + "(",
                 ", ", ")");
  }
  rows.pairs("div", "a / b", {0, 1, 4});
  rows.scalars("div", "", " / ");
  rows.pairs("pow", "a ** b", {0, 1, 2, 3, 4, 7, 8});
  rows.scalars("pow.Scalar_Scalar", "", " ** ");
  rows.pairs("log", "torch.log(a, b)", {2, 3, 5, 6, 7, 8});
  rows.scalars("log.Scalar_Scalar", "torch.log(", ", ", ")");
  rows.add("aten::log.int_int", "a: int, b: int", "torch.log(a, b)", kPairs[0].runs);
  rows.add("aten::log.float_float", "a: float, b: float", "torch.log(a, b)", kPairs[1].runs);
  rows.add("aten::log.complex_complex", "a: complex, b: complex", "torch.log(a, b)", kPairs[4].runs);
  for (const std::string name : {"max", "min"}) {
    rows.add("prim::" + name, "a: int, b: int", name + "(a, b)", kPairs[0].runs);
    rows.add("prim::" + name, "a: int, b: float", name + "(a, b)", kPairs[2].runs);
  }
  rows.add("aten::gcd.int", "a: int, b: int", "torch.gcd(a, b)", kPairs[0].runs);
  rows.add("aten::ldexp", "a: float, b: int", "torch.ldexp(a, b)", kPairs[3].runs);
  return std::move(rows.rows);
}

const OracleTable registered{&number_rows};

TEST_CASE("numbers of the language equal the interpreter's", "[oracle][ops]") {
  for (const OpRow& row : number_rows()) {
    DYNAMIC_SECTION(row.key << " as " << row.expression) {
      check_op(row.key, row.parameters, row.expression, row.runs(), row.options, row.results);
    }
  }
}

TEST_CASE("a remainder by zero throws where the interpreter crashes", "[ops]") {
  using ops::formulas::Remainder;
  CHECK_THROWS_WITH(Remainder::of(std::int64_t{7}, std::int64_t{0}), "division by 0");
  CHECK(Remainder::of(std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}) == 0);
}

}  // namespace sr::test::ops_numbers_tests
