// Products of 8-bit integers with sums in 32 bits, against LibTorch's.
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <sr/kernels/int8_forms.hpp>
#include <sr/kernels/kernels.hpp>

#include "blas.hpp"
#include "gemm_case.hpp"
#include "roofline.hpp"

namespace sr::bench {
namespace {

struct Matrices {
  std::size_t m, n, k;
  std::vector<std::int8_t> a, transposed;
  std::vector<std::uint8_t> packed;
  std::vector<std::int32_t> out;
  void (*multiply_packed)(const kernels::Int8Gemm& product);

  Matrices(std::size_t rows, std::size_t columns, std::size_t inner)
      : m(rows), n(columns), k(inner), a(m * k), transposed(n * k), out(m * n) {
    std::minstd_rand engine(1);
    for (auto* const array : {&a, &transposed}) {
      for (std::int8_t& element : *array) element = static_cast<std::int8_t>(engine() >> 8);
    }
    const kernels::Table& table = kernels::kernels().table;
    packed.resize(table.packed_int8_bytes(n, k));
    table.pack_int8(n, k, transposed.data(), 1, static_cast<std::ptrdiff_t>(k), packed.data());
    multiply_packed = kernels::int8_form().multiply;
  }

  void multiply() {
    multiply_packed({.m = m,
                     .n = n,
                     .k = k,
                     .end_column = n,
                     .a = reinterpret_cast<const std::uint8_t*>(a.data()),
                     .a_row = static_cast<std::ptrdiff_t>(k),
                     .b = packed.data(),
                     .sums = out.data(),
                     .out_row = static_cast<std::ptrdiff_t>(n)});
  }
};

void check(Matrices& x, const std::string& name, const Many& many) {
  x.out.assign(x.out.size(), -1);
  many(1);
  for (std::size_t i = 0; i < x.m; ++i) {
    for (std::size_t j = 0; j < x.n; ++j) {
      std::int32_t sum = 0;
      for (std::size_t l = 0; l < x.k; ++l)
        sum += std::int32_t{x.a[i * x.k + l]} * std::int32_t{x.transposed[j * x.k + l]};
      if (x.out[i * x.n + j] == sum) continue;
      throw std::runtime_error("The product of " + name + " in int8 is " +
                               std::to_string(x.out[i * x.n + j]) + " in row " + std::to_string(i) +
                               ", column " + std::to_string(j) + ", where it should be " +
                               std::to_string(sum) + ".");
    }
  }
}

}  // namespace

Case int8_case(std::size_t m, std::size_t n, std::size_t k) {
  const auto x = std::make_shared<Matrices>(m, n, k);
  Case row = gemm_case("packed gemm in int8", m, n, k);
  // An instruction for bytes multiplies and adds four times as many numbers as one for floats. Without it, a
  // product and a sum of pairs do as much as two multiply-adds of floats.
  const double operations = 2 * static_cast<double>(m * n * k);
  row.work.operations = kernels::int8_form().is_fast ? operations / 4 : operations;
  row.work.byte_operations = operations;
  row.work.read = static_cast<double>(m * k + n * k);
  row.work.written = static_cast<double>(sizeof(std::int32_t) * m * n);
  row.many = repeated([x] { x->multiply(); });
  const auto theirs =
      blas::int8_gemm(static_cast<std::int64_t>(m), static_cast<std::int64_t>(n),
                      static_cast<std::int64_t>(k), x->a.data(), x->transposed.data(), x->out.data());
  row.references.push_back({"_int_mm [N, K]", repeated([x, theirs] { theirs(); })});
  check_all(row, [x](const std::string& name, const Many& many) { check(*x, name, many); });
  return row;
}

}  // namespace sr::bench
