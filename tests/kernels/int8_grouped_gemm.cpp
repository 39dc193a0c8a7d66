// Products of rows of int8 by weights of 8 and 4 bits with scales of groups against plain loops, with the
// kernels of every instruction set of this CPU.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <sr/kernels/int8_forms.hpp>
#include <sr/kernels/kernels.hpp>

#include "kernels/grouped_operand.hpp"
#include "support/catch.hpp"
#include "support/floats.hpp"
#include "support/guarded.hpp"
#include "support/kernel_sets.hpp"
#include "support/kernel_values.hpp"

using namespace sr::kernels;
using sr::test::Guarded;
using sr::test::kernel_sets;
using sr::test::kNaN;
using sr::test::random_bits;
using sr::test::signed_size;
using sr::test::uniform;

namespace {

using Multiply = void (*)(const Int8GroupedGemm& product);

using Shape = sr::test::GroupedShape;

// Draws 8 bits, often an extreme value.
std::int8_t byte() {
  const auto bits = random_bits()();
  return bits % 4 == 0 ? (bits % 8 == 0 ? -128 : 127) : static_cast<std::int8_t>(bits >> 8);
}

struct Problem : sr::test::GroupedOperand {
  std::size_t a_row;
  std::vector<std::int8_t> a;
  std::vector<float> bias, row_factors, row_zeros;

  explicit Problem(const Shape& of)
      : GroupedOperand(of, /*has_zeros=*/false, &byte),
        a_row(k + random_bits()() % 3),
        a((of.m - 1) * a_row + k),
        bias(random_bits()() % 2 == 0 ? of.n : 0),
        row_factors(of.m),
        row_zeros(random_bits()() % 2 == 0 ? of.m : 0) {
    for (std::int8_t& value : a) value = byte();
    for (std::vector<float>* values : {&bias, &row_factors}) {
      for (float& value : *values) value = uniform();
    }
    for (float& value : row_zeros) value = static_cast<float>(random_bits()() % 256) - 128;
  }

  // The result, and the sum of the magnitudes of its terms.
  std::pair<double, double> result(std::size_t i, std::size_t j) const {
    double total = bias.empty() ? 0 : bias[j], magnitude = std::abs(total);
    for (std::size_t l = 0; l < k; ++l) {
      const double zero = row_zeros.empty() ? 0 : row_zeros[i];
      total += (a[i * a_row + l] - zero) * weight(l, j) * row_factors[i];
      magnitude += (std::abs(a[i * a_row + l]) + std::abs(zero)) * std::abs(weight(l, j) * row_factors[i]);
    }
    return {total, magnitude};
  }
};

// On operands that end at inaccessible pages. `out` has n elements in a row and one more.
void run(const Table& table, Multiply multiply, const Problem& problem, float clamp_min,
         std::vector<float>& out) {
  static Guarded a_memory(1 << 18), packed_memory(1 << 20), bias_memory(1 << 12);
  const auto [m, n, groups, group] = problem.shape;
  auto* const a = a_memory.last<std::int8_t>(problem.a.size());
  std::copy(problem.a.begin(), problem.a.end(), a);
  auto* const bias = bias_memory.last<float>(problem.bias.size());
  std::copy(problem.bias.begin(), problem.bias.end(), bias);
  const GroupedWeights weights = problem.weights();
  auto* const packed =
      packed_memory.last<std::uint8_t>((table.packed_int8_grouped_bytes(weights) + 63) / 64 * 64);
  table.pack_int8_grouped(weights, packed);
  std::vector<std::int32_t> sums(m * groups);
  table.sum_groups({.rows = m,
                    .columns = problem.k,
                    .group = group,
                    .in = a,
                    .in_row = signed_size(problem.a_row),
                    .sums = sums.data()});
  Int8GroupedGemm product{.m = m, .n = n, .k = problem.k, .group = group, .nibbles = problem.nibbles};
  product.a = a;
  product.a_row = signed_size(problem.a_row);
  product.group_sums = sums.data();
  if (!problem.row_zeros.empty()) product.zero = problem.row_zeros.data();
  product.zero_stride = 1;
  product.row_factor = problem.row_factors.data();
  product.row_factor_stride = 1;
  product.b = packed;
  if (!problem.bias.empty()) product.bias = bias;
  product.clamp_min = clamp_min;
  product.out = out.data();
  product.out_row = signed_size(n + 1);
  // In two parts, where there are two.
  const std::size_t panel = 2 * table.width;
  product.end_column = n <= panel ? n : panel;
  multiply(product);
  product.first_column = product.end_column;
  product.end_column = n;
  if (product.first_column < n) multiply(product);
}

std::vector<Shape> shapes() {
  std::vector<Shape> all{
      {1, 33, 33, 32}, {3, 65, 40, 32}, {130, 17, 3, 64}, {2, 7, 1, 1000}, {9, 40, 5, 200}};
  for (const std::size_t n : {1, 2, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 64, 65}) {
    for (const std::size_t group : {8, 16, 24, 32})
      all.push_back({1 + random_bits()() % 9, n, 1 + random_bits()() % 8, group});
  }
  return all;
}

}  // namespace

TEST_CASE("kernels: products of int8 rows by weights with scales of groups", "[kernels]") {
  for (const Shape& shape : shapes()) {
    const Problem problem(shape);
    const float low = random_bits()() % 2 == 0 ? 0.0F : -sr::test::kInf;
    for (const Kernels* set : kernel_sets()) {
      std::vector<float> first;
      for (const Int8Form& form : int8_forms(set->table)) {
        std::vector<float> out(shape.m * (shape.n + 1), 77);
        run(set->table, form.multiply_grouped, problem, low, out);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < shape.m; ++i) {
          for (std::size_t j = 0; j < shape.n; ++j) {
            const auto [expected, magnitude] = problem.result(i, j);
            const double least = std::max<double>(low, expected);
            wrong += !(std::abs(out[i * (shape.n + 1) + j] - least) <= 4e-6 * magnitude + 1e-6);
          }
          wrong += out[i * (shape.n + 1) + shape.n] != 77;
        }
        CAPTURE(set->table.name, form.name, shape.m, shape.n, shape.groups, shape.group, problem.nibbles);
        CHECK(wrong == 0);
        if (first.empty()) first = out;
        CHECK(out == first);  // sums of groups are exact
      }
    }
  }
}

TEST_CASE("kernels: a NaN scale stays in its row of a product of int8 rows", "[kernels]") {
  for (const std::size_t m : {1, 2, 5}) {
    Problem problem({m, 20, 4, 8});
    problem.row_factors[0] = kNaN;
    for (const Kernels* set : kernel_sets()) {
      std::vector<float> out(m * 21, 77);
      run(set->table, set->table.int8_grouped_gemm, problem, 0, out);
      for (std::size_t j = 0; j < 20; ++j) CHECK(std::isnan(out[j]));
      for (std::size_t i = 1; i < m; ++i) CHECK_FALSE(std::isnan(out[i * 21]));
    }
  }
}
