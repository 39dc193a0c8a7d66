// Reductions, extrema and softmax over rows of columns, against plain loops.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/floats.hpp"
#include "support/guarded.hpp"
#include "support/kernel_sets.hpp"

using namespace sr::kernels;
using sr::test::any_float;
using sr::test::Guarded;
using sr::test::kernel_sets;
using sr::test::kInf;
using sr::test::kNaN;

namespace {

// Two groups of `count` rows of `inner` elements, with gaps between rows, at the end of a page.
struct Sample {
  static constexpr std::size_t kOuter = 2;
  std::size_t count, inner, row, group;
  float* in;

  Sample(Guarded& memory, std::size_t rows, std::size_t columns)
      : count(rows), inner(columns), row(columns == 1 ? 1 : columns + 3), group(rows * row + 5) {
    const std::size_t size = (kOuter - 1) * group + (rows - 1) * row + columns;
    in = memory.last<>(size);
    std::generate(in, in + size, any_float);
  }

  std::vector<float> column(std::size_t o, std::size_t i) const {
    std::vector<float> values(count);
    for (std::size_t r = 0; r < count; ++r) values[r] = in[o * group + r * row + i];
    return values;
  }
  OuterReduction columns(float* out, std::size_t out_outer) const {
    return {.outer = kOuter,
            .count = count,
            .inner = inner,
            .in_outer = static_cast<std::ptrdiff_t>(group),
            .in_row = static_cast<std::ptrdiff_t>(row),
            .out_outer = static_cast<std::ptrdiff_t>(out_outer),
            .out_row = static_cast<std::ptrdiff_t>(inner),
            .in = in,
            .out = out};
  }
};

const std::vector<std::size_t>& counts() {
  static const std::vector<std::size_t> values{1,  2,  3,  4,  5,  7,   8,   9,   16,
                                               17, 31, 33, 64, 70, 255, 256, 257, 1000};
  return values;
}
std::vector<std::size_t> inners(std::size_t count) {
  if (count > 70) return {1, 2, 16, 33};
  std::vector<std::size_t> values{64, 65, 70, 100, 130};
  for (std::size_t n = 1; n <= 35; ++n) values.push_back(n);
  return values;
}

// run(sample, out) computes one result a column; right(column, result) judges it.
void check(const std::function<void(const OuterReduction& columns)>& run,
           const std::function<bool(const std::vector<float>& column, float result)>& right) {
  static Guarded in_memory(1 << 19), out_memory(1 << 12);
  for (const std::size_t count : counts()) {
    for (const std::size_t inner : inners(count)) {
      const Sample sample(in_memory, count, inner);
      const std::size_t out_size = inner + 1 + inner;
      out_memory.reset();
      float* out = out_memory.last<>(out_size);
      run(sample.columns(out, inner + 1));
      std::size_t wrong = 0;
      for (std::size_t o = 0; o < Sample::kOuter; ++o) {
        for (std::size_t i = 0; i < inner; ++i)
          wrong += right(sample.column(o, i), out[o * (inner + 1) + i]) ? 0 : 1;
      }
      if (wrong == 0 && out_memory.intact_before<>(out_size)) continue;
      CAPTURE(count, inner);
      CHECK(wrong == 0);
      CHECK(out_memory.intact_before<>(out_size));
    }
  }
}

double total(const std::vector<float>& values, double (*map)(double)) {
  double result = 0;
  for (const float x : values) result += map(x);
  return result;
}

}  // namespace

TEST_CASE("kernels: sums of columns and of rows", "[kernels]") {
  struct Kind {
    Reduce reduce;
    double (*map)(double);
  };
  for (const Kernels* set : kernel_sets()) {
    CAPTURE(set->table.name);
    for (const Kind kind : {Kind{Reduce::sum, [](double x) { return x; }},
                            Kind{Reduce::squares, [](double x) { return x * x; }},
                            Kind{Reduce::magnitudes, [](double x) { return std::fabs(x); }}}) {
      for (const bool root : {false, true}) {
        if (root && kind.reduce == Reduce::sum) continue;
        check(
            [&](OuterReduction columns) {
              columns.divisor = 3;
              columns.root = root;
              set->table.reduce[static_cast<std::size_t>(kind.reduce)](columns);
            },
            [&](const std::vector<float>& column, float result) {
              const double sum = total(column, kind.map) / 3;
              const double scale = total(column, [](double x) { return std::fabs(x) + x * x; });
              return std::fabs(result - (root ? std::sqrt(sum) : sum)) <= 1e-6 * (1 + scale);
            });
      }
    }
    const std::vector<float> tenths(1000000, 0.1f);
    float out = 0;
    set->table.reduce[0]({.count = tenths.size(), .in_row = 1, .in = tenths.data(), .out = &out});
    CHECK(out == Approx(1000000 * double{0.1f}).epsilon(3e-7));
    float two[2];
    set->table.reduce[0](
        {.count = tenths.size() / 2, .inner = 2, .in_row = 2, .in = tenths.data(), .out = two});
    CHECK(two[1] == Approx(500000 * double{0.1f}).epsilon(3e-6));
    set->table.reduce[0]({.count = 0, .inner = 1, .in_row = 1, .in = tenths.data(), .out = &out});
    CHECK(out == 0);
  }
}

