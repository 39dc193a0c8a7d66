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

#include "kernels/small_types.hpp"
#include "support/catch.hpp"
#include "support/floats.hpp"
#include "support/guarded.hpp"
#include "support/kernel_sets.hpp"

using namespace sr::kernels;
using sr::test::Bfloat16;
using sr::test::Float16;
using sr::test::Guarded;
using sr::test::half_of;
using sr::test::kernel_sets;
using sr::test::kInf;
using sr::test::kNaN;
using sr::test::nearest;
using sr::test::value_of;

namespace {

std::mt19937& random_bits() {
  static std::mt19937 engine(16);
  return engine;
}
float uniform() {
  return std::uniform_real_distribution<float>(-1, 1)(random_bits());
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
    const SmallWeights<Bits>& kernels = Type::weights(set.table);
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
    Type::weights(table).pack(n, k, strided, layout.b_k, layout.b_n, packed);
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
