// The kernels of every instruction set that this CPU has, against plain loops in double precision. What they
// read and write ends where a page ends that can not be touched.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <sr/kernels/kernels.hpp>
#include <sr/kernels/loops.hpp>

#include "support/catch.hpp"
#include "support/floats.hpp"
#include "support/guarded.hpp"
#include "support/kernel_sets.hpp"

using namespace sr::kernels;
using sr::test::Guarded;
using sr::test::kernel_sets;
using sr::test::kInf;
using sr::test::kNaN;

namespace {

std::mt19937& random_bits() {
  static std::mt19937 engine(20240229);
  return engine;
}

float uniform(float low = -1, float high = 1) {
  return std::uniform_real_distribution<float>(low, high)(random_bits());
}

// One in three is special, one in three has any bits at all, the others are of the size of activations.
float any_value() {
  static constexpr std::array kSpecial{0.0f,   -0.0f,  kNaN,    kInf,   -kInf,      1.0f,       -1.0f,
                                       0.5f,   1.5f,   -2.5f,   1e-45f, -1e-40f,    1.2e-38f,   3e38f,
                                       -3e38f, 88.6f,  -103.5f, 89.5f,  8388609.0f, 8388607.5f, -0.49999997f,
                                       1e-9f,  -1e-9f, 20.0f,   -17.0f, 0.70710677f};
  switch (random_bits()() % 3) {
    case 0:
      return kSpecial[random_bits()() % kSpecial.size()];
    case 1:
      return std::bit_cast<float>(static_cast<std::uint32_t>(random_bits()()));
    default:
      return uniform(-6, 6);
  }
}

double ulp(double value) {
  const double magnitude = std::fabs(value);
  if (!(magnitude >= 0x1p-126)) return 0x1p-149;
  return std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

// `scale`: what the error is measured in ulps of; more than the result where the formula itself cancels.
bool close(float got, double expected, double scale, double ulps) {
  const auto rounded = static_cast<float>(expected);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) && std::isnan(got);
  if (std::isinf(rounded) || std::isinf(got)) {
    // At the border to overflow either side is right.
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

// A vector op, every n, every choice of scalars, apart from and onto its first operand. `right` judges one
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

// Bit for bit what the expression gives in single precision.
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
  exact<ReverseSub>("reverse sub", [](float x, float y, float) { return y - x; });
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
  // Where a term overflows before the double does: what ATen's formula gives is as good.
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
  within<SignedLog1p>(1.5, "signed_log1p", [](double x, double, double) {
    return ((x > 0) - (x < 0)) * std::log1p(std::fabs(x));
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

TEST_CASE("kernels: a vector op that is not built in has loops of its own", "[kernels]") {
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

namespace {

struct Layout {
  std::ptrdiff_t b_k, b_n;
};

std::ptrdiff_t signed_size(std::size_t size) {
  return static_cast<std::ptrdiff_t>(size);
}

}  // namespace

TEST_CASE("kernels: products", "[kernels]") {
  static Guarded a_memory(1 << 16), b_memory(1 << 18), bias_memory(1 << 12), packed_memory(1 << 18),
      out_memory(1 << 16);
  const auto available = kernel_sets();
  for (const std::size_t n : {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 48, 64, 65, 100}) {
    for (const std::size_t k : {0, 1, 2, 7, 16, 51, 64, 130}) {
      for (std::size_t m = 1; m <= 20; ++m) {
        const bool with_bias = random_bits()() % 2 == 0;
        const float low = random_bits()() % 2 == 0 ? 0.0f : -kInf;
        const std::size_t a_row = k + random_bits()() % 3;
        const std::size_t out_row = n + random_bits()() % 4;
        const std::size_t a_size = (m - 1) * a_row + k;
        const std::size_t out_size = (m - 1) * out_row + n;
        float* a = a_memory.last<>(a_size);
        for (std::size_t i = 0; i < a_size; ++i) a[i] = uniform();
        float* bias = bias_memory.last<>(n);
        for (std::size_t i = 0; i < n; ++i) bias[i] = uniform();
        std::vector<float> b(k * n);
        for (float& value : b) value = uniform();
        std::vector<double> expected(m * n), scale(m * n);
        for (std::size_t i = 0; i < m; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            double total = with_bias ? bias[j] : 0, absolute = std::fabs(total);
            for (std::size_t l = 0; l < k; ++l) {
              total += double{a[i * a_row + l]} * b[l * n + j];
              absolute += std::fabs(double{a[i * a_row + l]} * b[l * n + j]);
            }
            expected[i * n + j] = std::max(total, double{low});
            scale[i * n + j] = absolute;
          }
        }
        for (const Layout layout :
             {Layout{signed_size(n), 1}, Layout{signed_size(n) + 5, 1}, Layout{1, signed_size(k)},
              Layout{1, signed_size(k) + 3}, Layout{2 * signed_size(n) + 1, 2}}) {
          const std::size_t b_size = k == 0 ? 0
                                            : (k - 1) * static_cast<std::size_t>(layout.b_k) +
                                                  (n - 1) * static_cast<std::size_t>(layout.b_n) + 1;
          float* strided = b_memory.last<>(b_size);
          std::fill_n(strided, b_size, kNaN);
          for (std::size_t l = 0; l < k; ++l) {
            for (std::size_t j = 0; j < n; ++j) {
              strided[l * static_cast<std::size_t>(layout.b_k) + j * static_cast<std::size_t>(layout.b_n)] =
                  b[l * n + j];
            }
          }
          for (const Kernels* set : available) {
            for (const bool packed : {false, true}) {
              Gemm product{.m = m,
                           .n = n,
                           .k = k,
                           .a = a,
                           .a_row = signed_size(a_row),
                           .b = strided,
                           .b_k = layout.b_k,
                           .b_n = layout.b_n,
                           .bias = with_bias ? bias : nullptr,
                           .clamp_min = low,
                           .out = out_memory.last<>(out_size),
                           .out_row = signed_size(out_row)};
              if (packed) {
                const std::size_t floats = set->table.packed_floats(n, k);
                auto* to = packed_memory.last<>((floats + 15) / 16 * 16);
                set->table.pack(n, k, strided, layout.b_k, layout.b_n, to);
                product.b = to;
              }
              out_memory.reset();
              (packed ? set->table.packed_gemm : set->table.gemm)(product);
              std::size_t wrong = 0, written = 0;
              for (std::size_t i = 0; i < m; ++i) {
                for (std::size_t j = 0; j < n; ++j) {
                  const double error = std::fabs(product.out[i * out_row + j] - expected[i * n + j]);
                  wrong += !(error <= static_cast<double>(k + 1) * 0x1p-24 * scale[i * n + j] + 1e-30);
                }
                for (std::size_t j = n; j < out_row && i + 1 < m; ++j) {
                  written += std::bit_cast<std::uint32_t>(product.out[i * out_row + j]) != 0xCBCBCBCB;
                }
              }
              if (wrong != 0 || written != 0 || !out_memory.intact_before<>(out_size)) {
                CAPTURE(set->table.name, packed, m, n, k, layout.b_k, layout.b_n, a_row, out_row, with_bias);
                CHECK(wrong == 0);
                CHECK(written == 0);
                CHECK(out_memory.intact_before<>(out_size));
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("kernels: a product without rows or columns does nothing", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    set->table.gemm({.m = 0, .n = 4, .k = 4});
    set->table.gemm({.m = 4, .n = 0, .k = 4});
    set->table.packed_gemm({.m = 0, .n = 40, .k = 4});
    set->table.packed_gemm({.m = 4, .n = 0, .k = 4});
    CHECK(set->table.packed_floats(0, 4) == 0);
  }
}

namespace {

// Runs one row kernel over three rows, apart and in place, and gives each row of the result to `right`.
template <class Run, class Right>
void check_rows(std::size_t columns, std::size_t out_columns, Run run, Right right) {
  constexpr std::size_t kRows = 3;
  static Guarded in_memory(1 << 17), out_memory(1 << 17);
  const std::size_t stride = columns + 2;
  const std::size_t in_size = (kRows - 1) * stride + columns;
  float* in = in_memory.last<>(in_size);
  for (std::size_t i = 0; i < in_size; ++i) in[i] = uniform(-5, 5);
  const std::vector<float> before(in, in + in_size);
  for (const bool in_place : {false, true}) {
    if (in_place && out_columns != columns) continue;
    const std::size_t out_stride = in_place ? stride : out_columns + 1;
    const std::size_t out_size = (kRows - 1) * out_stride + out_columns;
    out_memory.reset();
    float* out = in_place ? in : out_memory.last<>(out_size);
    run(RowMatrix{kRows, columns, in, signed_size(stride), out, signed_size(out_stride)});
    CHECK((in_place || out_memory.intact_before<>(out_size)));
    for (std::size_t r = 0; r < kRows; ++r) {
      const float* row = before.data() + r * stride;
      CHECK(right(std::vector<float>(row, row + columns), out + r * out_stride));
      if (r + 1 == kRows) continue;
      const float* behind = out + r * out_stride + out_columns;
      CHECK(same(*behind, in_place ? before[r * stride + columns] : std::bit_cast<float>(0xCBCBCBCB)));
    }
  }
}

bool near(float got, double expected, double tolerance) {
  return std::fabs(got - expected) <= tolerance;
}

double total(
    const std::vector<float>& row, double (*map)(double) = [](double x) { return x; }) {
  double result = 0;
  for (const float x : row) result += map(x);
  return result;
}

std::vector<std::size_t> row_lengths() {
  std::vector<std::size_t> result{1000, 5000};
  for (std::size_t n = 0; n <= 70; ++n) result.push_back(n);
  return result;
}

}  // namespace

TEST_CASE("kernels: softmax and log_softmax of rows", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    for (const std::size_t n : row_lengths()) {
      CAPTURE(set->table.name, n);
      check_rows(n, n, set->table.softmax_rows, [](const std::vector<float>& row, const float* out) {
        const double sum = total(row, [](double x) { return std::exp(x); });
        bool right = true;
        for (std::size_t i = 0; i < row.size(); ++i) {
          const double expected = std::exp(double{row[i]}) / sum;
          right &= near(out[i], expected, 2e-6 * expected);
        }
        return right;
      });
      check_rows(n, n, set->table.log_softmax_rows, [](const std::vector<float>& row, const float* out) {
        const double scale = std::log(total(row, [](double x) { return std::exp(x); }));
        bool right = true;
        for (std::size_t i = 0; i < row.size(); ++i) right &= near(out[i], double{row[i]} - scale, 4e-6);
        return right;
      });
      if (n == 0) continue;
      for (const auto run : {set->table.softmax_rows, set->table.log_softmax_rows}) {
        for (const float special : {-kInf, kNaN, kInf}) {
          std::vector<float> row(n, std::isnan(special) ? 1.0f : special), out(n);
          row[n / 2] = special;
          run({1, n, row.data(), 0, out.data(), 0});
          CHECK(std::all_of(out.begin(), out.end(), [](float x) { return std::isnan(x); }));
        }
      }
      std::vector<float> row(n, -kInf), out(n, kNaN);
      row[n / 2] = 2000;
      set->table.softmax_rows({1, n, row.data(), 0, out.data(), 0});
      CHECK(total(out) == 1);
    }
  }
}

TEST_CASE("kernels: layer normalisation of rows", "[kernels]") {
  static Guarded gamma_memory(1 << 15), beta_memory(1 << 15);
  for (const Kernels* set : kernel_sets()) {
    for (const std::size_t n : row_lengths()) {
      for (const int affine : {0, 1, 2, 3}) {
        CAPTURE(set->table.name, n, affine);
        float* gamma = (affine & 1) != 0 ? gamma_memory.last<>(n) : nullptr;
        float* beta = (affine & 2) != 0 ? beta_memory.last<>(n) : nullptr;
        for (std::size_t i = 0; i < n && gamma != nullptr; ++i) gamma[i] = uniform();
        for (std::size_t i = 0; i < n && beta != nullptr; ++i) beta[i] = uniform();
        check_rows(
            n, n, [&](const RowMatrix& rows) { set->table.layer_norm_rows(rows, gamma, beta, 1e-3f); },
            [&](const std::vector<float>& row, const float* out) {
              const double mean = total(row) / static_cast<double>(n);
              double variance = 0;
              for (const float x : row) variance += (x - mean) * (x - mean) / static_cast<double>(n);
              bool right = true;
              for (std::size_t i = 0; i < n; ++i) {
                const double x = (row[i] - mean) / std::sqrt(variance + 1e-3f);
                const double expected =
                    x * (gamma != nullptr ? gamma[i] : 1) + (beta != nullptr ? beta[i] : 0);
                right &= near(out[i], expected, n == 1 ? 1e-4 : 4e-6);
              }
              return right;
            });
      }
    }
  }
}

TEST_CASE("kernels: normalisation of more rows than are worked on at once", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    for (const std::size_t rows : {1, 3, 4, 5, 8, 11}) {
      for (const std::size_t n : {1, 7, 16, 33, 64, 300, 1023, 1024}) {
        CAPTURE(set->table.name, rows, n);
        std::vector<float> in(rows * n), out(rows * n, kNaN), gamma(n), beta(n);
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = uniform(-5, 5) + static_cast<float>(i / n) * 100;
        for (std::size_t i = 0; i < n; ++i) gamma[i] = uniform(), beta[i] = uniform();
        in[n - 1] = kNaN;
        const auto stride = signed_size(n);
        set->table.layer_norm_rows({rows, n, in.data(), stride, out.data(), stride}, gamma.data(),
                                   beta.data(), 1e-3f);
        CHECK(std::all_of(out.begin(), out.begin() + stride, [](float x) { return std::isnan(x); }));
        for (std::size_t r = 1; r < rows; ++r) {
          const std::vector<float> row(in.begin() + signed_size(r) * stride,
                                       in.begin() + signed_size(r + 1) * stride);
          const double mean = total(row) / static_cast<double>(n);
          double variance = 0;
          for (const float x : row) variance += (x - mean) * (x - mean) / static_cast<double>(n);
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < n; ++i) {
            const double expected = (row[i] - mean) / std::sqrt(variance + 1e-3f) * gamma[i] + beta[i];
            wrong += !near(out[r * n + i], expected, 1e-3);
          }
          CHECK(wrong == 0);
        }
        // Of equal elements nothing is left.
        std::fill(in.begin(), in.end(), 1e6f / 3);
        set->table.layer_norm_rows({rows, n, in.data(), stride, out.data(), stride}, nullptr, nullptr,
                                   1e-12f);
        CHECK(std::all_of(out.begin(), out.end(), [](float x) { return x == 0; }));
      }
    }
  }
}

TEST_CASE("kernels: root mean square normalisation of rows", "[kernels]") {
  static Guarded gamma_memory(1 << 15);
  for (const Kernels* set : kernel_sets()) {
    for (const std::size_t n : row_lengths()) {
      for (const bool scaled : {false, true}) {
        CAPTURE(set->table.name, n, scaled);
        float* gamma = scaled ? gamma_memory.last<>(n) : nullptr;
        for (std::size_t i = 0; i < n && scaled; ++i) gamma[i] = uniform();
        check_rows(
            n, n, [&](const RowMatrix& rows) { set->table.rms_norm_rows(rows, gamma, 1e-3f); },
            [&](const std::vector<float>& row, const float* out) {
              const double squares = total(row, [](double x) { return x * x; }) / static_cast<double>(n);
              bool right = true;
              for (std::size_t i = 0; i < n; ++i) {
                const double expected = row[i] / std::sqrt(squares + 1e-3f) * (scaled ? gamma[i] : 1);
                right &= near(out[i], expected, 4e-6);
              }
              return right;
            });
      }
    }
  }
}

TEST_CASE("kernels: normalisation of groups of channels", "[kernels]") {
  static Guarded in_memory(1 << 16), gamma_memory(1 << 12), out_memory(1 << 16);
  constexpr std::size_t kImages = 2;
  for (const Kernels* set : kernel_sets()) {
    for (const std::size_t groups : {1, 2, 3}) {
      for (const std::size_t channels : {1, 4, 19}) {
        for (const std::size_t plane : {1, 2, 9, 32}) {
          CAPTURE(set->table.name, groups, channels, plane);
          const std::size_t n = channels * plane, rows = kImages * groups;
          float* in = in_memory.last<>(rows * n);
          float* gamma = gamma_memory.last<>(groups * channels);
          for (std::size_t i = 0; i < rows * n; ++i) in[i] = uniform(-5, 5);
          for (std::size_t i = 0; i < groups * channels; ++i) gamma[i] = uniform();
          out_memory.reset();
          float* out = out_memory.last<>(rows * n);
          const auto stride = signed_size(n);
          set->table.group_norm_rows({rows, n, in, stride, out, stride}, groups, channels, gamma, gamma,
                                     1e-3f);
          CHECK(out_memory.intact_before<>(rows * n));
          std::size_t wrong = 0;
          for (std::size_t r = 0; r < rows; ++r) {
            const std::vector<float> row(in + r * n, in + (r + 1) * n);
            const double mean = total(row) / static_cast<double>(n);
            double variance = 0;
            for (const float x : row) variance += (x - mean) * (x - mean) / static_cast<double>(n);
            for (std::size_t i = 0; i < n; ++i) {
              const double scale = gamma[r % groups * channels + i / plane];
              const double expected = (row[i] - mean) / std::sqrt(variance + 1e-3f) * scale + scale;
              wrong += !near(out[r * n + i], expected, n == 1 ? 1e-4 : 1e-5);
            }
          }
          CHECK(wrong == 0);
        }
      }
    }
  }
}

namespace {

// One bag as its mode says, in double precision; a NaN behind the first is no maximum.
double plain_bag(const Bags& bags, const std::vector<std::int64_t>& indices, std::int64_t from,
                 std::int64_t to, std::size_t column) {
  double result = 0;
  std::int64_t taken = 0;
  for (std::int64_t i = from; i < to; ++i) {
    const std::int64_t index = indices[static_cast<std::size_t>(i)];
    if (index == bags.padding) continue;
    const float x = bags.table[index * bags.table_stride + signed_size(column)];
    if (bags.mode == BagMode::max) {
      if (taken == 0 || x > result) result = x;
    } else {
      result += bags.mode == BagMode::weighted_sum ? double{x} * bags.weights[i] : double{x};
    }
    ++taken;
  }
  return bags.mode == BagMode::mean && taken > 0 ? result / static_cast<double>(taken) : result;
}

}  // namespace

TEST_CASE("kernels: bags of rows of a table", "[kernels]") {
  static Guarded table_memory(1 << 16), index_memory(1 << 12), offset_memory(1 << 12), weight_memory(1 << 12),
      out_memory(1 << 16);
  constexpr std::int64_t kRows = 9;
  const std::vector<std::int64_t> offsets{0, 0, 1, 4, 4, 30};
  std::vector<std::int64_t> indices(33);
  for (std::int64_t& index : indices) index = static_cast<std::int64_t>(random_bits()() % kRows);
  const auto place = [&]<class T>(Guarded& memory, const std::vector<std::int64_t>& values, T) {
    T* to = memory.last<T>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) to[i] = static_cast<T>(values[i]);
    return to;
  };
  float* weights = weight_memory.last<>(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) weights[i] = uniform();
  for (const std::size_t columns : {1, 3, 4, 7, 8, 9, 16, 17, 31, 40, 64, 65, 100, 127, 128, 129, 150, 300}) {
    const std::size_t stride = columns + 3, table_size = (kRows - 1) * stride + columns;
    float* table = table_memory.last<>(table_size);
    for (std::size_t i = 0; i < table_size; ++i) table[i] = random_bits()() % 50 == 0 ? kNaN : uniform(-9, 9);
    for (const BagMode mode : {BagMode::sum, BagMode::mean, BagMode::weighted_sum, BagMode::max}) {
      for (const bool wide : {false, true}) {
        for (const bool to_last_offset : {false, true}) {
          for (const std::int64_t padding : {-1, 4}) {
            Bags bags{.mode = mode,
                      .bags = offsets.size() - (to_last_offset ? 1 : 0),
                      .columns = columns,
                      .table = table,
                      .table_stride = signed_size(stride),
                      .wide = wide,
                      .indices_count = to_last_offset ? offsets.back() : signed_size(indices.size()),
                      .offsets_count = signed_size(offsets.size()),
                      .padding = padding,
                      .weights = weights,
                      .out_stride = signed_size(columns + 1)};
            if (wide) {
              bags.indices = place(index_memory, indices, std::int64_t{});
              bags.offsets = place(offset_memory, offsets, std::int64_t{});
            } else {
              bags.indices = place(index_memory, indices, std::int32_t{});
              bags.offsets = place(offset_memory, offsets, std::int32_t{});
            }
            const std::size_t out_size = (bags.bags - 1) * (columns + 1) + columns;
            for (const Kernels* set : kernel_sets()) {
              out_memory.reset();
              bags.out = out_memory.last<>(out_size);
              set->table.reduce_bags(bags);
              std::size_t wrong = !out_memory.intact_before<>(out_size);
              for (std::size_t b = 0; b < bags.bags; ++b) {
                const std::int64_t to = b + 1 < offsets.size() ? offsets[b + 1] : bags.indices_count;
                for (std::size_t c = 0; c < columns; ++c) {
                  const double expected = plain_bag(bags, indices, offsets[b], to, c);
                  const float got = bags.out[b * (columns + 1) + c];
                  wrong += std::isnan(expected) ? !std::isnan(got) : !near(got, expected, 1e-4);
                }
                if (b + 1 < bags.bags)
                  wrong += std::bit_cast<std::uint32_t>(bags.out[b * (columns + 1) + columns]) != 0xCBCBCBCB;
              }
              CAPTURE(set->table.name, columns, static_cast<int>(mode), wide, to_last_offset, padding);
              CHECK(wrong == 0);
            }
          }
        }
      }
    }
  }
}

namespace {

// A shape, strides of some order of its dimensions with gaps here and there, and on the input some that
// repeat.
StridedCopy any_copy(std::size_t rank, std::size_t width, std::size_t& in_size, std::size_t& out_size) {
  StridedCopy shape{.rank = rank, .width = width};
  for (std::size_t d = 0; d < rank; ++d)
    shape.sizes[d] = std::array{1, 2, 3, 4, 7, 16, 19}[random_bits()() % 7];
  const auto lay_out = [&](auto& strides, bool may_repeat) {
    std::vector<std::size_t> order(rank);
    for (std::size_t d = 0; d < rank; ++d) order[d] = rank - 1 - d;
    if (random_bits()() % 2 == 0) std::shuffle(order.begin(), order.end(), random_bits());
    std::int64_t stride = random_bits()() % 4 == 0 ? 2 : 1, last = 0;
    for (const std::size_t d : order) {
      const bool repeat = may_repeat && random_bits()() % 5 == 0;
      strides[d] = repeat ? 0 : stride;
      last += (shape.sizes[d] - 1) * strides[d];
      if (!repeat) stride = stride * shape.sizes[d] + (random_bits()() % 4 == 0 ? 1 : 0);
    }
    return static_cast<std::size_t>(last + 1);
  };
  in_size = lay_out(shape.in_strides, true);
  out_size = lay_out(shape.out_strides, false);
  return shape;
}

void copy_plainly(const StridedCopy& shape, std::size_t d, const unsigned char* in, unsigned char* out) {
  if (d == shape.rank) {
    std::memcpy(out, in, shape.width);
    return;
  }
  const auto width = static_cast<std::int64_t>(shape.width);
  for (std::int64_t i = 0; i < shape.sizes[d]; ++i) {
    copy_plainly(shape, d + 1, in + i * shape.in_strides[d] * width, out + i * shape.out_strides[d] * width);
  }
}

}  // namespace

TEST_CASE("kernels: strided copies", "[kernels]") {
  static Guarded in_memory(1 << 23), out_memory(1 << 23);
  for (int round = 0; round < 600; ++round) {
    const std::size_t width = std::size_t{1} << (round % 5);
    const std::size_t rank = static_cast<std::size_t>(round / 5 % 5);
    std::size_t in_size = 0, out_size = 0;
    const StridedCopy shape = any_copy(rank, width, in_size, out_size);
    auto* in = in_memory.last<unsigned char>(in_size * width);
    auto* out = out_memory.last<unsigned char>(out_size * width);
    for (std::size_t i = 0; i < in_size * width; ++i) in[i] = static_cast<unsigned char>(random_bits()());
    std::vector<unsigned char> expected(out_size * width, Guarded::kCanary);
    copy_plainly(shape, 0, in, expected.data());
    for (const Kernels* set : kernel_sets()) {
      std::memset(out - Guarded::kWatched, Guarded::kCanary, out_size * width + Guarded::kWatched);
      set->table.copy(shape, in, out);
      CAPTURE(set->table.name, rank, width, shape.sizes, shape.in_strides, shape.out_strides);
      CHECK(std::memcmp(out, expected.data(), expected.size()) == 0);
      CHECK(out_memory.intact_before<unsigned char>(out_size * width));
    }
  }
  for (const Kernels* set : kernel_sets()) {  // a size of 0
    set->table.copy({.rank = 2, .width = 4, .sizes = {3, 0}, .in_strides = {1, 1}, .out_strides = {1, 1}},
                    nullptr, nullptr);
  }
}
