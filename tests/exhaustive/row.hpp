// What is stated about a vector op: its function, and the largest allowed error of its results.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include <sr/kernels/table.hpp>
#include <sr/kernels/vector_ops.hpp>

namespace sr::exhaustive {

using In = std::array<const float*, kernels::kMaxOperands>;

// The magnitude below which the unit of the error does not shrink with the result.
enum class Unit {
  result,          // no such magnitude
  negative_input,  // that of x if x < 0, an absolute error: the formula subtracts 1 from a number close to 1
  step_over_beta,  // the smallest normal number divided by the second operand, for denormal results that are
                   // divided
};

inline const char* text_of(Unit unit) {
  switch (unit) {
    case Unit::negative_input:
      return "of the input where it is negative";
    case Unit::step_over_beta:
      return "of 2^-126 / beta where that is larger";
    default:
      return "of the result";
  }
}

inline float scale_of(Unit unit, const In& in, std::size_t i) {
  switch (unit) {
    case Unit::negative_input:
      return in[0][i] < 0 ? -in[0][i] : 0;
    case Unit::step_over_beta:
      return std::fabs(0x1p-126f / in[1][i]);
    default:
      return 0;
  }
}

// A function of a vector op's operands, for `count` elements.
template <class T>
using Block = void (*)(std::size_t count, const In& in, T* out);

struct Row {
  std::size_t vector_op = 0, operands = 0;
  bool exact = false;  // bit-identical to ATen's result, with every instruction set
  const char* name = "";
  double ulps = 0;
  Unit unit = Unit::result;
  Block<double> truth = nullptr;
  Block<float> also_right = nullptr;  // another result that is as good, or null
};

template <class T, class VectorOp, class Function>
void apply(std::size_t count, const In& in, T* out) {
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (VectorOp::operands == 1) {
      out[i] = Function{}(in[0][i]);
    } else if constexpr (VectorOp::operands == 2) {
      out[i] = Function{}(in[0][i], in[1][i]);
    } else {
      out[i] = Function{}(in[0][i], in[1][i], in[2][i]);
    }
  }
}

template <class VectorOp, class Truth>
constexpr Row row(const char* name, double ulps, Truth, Unit unit = Unit::result) {
  return {.vector_op = kernels::BuiltinVectorOps::index_of<VectorOp>(),
          .operands = VectorOp::operands,
          .exact = VectorOp::exact,
          .name = name,
          .ulps = ulps,
          .unit = unit,
          .truth = apply<double, VectorOp, Truth>};
}
template <class VectorOp, class Truth, class AlsoRight>
constexpr Row row_with_two(const char* name, double ulps, Truth truth, AlsoRight) {
  Row result = row<VectorOp>(name, ulps, truth);
  result.also_right = apply<float, VectorOp, AlsoRight>;
  return result;
}

// The inputs from `first` to `last`, or NaN, for which the result is a special value that differs from the
// function's, as in ATen's kernel.
struct Exception {
  std::size_t vector_op = 0;
  float first = 0, last = 0;
  float result = 0;
  const char* reason = "";

  bool covers(float x) const { return std::isnan(first) ? std::isnan(x) : first <= x && x <= last; }
};

template <class VectorOp>
constexpr Exception exception(float first, float last, float result, const char* reason) {
  return {kernels::BuiltinVectorOps::index_of<VectorOp>(), first, last, result, reason};
}

}  // namespace sr::exhaustive
