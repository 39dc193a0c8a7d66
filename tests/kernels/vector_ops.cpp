// The vector ops of every instruction set of this CPU, against plain loops in double precision. All memory
// ends at an inaccessible page.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <sr/kernels/kernels.hpp>
#include <sr/kernels/loops.hpp>

#include "support/catch.hpp"
#include "support/floats.hpp"
#include "support/guarded.hpp"
#include "support/kernel_sets.hpp"
#include "support/kernel_values.hpp"
#include "support/small_floats.hpp"

using namespace sr::kernels;
using sr::test::any_value;
using sr::test::Guarded;
using sr::test::kernel_sets;
using sr::test::kNaN;
using sr::test::same;
using sr::test::uniform;

namespace {

double ulp(double value) {
  const double magnitude = std::fabs(value);
  if (!(magnitude >= 0x1p-126)) return 0x1p-149;
  return std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

// `scale` is what the error is measured in ulps of; it exceeds the result where the formula cancels.
bool close(float got, double expected, double scale, double ulps) {
  const auto rounded = static_cast<float>(expected);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) && std::isnan(got);
  if (std::isinf(rounded) || std::isinf(got)) {
    // Near overflow, both infinity and the largest float are right.
    return got == rounded || (std::fabs(expected) > 3.4028e38 && std::fabs(got) > 3.4028e38f &&
                              std::signbit(got) == std::signbit(rounded));
  }
  if (rounded == 0 && got == 0)
    return std::signbit(rounded) == std::signbit(got) || expected != 0 || scale != 0;
  return std::fabs(got - expected) <= ulps * ulp(std::fmax(std::fabs(expected), scale));
}

std::string show(const std::array<float, 3>& in, float got, double expected) {
  char text[160];
  std::snprintf(text, sizeof(text), "(%a, %a, %a) -> %a, not %a", in[0], in[1], in[2], got, expected);
  return text;
}

// Tests a vector op for every n and every choice of scalars, out of place and in place. `right` judges one
// result.
template <class VectorOp, class Value, class Right>
void check_vector_op(const char* name, Value value, Right right) {
  static Guarded memory[kMaxOperands] = {Guarded(1 << 12), Guarded(1 << 12), Guarded(1 << 12)};
  static Guarded out_memory(1 << 12);
  for (const Kernels* set : kernel_sets()) {
    const VectorLoops& loops = set->vector_ops[BuiltinVectorOps::index_of<VectorOp>()];
    CAPTURE(name, set->table.name);
    REQUIRE(loops.operands == VectorOp::operands);
    std::size_t wrong = 0;
    std::string first_wrong;
    for (std::size_t variant = 0; variant < (std::size_t{1} << VectorOp::operands); ++variant) {
      for (std::size_t n = 0; n <= 70; ++n) {
        for (const bool in_place : {false, true}) {
          std::array<const float*, kMaxOperands> in{};
          std::array<std::vector<float>, kMaxOperands> copies;
          for (std::size_t o = 0; o < VectorOp::operands; ++o) {
            const bool scalar = ((variant >> o) & 1) != 0;
            float* begin = memory[o].template last<>(scalar ? 1 : n);
            for (std::size_t i = 0; i < (scalar ? 1 : n); ++i) begin[i] = value(o);
            copies[o].assign(n, scalar ? *begin : 0.0f);
            if (!scalar) copies[o].assign(begin, begin + n);
            in[o] = begin;
          }
          if (in_place && (variant & 1) != 0) continue;
          out_memory.reset();
          float* out = in_place ? const_cast<float*>(in[0]) : out_memory.last<>(n);
          loops.by_scalars[variant](n, out, in.data());
          if (!in_place && !out_memory.intact_before<>(n)) ++wrong, first_wrong = "a write in front";
          for (std::size_t i = 0; i < n; ++i) {
            std::array<float, 3> x{};
            for (std::size_t o = 0; o < VectorOp::operands; ++o) x[o] = copies[o][i];
            double expected = 0;
            if (!right(x, out[i], expected) && wrong++ == 0) first_wrong = show(x, out[i], expected);
          }
        }
      }
    }
    CAPTURE(first_wrong);
    CHECK(wrong == 0);
  }
}

// Bit-identical to the expression in single precision.
template <class VectorOp, class Expected>
void exact(const char* name, Expected expected) {
  check_vector_op<VectorOp>(
      name, [](std::size_t) { return any_value(); },
      [&](const std::array<float, 3>& x, float got, double& shown) {
        const float want = expected(x[0], x[1], x[2]);
        shown = want;
        return same(got, want);
      });
}

constexpr auto kItself = [](double expected, const std::array<float, 3>&) { return expected; };

// Within `ulps` of the expression in double precision.
template <class VectorOp, class Expected, class Scale = decltype(kItself)>
void within(double ulps, const char* name, Expected expected, Scale scale = kItself) {
  static_assert(!VectorOp::exact);
  check_vector_op<VectorOp>(
      name, [](std::size_t) { return any_value(); },
      [&](const std::array<float, 3>& x, float got, double& want) {
        want = expected(x[0], x[1], x[2]);
        return close(got, want, std::fabs(scale(want, x)), ulps);
      });
}

float larger(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? kNaN : a > b ? a : b;
}
float smaller(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? kNaN : a < b ? a : b;
}
float hard(float x) {
  return smaller(6, larger(0, x + 3));
}

}  // namespace

