// Functions of two numbers of the language: arithmetic, comparisons, powers, for all pairs of types.
#pragma once

#include <cstdint>
#include <functional>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/ops/language/layouts.hpp>
#include <sr/ops/language/numbers.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

namespace layouts = replay::layouts;

template <class Formula, class A, class B>
struct OfNumbers {
  auto operator()(A a, B b) const { return Formula::of(a, b); }
};

template <class Formula, bool WithComplex>
struct OfScalars {
  c10::IValue operator()(const c10::IValue& a, const c10::IValue& b) const {
    return visit_number<WithComplex>(a, [&](auto first) {
      return visit_number<WithComplex>(
          b, [&](auto second) -> c10::IValue { return Formula::of(first, second); });
    });
  }
};

// The overloads by the types of a and b; `Of...` is the result's type.
// `Parts` are those of the overload on integers.
template <FixedString Name, class Formula, FixedString OfIntegers, FixedString OfFloats, class... Parts>
struct RealPairs {
  Native<Name + ".int(int a, int b) -> " + OfIntegers, OfNumbers<Formula, std::int64_t, std::int64_t>,
         Parts...>
      of_int;
  Native<Name + ".float(float a, float b) -> " + OfFloats, OfNumbers<Formula, double, double>> of_float;
  Native<Name + ".int_float(int a, float b) -> " + OfFloats, OfNumbers<Formula, std::int64_t, double>>
      of_int_float;
  Native<Name + ".float_int(float a, int b) -> " + OfFloats, OfNumbers<Formula, double, std::int64_t>>
      of_float_int;
};

// Overloads on Scalars.
template <FixedString Key, class Formula, FixedString Returned, bool WithComplex = false>
using ScalarPair = Native<Key + "(Scalar a, Scalar b) -> " + Returned, OfScalars<Formula, WithComplex>>;

template <FixedString Name, class Formula, FixedString Returned>
struct FloatComplexPairs {
  Native<Name + ".float_complex(float a, complex b) -> " + Returned, OfNumbers<Formula, double, Complex>>
      of_float_complex;
  Native<Name + ".complex_float(complex a, float b) -> " + Returned, OfNumbers<Formula, Complex, double>>
      of_complex_float;
};
template <FixedString Name, class Formula>
struct IntComplexPairs {
  Native<Name + ".int_complex(int a, complex b) -> complex", OfNumbers<Formula, std::int64_t, Complex>>
      of_int_complex;
  Native<Name + ".complex_int(complex a, int b) -> complex", OfNumbers<Formula, Complex, std::int64_t>>
      of_complex_int;
};

template <FixedString Name, class Operation>
struct Arithmetic {
  using Formula = formulas::Joined<Operation>;
  RealPairs<Name, Formula, "int", "float", Layouts<&layouts::of_numbers<Operation>>> real;
  Native<Name + ".complex(complex a, complex b) -> complex", OfNumbers<Formula, Complex, Complex>> of_complex;
  IntComplexPairs<Name, Formula> of_int_complex;
  FloatComplexPairs<Name, Formula, "complex"> of_float_complex;
  ScalarPair<Name, Formula, "Scalar", true> of_scalars;
};

template <FixedString Name, class Operation>
struct Ordering {
  using Formula = formulas::Joined<Operation>;
  RealPairs<Name, Formula, "bool", "bool", Layouts<&layouts::of_numbers<Operation>>> real;
  ScalarPair<Name, Formula, "bool"> of_scalars;
};

template <FixedString Name, class Operation>
struct Equality {
  using Formula = formulas::Joined<Operation>;
  RealPairs<Name, Formula, "bool", "bool", Layouts<&layouts::of_numbers<Operation>>> real;
  Native<Name + ".complex(complex a, complex b) -> bool", OfNumbers<Formula, Complex, Complex>> of_complex;
  FloatComplexPairs<Name, Formula, "bool"> of_float_complex;
  ScalarPair<Name, Formula, "bool", true> of_scalars;
};

// max and min of numbers.
template <class Formula>
struct Extreme {
  static bool accepts(const torch::jit::Node& node) {
    const auto is_number = [](const torch::jit::Value* value) {
      return value->type()->isSubtypeOf(*c10::NumberType::get());
    };
    return node.inputs().size() == 2 && is_number(node.input(0)) && is_number(node.input(1));
  }
  void operator()(NodeView& node) const {
    node.output(0) = OfScalars<Formula, false>{}(node.input(0), node.input(1));
  }
};

