// Matrix products, with the kernels of every instruction set of this CPU.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/floats.hpp"
#include "support/guarded.hpp"
#include "support/kernel_sets.hpp"
#include "support/kernel_values.hpp"

using namespace sr::kernels;
using sr::test::Guarded;
using sr::test::kernel_sets;
using sr::test::kInf;
using sr::test::kNaN;
using sr::test::random_bits;
using sr::test::signed_size;
using sr::test::uniform;

namespace {

struct Layout {
  std::ptrdiff_t b_k, b_n;
};

// Compares products of random matrices with sums in double precision, with every set of kernels.
class ProductCheck {
 public:
  // `floats` are the most elements that the strides of a b span.
  explicit ProductCheck(std::size_t floats) : b_memory_(4 * floats), packed_memory_(4 * floats) {}

  void check(std::size_t m, std::size_t n, std::size_t k) {
    const bool with_bias = random_bits()() % 2 == 0;
    const float low = random_bits()() % 2 == 0 ? 0.0f : -kInf;
    const std::size_t a_row = k + random_bits()() % 3;
    const std::size_t out_row = n + random_bits()() % 4;
    const std::size_t a_size = (m - 1) * a_row + k;
    const std::size_t out_size = (m - 1) * out_row + n;
    float* a = a_memory_.last<>(a_size);
    for (std::size_t i = 0; i < a_size; ++i) a[i] = uniform();
    float* bias = bias_memory_.last<>(n);
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
      float* strided = b_memory_.last<>(b_size);
      std::fill_n(strided, b_size, kNaN);
      for (std::size_t l = 0; l < k; ++l) {
        for (std::size_t j = 0; j < n; ++j) {
          strided[l * static_cast<std::size_t>(layout.b_k) + j * static_cast<std::size_t>(layout.b_n)] =
              b[l * n + j];
        }
      }
      for (const Kernels* set : available_) {
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
                       .out = out_memory_.last<>(out_size),
                       .out_row = signed_size(out_row)};
          if (packed) {
            const std::size_t floats = set->table.packed_floats(n, k);
            auto* to = packed_memory_.last<>((floats + 15) / 16 * 16);
            set->table.pack(n, k, strided, layout.b_k, layout.b_n, to);
            product.b = to;
          }
          out_memory_.reset();
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
          if (wrong != 0 || written != 0 || !out_memory_.intact_before<>(out_size)) {
            CAPTURE(set->table.name, packed, m, n, k, layout.b_k, layout.b_n, a_row, out_row, with_bias);
            CHECK(wrong == 0);
            CHECK(written == 0);
            CHECK(out_memory_.intact_before<>(out_size));
          }
        }
      }
    }
  }

 private:
  Guarded a_memory_{1 << 18}, b_memory_, bias_memory_{1 << 13}, packed_memory_, out_memory_{1 << 16};
  std::vector<const Kernels*> available_ = kernel_sets();
};

}  // namespace

TEST_CASE("kernels: gemm equals sums in double precision", "[kernels]") {
  static ProductCheck product(1 << 16);
  for (const std::size_t n : {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 48, 64, 65, 100}) {
    for (const std::size_t k : {0, 1, 2, 7, 16, 51, 64, 130}) {
      for (std::size_t m = 1; m <= 20; ++m) product.check(m, n, k);
    }
  }
}

TEST_CASE("kernels: few rows by a large matrix equal sums in double precision", "[kernels]") {
  static ProductCheck product(1 << 20);
  for (const std::size_t m : {1, 2, 3, 4, 7, 9}) {
    product.check(m, 100, 2700);
    product.check(m, 290, 1000);
    product.check(m, 1100, 256);
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
