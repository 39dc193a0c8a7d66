// Functions of one number of the language, such as aten::sqrt.float. One line registers all overloads of a
// function.
#pragma once

#include <cstdint>
#include <type_traits>

#include <ATen/core/ivalue.h>

#include <sr/ops/language/formulas.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

using Complex = c10::complex<double>;

// Calls visit with the number in its own type. toInt throws for other types, as LibTorch does.
template <bool WithComplex, class Visit>
c10::IValue visit_number(const c10::IValue& number, const Visit& visit) {
  if (number.isDouble()) return visit(number.toDouble());
  if constexpr (WithComplex) {
    if (number.isComplexDouble()) return visit(number.toComplexDouble());
  }
  return visit(number.toInt());
}

template <class Formula, class Number>
struct OfNumber {
  auto operator()(Number a) const { return Formula::of(a); }
};

// For Scalars LibTorch keeps 32 bits of the result, also where other overloads have 64.
template <class Formula, class OfInteger, class OfFloat, bool WithComplex>
struct OfScalar {
  c10::IValue operator()(const c10::IValue& a) const {
    return visit_number<WithComplex>(a, [](auto number) -> c10::IValue {
      using Number = decltype(number);
      if constexpr (std::is_same_v<Number, std::int64_t>) {
        return narrowed<OfInteger>(Formula::of(number));
      } else if constexpr (std::is_same_v<Number, double>) {
        return narrowed<OfFloat>(Formula::of(number));
      } else if constexpr (std::is_same_v<decltype(Formula::of(number)), double>) {
        return narrowed<float>(Formula::of(number));
      } else {
        return Formula::of(number);
      }
    });
  }

 private:
  template <class Narrow>
  static c10::IValue narrowed(auto result) {
    using Wide = std::conditional_t<std::is_integral_v<Narrow>, std::int64_t, double>;
    return static_cast<Wide>(static_cast<Narrow>(result));
  }
};

template <class T>
consteval auto name_of_number() {
  if constexpr (std::is_same_v<T, int>) {
    return FixedString("int");
  } else {
    return FixedString("float");
  }
}

// The overloads ".int", ".float" and ".Scalar".
template <FixedString Name, class Formula, class OfInteger = float, class OfFloat = float>
struct RealFunction {
  Native<Name + ".int(int a) -> " + name_of_number<OfInteger>(), OfNumber<Formula, std::int64_t>> of_int;
  Native<Name + ".float(float a) -> " + name_of_number<OfFloat>(), OfNumber<Formula, double>> of_float;
  Native<Name + ".Scalar(Scalar a) -> Scalar", OfScalar<Formula, OfInteger, OfFloat, false>> of_scalar;
};

// Registers these overloads and ".complex".
template <FixedString Name, class Formula, class OfInteger = float, FixedString OfComplex = "complex">
struct ComplexFunction {
  Native<Name + ".int(int a) -> " + name_of_number<OfInteger>(), OfNumber<Formula, std::int64_t>> of_int;
  Native<Name + ".float(float a) -> float", OfNumber<Formula, double>> of_float;
  Native<Name + ".complex(complex a) -> " + OfComplex, OfNumber<Formula, Complex>> of_complex;
  Native<Name + ".Scalar(Scalar a) -> Scalar", OfScalar<Formula, OfInteger, float, true>> of_scalar;
};

namespace registered {

inline const ComplexFunction<"aten::log", formulas::Log> log_of_number;
inline const ComplexFunction<"aten::exp", formulas::Exp> exp_of_number;
inline const ComplexFunction<"aten::log10", formulas::Log10> log10_of_number;
inline const ComplexFunction<"aten::sqrt", formulas::Sqrt> sqrt_of_number;
inline const ComplexFunction<"aten::acos", formulas::Acos> acos_of_number;
inline const ComplexFunction<"aten::asin", formulas::Asin> asin_of_number;
inline const ComplexFunction<"aten::atan", formulas::Atan> atan_of_number;
inline const ComplexFunction<"aten::cos", formulas::Cos> cos_of_number;
inline const ComplexFunction<"aten::sin", formulas::Sin> sin_of_number;
inline const ComplexFunction<"aten::tan", formulas::Tan> tan_of_number;
inline const ComplexFunction<"aten::acosh", formulas::Acosh> acosh_of_number;
inline const ComplexFunction<"aten::asinh", formulas::Asinh> asinh_of_number;
inline const ComplexFunction<"aten::atanh", formulas::Atanh> atanh_of_number;
inline const ComplexFunction<"aten::cosh", formulas::Cosh> cosh_of_number;
inline const ComplexFunction<"aten::sinh", formulas::Sinh> sinh_of_number;
inline const ComplexFunction<"aten::tanh", formulas::Tanh> tanh_of_number;
inline const ComplexFunction<"aten::neg", formulas::Negative, int> neg_of_number;
inline const ComplexFunction<"aten::angle", formulas::Angle, float, "float"> angle_of_number;
inline const RealFunction<"aten::log1p", formulas::Log1p> log1p_of_number;
inline const RealFunction<"aten::expm1", formulas::Expm1> expm1_of_number;
inline const RealFunction<"aten::erf", formulas::Erf> erf_of_number;
inline const RealFunction<"aten::erfc", formulas::Erfc> erfc_of_number;
inline const RealFunction<"aten::lgamma", formulas::LogGamma> lgamma_of_number;
inline const RealFunction<"aten::round", formulas::Round> round_of_number;
inline const RealFunction<"aten::floor", formulas::Floor, int, int> floor_of_number;
inline const RealFunction<"aten::ceil", formulas::Ceil, int, int> ceil_of_number;

}  // namespace registered
}  // namespace sr::ops
