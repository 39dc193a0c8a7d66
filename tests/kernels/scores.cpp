// The parts of attention's softmax, with every instruction set, against sums in double.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/kernel_sets.hpp"

using namespace sr::kernels;
using sr::test::kernel_sets;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kRows = 3, kPad = 2;  // `kPad` elements between rows are not to be touched

struct Block {
  std::size_t columns;
  std::vector<float> scores = std::vector<float>(kRows * (columns + kPad));

  explicit Block(std::size_t n) : columns(n) {
    for (std::size_t i = 0; i < scores.size(); ++i)
      scores[i] = static_cast<float>((i * 37 + n) % 101) - 50.0F;
  }
  float& at(std::size_t r, std::size_t i) { return scores[r * (columns + kPad) + i]; }
  Scores with(float scale) {
    return {kRows, columns, scores.data(), static_cast<std::ptrdiff_t>(columns + kPad), scale};
  }
  bool pads_equal(Block& other) {
    bool equal = true;
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t i = columns; i < columns + kPad; ++i) equal &= at(r, i) == other.at(r, i);
    }
    return equal;
  }
};

TEST_CASE("kernels: scores are scaled, and their exponentials summed", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    for (std::size_t n = 1; n < 70; ++n) {
      INFO(set->table.name << ", " << n << " columns");
      for (const float scale : {0.125F, 1.0F, 3.0F}) {
        Block before(n), after(n), scaled(n);
        float sums[kRows];
        CHECK(set->table.exp_scores(after.with(scale), sums));
        CHECK(set->table.scale_scores(scaled.with(-scale)));
        Block divided(n);
        const float divisors[kRows] = {2, 4, 0.5F};
        CHECK(set->table.divide_rows(divided.with(1), divisors));
        CHECK((after.pads_equal(before) && scaled.pads_equal(before) && divided.pads_equal(before)));
        bool right = true;
        for (std::size_t r = 0; r < kRows; ++r) {
          float largest = -kInf;
          for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, before.at(r, i));
          double total = 0;
          for (std::size_t i = 0; i < n; ++i) {
            const double argument = (double{before.at(r, i)} - largest) * scale;
            const double expected = std::exp(argument);
            // Instruction sets without fma round score * scale before they subtract the largest score.
            const double bound = 2e-6 + 50 * scale * 2e-7;
            right &= std::abs(after.at(r, i) - expected) <= bound * expected + 2e-38;
            right &= scaled.at(r, i) == before.at(r, i) * -scale;
            right &= divided.at(r, i) == before.at(r, i) / divisors[r];
            total += after.at(r, i);
          }
          right &= std::abs(sums[r] - total) <= 1e-6 * total;
        }
        CHECK(right);
      }
    }
  }
}

TEST_CASE("kernels: scores that are not finite are noticed", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    for (const std::size_t n : {1, 2, 15, 16, 17, 40}) {
      for (const float special : {-kInf, kNaN, kInf}) {
        INFO(set->table.name << ", " << n << " columns, " << special);
        for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
          Block first(n), second(n);
          first.at(1, at) = second.at(1, at) = special;
          float sums[kRows];
          CHECK_FALSE(set->table.exp_scores(first.with(1), sums));
          CHECK_FALSE(set->table.scale_scores(second.with(1)));
          CHECK_FALSE(set->table.divide_rows(second.with(1), sums));
          // The exponential of -infinity is zero. Any other special value makes the sum of the row NaN.
          if (special == -kInf && n > 1) {
            CHECK(first.at(1, at) == 0);
            CHECK(std::isfinite(sums[1]));
          } else {
            CHECK(std::isnan(sums[1]));
          }
          CHECK((std::isfinite(sums[0]) && std::isfinite(sums[2])));
        }
      }
    }
  }
}

}  // namespace
