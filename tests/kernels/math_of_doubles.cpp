// Elementary functions on doubles against those of long double: the stated largest errors, and results for
// special values, with every instruction set of this CPU.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/kernel_sets.hpp"

using namespace sr::kernels;
using sr::test::kernel_sets;
using Long = long double;

namespace {

static_assert(std::numeric_limits<Long>::digits >= 64, "the truth has more digits than what is checked");

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kAlpha = 0.7, kBeta = 1.5, kThreshold = 20;
constexpr std::size_t kSamples = 1'000'000;

using Truth = Long (*)(Long x);
struct Row {
  const char* name;
  std::size_t vector_op;
  double ulps;       // the largest allowed error; that of a correctly rounded result is 0.5
  double low, high;  // the range in which the function is neither a constant nor its argument
  Truth truth;
  unsigned scalars = 0;                // operands that are one number
  std::array<double, 2> numbers = {};  // the operands after x
  bool by_input = false;  // the error is in ulps of x if x < 0: the formula subtracts 1 from a number near 1
};

template <class VectorOp>
constexpr std::size_t kIndex = vector_ops::OfDoubles::index_of<VectorOp>();

Long sigmoid(Long x) {
  return 1 / (1 + std::exp(-x));
}
// The function of an argument that is rounded to a double first.
Long softplus(Long x) {
  const double scaled = static_cast<double>(x) * kBeta;
  return scaled > kThreshold ? x : std::log1p(std::exp(Long{scaled})) / kBeta;
}
Long gelu(Long x) {
  return x * std::erfc(-x / std::numbers::sqrt2_v<Long>) / 2;
}
Long gelu_tanh(Long x) {
  const Long inner =
      std::numbers::sqrt2_v<Long> * std::numbers::inv_sqrtpi_v<Long> * (x + 0.044715L * x * x * x);
  return x * sigmoid(2 * inner);
}

const Row kRows[] = {
    {"exp", kIndex<vector_ops::Exp>, 1, -750, 715, [](Long x) { return std::exp(x); }},
    {"expm1", kIndex<vector_ops::Expm1>, 2, -40, 715, [](Long x) { return std::expm1(x); }},
    {"log", kIndex<vector_ops::Log>, 1, 0, 4, [](Long x) { return std::log(x); }},
    {"log1p", kIndex<vector_ops::Log1p>, 1.5, -1, 4, [](Long x) { return std::log1p(x); }},
    {"tanh", kIndex<vector_ops::Tanh>, 2, -22, 22, [](Long x) { return std::tanh(x); }},
    {"sigmoid", kIndex<vector_ops::Sigmoid>, 2, -750, 40, sigmoid},
    {"erf", kIndex<vector_ops::Erf>, 2, -6, 6, [](Long x) { return std::erf(x); }},
    {"silu", kIndex<vector_ops::Silu>, 2, -760, 40, [](Long x) { return x * sigmoid(x); }},
    {"gelu", kIndex<vector_ops::GeluErf>, 2, -9, 9, gelu, 0, {}, true},
    {"gelu_tanh", kIndex<vector_ops::GeluTanh>, 2.1, -9, 9, gelu_tanh, 0, {}, true},
    {"elu",
     kIndex<vector_ops::Elu>,
     2,
     -40,
     2,
     [](Long x) { return x >= 0 ? x : std::expm1(x) * kAlpha; },
     0b10,
     {kAlpha}},
    {"softplus", kIndex<vector_ops::Softplus>, 3, -500, 15, softplus, 0b110, {kBeta, kThreshold}},
};

// At the thresholds of overflow, of denormal results and of zero; the neighbours of each are added.
constexpr double kSpecial[] = {0.0,
                               5e-324,
                               0x1p-1022,
                               0x1.fffffffffffffp-1023,
                               0x1p-60,
                               0x1p-54,
                               0x1p-53,
                               0x1p-28,
                               1e-5,
                               0.25,
                               0.35,
                               0.5,
                               0.55,
                               0.70710678118654752,
                               1.0,
                               1.4142135623730951,
                               2.0,
                               20.0,
                               19.06,
                               22.0,
                               37.0,
                               44.0,
                               60.0,
                               5.95,
                               9.0,
                               708.4,
                               709.78271289338397,
                               710.0,
                               744.44,
                               745.13321910194122,
                               746.0,
                               760.0,
                               1418.2,
                               1e10,
                               0x1p60,
                               1e300,
                               kLargest,
                               kInfinity,
                               0.34657359027997264,
                               1.0397207708399179};

std::vector<double> inputs(const Row& row) {
  std::mt19937_64 random(20260131);
  std::vector<double> all{kNaN, -kNaN, 13.0};  // an odd number of them
  for (const double special : kSpecial) {
    for (const double x : {special, std::nextafter(special, 0), std::nextafter(special, kInfinity)})
      all.insert(all.end(), {x, -x});
  }
  std::uniform_real_distribution<double> within(row.low, row.high), small(-2, 2), exponent(-60, 1);
  for (std::size_t i = 0; i < kSamples; i += 4) {
    all.push_back(within(random));
    all.push_back(small(random));
    all.push_back(std::copysign(std::exp2(exponent(random)), small(random)));
    all.push_back(std::bit_cast<double>(random()));
  }
  return all;
}

// In units of the last place of `size`; infinity counts as the number after the largest one.
double error_in_ulps(double got, Long truth, double size) {
  const auto rounded = static_cast<double>(truth);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) == std::isnan(got) ? 0 : kInfinity;
  if (got == rounded && std::signbit(got) == std::signbit(rounded) && (std::isinf(got) || got == 0)) return 0;
  if (std::isinf(truth) || (got == 0 && std::signbit(got) != std::signbit(truth))) return kInfinity;
  const double magnitude = std::min(kLargest, std::max({std::fabs(rounded), size, 0x1p-1022}));
  const Long difference = (std::isinf(got) ? std::copysign(0x1p1024L, Long{got}) : Long{got}) - truth;
  return static_cast<double>(std::fabs(std::ldexp(difference, 52 - std::ilogb(magnitude))));
}

