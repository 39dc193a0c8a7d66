// Softmax and norms of rows, with the kernels of every instruction set of this CPU.
#include <algorithm>
#include <bit>
#include <cmath>
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
using sr::test::near;
using sr::test::same;
using sr::test::signed_size;
using sr::test::uniform;

namespace {

// Runs one row kernel over three rows, out of place and in place, and passes each row of the result to
// `right`.
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
              // The mean is rounded, and the elements of a row may be nearly equal.
              const double of_mean = 0x1p-23 * std::fabs(mean) / std::sqrt(variance + 1e-3f);
              bool right = true;
              for (std::size_t i = 0; i < n; ++i) {
                const double x = (row[i] - mean) / std::sqrt(variance + 1e-3f);
                const double expected =
                    x * (gamma != nullptr ? gamma[i] : 1) + (beta != nullptr ? beta[i] : 0);
                right &= near(out[i], expected, 4e-6 + of_mean);
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
        // The norm of equal elements is zero.
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
