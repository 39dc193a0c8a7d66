// Vector ops on doubles and 64-bit integers against the same vector ops on one number at a time.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/guarded.hpp"
#include "support/kernel_sets.hpp"

using namespace sr::kernels;
using sr::test::Guarded;
using sr::test::kernel_sets;

namespace {

// The operations that vector ops use, for one number. Integers wrap around.
template <class T>
struct One {
  using Element = T;
  T value;

  One(T number) : value(number) {}  // NOLINT(google-explicit-constructor): like the registers

  template <class Function>
  static One combined(One a, One b, Function function) {
    if constexpr (std::is_same_v<T, double>) {
      return function(a.value, b.value);
    } else {
      return static_cast<T>(
          function(static_cast<std::uint64_t>(a.value), static_cast<std::uint64_t>(b.value)));
    }
  }
  friend One operator+(One a, One b) {
    return combined(a, b, [](auto x, auto y) { return x + y; });
  }
  friend One operator-(One a, One b) {
    return combined(a, b, [](auto x, auto y) { return x - y; });
  }
  friend One operator*(One a, One b) {
    return combined(a, b, [](auto x, auto y) { return x * y; });
  }
  friend One operator/(One a, One b) { return a.value / b.value; }
  friend One operator-(One x) {
    return combined(x, x, [](auto y, auto) { return -y; });
  }
  friend bool operator>(One a, One b) { return a.value > b.value; }
  friend bool operator>=(One a, One b) { return a.value >= b.value; }
  friend bool operator<(One a, One b) { return a.value < b.value; }
  friend bool operator<=(One a, One b) { return a.value <= b.value; }
  friend bool operator==(One a, One b) { return a.value == b.value; }
  friend bool operator!=(One a, One b) { return a.value != b.value; }
  friend One select(bool which, One yes, One no) { return which ? yes : no; }
  friend bool is_nan(One x) { return x != x; }
  friend One first_max(One a, One b) { return a > b ? a : b; }
  friend One first_min(One a, One b) { return a < b ? a : b; }
  friend One maximum(One a, One b) { return is_nan(a) ? a : first_max(a, b); }
  friend One minimum(One a, One b) { return is_nan(a) ? a : first_min(a, b); }
  friend One abs(One x) { return x.value < 0 || std::signbit(static_cast<double>(x.value)) ? -x : x; }
  friend One sqrt(One x) { return std::sqrt(x.value); }
  friend One floor(One x) { return std::floor(x.value); }
  friend One ceil(One x) { return std::ceil(x.value); }
  friend One trunc(One x) { return std::trunc(x.value); }
  friend One round_even(One x) { return std::nearbyint(x.value); }
  friend One fma(One a, One b, One c) { return a * b + c; }
  friend One exp(One x) { return std::exp(x.value); }
  friend One expm1(One x) { return std::expm1(x.value); }
  friend One log(One x) { return std::log(x.value); }
  friend One log1p(One x) { return std::log1p(x.value); }
  friend One tanh(One x) { return std::tanh(x.value); }
  friend One erf(One x) { return std::erf(x.value); }
  friend One normal_cdf(One x) { return std::erfc(-x.value / std::numbers::sqrt2_v<decltype(x.value)>) / 2; }
  friend One logistic(One x, One numerator) { return numerator / (1 + std::exp(-x.value)); }
  friend One sigmoid(One x) { return logistic(x, 1); }
};

template <class T>
T any() {
  static std::mt19937_64 engine(99);
  if constexpr (std::is_same_v<T, double>) {
    static constexpr std::array kSpecial{0.0,
                                         -0.0,
                                         1.0,
                                         -2.5,
                                         0.5,
                                         std::numeric_limits<double>::infinity(),
                                         -std::numeric_limits<double>::infinity(),
                                         std::numeric_limits<double>::quiet_NaN(),
                                         1e308,
                                         5e-324};
    if (engine() % 3 == 0) return kSpecial[engine() % kSpecial.size()];
    return std::uniform_real_distribution<double>(-9, 9)(engine);
  } else {
    static constexpr std::array<T, 7> kSpecial{0, 1, -1, 2, INT64_MAX, INT64_MIN, 4294967296};
    if (engine() % 3 == 0) return kSpecial[engine() % kSpecial.size()];
    return engine() % 2 == 0 ? static_cast<T>(engine()) : static_cast<T>(engine() % 9) - 4;
  }
}

template <class VectorOp, class... Others>
inline constexpr bool kIsOneOf = (std::is_same_v<VectorOp, Others> || ...);

// May be fused or not; the error is relative to the addend.
template <class VectorOp>
inline constexpr bool kMayBeFused = kIsOneOf<VectorOp, vector_ops::AddScaled, vector_ops::SubScaled,
                                             vector_ops::AddProduct, vector_ops::Lerp>;

// Not bit-identical to libm; kernels/math_of_doubles.cpp tests the errors.
template <class VectorOp>
inline constexpr bool kIsElementary =
    kIsOneOf<VectorOp, vector_ops::Exp, vector_ops::Expm1, vector_ops::Log, vector_ops::Log1p,
             vector_ops::Tanh, vector_ops::Sigmoid, vector_ops::Erf, vector_ops::Silu, vector_ops::GeluErf,
             vector_ops::GeluTanh, vector_ops::Elu, vector_ops::Softplus>;

// The formula subtracts 1 from a number close to 1.
template <class VectorOp>
inline constexpr bool kCancels = kIsOneOf<VectorOp, vector_ops::GeluErf, vector_ops::GeluTanh>;

template <class VectorOp>
bool is_near(double x, double expected, double got) {
  const double size = kCancels<VectorOp> ? std::fabs(x) : std::fabs(expected);
  return std::fabs(expected - got) <= 2e-15 * size + 0x1p-1072;
}

template <class VectorOp, class T>
bool is_right(const std::array<T, kMaxOperands>& in, T got) {
  const T expected = [&] {
    if constexpr (VectorOp::operands == 1)
      return VectorOp::apply(One<T>(in[0])).value;
    else if constexpr (VectorOp::operands == 2)
      return VectorOp::apply(One<T>(in[0]), One<T>(in[1])).value;
    else
      return VectorOp::apply(One<T>(in[0]), One<T>(in[1]), One<T>(in[2])).value;
  }();
  if (std::memcmp(&expected, &got, sizeof(T)) == 0) return true;
  if constexpr (std::is_same_v<T, double>) {
    if (std::isnan(expected) && std::isnan(got)) return true;
    if (kIsElementary<VectorOp>) return std::isfinite(expected) && is_near<VectorOp>(in[0], expected, got);
    double size = 0;
    for (std::size_t i = 0; i < VectorOp::operands; ++i) size += std::fabs(in[i]);
    return kMayBeFused<VectorOp> && (!std::isfinite(expected) || !(size < 1e100) ||
                                     std::fabs(expected - got) <= 1e-15 * (1 + size) * (1 + size));
  }
  return false;
}

template <class VectorOp, class T>
void check_vector_op(const Loops64& loops, const char* set, std::size_t index) {
  static Guarded memory[kMaxOperands] = {Guarded(1 << 12), Guarded(1 << 12), Guarded(1 << 12)};
  static Guarded out_memory(1 << 12);
  std::size_t wrong = 0;
  for (std::size_t choice = 0; choice < (std::size_t{1} << VectorOp::operands); ++choice) {
    for (std::size_t n = 0; n <= 40; ++n) {
      std::array<const void*, kMaxOperands> in{};
      for (std::size_t o = 0; o < VectorOp::operands; ++o) {
        const std::size_t count = (choice >> o & 1) != 0 ? 1 : n;
        T* begin = memory[o].template last<T>(count);
        for (std::size_t i = 0; i < count; ++i) begin[i] = any<T>();
        in[o] = begin;
      }
      out_memory.reset();
      T* out = out_memory.last<T>(n);
      loops.by_scalars[choice](n, out, in.data());
      wrong += !out_memory.intact_before<T>(n);
      for (std::size_t i = 0; i < n; ++i) {
        std::array<T, kMaxOperands> x{};
        for (std::size_t o = 0; o < VectorOp::operands; ++o)
          x[o] = static_cast<const T*>(in[o])[(choice >> o & 1) != 0 ? 0 : i];
        wrong += !is_right<VectorOp>(x, out[i]);
      }
    }
  }
  CAPTURE(set, index);
  CHECK(wrong == 0);
}

template <class T, class... VectorOps>
void check_all(vector_ops::List<VectorOps...>, const Loops64* loops, const char* set) {
  std::size_t index = 0;
  ((check_vector_op<VectorOps, T>(loops[index], set, index), ++index), ...);
}

}  // namespace

TEST_CASE("kernels: vector ops on doubles and integers", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    check_all<double>(vector_ops::OfDoubles{}, set->doubles, set->table.name);
    check_all<std::int64_t>(vector_ops::OfIntegers{}, set->integers, set->table.name);
  }
}

TEST_CASE("kernels: vector ops without loops on doubles or integers", "[kernels]") {
  CHECK(loops_of_doubles<vector_ops::Pow>() == nullptr);
  CHECK(loops_of_integers<vector_ops::Div>() == nullptr);
  CHECK(loops_of_integers<vector_ops::Exp>() == nullptr);
  CHECK(loops_of_doubles<vector_ops::Exp>() != nullptr);
}
