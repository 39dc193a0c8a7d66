// Products by weights of 8 and 4 bits with scales of groups against plain loops, with the kernels of every
// instruction set of this CPU.
#include <cmath>
#include <cstdint>
#include <vector>

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

using Shape = sr::test::GroupedShape;

struct Problem : sr::test::GroupedOperand {
  std::size_t a_row;
  std::vector<float> a, bias;

  explicit Problem(const Shape& of)
      : GroupedOperand(of, random_bits()() % 2 == 0,
                       [] { return static_cast<std::int8_t>(random_bits()() >> 8); }),
        a_row(k + random_bits()() % 3),
        a((of.m - 1) * a_row + k),
        bias(random_bits()() % 2 == 0 ? of.n : 0) {
    for (std::vector<float>* values : {&a, &bias}) {
      for (float& value : *values) value = uniform();
    }
  }
  bool has_zeros() const { return !zeros.empty(); }

  // The result, and the sum of the magnitudes of its terms.
  std::pair<double, double> result(std::size_t i, std::size_t j) const {
    double total = bias.empty() ? 0 : bias[j], magnitude = std::abs(total);
    for (std::size_t l = 0; l < k; ++l) {
      const double term = a[i * a_row + l] * weight(l, j);
      total += term;
      magnitude += std::abs(term);
    }
    return {total, magnitude};
  }
};

// On operands that end at inaccessible pages. `out` has n elements in a row and one more.
void run(const Table& table, const Problem& problem, float clamp_min, std::vector<float>& out) {
  static Guarded a_memory(1 << 18), packed_memory(1 << 20), bias_memory(1 << 12);
  const auto [m, n, groups, group] = problem.shape;
  auto* const a = a_memory.last<float>(problem.a.size());
  std::copy(problem.a.begin(), problem.a.end(), a);
  auto* const bias = bias_memory.last<float>(problem.bias.size());
  std::copy(problem.bias.begin(), problem.bias.end(), bias);
  const GroupedWeights weights = problem.weights();
  auto* const packed = packed_memory.last<std::uint8_t>((table.packed_grouped_bytes(weights) + 63) / 64 * 64);
  table.pack_grouped(weights, packed);
  GroupedGemm product{.m = m, .n = n, .k = problem.k, .group = group};
  product.nibbles = problem.nibbles;
  product.has_zeros = problem.has_zeros();
  product.a = a;
  product.a_row = signed_size(problem.a_row);
  product.b = packed;
  product.bias = problem.bias.empty() ? nullptr : bias;
  product.clamp_min = clamp_min;
  product.out = out.data();
  product.out_row = signed_size(n + 1);
  // In two parts, where there are two.
  const std::size_t panel = 2 * table.width;
  product.end_column = n <= panel ? n : panel;
  table.grouped_gemm(product);
  product.first_column = product.end_column;
  product.end_column = n;
  if (product.first_column < n) table.grouped_gemm(product);
}

std::vector<Shape> shapes() {
  std::vector<Shape> all{
      {1, 33, 33, 32}, {3, 65, 40, 32}, {130, 17, 3, 64}, {2, 7, 1, 1000}, {9, 40, 5, 200}};
  for (const std::size_t n : {1, 2, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 64, 65}) {
    for (const std::size_t group : {1, 2, 3, 8, 31})
      all.push_back({1 + random_bits()() % 9, n, 1 + random_bits()() % 8, group});
  }
  return all;
}

}  // namespace

TEST_CASE("kernels: products by weights with scales of groups", "[kernels]") {
  for (const Shape& shape : shapes()) {
    Problem problem(shape);
    const float low = random_bits()() % 2 == 0 ? 0.0f : -sr::test::kInf;
    for (const Kernels* set : kernel_sets()) {
      std::vector<float> out(shape.m * (shape.n + 1), 77);
      run(set->table, problem, low, out);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < shape.m; ++i) {
        for (std::size_t j = 0; j < shape.n; ++j) {
          const auto [expected, magnitude] = problem.result(i, j);
          const double least = std::max<double>(low, expected);
          wrong += !(std::abs(out[i * (shape.n + 1) + j] - least) <= 4e-6 * magnitude + 1e-6);
        }
        wrong += out[i * (shape.n + 1) + shape.n] != 77;
      }
      CAPTURE(set->table.name, shape.m, shape.n, shape.groups, shape.group, problem.nibbles,
              problem.has_zeros());
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("kernels: a NaN stays in its row of a product by grouped weights", "[kernels]") {
  for (const std::size_t m : {1, 2, 5}) {
    Problem problem({m, 20, 4, 8});
    problem.a[3] = kNaN;
    for (const Kernels* set : kernel_sets()) {
      std::vector<float> out(m * 21, 77);
      run(set->table, problem, 0, out);
      for (std::size_t j = 0; j < 20; ++j) CHECK(std::isnan(out[j]));
      for (std::size_t i = 1; i < m; ++i) CHECK_FALSE(std::isnan(out[i * 21]));
    }
  }
}
