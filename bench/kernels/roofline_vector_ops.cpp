// Pointwise kernels, by their cost.
#include <algorithm>
#include <array>
#include <memory>
#include <tuple>
#include <type_traits>

#include <sr/kernels/kernels.hpp>

#include "operands.hpp"
#include "roofline.hpp"

namespace sr::bench {
namespace {

// The cost of an element. Work that depends only on scalars is done once for all elements and is not counted.
struct VectorOpCost {
  const char* name;
  const kernels::VectorLoops* loops;
  double operations, divisions = 0, roots = 0;
  unsigned scalars = 0;  // bit i: operand i is one float, as it is in most models
};

template <class VectorOp>
VectorOpCost cost(const char* name, double operations, double divisions = 0, double roots = 0,
                  unsigned scalars = 0) {
  return {name, &kernels::loops<VectorOp>(), operations, divisions, roots, scalars};
}

// The functions of math.hpp, for AVX-512, where `scale` is an instruction. Each operator on registers of
// floats or integers counts one, as do comparisons, selections, conversions, minima, maxima, abs and
// negation; fma counts two, copysign three (two masks, one or), reinterpreted bits none.
constexpr double kFma = 2, kCopysign = 3;
constexpr double polynomial(int coefficients) {
  return (coefficients - 1) * kFma;
}
constexpr double kReduceByLog2 = 3 * kFma + 1;
constexpr double kExpm1NearZero = polynomial(6) + 1 + kFma;
constexpr double kPowerOf2 = 3;  // an exponent: converted, added, shifted
constexpr double kExp = 2 + kReduceByLog2 + kExpm1NearZero + 2;
constexpr double kExpm1Inside = kReduceByLog2 + kExpm1NearZero + kPowerOf2 + 1 + kFma + 1;
constexpr double kExpm1 = 2 + 3 + kExpm1Inside;
constexpr double kLogOfParts = polynomial(8) + 3 + kFma + kFma + 1 + kFma;
constexpr double kPartsOf = 5, kLogDomain = 3 * 2;
constexpr double kLog = 3 + kPartsOf + 3 + kLogOfParts + kLogDomain;
constexpr double kLog1p = 1 + kPartsOf + 2 + (1 + kFma + 2) + kLogOfParts + 1 + kLogDomain + 3;
// These two also divide.
constexpr double kTanh = 3 + kReduceByLog2 + kExpm1NearZero + kPowerOf2 + kFma + 1 +
                         (1 + (1 + kFma) + 1 + (1 + kFma)) + 2 + 2 + kCopysign;
constexpr double kLogistic = 3 + kReduceByLog2 + 2 + 2 + 3 + kExpm1NearZero + kFma + 1 + 1;
constexpr double kErf = 2 + polynomial(9) + kFma + 1 + kExpm1Inside + 4 + kCopysign;
// Half a register at a time, in doubles: log2, a product, exp2.
constexpr double kPowOfDouble = (9 + polynomial(8) + 2 + kFma + 4) + 1 + (2 + 4 + polynomial(10) + 5);
static_assert(kExp == kExpOperations);
constexpr unsigned kSecond = 0b10, kThird = 0b100, kBoth = kSecond | kThird;

const auto& vector_ops_by_cost() {
  using namespace kernels::vector_ops;
  static const std::array all{
      cost<Add>("add", 1),
      cost<Sub>("sub", 1),
      cost<Mul>("mul", 1),
      cost<Div>("div", 0, 1),
      cost<AddScaled>("add_scaled", 2, 0, 0, kThird),
      cost<SubScaled>("sub_scaled", 2, 0, 0, kThird),
      cost<AddRelu>("add_relu", 2),
      cost<MulRelu>("mul_relu", 2),
      cost<Maximum>("maximum", 3),
      cost<Minimum>("minimum", 3),
      cost<ClampMin>("clamp_min", 2, 0, 0, kSecond),
      cost<ClampMax>("clamp_max", 2, 0, 0, kSecond),
      cost<Clamp>("clamp", 3, 0, 0, kBoth),
      cost<Relu>("relu", 1),
      cost<LeakyRelu>("leaky_relu", 3, 0, 0, kSecond),
      cost<Threshold>("threshold", 2, 0, 0, kBoth),
      cost<Hardsigmoid>("hardsigmoid", 3, 1),
      cost<Hardswish>("hardswish", 4, 1),
      cost<Equal>("equal", 2),
      cost<NotEqual>("not_equal", 2),
      cost<Less>("less", 2),
      cost<LessEqual>("less_equal", 2),
      cost<Greater>("greater", 2),
      cost<GreaterEqual>("greater_equal", 2),
      cost<And>("and", 4),
      cost<Or>("or", 4),
      cost<Xor>("xor", 5),
      cost<Not>("not", 2),
      cost<IsNan>("is_nan", 2),
      cost<Where>("where", 2),
      cost<MaskedFill>("masked_fill", 2, 0, 0, kThird),
      cost<AddProduct>("add_product", 2),
      cost<AddQuotient>("add_quotient", 1, 1),
      cost<Lerp>("lerp", 8, 0, 0, kThird),
      cost<Same>("same", 0),
      cost<RoundToBfloat16>("round_to_bfloat16", 7),
      cost<RoundToFloat16>("round_to_float16", 13),
      cost<Neg>("neg", 1),
      cost<Abs>("abs", 1),
      cost<Sign>("sign", 5),
      cost<Square>("square", 1),
      cost<Cube>("cube", 2),
      cost<InverseSquare>("inverse_square", 1, 1),
      cost<Pow>("pow", 2 * kPowOfDouble + 14, 2),
      cost<Sqrt>("sqrt", 0, 0, 1),
      cost<Rsqrt>("rsqrt", 0, 1, 1),
      cost<Reciprocal>("reciprocal", 0, 1),
      cost<Floor>("floor", 1),
      cost<Ceil>("ceil", 1),
      cost<Round>("round", 1),
      cost<Trunc>("trunc", 1),
      cost<Exp>("exp", kExp),
      cost<Expm1>("expm1", kExpm1),
      cost<Log>("log", kLog),
      cost<Log1p>("log1p", kLog1p),
      cost<Tanh>("tanh", kTanh, 1),
      cost<Sigmoid>("sigmoid", kLogistic, 1),
      cost<Erf>("erf", kErf),
      cost<Silu>("silu", kLogistic, 1),
      cost<GeluErf>("gelu", kErf + 4),
      cost<GeluTanh>("gelu_tanh", 2 + kFma + kLogistic, 1),
      cost<Elu>("elu", kExpm1 + 3, 0, 0, kSecond),
      cost<Softplus>("softplus", kExp + kLog1p + 3, 1, 0, kBoth),
  };
  static_assert(std::tuple_size_v<std::remove_cvref_t<decltype(all)>> == kernels::BuiltinVectorOps::size,
                "every built-in vector op has a row");
  return all;
}

Case vector_op_case(const VectorOpCost& vector_op, std::size_t n) {
  const std::size_t operands = vector_op.loops->operands;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < operands; ++i) sizes.push_back((vector_op.scalars >> i) & 1 ? 1 : n);
  Case row{vector_op.name, std::to_string(n), static_cast<double>(n), {}, {}, {}, {}};
  for (const std::size_t size : sizes) row.work.read += static_cast<double>(size * sizeof(float));
  const double count = row.elements;
  row.work.operations = count * vector_op.operations;
  row.work.divisions = count * vector_op.divisions;
  row.work.roots = count * vector_op.roots;
  row.work.written = count * sizeof(float);
  sizes.push_back(n);
  const auto memory = std::make_shared<Operands>(sizes, 0.1f, 1.0f);
  row.many = [memory, operands, n,
              loop = vector_op.loops->by_scalars[vector_op.scalars]](std::int64_t times) {
    const float* in[kernels::kMaxOperands] = {};
    for (std::size_t i = 0; i < operands; ++i) in[i] = (*memory)[i];
    for (std::int64_t i = 0; i < times; ++i) loop(n, (*memory)[operands], in);
  };
  return row;
}

}  // namespace

std::vector<Case> vector_op_cases(std::size_t n, const std::vector<std::string>& names) {
  std::vector<Case> cases;
  for (const VectorOpCost& vector_op : vector_ops_by_cost()) {
    if (names.empty() || std::ranges::find(names, vector_op.name) != names.end())
      cases.push_back(vector_op_case(vector_op, n));
  }
  return cases;
}

}  // namespace sr::bench
