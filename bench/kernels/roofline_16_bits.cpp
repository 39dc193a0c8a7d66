// Products in bfloat16 and float16, including the conversion of the left side to fp32, against LibTorch's.
#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "blas.hpp"
#include "gemm_case.hpp"
#include "gemm_check.hpp"
#include "operands.hpp"
#include "roofline.hpp"

namespace sr::bench {
namespace {

constexpr auto kFloat32 = static_cast<std::size_t>(kernels::Element::float32);

struct Bfloat16 {
  using Bits = kernels::Bfloat16Bits;
  static constexpr const char* kName = "bfloat16";
  static constexpr auto kElement = static_cast<std::size_t>(kernels::Element::bfloat16);
  static constexpr double kHalfStep = 0x1p-8;  // of numbers near 1
  static const kernels::SmallWeights<Bits>& kernels() { return kernels::kernels().table.bfloat16_weights; }
};
struct Float16 {
  using Bits = kernels::Float16Bits;
  static constexpr const char* kName = "float16";
  static constexpr auto kElement = static_cast<std::size_t>(kernels::Element::float16);
  static constexpr double kHalfStep = 0x1p-11;
  static const kernels::SmallWeights<Bits>& kernels() { return kernels::kernels().table.float16_weights; }
};

// Arrays of floats, and of 16-bit numbers, which take half the space.
template <class Type>
struct Matrices {
  using Bits = typename Type::Bits;
  enum { a, transposed, packed, out, widened };

  std::size_t m, n, k;
  Operands memory;

  Matrices(std::size_t rows, std::size_t columns, std::size_t inner)
      : m(rows),
        n(columns),
        k(inner),
        memory({m * k, n * k, kernels::kernels().table.packed_small(n, k), m * n, m * k}, -1.0f, 1.0f) {
    const kernels::Table& table = kernels::kernels().table;
    for (const auto& [array, count] : {std::pair(a, m * k), std::pair(transposed, n * k)}) {
      const std::vector<float> numbers(memory[array], memory[array] + count);
      table.convert[kFloat32][Type::kElement](count, numbers.data(), memory[array]);
    }
    Type::kernels().pack(n, k, halves(transposed), 1, static_cast<std::ptrdiff_t>(k), halves(packed));
  }

  Bits* halves(std::size_t array) { return reinterpret_cast<Bits*>(memory[array]); }
  double number(std::size_t array, std::size_t at) {
    float number = 0;
    kernels::kernels().table.convert[Type::kElement][kFloat32](1, halves(array) + at, &number);
    return number;
  }

  void multiply() {
    const kernels::Table& table = kernels::kernels().table;
    table.convert[Type::kElement][kFloat32](m * k, memory[a], memory[widened]);
    Type::kernels().multiply_and_round({.m = m,
                                        .n = n,
                                        .k = k,
                                        .a = memory[widened],
                                        .a_row = static_cast<std::ptrdiff_t>(k),
                                        .b = halves(packed),
                                        .out = halves(out),
                                        .out_row = static_cast<std::ptrdiff_t>(n)});
  }
};

// fp32 sums in any order, rounded once.
template <class Type>
void check(Matrices<Type>& x, const std::string& name, const Many& many) {
  for (std::size_t i = 0; i < x.m * x.n; ++i) x.halves(x.out)[i].bits = 0x7fff;  // NaN
  many(1);
  check_product(
      {x.m, x.n, x.k}, name + " in " + Type::kName,
      [&](std::size_t i, std::size_t l) { return x.number(x.a, i * x.k + l); },
      [&](std::size_t l, std::size_t j) { return x.number(x.transposed, j * x.k + l); },
      [&](std::size_t i, std::size_t j) { return x.number(x.out, i * x.n + j); },
      [](double error, double sum) { return error + Type::kHalfStep * (std::fabs(sum) + error); });
}

template <class Type>
Case case_in(std::size_t m, std::size_t n, std::size_t k) {
  const auto x = std::make_shared<Matrices<Type>>(m, n, k);
  Case row = gemm_case(std::string("packed gemm in ") + Type::kName, m, n, k);
  row.work.operations = 2 * static_cast<double>(m * n * k);
  row.work.read = static_cast<double>(sizeof(typename Type::Bits) * (m * k + n * k));
  row.work.written = static_cast<double>(sizeof(typename Type::Bits) * m * n);
  row.many = repeated([x] { x->multiply(); });
  const auto theirs = blas::gemm_of_16_bits(std::is_same_v<Type, Float16>, static_cast<std::int64_t>(m),
                                            static_cast<std::int64_t>(n), static_cast<std::int64_t>(k),
                                            x->halves(x->a), x->halves(x->transposed), x->halves(x->out));
  row.references.push_back({"mm [N, K]", repeated([x, theirs] { theirs(); })});
  check_all(row, [x](const std::string& name, const Many& many) { check(*x, name, many); });
  return row;
}

}  // namespace

Case bfloat16_case(std::size_t m, std::size_t n, std::size_t k) {
  return case_in<Bfloat16>(m, n, k);
}
Case float16_case(std::size_t m, std::size_t n, std::size_t k) {
  return case_in<Float16>(m, n, k);
}

}  // namespace sr::bench
