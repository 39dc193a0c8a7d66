// bfloat16 products, including the conversion of the left side to fp32, against LibTorch's.
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "blas.hpp"
#include "gemm_check.hpp"
#include "operands.hpp"
#include "roofline.hpp"

namespace sr::bench {
namespace {

constexpr auto kFloat32 = static_cast<std::size_t>(kernels::Element::float32);
constexpr auto kBfloat16 = static_cast<std::size_t>(kernels::Element::bfloat16);

// Arrays of floats, and of bfloat16 numbers, which take half the space.
struct Matrices {
  enum { a, transposed, packed, out, widened };

  std::size_t m, n, k;
  Operands memory;

  Matrices(std::size_t rows, std::size_t columns, std::size_t inner)
      : m(rows),
        n(columns),
        k(inner),
        memory({m * k, n * k, kernels::kernels().table.packed_bfloat16s(n, k), m * n, m * k}, -1.0f, 1.0f) {
    const kernels::Table& table = kernels::kernels().table;
    for (const auto& [array, count] : {std::pair(a, m * k), std::pair(transposed, n * k)}) {
      const std::vector<float> numbers(memory[array], memory[array] + count);
      table.convert[kFloat32][kBfloat16](count, numbers.data(), memory[array]);
    }
    table.pack_bfloat16(n, k, halves(transposed), 1, static_cast<std::ptrdiff_t>(k), halves(packed));
  }

  kernels::Bfloat16Bits* halves(std::size_t array) {
    return reinterpret_cast<kernels::Bfloat16Bits*>(memory[array]);
  }
  double number(std::size_t array, std::size_t at) {
    return std::bit_cast<float>(std::uint32_t{halves(array)[at].bits} << 16);
  }

  void multiply() {
    const kernels::Table& table = kernels::kernels().table;
    table.convert[kBfloat16][kFloat32](m * k, memory[a], memory[widened]);
    table.packed_gemm_of_bfloat16({.m = m,
                                   .n = n,
                                   .k = k,
                                   .a = memory[widened],
                                   .a_row = static_cast<std::ptrdiff_t>(k),
                                   .b = halves(packed),
                                   .out = halves(out),
                                   .out_row = static_cast<std::ptrdiff_t>(n)});
  }
};

// fp32 sums in any order, rounded once to 8 bits.
void check(Matrices& x, const std::string& name, const Many& many) {
  for (std::size_t i = 0; i < x.m * x.n; ++i) x.halves(Matrices::out)[i].bits = 0x7fc0;
  many(1);
  check_product(
      {x.m, x.n, x.k}, name + " in bfloat16",
      [&](std::size_t i, std::size_t l) { return x.number(Matrices::a, i * x.k + l); },
      [&](std::size_t l, std::size_t j) { return x.number(Matrices::transposed, j * x.k + l); },
      [&](std::size_t i, std::size_t j) { return x.number(Matrices::out, i * x.n + j); },
      [](double error, double sum) { return error + 0x1p-8 * (std::fabs(sum) + error); });
}

}  // namespace

Case bfloat16_case(std::size_t m, std::size_t n, std::size_t k) {
  const auto x = std::make_shared<Matrices>(m, n, k);
  Case row{"packed gemm in bfloat16",
           std::to_string(m) + ", " + std::to_string(n) + ", " + std::to_string(k),
           static_cast<double>(m * n),
           {},
           {},
           {},
           {}};
  row.work.operations = 2 * static_cast<double>(m * n * k);
  row.work.read = static_cast<double>(sizeof(kernels::Bfloat16Bits) * (m * k + n * k));
  row.work.written = static_cast<double>(sizeof(kernels::Bfloat16Bits) * m * n);
  row.many = [x](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) x->multiply();
  };
  const auto theirs = blas::bfloat16_gemm(static_cast<std::int64_t>(m), static_cast<std::int64_t>(n),
                                          static_cast<std::int64_t>(k), x->halves(Matrices::a),
                                          x->halves(Matrices::transposed), x->halves(Matrices::out));
  row.references.push_back({"mm [N, K]", [x, theirs](std::int64_t times) {
                              for (std::int64_t i = 0; i < times; ++i) theirs();
                            }});
  row.check = [x, many = row.many, others = row.references] {
    check(*x, "sr", many);
    for (const Reference& other : others) check(*x, other.name, other.many);
  };
  return row;
}

}  // namespace sr::bench
