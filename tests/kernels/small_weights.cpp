// Products of weights in bfloat16 and float16, with the kernels of every instruction set of this CPU, against
// sums in double precision. All memory ends at an inaccessible page.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/floats.hpp"
#include "support/guarded.hpp"
#include "support/kernel_sets.hpp"
#include "support/small_floats.hpp"

using namespace sr::kernels;
using sr::test::Guarded;
using sr::test::kernel_sets;
using sr::test::kInf;
using sr::test::kNaN;

namespace {

std::mt19937& random_bits() {
  static std::mt19937 engine(16);
  return engine;
}
float uniform() {
  return std::uniform_real_distribution<float>(-1, 1)(random_bits());
}

struct Bfloat16 {
  using Bits = Bfloat16Bits;
  static constexpr sr::test::SmallFloat kType = sr::test::kBfloat16;
  static const SmallWeights<Bits>& kernels(const Table& table) { return table.bfloat16_weights; }
};
struct Float16 {
  using Bits = Float16Bits;
  static constexpr sr::test::SmallFloat kType = sr::test::kFloat16;
  static const SmallWeights<Bits>& kernels(const Table& table) { return table.float16_weights; }
};

template <class Type>
float value_of(typename Type::Bits half) {
  return static_cast<float>(sr::test::value_of(Type::kType, half.bits));
}
// The bits of a number that the type has.
template <class Type>
typename Type::Bits half_of(float value) {
  return {sr::test::bits_of(Type::kType, value)};
}
template <class Type>
float nearest(float value) {
  return static_cast<float>(sr::test::nearest(Type::kType, value));
}
template <class Type>
typename Type::Bits any_half() {
  return half_of<Type>(nearest<Type>(uniform()));
}

struct Layout {
  std::ptrdiff_t b_k, b_n;
};

std::ptrdiff_t signed_size(std::size_t size) {
  return static_cast<std::ptrdiff_t>(size);
}

// One product in guarded memory; every instruction set multiplies the same numbers.
template <class Type>
class Sample {
  using Bits = typename Type::Bits;

 public:
  const std::size_t m, n, k;

  Sample(std::size_t rows, std::size_t columns, std::size_t inner)
      : m(rows),
        n(columns),
        k(inner),
        a_row_(k + random_bits()() % 3),
        out_row_(n + random_bits()() % 4),
        with_bias_(random_bits()() % 2 == 0),
        low_(random_bits()() % 2 == 0 ? 0.0f : -kInf),
        a_(a_memory.last<>((m - 1) * a_row_ + k)),
        bias_(bias_memory.last<>(n)),
        b_(k * n),
        least_(m * n),
        most_(m * n) {
    std::generate_n(a_, (m - 1) * a_row_ + k, uniform);
    std::generate_n(bias_, n, uniform);
    std::generate(b_.begin(), b_.end(), any_half<Type>);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) find_bounds(i, j);
    }
  }

  // The number of results that no order of summation in fp32 could give, those in fp32 and those that are
  // rounded to the type of the weights.
  std::size_t wrong(const Kernels& set, Layout layout) {
    const Bits* const packed = pack(set.table, layout);
    const SmallWeights<Bits>& kernels = Type::kernels(set.table);
    return wrong_results<Bits>(
               packed, kernels.multiply_and_round, [](Bits x) { return value_of<Type>(x); }, nearest<Type>) +
           wrong_results<float>(packed, kernels.multiply, std::identity(), std::identity());
  }

 private:
  // Rounding is monotonic, so that a result lies between the rounded ends of its interval.
  template <class Result>
  std::size_t wrong_results(const Bits* packed, void (*multiply)(const GemmOf<Bits, Result>& product),
                            auto value_of_result, auto rounded) {
    const std::size_t size = (m - 1) * out_row_ + n;
    out_memory.reset();
    auto* const out = out_memory.last<Result>(size);
    multiply({.m = m,
              .n = n,
              .k = k,
              .a = a_,
              .a_row = signed_size(a_row_),
              .b = packed,
              .bias = with_bias_ ? bias_ : nullptr,
              .clamp_min = low_,
              .out = out,
              .out_row = signed_size(out_row_)});
    std::size_t count = out_memory.intact_before<Result>(size) ? 0 : 1;
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const float got = value_of_result(out[i * out_row_ + j]);
        count += !(got >= std::max(low_, rounded(least_[i * n + j])) &&
                   got <= std::max(low_, rounded(most_[i * n + j])));
      }
      for (std::size_t j = n; j < out_row_ && i + 1 < m; ++j) {
        const auto untouched = std::bit_cast<std::array<std::uint8_t, sizeof(Result)>>(out[i * out_row_ + j]);
        count += std::ranges::count(untouched, 0xCB) != sizeof(Result);
      }
    }
    return count;
  }

  // The error of a sum in fp32 is at most (k + 1) * 2^-24 of the sum of the magnitudes.
  void find_bounds(std::size_t i, std::size_t j) {
    double total = with_bias_ ? bias_[j] : 0, magnitudes = std::fabs(total);
    for (std::size_t l = 0; l < k; ++l) {
      const double product = double{a_[i * a_row_ + l]} * double{value_of<Type>(b_[l * n + j])};
      total += product;
      magnitudes += std::fabs(product);
    }
    const double error = static_cast<double>(k + 1) * 0x1p-24 * magnitudes;
    least_[i * n + j] = static_cast<float>(total - error);
    most_[i * n + j] = static_cast<float>(total + error);
  }

  // Embeds the matrix in NaNs, and returns the result.
  const Bits* pack(const Table& table, Layout layout) {
    const auto at = [&](std::size_t l, std::size_t j) {
      return l * static_cast<std::size_t>(layout.b_k) + j * static_cast<std::size_t>(layout.b_n);
    };
    const std::size_t size = k == 0 ? 0 : at(k - 1, n - 1) + 1;
    auto* const strided = b_memory.last<Bits>(size);
    std::fill_n(strided, size, half_of<Type>(kNaN));
    for (std::size_t l = 0; l < k; ++l) {
      for (std::size_t j = 0; j < n; ++j) strided[at(l, j)] = b_[l * n + j];
    }
    auto* const packed = packed_memory.last<Bits>(table.packed_small(n, k));
    Type::kernels(table).pack(n, k, strided, layout.b_k, layout.b_n, packed);
    return packed;
  }

  static inline Guarded a_memory{1 << 16}, b_memory{1 << 17}, bias_memory{1 << 12}, packed_memory{1 << 17},
      out_memory{1 << 16};

  std::size_t a_row_, out_row_;
  bool with_bias_;
  float low_;
  float* a_;
  float* bias_;
  std::vector<Bits> b_;
  std::vector<float> least_, most_;
};