namespace registered {

inline const Arithmetic<"aten::add", std::plus<>> add_of_numbers;
inline const Arithmetic<"aten::sub", std::minus<>> sub_of_numbers;
inline const Arithmetic<"aten::mul", std::multiplies<>> mul_of_numbers;
inline const Equality<"aten::eq", std::equal_to<>> eq_of_numbers;
inline const Equality<"aten::ne", std::not_equal_to<>> ne_of_numbers;
inline const Ordering<"aten::lt", std::less<>> lt_of_numbers;
inline const Ordering<"aten::le", std::less_equal<>> le_of_numbers;
inline const Ordering<"aten::gt", std::greater<>> gt_of_numbers;
inline const Ordering<"aten::ge", std::greater_equal<>> ge_of_numbers;
inline const RealPairs<"aten::remainder", formulas::Remainder, "int", "float", Layouts<&layouts::remainder>>
    remainder_of_numbers;
inline const ScalarPair<"aten::remainder", formulas::Remainder, "Scalar"> remainder_of_scalars;
inline const RealPairs<"aten::floordiv", formulas::FloorDivide, "int", "float",
                       Layouts<&layouts::floor_divide>>
    floordiv_of_numbers;
inline const ScalarPair<"aten::floordiv", formulas::FloorDivide, "Scalar"> floordiv_of_scalars;
inline const RealPairs<"aten::fmod", formulas::Fmod, "float", "float"> fmod_of_numbers;
inline const ScalarPair<"aten::fmod", formulas::Fmod, "float"> fmod_of_scalars;
inline const RealPairs<"aten::atan2", formulas::Atan2, "float", "float"> atan2_of_numbers;
inline const ScalarPair<"aten::atan2.Scalar_Scalar", formulas::Atan2, "float"> atan2_of_scalars;
inline const RealPairs<"aten::copysign", formulas::CopySign, "float", "float"> copysign_of_numbers;
inline const ScalarPair<"aten::copysign", formulas::CopySign, "float"> copysign_of_scalars;
inline const RealPairs<"aten::polar", formulas::Polar, "complex", "complex"> polar_of_numbers;
inline const ScalarPair<"aten::polar.Scalar_Scalar", formulas::Polar, "Scalar"> polar_of_scalars;
inline const Native<"aten::div.int(int a, int b) -> float",
                    OfNumbers<formulas::Divide, std::int64_t, std::int64_t>>
    div_of_ints;
inline const Native<"aten::div.float(float a, float b) -> float", OfNumbers<formulas::Divide, double, double>>
    div_of_floats;
inline const Native<"aten::div.complex(complex a, complex b) -> complex",
                    OfNumbers<formulas::Divide, Complex, Complex>>
    div_of_complex;
inline const ScalarPair<"aten::div", formulas::Divide, "float"> div_of_scalars;
inline const RealPairs<"aten::pow", formulas::Power, "float", "float"> pow_of_numbers;
inline const Native<"aten::pow.complex(complex a, complex b) -> complex",
                    OfNumbers<formulas::Power, Complex, Complex>>
    pow_of_complex;
inline const FloatComplexPairs<"aten::pow", formulas::Power, "complex"> pow_of_float_complex;
inline const ScalarPair<"aten::pow.Scalar_Scalar", formulas::UncheckedPower, "float"> pow_of_scalars;
inline const Native<"aten::pow.int_to_int(int a, int b) -> int",
                    OfNumbers<formulas::Power, std::int64_t, std::int64_t>>
    pow_of_int_to_int;
inline const Native<"aten::log.int_int(int a, int b) -> float",
                    OfNumbers<formulas::LogToBase, std::int64_t, std::int64_t>>
    log_of_ints;
inline const Native<"aten::log.float_float(float a, float b) -> float",
                    OfNumbers<formulas::LogToBase, double, double>>
    log_of_floats;
inline const Native<"aten::log.complex_complex(complex a, complex b) -> complex",
                    OfNumbers<formulas::LogToBase, Complex, Complex>>
    log_of_complex;
inline const Native<"aten::log.int_float(int a, float b) -> float",
                    OfNumbers<formulas::LogToBase, std::int64_t, double>>
    log_of_int_float;
inline const Native<"aten::log.float_int(float a, int b) -> float",
                    OfNumbers<formulas::LogToBase, double, std::int64_t>>
    log_of_float_int;
inline const IntComplexPairs<"aten::log", formulas::LogToBase> log_of_int_complex;
inline const FloatComplexPairs<"aten::log", formulas::LogToBase, "complex"> log_of_float_complex;
inline const ScalarPair<"aten::log.Scalar_Scalar", formulas::LogToBase, "float"> log_of_scalars;
inline const NodeOp<"prim::max", Extreme<formulas::Larger>, NodeKind::native, Facts<Fact::compares_elements>,
                    Layouts<&replay::layouts::extreme<false>>>
    max_of_numbers;
inline const NodeOp<"prim::min", Extreme<formulas::Smaller>, NodeKind::native, Facts<Fact::compares_elements>,
                    Layouts<&replay::layouts::extreme<true>>>
    min_of_numbers;
inline const Operator<"aten::neg.int", Layouts<&replay::layouts::negate>> layouts_of_neg;
inline const Operator<"prim::abs", Layouts<&replay::layouts::absolute>> layouts_of_abs;
inline const Operator<"aten::divmod.int", Layouts<&replay::layouts::divide_with_rest>> layouts_of_divmod;
inline const Operator<"aten::__lshift__.int", Layouts<&replay::layouts::shift<true>>> layouts_of_lshift;
inline const Operator<"aten::__rshift__.int", Layouts<&replay::layouts::shift<false>>> layouts_of_rshift;

}  // namespace registered
}  // namespace sr::ops