TEST_CASE("kernels: vector ops that are IEEE arithmetic are right to the bit", "[kernels]") {
  using namespace vector_ops;
  exact<Add>("add", [](float x, float y, float) { return x + y; });
  exact<Sub>("sub", [](float x, float y, float) { return x - y; });
  exact<Mul>("mul", [](float x, float y, float) { return x * y; });
  exact<Div>("div", [](float x, float y, float) { return x / y; });
  exact<AddRelu>("add relu", [](float x, float y, float) { return larger(0, x + y); });
  exact<MulRelu>("mul relu", [](float x, float y, float) { return larger(0, x * y); });
  exact<Maximum>("maximum", [](float x, float y, float) { return larger(x, y); });
  exact<Minimum>("minimum", [](float x, float y, float) { return smaller(x, y); });
  exact<ClampMin>("clamp_min", [](float x, float y, float) { return larger(y, x); });
  exact<ClampMax>("clamp_max", [](float x, float y, float) { return smaller(y, x); });
  exact<Clamp>("clamp", [](float x, float y, float z) { return smaller(z, larger(y, x)); });
  exact<Relu>("relu", [](float x, float, float) { return larger(0, x); });
  exact<LeakyRelu>("leaky_relu", [](float x, float y, float) { return x > 0 ? x : x * y; });
  exact<Threshold>("threshold", [](float x, float y, float z) { return x <= y ? z : x; });
  exact<Hardsigmoid>("hardsigmoid", [](float x, float, float) { return hard(x) / 6; });
  exact<Hardswish>("hardswish", [](float x, float, float) { return x * hard(x) / 6; });
  exact<Equal>("equal", [](float x, float y, float) { return x == y ? 1.0f : 0.0f; });
  exact<NotEqual>("not equal", [](float x, float y, float) { return x != y ? 1.0f : 0.0f; });
  exact<Less>("less", [](float x, float y, float) { return x < y ? 1.0f : 0.0f; });
  exact<LessEqual>("less or equal", [](float x, float y, float) { return x <= y ? 1.0f : 0.0f; });
  exact<Greater>("greater", [](float x, float y, float) { return x > y ? 1.0f : 0.0f; });
  exact<GreaterEqual>("greater or equal", [](float x, float y, float) { return x >= y ? 1.0f : 0.0f; });
  exact<And>("and", [](float x, float y, float) { return x != 0 && y != 0 ? 1.0f : 0.0f; });
  exact<Or>("or", [](float x, float y, float) { return x != 0 || y != 0 ? 1.0f : 0.0f; });
  exact<Xor>("xor", [](float x, float y, float) { return (x != 0) != (y != 0) ? 1.0f : 0.0f; });
  exact<Not>("not", [](float x, float, float) { return x == 0 ? 1.0f : 0.0f; });
  exact<IsNan>("is nan", [](float x, float, float) { return std::isnan(x) ? 1.0f : 0.0f; });
  exact<Where>("where", [](float x, float y, float z) { return x != 0 ? y : z; });
  exact<MaskedFill>("masked fill", [](float x, float y, float z) { return y != 0 ? z : x; });
  exact<Same>("same", [](float x, float, float) { return x; });
  exact<RoundToBfloat16>("round to bfloat16", [](float x, float, float) {
    const auto all = std::bit_cast<std::uint32_t>(x);
    std::uint32_t upper = all >> 16;
    const std::uint32_t rest = all & 0xffff;
    if (rest > 0x8000 || (rest == 0x8000 && (upper & 1) != 0)) ++upper;
    return std::isnan(x) ? x : std::bit_cast<float>(upper << 16);
  });
  exact<RoundToFloat16>("round to float16", [](float x, float, float) {
    return std::isnan(x) ? x : static_cast<float>(sr::test::nearest(sr::test::kFloat16, x));
  });
  exact<InverseSquare>("inverse square", [](float x, float, float) { return 1 / (x * x); });
  exact<Neg>("neg", [](float x, float, float) { return -x; });
  exact<Abs>("abs", [](float x, float, float) { return std::fabs(x); });
  exact<Sign>("sign", [](float x, float, float) { return x > 0 ? 1.0f : x < 0 ? -1.0f : 0.0f; });
  exact<Square>("square", [](float x, float, float) { return x * x; });
  exact<Cube>("cube", [](float x, float, float) { return x * x * x; });
  exact<Sqrt>("sqrt", [](float x, float, float) { return std::sqrt(x); });
  exact<Rsqrt>("rsqrt", [](float x, float, float) { return 1 / std::sqrt(x); });
  exact<Reciprocal>("reciprocal", [](float x, float, float) { return 1 / x; });
  exact<Floor>("floor", [](float x, float, float) { return std::floor(x); });
  exact<Ceil>("ceil", [](float x, float, float) { return std::ceil(x); });
  exact<Round>("round", [](float x, float, float) { return std::nearbyint(x); });
  exact<Trunc>("trunc", [](float x, float, float) { return std::trunc(x); });
}

