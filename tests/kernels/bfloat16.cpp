// Products of weights in bfloat16, with the kernels of every instruction set of this CPU, against sums in
// double precision. All memory ends at an inaccessible page.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <sr/kernels/kernels.hpp>

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
  static std::mt19937 engine(16);
  return engine;
}
float uniform() {
  return std::uniform_real_distribution<float>(-1, 1)(random_bits());
}

float value_of(std::uint32_t upper) {
  return std::bit_cast<float>(upper << 16);
}
float value_of(Bfloat16Bits half) {
  return value_of(std::uint32_t{half.bits});
}
// The bits of a number that is a bfloat16.
Bfloat16Bits half_of(float value) {
  return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16)};
}

// The bfloat16 nearest to a float (ties to even), found by the distances to both neighbours. Infinity counts
// as 2^128.
float nearest(float value) {
  if (!std::isfinite(value)) return value;
  const std::uint32_t below =
      std::bit_cast<std::uint32_t>(value) >> 16;  // the neighbour of smaller magnitude
  const auto distance = [&](std::uint32_t upper) {
    const double to = std::isinf(value_of(upper)) ? std::copysign(0x1p128, value) : double{value_of(upper)};
    return std::fabs(to - value);
  };
  const double down = distance(below), up = distance(below + 1);
  return value_of(down < up || (down == up && below % 2 == 0) ? below : below + 1);
}

struct Layout {
  std::ptrdiff_t b_k, b_n;
};

std::ptrdiff_t signed_size(std::size_t size) {
  return static_cast<std::ptrdiff_t>(size);
}

// One product in guarded memory; every instruction set multiplies the same numbers.
class Sample {
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
    std::generate(b_.begin(), b_.end(), [] { return half_of(nearest(uniform())); });
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) find_bounds(i, j);
    }
  }

  // The number of results that no order of summation in fp32, rounded to bfloat16, could give.
  std::size_t wrong(const Kernels& set, Layout layout) {
    const Bfloat16Bits* const packed = pack(set.table, layout);
    const std::size_t size = (m - 1) * out_row_ + n;
    out_memory.reset();
    auto* const out = out_memory.last<Bfloat16Bits>(size);
    set.table.packed_gemm_of_bfloat16({.m = m,
                                       .n = n,
                                       .k = k,
                                       .a = a_,
                                       .a_row = signed_size(a_row_),
                                       .b = packed,
                                       .bias = with_bias_ ? bias_ : nullptr,
                                       .clamp_min = low_,
                                       .out = out,
                                       .out_row = signed_size(out_row_)});
    std::size_t count = out_memory.intact_before<Bfloat16Bits>(size) ? 0 : 1;
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const float got = value_of(out[i * out_row_ + j]);
        count += !(got >= least_[i * n + j] && got <= most_[i * n + j]);
      }
      for (std::size_t j = n; j < out_row_ && i + 1 < m; ++j) count += out[i * out_row_ + j].bits != 0xCBCB;
    }
    return count;
  }

 private:
  // The error of a sum in fp32 is at most (k + 1) * 2^-24 of the sum of the magnitudes. Rounding is
  // monotonic, so the result lies between the rounded ends of that interval.
  void find_bounds(std::size_t i, std::size_t j) {
    double total = with_bias_ ? bias_[j] : 0, magnitudes = std::fabs(total);
    for (std::size_t l = 0; l < k; ++l) {
      const double product = double{a_[i * a_row_ + l]} * double{value_of(b_[l * n + j])};
      total += product;
      magnitudes += std::fabs(product);
    }
    const double error = static_cast<double>(k + 1) * 0x1p-24 * magnitudes;
    least_[i * n + j] = std::max(low_, nearest(static_cast<float>(total - error)));
    most_[i * n + j] = std::max(low_, nearest(static_cast<float>(total + error)));
  }

  // Embeds the matrix in NaNs, and returns the result.
  const Bfloat16Bits* pack(const Table& table, Layout layout) {
    const auto at = [&](std::size_t l, std::size_t j) {
      return l * static_cast<std::size_t>(layout.b_k) + j * static_cast<std::size_t>(layout.b_n);
    };
    const std::size_t size = k == 0 ? 0 : at(k - 1, n - 1) + 1;
    auto* const strided = b_memory.last<Bfloat16Bits>(size);
    std::fill_n(strided, size, half_of(kNaN));
    for (std::size_t l = 0; l < k; ++l) {
      for (std::size_t j = 0; j < n; ++j) strided[at(l, j)] = b_[l * n + j];
    }
    auto* const packed = packed_memory.last<Bfloat16Bits>(table.packed_bfloat16s(n, k));
    table.pack_bfloat16(n, k, strided, layout.b_k, layout.b_n, packed);
    return packed;
  }

  static inline Guarded a_memory{1 << 16}, b_memory{1 << 17}, bias_memory{1 << 12}, packed_memory{1 << 17},
      out_memory{1 << 16};

  std::size_t a_row_, out_row_;
  bool with_bias_;
  float low_;
  float* a_;
  float* bias_;
  std::vector<Bfloat16Bits> b_;
  std::vector<float> least_, most_;
};

