// Products of 8-bit integers against plain loops, with the kernels of every instruction set of this CPU, bit
// by bit; those in tiles with a model of AMX, too.
#include <cstdint>
#include <vector>

#include <sr/kernels/int8_forms.hpp>
#include <sr/kernels/int8_tiles.hpp>
#include <sr/kernels/kernels.hpp>

#include "kernels/model_tiles.hpp"
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

using Multiply = void (*)(const Int8Gemm& product);

void by_model(const Int8Gemm& product) {
  int8_gemm_by_tiles<sr::test::ModelTiles>(product, baseline_kernels().table.int8_gemm);
}

// The forms of the product that this CPU has, and with the simplest kernels the model of AMX.
std::vector<Multiply> forms_of(const Table& table) {
  std::vector<Multiply> forms;
  for (const Int8Form& form : int8_forms(table)) forms.push_back(form.multiply);
  if (&table == &baseline_kernels().table) forms.push_back(&by_model);
  return forms;
}

// Draws 8 bits, often an extreme value.
std::uint8_t byte() {
  const auto bits = random_bits()();
  return bits % 4 == 0 ? (bits % 8 == 0 ? 0x80 : 0x7f) : static_cast<std::uint8_t>(bits >> 8);
}

struct Shape {
  std::size_t m, n, k;
};

struct Problem {
  Shape shape;
  bool a_signed, b_transposed;
  std::size_t a_row;
  std::vector<std::uint8_t> a;
  std::vector<std::int8_t> b;

  explicit Problem(const Shape& of)
      : shape(of),
        a_signed(random_bits()() % 2 == 0),
        b_transposed(random_bits()() % 2 == 0),
        a_row(of.k + random_bits()() % 3),
        a(of.m == 0 ? 0 : (of.m - 1) * a_row + of.k),
        b(of.n * of.k) {
    for (std::uint8_t& value : a) value = byte();
    const bool has_least = random_bits()() % 2 == 0;  // -128
    for (std::int8_t& value : b) {
      value = static_cast<std::int8_t>(byte());
      if (value == -128 && !has_least) value = -127;
    }
  }

  std::ptrdiff_t b_k() const { return b_transposed ? 1 : signed_size(shape.n); }
  std::ptrdiff_t b_n() const { return b_transposed ? signed_size(shape.k) : 1; }

  std::int32_t right(std::size_t l, std::size_t j) const {
    return b[b_transposed ? j * shape.k + l : l * shape.n + j];
  }
  std::int32_t column_sum(std::size_t j) const {
    std::int32_t total = 0;
    for (std::size_t l = 0; l < shape.k; ++l) total += right(l, j);
    return total;
  }
  // Wraps around.
  std::int32_t sum(std::size_t i, std::size_t j) const {
    std::uint32_t total = 0;
    for (std::size_t l = 0; l < shape.k; ++l) {
      const std::uint8_t left = a[i * a_row + l];
      total += static_cast<std::uint32_t>((a_signed ? static_cast<std::int8_t>(left) : std::int32_t{left}) *
                                          right(l, j));
    }
    return static_cast<std::int32_t>(total);
  }
};

// Runs the product on operands that end at inaccessible pages. `out` has n elements in a row and one more.
template <class Set>
void run(const Table& table, Multiply multiply, const Problem& problem, Set set) {
  static Guarded a_memory(1 << 18), packed_memory(1 << 20);
  const auto [m, n, k] = problem.shape;
  auto* const a = a_memory.last<std::uint8_t>(problem.a.size());
  std::copy(problem.a.begin(), problem.a.end(), a);
  const std::size_t bytes = (table.packed_int8_bytes(n, k) + 63) / 64 * 64;
  auto* const packed = packed_memory.last<std::uint8_t>(bytes);
  table.pack_int8(n, k, problem.b.data(), problem.b_k(), problem.b_n(), packed);
  Int8Gemm product{.m = m, .n = n, .k = k, .a = a};
  product.a_row = signed_size(problem.a_row);
  product.a_signed = problem.a_signed;
  product.end_column = n;
  product.b = packed;
  product.out_row = signed_size(n + 1);
  set(product);
  // In two parts, where there are two.
  const std::size_t panel = 2 * table.width;
  Int8Gemm part = product;
  part.end_column = n <= panel ? n : panel;
  multiply(part);
  part.first_column = part.end_column;
  part.end_column = n;
  if (part.first_column < n) multiply(part);
}