// Multiplies contiguous operands and returns the rounded results as floats. `bias` may be empty.
template <class Type>
std::vector<float> multiply(const Table& table, std::size_t m, std::size_t n, const std::vector<float>& a,
                            const std::vector<typename Type::Bits>& b, const std::vector<float>& bias,
                            float low = -kInf) {
  const std::size_t k = b.size() / n;
  std::vector<typename Type::Bits> packed(table.packed_small(n, k)), out(m * n);
  Type::kernels(table).pack(n, k, b.data(), 1, signed_size(k), packed.data());
  Type::kernels(table).multiply_and_round({.m = m,
                                           .n = n,
                                           .k = k,
                                           .a = a.data(),
                                           .a_row = signed_size(k),
                                           .b = packed.data(),
                                           .bias = bias.empty() ? nullptr : bias.data(),
                                           .clamp_min = low,
                                           .out = out.data(),
                                           .out_row = signed_size(n)});
  std::vector<float> values;
  for (const auto half : out) values.push_back(value_of<Type>(half));
  return values;
}

}  // namespace

TEMPLATE_TEST_CASE("kernels: products with weights in 16 bits", "[kernels]", Bfloat16, Float16) {
  for (const std::size_t n : {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 48, 64, 65, 100}) {
    for (const std::size_t k : {0, 1, 2, 7, 16, 51, 64, 130}) {
      for (std::size_t m = 1; m <= 20; ++m) {
        Sample<TestType> sample(m, n, k);
        for (const Layout layout :
             {Layout{signed_size(n), 1}, Layout{1, signed_size(k)}, Layout{2 * signed_size(n) + 1, 2}}) {
          for (const Kernels* set : kernel_sets()) {
            const std::size_t wrong = sample.wrong(*set, layout);
            if (wrong == 0) continue;
            CAPTURE(set->table.name, m, n, k, layout.b_k, layout.b_n);
            CHECK(wrong == 0);
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("kernels: a product in 16 bits is rounded once, to the nearest, behind the bias",
                   "[kernels]", Bfloat16, Float16) {
  constexpr sr::test::SmallFloat type = TestType::kType;
  const auto step = std::ldexp(1.0f, -type.digits);  // between the numbers from 1 to 2
  const float power = std::ldexp(1.0f, type.bias);   // of two, the largest one
  const float largest = power + (power - power * step);
  const float smallest = std::ldexp(1.0f, 1 - type.bias);  // that is not subnormal
  const auto ones = static_cast<float>(1 << (type.digits + 1));
  for (const Kernels* set : kernel_sets()) {
    for (const std::size_t n : {1, 4, 5, 16, 17, 32, 39}) {
      for (const std::size_t m : {1, 7}) {
        CAPTURE(set->table.name, n, m, type.digits);
        const auto all = [&](std::size_t k, float a, float b, float bias, float low = -kInf) {
          const std::vector<float> results =
              multiply<TestType>(set->table, m, n, std::vector(m * k, a),
                                 std::vector(n * k, half_of<TestType>(b)), std::vector(n, bias), low);
          const bool alike = std::all_of(results.begin(), results.end(), [&](float result) {
            return std::bit_cast<std::uint32_t>(result) == std::bit_cast<std::uint32_t>(results[0]);
          });
          return alike ? results[0] : -12345.0f;
        };
        CHECK(all(1, 1, 1, step / 2) == 1);                             // a tie, to even: down
        CHECK(all(1, 1, 1, 3 * step / 2) == 1 + 2 * step);              // a tie, to even: up
        CHECK(all(1, 1, -1, -3 * step / 2) == -1 - 2 * step);           // a tie of a negative number
        CHECK(all(1, 1, 1, step / 2 + 0x1p-20f) == 1 + step);           // above the tie
        CHECK(all((1 << (type.digits + 1)) + 1, 1, 1, 1) == ones + 2);  // without the bias it would be a tie
        CHECK(all(2, largest / 2, 1, 0) == largest);
        CHECK(all(1, largest, 1, power * step / 2) == kInf);  // halfway to the next power of two
        CHECK(all(1, largest, 1, power * step / 4) == largest);
        CHECK(all(1, -largest, 1, -power * step) == -kInf);
        CHECK(all(1, smallest, 0.5f, 0) == smallest / 2);
        CHECK(all(1, smallest, -step / 2, 0) == 0);  // half the least number: a tie, to even
        CHECK(all(1, smallest, step, smallest * step / 2) == 2 * smallest * step);
        CHECK(all(1, smallest / 2, step, smallest * step / 16) == smallest * step);
        CHECK(all(3, 1, smallest * step, 0) == 3 * smallest * step);  // weights that are subnormal
        CHECK(std::isnan(all(3, kInf, 1, -kInf)));
        CHECK(std::isnan(all(3, kNaN, 1, 0, 0)));  // relu keeps it
        CHECK(std::isnan(all(3, 1, kNaN, 0)));
        CHECK(all(1, 1, kInf, 0) == kInf);
        CHECK(std::isnan(
            all(1, 0, 1, std::bit_cast<float>(0x7f800001u))));  // a NaN whose upper half is an infinity
        CHECK(all(3, kInf, -1, 0, 0) == 0);
        CHECK(all(3, kInf, 1, 0, 0) == kInf);
      }
    }
  }
}

TEMPLATE_TEST_CASE("kernels: parts of a product in 16 bits are bit-identical to the whole", "[kernels]",
                   Bfloat16, Float16) {
  using Bits = typename TestType::Bits;
  for (const Kernels* set : kernel_sets()) {
    const Table& table = set->table;
    const auto multiply_and_round = TestType::kernels(table).multiply_and_round;
    const std::size_t m = 3 * table.tile + 3, k = 37, panel = 2 * table.width;
    for (const std::size_t n : {std::size_t{1}, std::size_t{4}, std::size_t{5}, 3 * panel + 2}) {
      sr::test::RandomFloats random(3, -1, 1);
      const std::vector<float> a = random(m * k), bias = random(n);
      std::vector<Bits> b, packed(table.packed_small(n, k)), whole(m * n), rows(m * n), columns(m * n);
      for (const float value : random(n * k)) b.push_back(half_of<TestType>(nearest<TestType>(value)));
      TestType::kernels(table).pack(n, k, b.data(), 1, signed_size(k), packed.data());
      const GemmOf<Bits, Bits> product{.m = m,
                                       .n = n,
                                       .k = k,
                                       .a = a.data(),
                                       .a_row = signed_size(k),
                                       .b = packed.data(),
                                       .bias = bias.data(),
                                       .out = whole.data(),
                                       .out_row = signed_size(n)};
      multiply_and_round(product);
      const auto same = [](Bits x, Bits y) { return x.bits == y.bits; };
      for (std::size_t first = 0; first < m; first += table.tile) {
        GemmOf<Bits, Bits> part = product;
        part.m = std::min(table.tile, m - first);
        part.a += first * k;
        part.out = rows.data() + first * n;
        multiply_and_round(part);
      }
      CAPTURE(table.name, n);
      CHECK(std::equal(whole.begin(), whole.end(), rows.begin(), same));
      if (n <= panel) continue;
      for (std::size_t first = 0; first < 3 * panel; first += panel) {  // the last panel is partial
        GemmOf<Bits, Bits> part = product;
        part.n = first == 2 * panel ? n - first : panel;
        part.b += first * k;
        part.bias += first;
        part.out = columns.data() + first;
        multiply_and_round(part);
      }
      CHECK(std::equal(whole.begin(), whole.end(), columns.begin(), same));
    }
  }
}

TEMPLATE_TEST_CASE("kernels: a product in 16 bits without rows or columns does nothing", "[kernels]",
                   Bfloat16, Float16) {
  for (const Kernels* set : kernel_sets()) {
    const auto& kernels = TestType::kernels(set->table);
    kernels.multiply_and_round({.m = 0, .n = 40, .k = 4});
    kernels.multiply_and_round({.m = 4, .n = 0, .k = 4});
    CHECK(set->table.packed_small(0, 4) == 0);
    CHECK(multiply<TestType>(set->table, 2, 3, {}, {}, {1, 2, -3}, 0) ==
          std::vector<float>{1, 2, 0, 1, 2, 0});
  }
}