TEST_CASE("kernels: extrema of columns and of rows", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    CAPTURE(set->table.name);
    const auto max = set->table.reduce[static_cast<std::size_t>(Reduce::max)];
    const auto min = set->table.reduce[static_cast<std::size_t>(Reduce::min)];
    check(max, [](const std::vector<float>& column, float result) {
      return result == *std::max_element(column.begin(), column.end());
    });
    check(min, [](const std::vector<float>& column, float result) {
      return result == *std::min_element(column.begin(), column.end());
    });
    // A NaN at every position of a row and of columns.
    for (std::size_t n = 1; n <= 70; ++n) {
      for (std::size_t at = 0; at < n; ++at) {
        std::vector<float> row(n, -kInf);
        row[at] = kNaN;
        for (const auto run : {max, min}) {
          float out = 0;
          run({.count = n, .in_row = 1, .in = row.data(), .out = &out});
          CHECK(std::isnan(out));
        }
        std::int64_t index = -1;
        for (const bool smallest : {false, true}) {
          set->table.extreme({.count = n, .in_row = 1, .in = row.data()}, smallest, &index);
          CHECK(index == static_cast<std::int64_t>(at));
        }
      }
    }
  }
}

TEST_CASE("kernels: the position of the first extreme element", "[kernels]") {
  static Guarded in_memory(1 << 19), out_memory(1 << 12), index_memory(1 << 12);
  for (const Kernels* set : kernel_sets()) {
    for (const std::size_t count : counts()) {
      for (const std::size_t inner : inners(count)) {
        const Sample sample(in_memory, count, inner);
        // Whole numbers, so that some are equal; a few NaNs and infinities.
        for (std::size_t i = 0; i < sample.group + (count - 1) * sample.row + inner; ++i) {
          const float value = std::floor(sample.in[i]);
          sample.in[i] = value == 4 && i % 7 == 0 ? kNaN : value == -5 && i % 5 == 0 ? -kInf : value;
        }
        for (const bool smallest : {false, true}) {
          float* out = out_memory.last<>(2 * inner);
          auto* index = index_memory.last<std::int64_t>(2 * inner);
          set->table.extreme(sample.columns(out, inner), smallest, index);
          std::size_t wrong = 0;
          for (std::size_t o = 0; o < Sample::kOuter; ++o) {
            for (std::size_t i = 0; i < inner; ++i) {
              const std::vector<float> column = sample.column(o, i);
              std::size_t best = 0;
              for (std::size_t r = 1; r < count && !std::isnan(column[best]); ++r) {
                if (std::isnan(column[r]) || (smallest ? column[r] < column[best] : column[r] > column[best]))
                  best = r;
              }
              const float value = out[o * inner + i];
              wrong += index[o * inner + i] != static_cast<std::int64_t>(best);
              wrong += !(value == column[best] || (std::isnan(value) && std::isnan(column[best])));
            }
          }
          CAPTURE(set->table.name, count, inner, smallest);
          CHECK(wrong == 0);
        }
      }
    }
  }
}

TEST_CASE("kernels: softmax over columns", "[kernels]") {
  static Guarded in_memory(1 << 19), out_memory(1 << 19);
  for (const Kernels* set : kernel_sets()) {
    for (const std::size_t count : counts()) {
      for (const std::size_t inner : inners(count)) {
        const Sample sample(in_memory, count, inner);
        for (const bool logarithmic : {false, true}) {
          const std::size_t size = 2 * count * inner;
          out_memory.reset();
          float* out = out_memory.last<>(size);
          (logarithmic ? set->table.log_softmax_columns
                       : set->table.softmax_columns)(sample.columns(out, count * inner));
          std::size_t wrong = 0;
          for (std::size_t o = 0; o < Sample::kOuter; ++o) {
            for (std::size_t i = 0; i < inner; ++i) {
              const std::vector<float> column = sample.column(o, i);
              const double sum = total(column, [](double x) { return std::exp(x); });
              for (std::size_t r = 0; r < count; ++r) {
                const double got = out[(o * count + r) * inner + i];
                const double share = std::exp(double{column[r]}) / sum;
                wrong += logarithmic ? !(std::fabs(got - std::log(share)) <= 8e-6)
                                     : !(std::fabs(got - share) <= 1e-5 * share);
              }
            }
          }
          CAPTURE(set->table.name, count, inner, logarithmic);
          CHECK(wrong == 0);
          CHECK(out_memory.intact_before<>(size));
        }
      }
    }
    std::vector<float> in(40, -kInf), out(40, 0);
    set->table.softmax_columns(
        {.count = 2, .inner = 20, .in_row = 20, .out_row = 20, .in = in.data(), .out = out.data()});
    CHECK(std::all_of(out.begin(), out.end(), [](float x) { return std::isnan(x); }));
  }
}
