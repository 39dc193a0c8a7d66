// quantize_rows of every instruction set of this CPU, compared with scalar code.
#include <algorithm>
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
using sr::test::same;
using sr::test::signed_size;
using sr::test::uniform;

namespace {

float scale_of(const float* row, const RowQuantization& how) {
  float largest = 0;
  for (std::size_t i = 0; i < how.columns; ++i) {
    if (std::isnan(row[i])) return kNaN;
    largest = std::max(largest, std::abs(row[i]));
  }
  return std::max(largest / how.divisor, how.least_scale);
}

std::int8_t rounded(float x, float scale, const RowQuantization& how) {
  const float steps = std::nearbyint(x * (1 / scale));
  return std::isnan(steps) ? std::int8_t{0} : static_cast<std::int8_t>(std::clamp(steps, how.low, how.high));
}

constexpr std::size_t kRows = 3;

// `in` has kRows rows, each `stride` floats apart; the last one ends at an inaccessible page.
void check(const float* in, std::size_t stride, RowQuantization how) {
  static Guarded out_memory(1 << 12), scale_memory(1 << 12);
  how.rows = kRows;
  how.in = in;
  how.in_stride = signed_size(stride);
  for (const Kernels* set : kernel_sets()) {
    CAPTURE(set->table.name, how.columns, stride);
    out_memory.reset();
    scale_memory.reset();
    how.out = out_memory.last<std::int8_t>(kRows * how.columns);
    how.scales = scale_memory.last<>(kRows);
    set->table.quantize_rows(how);
    for (std::size_t r = 0; r < kRows; ++r) {
      const float* const row = in + r * stride;
      const float scale = scale_of(row, how);
      CHECK((same(how.scales[r], scale) || (std::isnan(scale) && std::isnan(how.scales[r]))));
      for (std::size_t i = 0; i < how.columns; ++i) {
        CAPTURE(r, i, row[i], scale);
        CHECK(how.out[r * how.columns + i] == rounded(row[i], scale, how));
      }
    }
    CHECK(out_memory.intact_before<std::int8_t>(kRows * how.columns));
    CHECK(scale_memory.intact_before<>(kRows));
  }
}

const RowQuantization kSymmetric{.divisor = 127, .least_scale = 1e-12F, .low = -127, .high = 127};
const RowQuantization kWide{.divisor = 127.5F, .least_scale = 1.1920929e-07F, .low = -128, .high = 127};

}  // namespace

TEST_CASE("quantize_rows equals scalar code for all row lengths", "[kernels][int8]") {
  static Guarded in_memory(1 << 16);
  for (const std::size_t columns : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 200}) {
    for (const std::size_t gap : {0, 5}) {
      const std::size_t stride = columns + gap, size = (kRows - 1) * stride + columns;
      float* const in = in_memory.last<>(size);
      for (std::size_t i = 0; i < size; ++i) in[i] = uniform(-5, 5);
      for (RowQuantization how : {kSymmetric, kWide}) {
        how.columns = columns;
        check(in, stride, how);
      }
    }
  }
}

TEST_CASE("quantize_rows equals scalar code for zeros, subnormals, large values, NaN, infinity and ties",
          "[kernels][int8]") {
  constexpr std::size_t kColumns = 37;
  static Guarded in_memory(1 << 12);
  float* const in = in_memory.last<>(kRows * kColumns);
  const std::vector<std::vector<float>> contents{{0},
                                                 {-0.0F},
                                                 {1e-45F, -3e-39F},
                                                 {3e38F, -1e38F, 1},
                                                 {kNaN},
                                                 {1, -kNaN, 2},
                                                 {kInf, 1, -1},
                                                 {-kInf, kInf, 0},
                                                 {kInf, kNaN},
                                                 {127, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -126.5F},
                                                 {-127.5F, 127.5F, 63.75F}};
  for (const std::vector<float>& content : contents) {
    for (std::size_t i = 0; i < kRows * kColumns; ++i) in[i] = content[i % content.size()];
    for (std::size_t i = 0; i < kColumns; ++i) in[kColumns + i] = i == 30 ? content[0] : 0.25F;
    for (RowQuantization how : {kSymmetric, kWide}) {
      how.columns = kColumns;
      check(in, kColumns, how);
    }
  }
}
