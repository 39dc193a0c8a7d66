// Kernels on rows, copies and dot products.
#include <memory>

#include <sr/kernels/kernels.hpp>

#include "operands.hpp"
#include "roofline.hpp"

namespace sr::bench {
namespace {

std::string by(std::size_t rows, std::size_t columns) {
  return std::to_string(rows) + "x" + std::to_string(columns);
}

double bytes_of(std::size_t floats) {
  return static_cast<double>(floats * sizeof(float));
}

// Costs of the formulas in inner_reductions.hpp.
struct RowCost {
  const char* name;
  void (*run)(const kernels::RowMatrix& rows, const float* affine);
  double operations, divisions = 0;  // of an element
  bool reduces = false, affine = false;
};

void reduce(kernels::Reduce kind, const kernels::RowMatrix& rows) {
  kernels::kernels().table.reduce[static_cast<std::size_t>(kind)]({.outer = rows.rows,
                                                                   .count = rows.columns,
                                                                   .in_outer = rows.in_stride,
                                                                   .in_row = 1,
                                                                   .out_outer = rows.out_stride,
                                                                   .in = rows.in,
                                                                   .out = rows.out});
}

const std::vector<RowCost>& rows_by_cost() {
  using kernels::RowMatrix;
  static const std::vector<RowCost> all{
      {"sum", [](const RowMatrix& rows, const float*) { reduce(kernels::Reduce::sum, rows); }, 1, 0, true},
      {"max", [](const RowMatrix& rows, const float*) { reduce(kernels::Reduce::max, rows); }, 3, 0, true},
      {"softmax", [](const RowMatrix& rows, const float*) { kernels::kernels().table.softmax_rows(rows); },
       kExpOperations + 3, 1},
      {"log_softmax",
       [](const RowMatrix& rows, const float*) { kernels::kernels().table.log_softmax_rows(rows); },
       kExpOperations + 5},
      {"layer_norm",
       [](const RowMatrix& rows, const float* affine) {
         kernels::kernels().table.layer_norm_rows(rows, affine, affine + rows.columns, 1e-5f);
       },
       9, 0, false, true}};
  return all;
}

Case row_case(const RowCost& cost, std::size_t rows, std::size_t columns) {
  const std::size_t n = rows * columns, affine = cost.affine ? 2 * columns : 0;
  const std::size_t results = cost.reduces ? rows : n;
  const auto memory = std::make_shared<Operands>(std::vector{n, affine, results}, -1.0f, 1.0f);
  const auto count = static_cast<double>(n);
  const kernels::RowMatrix shape{rows,         columns,
                                 (*memory)[0], static_cast<std::ptrdiff_t>(columns),
                                 (*memory)[2], static_cast<std::ptrdiff_t>(results / rows)};
  return {cost.name,
          by(rows, columns),
          count,
          {.operations = count * cost.operations,
           .divisions = count * cost.divisions,
           .read = bytes_of(n + affine),
           .written = bytes_of(results)},
          [memory, shape, run = cost.run](std::int64_t times) {
            for (std::int64_t i = 0; i < times; ++i) run(shape, (*memory)[1]);
          },
          {},
          {}};
}

Case copy_case(bool transposed, std::int64_t size) {
  const auto n = static_cast<std::size_t>(size * size);
  const auto memory = std::make_shared<Operands>(std::vector{n, n}, -1.0f, 1.0f);
  kernels::StridedCopy shape{.rank = 2,
                             .width = sizeof(float),
                             .sizes = {size, size},
                             .in_strides = {size, 1},
                             .out_strides = {size, 1}};
  if (transposed) shape.in_strides = {1, size};
  return {transposed ? "copy transposed" : "copy",
          by(static_cast<std::size_t>(size), static_cast<std::size_t>(size)),
          static_cast<double>(n),
          {.read = bytes_of(n), .written = bytes_of(n)},
          [memory, shape](std::int64_t times) {
            for (std::int64_t i = 0; i < times; ++i)
              kernels::kernels().table.copy(shape, (*memory)[0], (*memory)[1]);
          },
          {},
          {}};
}

// `shared`: all have the same right-hand side.
Case dot_case(bool shared, std::size_t count, std::size_t k) {
  const std::size_t left = count * k, right = shared ? k : left;
  const auto memory = std::make_shared<Operands>(std::vector{left, right, count}, -1.0f, 1.0f);
  kernels::BatchedDot dots{
      .count = count, .k = k, .a = (*memory)[0], .a_row = static_cast<std::ptrdiff_t>(k)};
  dots.b = (*memory)[1];
  dots.b_row = shared ? 0 : dots.a_row;
  dots.out = (*memory)[2];
  dots.out_stride = 1;
  return {shared ? "dots with one" : "dots",
          by(count, k),
          static_cast<double>(left),
          {.operations = 2 * static_cast<double>(left),
           .read = bytes_of(left + right),
           .written = bytes_of(count)},
          [memory, dots](std::int64_t times) {
            const auto multiply = kernels::kernels().table.batched_dot(dots.count, dots.k);
            for (std::int64_t i = 0; i < times; ++i) multiply(dots);
          },
          {},
          {}};
}

}  // namespace

std::vector<Case> row_cases() {
  std::vector<Case> cases;
  for (const RowCost& cost : rows_by_cost()) {
    cases.push_back(row_case(cost, 16, 128));
    cases.push_back(row_case(cost, 2, 1024));
  }
  return cases;
}

std::vector<Case> copy_cases() {
  std::vector<Case> cases;
  for (const std::int64_t size : {64, 512}) {
    for (const bool transposed : {false, true}) cases.push_back(copy_case(transposed, size));
  }
  return cases;
}

std::vector<Case> dot_cases() {
  std::vector<Case> cases;
  for (const bool shared : {false, true}) {
    for (const auto& [count, k] :
         {std::pair<std::size_t, std::size_t>{20, 50}, {32, 64}, {8, 512}, {128, 512}})
      cases.push_back(dot_case(shared, count, k));
  }
  return cases;
}

}  // namespace sr::bench