TEST_CASE("kernels: elementary functions are within their bounds", "[kernels]") {
  using namespace vector_ops;
  within<Exp>(1, "exp", [](double x, double, double) { return std::exp(x); });
  within<Expm1>(1.5, "expm1", [](double x, double, double) { return std::expm1(x); });
  within<Log>(1, "log", [](double x, double, double) { return std::log(x); });
  within<Log1p>(1.5, "log1p", [](double x, double, double) { return std::log1p(x); });
  within<Tanh>(2, "tanh", [](double x, double, double) { return std::tanh(x); });
  within<Sigmoid>(2, "sigmoid", [](double x, double, double) { return 1 / (1 + std::exp(-x)); });
  within<Pow>(0.51, "pow", [](double x, double y, double) { return std::pow(x, y); });
  within<Erf>(2, "erf", [](double x, double, double) { return std::erf(x); });
}

TEST_CASE("kernels: activations of elementary functions are within their bounds", "[kernels]") {
  using namespace vector_ops;
  const auto of_x = [](double, const std::array<float, 3>& x) { return x[0]; };
  const auto of_sum = [](double, const std::array<float, 3>& x) {
    return std::fabs(x[0]) + std::fabs(double{x[1]} * x[2]);
  };
  // Where a term overflows before the double does, ATen's result is right, too.
  const auto fused = [](double sign) {
    return [sign](double x, double y, double z) {
      const auto product = static_cast<float>(y * z);
      return std::isinf(product) || std::isnan(product) ? x + sign * product : x + sign * y * z;
    };
  };
  const auto scaled = [&](const auto vector_op, const char* name, double sign) {
    check_vector_op<std::remove_const_t<decltype(vector_op)>>(
        name, [](std::size_t o) { return o == 0 ? any_value() : uniform(-4, 4); },
        [&](const std::array<float, 3>& x, float got, double& want) {
          want = fused(sign)(x[0], x[1], x[2]);
          return close(got, want, of_sum(want, x), 2);
        });
  };
  scaled(AddScaled{}, "add scaled", 1);
  scaled(SubScaled{}, "sub scaled", -1);
  check_vector_op<AddProduct>(
      "add product", [](std::size_t o) { return o == 0 ? any_value() : uniform(-4, 4); },
      [&](const std::array<float, 3>& x, float got, double& want) {
        want = double{x[0]} + double{x[1]} * x[2];
        return close(got, want, of_sum(want, x), 1);
      });
  check_vector_op<AddQuotient>(
      "add quotient", [](std::size_t o) { return o == 0 ? any_value() : uniform(1, 4); },
      [&](const std::array<float, 3>& x, float got, double& want) {
        want = double{x[0]} + double{x[1]} / x[2];
        return close(got, want, std::fabs(x[0]) + std::fabs(x[1]), 1);
      });
  check_vector_op<Lerp>(
      "lerp", [](std::size_t) { return uniform(-2, 2); },
      [&](const std::array<float, 3>& x, float got, double& want) {
        want = x[0] + double{x[2]} * (double{x[1]} - x[0]);
        return close(got, want, (1 + std::fabs(x[2])) * (std::fabs(x[0]) + std::fabs(x[1])), 3);
      });
  within<Silu>(2, "silu", [](double x, double, double) { return x / (1 + std::exp(-x)); });
  within<GeluErf>(
      3, "gelu", [](double x, double, double) { return x * 0.5 * (1 + std::erf(x * std::sqrt(0.5))); }, of_x);
  within<GeluTanh>(
      3, "gelu tanh",
      [](double x, double, double) {
        const auto cube = static_cast<float>(x * x * x);
        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * cube)));
      },
      of_x);
  within<Elu>(2.1, "elu", [](double x, double alpha, double) { return x >= 0 ? x : std::expm1(x) * alpha; });
  check_vector_op<Softplus>(
      "softplus", [](std::size_t o) { return o == 0   ? any_value()
                                             : o == 1 ? 1.5f
                                                      : 20.0f; },
      [](const std::array<float, 3>& x, float got, double& want) {
        const float product = x[0] * x[1];
        want = product > x[2] ? double{x[0]} : std::log1p(std::exp(double{product})) / x[1];
        return close(got, want, 0, 4);
      });
}

namespace {

struct AsProgrammed {
  static constexpr std::size_t operands = 2;
  template <class V>
  static V apply(V x, V y) {
    return select(x > y, x * V(2.0f), tanh(y));
  }
};

}  // namespace

TEST_CASE("kernels: a user's vector op has loops", "[kernels]") {
  const std::array<float, 3> x{1, 2, 3};
  const float y = 2;
  std::array<float, 3> out{};
  const std::array<const float*, 2> in{x.data(), &y};
  static constexpr VectorLoops kLoops = make_loops<AsProgrammed>();
  kLoops.by_scalars[2](3, out.data(), in.data());
  CHECK(out[0] == Approx(std::tanh(2.0)));
  CHECK(out[2] == 6);
  CHECK(&loops<vector_ops::Relu>() == &kernels().vector_ops[BuiltinVectorOps::index_of<vector_ops::Relu>()]);
}
