// How products of weights in bfloat16 and float16 are rounded, and that parts of them are the same as the
// whole.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "kernels/small_types.hpp"
#include "support/catch.hpp"
#include "support/floats.hpp"
#include "support/kernel_sets.hpp"

using namespace sr::kernels;
using sr::test::Bfloat16;
using sr::test::Float16;
using sr::test::half_of;
using sr::test::kernel_sets;
using sr::test::kInf;
using sr::test::kNaN;
using sr::test::multiply;
using sr::test::nearest;

namespace {

std::ptrdiff_t signed_size(std::size_t size) {
  return static_cast<std::ptrdiff_t>(size);
}

}  // namespace

TEMPLATE_TEST_CASE("kernels: a product in 16 bits is rounded once, to the nearest, behind the bias",
                   "[kernels]", Bfloat16, Float16) {
  constexpr sr::test::SmallFloat type = TestType::kType;
  const auto step = std::ldexp(1.0f, -type.digits);  // between the numbers from 1 to 2
  const float power = std::ldexp(1.0f, type.bias);   // of two, the largest one
  const float largest = power + (power - power * step);
  const float smallest = std::ldexp(1.0f, 1 - type.bias);  // that is not subnormal
  const auto ones = static_cast<float>(1 << (type.digits + 1));
  for (const Kernels* set : kernel_sets()) {
    for (const std::size_t n : {1, 4, 5, 16, 17, 32, 39}) {
      for (const std::size_t m : {1, 7}) {
        CAPTURE(set->table.name, n, m, type.digits);
        const auto all = [&](std::size_t k, float a, float b, float bias, float low = -kInf) {
          const std::vector<float> results =
              multiply<TestType>(set->table, m, n, std::vector(m * k, a),
                                 std::vector(n * k, half_of<TestType>(b)), std::vector(n, bias), low);
          const bool alike = std::all_of(results.begin(), results.end(), [&](float result) {
            return std::bit_cast<std::uint32_t>(result) == std::bit_cast<std::uint32_t>(results[0]);
          });
          return alike ? results[0] : -12345.0f;
        };
        CHECK(all(1, 1, 1, step / 2) == 1);                             // a tie, to even: down
        CHECK(all(1, 1, 1, 3 * step / 2) == 1 + 2 * step);              // a tie, to even: up
        CHECK(all(1, 1, -1, -3 * step / 2) == -1 - 2 * step);           // a tie of a negative number
        CHECK(all(1, 1, 1, step / 2 + 0x1p-20f) == 1 + step);           // above the tie
        CHECK(all((1 << (type.digits + 1)) + 1, 1, 1, 1) == ones + 2);  // without the bias it would be a tie
        CHECK(all(2, largest / 2, 1, 0) == largest);
        CHECK(all(1, largest, 1, power * step / 2) == kInf);  // halfway to the next power of two
        CHECK(all(1, largest, 1, power * step / 4) == largest);
        CHECK(all(1, -largest, 1, -power * step) == -kInf);
        CHECK(all(1, smallest, 0.5f, 0) == smallest / 2);
        CHECK(all(1, smallest, -step / 2, 0) == 0);  // half the least number: a tie, to even
        CHECK(all(1, smallest, step, smallest * step / 2) == 2 * smallest * step);
        CHECK(all(1, smallest / 2, step, smallest * step / 16) == smallest * step);
        CHECK(all(3, 1, smallest * step, 0) == 3 * smallest * step);  // weights that are subnormal
        CHECK(std::isnan(all(3, kInf, 1, -kInf)));
        CHECK(std::isnan(all(3, kNaN, 1, 0, 0)));  // relu keeps it
        CHECK(std::isnan(all(3, 1, kNaN, 0)));
        CHECK(all(1, 1, kInf, 0) == kInf);
        CHECK(std::isnan(
            all(1, 0, 1, std::bit_cast<float>(0x7f800001u))));  // a NaN whose upper half is an infinity
        CHECK(all(3, kInf, -1, 0, 0) == 0);
        CHECK(all(3, kInf, 1, 0, 0) == kInf);
      }
    }
  }
}

TEMPLATE_TEST_CASE("kernels: parts of a product in 16 bits are bit-identical to the whole", "[kernels]",
                   Bfloat16, Float16) {
  using Bits = typename TestType::Bits;
  for (const Kernels* set : kernel_sets()) {
    const Table& table = set->table;
    const auto multiply_and_round = TestType::weights(table).multiply_and_round;
    const std::size_t m = 3 * table.tile + 3, k = 37, panel = 2 * table.width;
    for (const std::size_t n : {std::size_t{1}, std::size_t{4}, std::size_t{5}, 3 * panel + 2}) {
      sr::test::RandomFloats random(3, -1, 1);
      const std::vector<float> a = random(m * k), bias = random(n);
      std::vector<Bits> b, packed(table.packed_small(n, k)), whole(m * n), rows(m * n), columns(m * n);
      for (const float value : random(n * k)) b.push_back(half_of<TestType>(nearest<TestType>(value)));
      TestType::weights(table).pack(n, k, b.data(), 1, signed_size(k), packed.data());
      const GemmOf<Bits, Bits> product{.m = m,
                                       .n = n,
                                       .k = k,
                                       .a = a.data(),
                                       .a_row = signed_size(k),
                                       .b = packed.data(),
                                       .bias = bias.data(),
                                       .out = whole.data(),
                                       .out_row = signed_size(n)};
      multiply_and_round(product);
      const auto same = [](Bits x, Bits y) { return x.bits == y.bits; };
      for (std::size_t first = 0; first < m; first += table.tile) {
        GemmOf<Bits, Bits> part = product;
        part.m = std::min(table.tile, m - first);
        part.a += first * k;
        part.out = rows.data() + first * n;
        multiply_and_round(part);
      }
      CAPTURE(table.name, n);
      CHECK(std::equal(whole.begin(), whole.end(), rows.begin(), same));
      if (n <= panel) continue;
      for (std::size_t first = 0; first < 3 * panel; first += panel) {  // the last panel is partial
        GemmOf<Bits, Bits> part = product;
        part.n = first == 2 * panel ? n - first : panel;
        part.b += first * k;
        part.bias += first;
        part.out = columns.data() + first;
        multiply_and_round(part);
      }
      CHECK(std::equal(whole.begin(), whole.end(), columns.begin(), same));
    }
  }
}

TEMPLATE_TEST_CASE("kernels: a product in 16 bits without rows or columns does nothing", "[kernels]",
                   Bfloat16, Float16) {
  for (const Kernels* set : kernel_sets()) {
    const auto& kernels = TestType::weights(set->table);
    kernels.multiply_and_round({.m = 0, .n = 40, .k = 4});
    kernels.multiply_and_round({.m = 4, .n = 0, .k = 4});
    CHECK(set->table.packed_small(0, 4) == 0);
    CHECK(multiply<TestType>(set->table, 2, 3, {}, {}, {1, 2, -3}, 0) ==
          std::vector<float>{1, 2, 0, 1, 2, 0});
  }
}
