// Formulas of the language's ops on numbers, for each type that has them: 64-bit integers, doubles, complex
// numbers. Results are bit-identical to LibTorch's.
#pragma once

#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <c10/util/Exception.h>
#include <c10/util/complex.h>

namespace sr::ops::formulas {

template <class A, class B>
inline constexpr bool are_integers = std::is_integral_v<A>&& std::is_integral_v<B>;

// Converts two numbers to one type. A real number beside a complex one stays real, since adding an imaginary
// zero can change a result.
template <class A, class B, class Operation>
auto joined(A a, B b, const Operation& operation) {
  if constexpr (std::is_arithmetic_v<A> && std::is_arithmetic_v<B>) {
    using Common = std::common_type_t<A, B>;
    return operation(static_cast<Common>(a), static_cast<Common>(b));
  } else if constexpr (std::is_arithmetic_v<A>) {
    return operation(static_cast<double>(a), b);
  } else if constexpr (std::is_arithmetic_v<B>) {
    return operation(a, static_cast<double>(b));
  } else {
    return operation(a, b);
  }
}

template <class Operation>
struct Joined {
  static auto of(auto a, auto b) { return joined(a, b, Operation{}); }
};

inline void require_divisor(std::int64_t b) {
  if (b == 0) throw std::runtime_error("division by 0");
}

// Python's remainder, with the sign of the divisor. Throws for a divisor of 0, where LibTorch's crashes.
struct Remainder {
  static auto of(auto a, auto b) {
    if constexpr (are_integers<decltype(a), decltype(b)>) {
      require_divisor(b);
      return b == -1 ? std::int64_t{0} : (b + a % b) % b;
    } else {
      const auto divisor = static_cast<double>(b);
      return std::fmod(divisor + std::fmod(static_cast<double>(a), divisor), divisor);
    }
  }
};

struct FloorDivide {
  static auto of(auto a, auto b) {
    if constexpr (are_integers<decltype(a), decltype(b)>) {
      require_divisor(b);
      if (b == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
      const std::int64_t quotient = a / b;
      return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
    } else {
      return std::floor(static_cast<double>(a) / static_cast<double>(b));
    }
  }
};

struct Divide {
  static auto of(auto a, auto b) {
    if constexpr (are_integers<decltype(a), decltype(b)>) {
      return static_cast<double>(a) / static_cast<double>(b);
    } else {
      return joined(a, b, std::divides<>{});
    }
  }
};

inline auto power(auto a, auto b) {
  if constexpr (std::is_arithmetic_v<decltype(a)> && std::is_arithmetic_v<decltype(b)>) {
    return std::pow(static_cast<double>(a), static_cast<double>(b));
  } else {
    return c10::complex<double>(std::pow(a, b));
  }
}

struct Power {
  static auto of(auto a, auto b) {
    if constexpr (std::is_arithmetic_v<decltype(a)> && std::is_arithmetic_v<decltype(b)>) {
      TORCH_CHECK(!(static_cast<double>(a) == 0 && static_cast<double>(b) < 0),
                  "0.0 cannot be raised to a negative power");
    }
    return power(a, b);
  }
};
// For Scalars, whose operands LibTorch does not check.
struct UncheckedPower {
  static auto of(auto a, auto b) { return power(a, b); }
};

struct Log {
  static auto of(auto a) { return std::log(a); }
};
struct LogToBase {
  static auto of(auto a, auto b) { return std::log(a) / std::log(b); }
};
struct Atan2 {
  static double of(auto a, auto b) { return std::atan2(static_cast<double>(a), static_cast<double>(b)); }
};
struct CopySign {
  static double of(auto a, auto b) { return std::copysign(static_cast<double>(a), static_cast<double>(b)); }
};
struct Fmod {
  static double of(auto a, auto b) { return std::fmod(static_cast<double>(a), static_cast<double>(b)); }
};
struct Polar {
  static auto of(auto a, auto b) { return c10::polar(static_cast<double>(a), static_cast<double>(b)); }
};
struct Larger {
  static auto of(auto a, auto b) {
    return joined(a, b, [](auto x, auto y) { return x > y ? x : y; });
  }
};
struct Smaller {
  static auto of(auto a, auto b) {
    return joined(a, b, [](auto x, auto y) { return x < y ? x : y; });
  }
};

struct Exp {
  static auto of(auto a) { return std::exp(a); }
};
struct Log10 {
  static auto of(auto a) { return std::log10(a); }
};
struct Sqrt {
  static auto of(auto a) { return std::sqrt(a); }
};
struct Acos {
  static auto of(auto a) { return std::acos(a); }
};
struct Asin {
  static auto of(auto a) { return std::asin(a); }
};
struct Atan {
  static auto of(auto a) { return std::atan(a); }
};
struct Cos {
  static auto of(auto a) { return std::cos(a); }
};
struct Sin {
  static auto of(auto a) { return std::sin(a); }
};
struct Tan {
  static auto of(auto a) { return std::tan(a); }
};
struct Acosh {
  static auto of(auto a) { return std::acosh(a); }
};
struct Asinh {
  static auto of(auto a) { return std::asinh(a); }
};
struct Atanh {
  static auto of(auto a) { return std::atanh(a); }
};
struct Cosh {
  static auto of(auto a) { return std::cosh(a); }
};
struct Sinh {
  static auto of(auto a) { return std::sinh(a); }
};
struct Tanh {
  static auto of(auto a) { return std::tanh(a); }
};
struct Negative {
  static auto of(auto a) { return -a; }
};
struct Angle {
  static double of(auto a) { return std::arg(a); }
};
struct Log1p {
  static auto of(auto a) { return std::log1p(a); }
};
struct Expm1 {
  static auto of(auto a) { return std::expm1(a); }
};
struct Erf {
  static auto of(auto a) { return std::erf(a); }
};
struct Erfc {
  static auto of(auto a) { return std::erfc(a); }
};
struct LogGamma {
  static auto of(auto a) { return std::lgamma(a); }
};
struct Round {
  static double of(auto a) { return std::nearbyint(static_cast<double>(a)); }  // halves to the even number
};

// Converts to an integer; doubles out of range throw.
inline std::int64_t integer_of(double number) {
  constexpr auto limit = static_cast<double>(std::numeric_limits<std::int64_t>::max());
  TORCH_CHECK(number >= -limit && number <= limit, "Cannot convert float ", std::to_string(number),
              " to integer");
  return static_cast<std::int64_t>(number);
}
struct Floor {
  static std::int64_t of(auto a) { return integer_of(std::floor(static_cast<double>(a))); }
};
struct Ceil {
  static std::int64_t of(auto a) { return integer_of(std::ceil(static_cast<double>(a))); }
};

}  // namespace sr::ops::formulas