std::vector<Shape> shapes() {
  std::vector<Shape> all{{1, 1, 0},     {0, 5, 3},     {3, 200, 5},   {130, 33, 9}, {260, 3, 70},
                         {1, 65, 1030}, {9, 40, 1021}, {33, 24, 128}, {16, 8, 64},  {5, 9, 2050}};
  for (const std::size_t n : {1, 2, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 64, 65}) {
    for (const std::size_t k : {1, 2, 3, 4, 5, 8, 15, 16, 17, 33})
      all.push_back({1 + random_bits()() % 20, n, k});
  }
  return all;
}

}  // namespace

TEST_CASE("kernels: products of 8-bit integers are sums in 32 bits", "[kernels]") {
  for (const Shape& shape : shapes()) {
    const Problem problem(shape);
    for (const Kernels* set : kernel_sets()) {
      for (const Multiply multiply : forms_of(set->table)) {
        std::vector<std::int32_t> out(shape.m * (shape.n + 1), 77);
        run(set->table, multiply, problem, [&](Int8Gemm& product) { product.sums = out.data(); });
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < shape.m; ++i) {
          for (std::size_t j = 0; j < shape.n; ++j) wrong += out[i * (shape.n + 1) + j] != problem.sum(i, j);
          wrong += out[i * (shape.n + 1) + shape.n] != 77;
        }
        CAPTURE(set->table.name, shape.m, shape.n, shape.k, problem.a_signed);
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("kernels: zero points of rows are taken off 8-bit products", "[kernels]") {
  for (const Shape& shape : shapes()) {
    const Problem problem(shape);
    std::vector<float> zeros(2 * shape.m + 1);
    for (float& zero : zeros) zero = static_cast<float>(random_bits()() % 512) - 256;
    const auto distance = random_bits()() % 3;
    for (const Kernels* set : kernel_sets()) {
      for (const Multiply multiply : forms_of(set->table)) {
        std::vector<std::int32_t> out(shape.m * (shape.n + 1), 77);
        run(set->table, multiply, problem, [&](Int8Gemm& product) {
          product.sums = out.data();
          product.zero = zeros.data();
          product.zero_stride = signed_size(distance);
        });
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < shape.m; ++i) {
          const auto zero = static_cast<std::int32_t>(zeros[i * distance]);
          for (std::size_t j = 0; j < shape.n; ++j)
            wrong += out[i * (shape.n + 1) + j] != problem.sum(i, j) - zero * problem.column_sum(j);
        }
        CAPTURE(set->table.name, shape.m, shape.n, shape.k, problem.a_signed, distance);
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("kernels: sums of 8-bit products are scaled one operation after the other", "[kernels]") {
  for (const Shape& shape : shapes()) {
    const Problem problem(shape);
    std::vector<float> rows(2 * shape.m + 1), columns(shape.n), bias(shape.n);
    for (std::vector<float>* values : {&rows, &columns, &bias}) {
      for (float& value : *values) value = uniform();
    }
    if (!rows.empty() && random_bits()() % 2 == 0) rows[0] = kNaN;
    const bool by_rows = random_bits()() % 4 != 0, by_columns = random_bits()() % 4 != 0,
               adds = random_bits()() % 2;
    const std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(random_bits()() % 3);
    const float low = random_bits()() % 2 == 0 ? 0.0f : -sr::test::kInf;
    for (const Kernels* set : kernel_sets()) {
      for (const Multiply multiply : forms_of(set->table)) {
        std::vector<float> out(shape.m * (shape.n + 1), 77);
        run(set->table, multiply, problem, [&](Int8Gemm& product) {
          product.out = out.data();
          if (by_rows) product.row_factor = rows.data();
          product.row_factor_stride = distance;
          if (by_columns) product.column_factor = columns.data();
          if (adds) product.bias = bias.data();
          product.clamp_min = low;
        });
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < shape.m; ++i) {
          for (std::size_t j = 0; j < shape.n; ++j) {
            volatile float value = static_cast<float>(problem.sum(i, j));  // each operation is rounded
            if (by_rows) value = value * rows[i * static_cast<std::size_t>(distance)];
            if (by_columns) value = value * columns[j];
            if (adds) value = value + bias[j];
            const float expected = low > value ? low : value;
            const float given = out[i * (shape.n + 1) + j];
            wrong += !(given == expected || (given != given && expected != expected));
          }
          wrong += out[i * (shape.n + 1) + shape.n] != 77;
        }
        CAPTURE(set->table.name, shape.m, shape.n, shape.k, by_rows, by_columns, adds, low);
        CHECK(wrong == 0);
      }
    }
  }
}
