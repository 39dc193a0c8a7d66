// Products with packed right-hand sides, against LibTorch's.
#include <cmath>
#include <memory>

#include <sr/kernels/kernels.hpp>

#include "blas.hpp"
#include "gemm_case.hpp"
#include "gemm_check.hpp"
#include "operands.hpp"
#include "roofline.hpp"

namespace sr::bench {
namespace {

// The operands that all rivals share; each has the right-hand side in its preferred layout.
struct Matrices {
  enum { a, by_rows, transposed, packed, out };

  std::size_t m, n, k;
  Operands memory;

  Matrices(std::size_t rows, std::size_t columns, std::size_t inner)
      : m(rows),
        n(columns),
        k(inner),
        memory({m * k, k * n, n * k, kernels::kernels().table.packed_floats(n, k), m * n}, -1.0f, 1.0f) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t l = 0; l < k; ++l) memory[transposed][j * k + l] = memory[by_rows][l * n + j];
    }
    kernels::kernels().table.pack(n, k, memory[by_rows], static_cast<std::ptrdiff_t>(n), 1, memory[packed]);
  }

  kernels::Gemm product() {
    kernels::Gemm product{.m = m, .n = n, .k = k, .a = memory[a], .a_row = static_cast<std::ptrdiff_t>(k)};
    product.b = memory[packed];
    product.out = memory[out];
    product.out_row = static_cast<std::ptrdiff_t>(n);
    return product;
  }
};

void check(Matrices& x, const std::string& name, const Many& many) {
  for (std::size_t i = 0; i < x.m * x.n; ++i) x.memory[Matrices::out][i] = std::nanf("");
  many(1);
  const auto number = [&x](std::size_t array, std::size_t at) { return double{x.memory[array][at]}; };
  check_product(
      {x.m, x.n, x.k}, name, [&](std::size_t i, std::size_t l) { return number(Matrices::a, i * x.k + l); },
      [&](std::size_t l, std::size_t j) { return number(Matrices::transposed, j * x.k + l); },
      [&](std::size_t i, std::size_t j) { return number(Matrices::out, i * x.n + j); },
      [](double error, double) { return error; });
}

std::vector<Reference> references(const std::shared_ptr<Matrices>& x) {
  const int m = static_cast<int>(x->m), n = static_cast<int>(x->n), k = static_cast<int>(x->k);
  std::vector<Reference> all;
  for (const bool transposed : {true, false}) {
    const float* b = x->memory[transposed ? Matrices::transposed : Matrices::by_rows];
    all.push_back({transposed ? "sgemm_ [N, K]" : "sgemm_ [K, N]", [=](std::int64_t times) {
                     for (std::int64_t i = 0; i < times; ++i)
                       blas::sgemm(transposed, m, n, k, x->memory[Matrices::a], b, x->memory[Matrices::out]);
                   }});
  }
  if (!blas::has_brgemm()) return all;
  all.push_back({"brgemm", [=](std::int64_t times) {
                   for (std::int64_t i = 0; i < times; ++i)
                     blas::brgemm(m, n, k, x->memory[Matrices::a], x->memory[Matrices::by_rows],
                                  x->memory[Matrices::out]);
                 }});
  return all;
}

}  // namespace

Case product_case(std::size_t m, std::size_t n, std::size_t k) {
  const auto x = std::make_shared<Matrices>(m, n, k);
  const auto floats = static_cast<double>(sizeof(float));
  Case row = gemm_case("packed gemm", m, n, k);
  row.references = references(x);
  row.work.operations = 2 * static_cast<double>(m * n * k);
  row.work.read = floats * static_cast<double>(m * k + n * k);
  row.work.written = floats * static_cast<double>(m * n);
  row.many = repeated([x, product = x->product()] { kernels::kernels().table.packed_gemm(product); });
  check_all(row, [x](const std::string& name, const Many& many) { check(*x, name, many); });
  return row;
}

}  // namespace sr::bench