// ATen's result for -infinity, a product with 0.
bool is_nan_of_product(const Row& row, double x) {
  return x == -kInfinity && (row.by_input || row.vector_op == kIndex<vector_ops::Silu>);
}

struct Worst {
  double ulps = 0, at = 0, got = 0;
};

Worst worst_of(const Row& row, const std::vector<double>& x, const std::vector<Long>& truth,
               const Kernels& set) {
  std::vector<double> out(x.size());
  const void* in[kMaxOperands] = {x.data(), row.numbers.data(), row.numbers.data() + 1};
  set.doubles[row.vector_op].by_scalars[row.scalars](x.size(), out.data(), in);
  Worst worst;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double size = row.by_input && x[i] < 0 ? -x[i] : 0;
    const double ulps = error_in_ulps(out[i], truth[i], size);
    if (!(ulps <= worst.ulps)) worst = {ulps, x[i], out[i]};
  }
  return worst;
}

std::string text(const Worst& worst) {
  char buffer[120];
  std::snprintf(buffer, sizeof(buffer), "%.3f ulps: %a becomes %a", worst.ulps, worst.at, worst.got);
  return buffer;
}

}  // namespace

TEST_CASE("kernels: elementary functions of doubles are within their bounds", "[kernels]") {
  for (const Row& row : kRows) {
    const std::vector<double> x = inputs(row);
    std::vector<Long> truth(x.size());
    std::ranges::transform(x, truth.begin(), [&](double each) {
      return is_nan_of_product(row, each) ? Long{kNaN} : row.truth(each);
    });
    for (const Kernels* set : kernel_sets()) {
      const Worst worst = worst_of(row, x, truth, *set);
      CAPTURE(row.name, set->table.name, text(worst));
      CHECK(worst.ulps <= row.ulps);
    }
  }
}