// Multiplies contiguous operands and returns the results as floats. `bias` may be empty.
std::vector<float> multiply(const Table& table, std::size_t m, std::size_t n, const std::vector<float>& a,
                            const std::vector<Bfloat16Bits>& b, const std::vector<float>& bias,
                            float low = -kInf) {
  const std::size_t k = b.size() / n;
  std::vector<Bfloat16Bits> packed(table.packed_bfloat16s(n, k)), out(m * n);
  table.pack_bfloat16(n, k, b.data(), 1, signed_size(k), packed.data());
  table.packed_gemm_of_bfloat16({.m = m,
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
  for (const Bfloat16Bits half : out) values.push_back(value_of(half));
  return values;
}

}  // namespace

TEST_CASE("kernels: products with weights in bfloat16", "[kernels]") {
  for (const std::size_t n : {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 48, 64, 65, 100}) {
    for (const std::size_t k : {0, 1, 2, 7, 16, 51, 64, 130}) {
      for (std::size_t m = 1; m <= 20; ++m) {
        Sample sample(m, n, k);
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

TEST_CASE("kernels: a bfloat16 product is rounded once, to the nearest, behind the bias", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    for (const std::size_t n : {1, 4, 5, 16, 17, 32, 39}) {
      for (const std::size_t m : {1, 7}) {
        CAPTURE(set->table.name, n, m);
        const auto all = [&](std::size_t k, float a, float b, float bias, float low = -kInf) {
          const std::vector<float> results =
              multiply(set->table, m, n, std::vector(m * k, a), std::vector(n * k, half_of(b)),
                       std::vector(n, bias), low);
          const bool alike = std::all_of(results.begin(), results.end(), [&](float result) {
            return std::bit_cast<std::uint32_t>(result) == std::bit_cast<std::uint32_t>(results[0]);
          });
          return alike ? results[0] : -12345.0f;
        };
        CHECK(all(1, 1, 1, 0x1p-8f) == 1);                      // a tie, to even: down
        CHECK(all(1, 1, 1, 3 * 0x1p-8f) == 1.015625f);          // a tie, to even: up
        CHECK(all(1, 1, -1, -3 * 0x1p-8f) == -1.015625f);       // a tie of a negative number
        CHECK(all(1, 1, 1, 0x1p-8f + 0x1p-20f) == 1.0078125f);  // above the tie
        CHECK(all(257, 1, 1, 1) == 258);                        // 257 alone would be rounded to 256
        CHECK(all(2, 0x1.fep127f, 0.5f, 0) == 0x1.fep127f);     // the largest finite number
        CHECK(all(1, 0x1.fep127f, 1, 0x1p119f) == kInf);        // halfway to 2^128
        CHECK(all(1, -0x1.fffffep127f, 1, 0) == -kInf);         // a float above the largest bfloat16
        CHECK(all(1, 0x1p-126f, 0.5f, 0) == 0x1p-127f);         // denormal
        CHECK(std::isnan(all(3, kInf, 1, -kInf)));              //
        CHECK(std::isnan(all(3, kNaN, 1, 0, 0)));               // relu keeps it
        CHECK(std::isnan(all(3, 1, kNaN, 0)));                  //
        CHECK(std::isnan(
            all(1, 0, 1, std::bit_cast<float>(0x7f800001u))));  // a NaN whose upper half is an infinity
        CHECK(all(3, kInf, -1, 0, 0) == 0);
        CHECK(all(3, kInf, 1, 0, 0) == kInf);
      }
    }
  }
}

TEST_CASE("kernels: parts of a bfloat16 product are bit-identical to the whole", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    const Table& table = set->table;
    const std::size_t m = 3 * table.tile + 3, k = 37, panel = 2 * table.width;
    for (const std::size_t n : {std::size_t{1}, std::size_t{4}, std::size_t{5}, 3 * panel + 2}) {
      sr::test::RandomFloats random(3, -1, 1);
      const std::vector<float> a = random(m * k), bias = random(n);
      std::vector<Bfloat16Bits> b, packed(table.packed_bfloat16s(n, k)), whole(m * n), rows(m * n),
          columns(m * n);
      for (const float value : random(n * k)) b.push_back(half_of(value));
      table.pack_bfloat16(n, k, b.data(), 1, signed_size(k), packed.data());
      const Bfloat16Gemm product{.m = m,
                                 .n = n,
                                 .k = k,
                                 .a = a.data(),
                                 .a_row = signed_size(k),
                                 .b = packed.data(),
                                 .bias = bias.data(),
                                 .out = whole.data(),
                                 .out_row = signed_size(n)};
      table.packed_gemm_of_bfloat16(product);
      const auto same = [](Bfloat16Bits x, Bfloat16Bits y) { return x.bits == y.bits; };
      for (std::size_t first = 0; first < m; first += table.tile) {
        Bfloat16Gemm part = product;
        part.m = std::min(table.tile, m - first);
        part.a += first * k;
        part.out = rows.data() + first * n;
        table.packed_gemm_of_bfloat16(part);
      }
      CAPTURE(table.name, n);
      CHECK(std::equal(whole.begin(), whole.end(), rows.begin(), same));
      if (n <= panel) continue;
      for (std::size_t first = 0; first < 3 * panel; first += panel) {  // the last panel is partial
        Bfloat16Gemm part = product;
        part.n = first == 2 * panel ? n - first : panel;
        part.b += first * k;
        part.bias += first;
        part.out = columns.data() + first;
        table.packed_gemm_of_bfloat16(part);
      }
      CHECK(std::equal(whole.begin(), whole.end(), columns.begin(), same));
    }
  }
}

TEST_CASE("kernels: a bfloat16 product without rows or columns does nothing", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    set->table.packed_gemm_of_bfloat16({.m = 0, .n = 40, .k = 4});
    set->table.packed_gemm_of_bfloat16({.m = 4, .n = 0, .k = 4});
    CHECK(set->table.packed_bfloat16s(0, 4) == 0);
    CHECK(multiply(set->table, 2, 3, {}, {}, {1, 2, -3}, 0) == std::vector<float>{1, 2, 0, 1, 2, 0});
  }
}
