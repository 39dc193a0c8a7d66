// What every vector op states about bfloat16, float16, doubles and integers, against the interpreter: a
// program of the operator must give the interpreter's bits on all values of 16 bits.
#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <sr/kernels/vector_ops.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace sr::test::pointwise_traits_tests {

namespace {

namespace vector_ops = kernels::vector_ops;

struct Row {
  std::size_t vector_op;
  bool is_exact;
  std::string expression;
};

template <class VectorOp>
Row row(const char* expression) {
  return {vector_ops::Builtin::index_of<VectorOp>(), VectorOp::exact, expression};
}

// Expressions that each become the vector op, by tensors and, if the operator takes them, by numbers.
std::vector<Row> rows() {
  using namespace vector_ops;
  return {
      row<Add>("x + y"),
      row<Add>("x + 0.3"),
      row<Sub>("x - y"),
      row<Sub>("x - 0.3"),
      row<Mul>("x * y"),
      row<Mul>("x * 0.3"),
      row<Div>("x / y"),
      row<Div>("x / 0.3"),
      row<AddScaled>("torch.add(x, y, alpha=3)"),
      row<SubScaled>("torch.sub(x, y, alpha=3)"),
      row<AddRelu>("torch.relu(x + y)"),
      row<MulRelu>("torch.relu(x * y)"),
      row<Maximum>("torch.maximum(x, y)"),
      row<Minimum>("torch.minimum(x, y)"),
      row<ClampMin>("torch.clamp_min(x, 0.3)"),
      row<ClampMax>("torch.clamp_max(x, 0.3)"),
      row<Clamp>("torch.clamp(x, -0.7, 0.3)"),
      row<Relu>("torch.relu(x)"),
      row<LeakyRelu>("torch.leaky_relu(x, 0.3)"),
      row<LeakyRelu>("torch.prelu(x, y[:1])"),
      row<Threshold>("torch.threshold(x, 0.3, 0.7)"),
      row<Hardsigmoid>("torch.hardsigmoid(x)"),
      row<Hardswish>("torch.hardswish(x)"),
      row<Equal>("x == y"),
      row<NotEqual>("x != y"),
      row<Less>("x < y"),
      row<LessEqual>("x <= y"),
      row<Greater>("x > y"),
      row<GreaterEqual>("x >= y"),
      row<And>("torch.logical_and(x, y)"),
      row<Or>("torch.logical_or(x, y)"),
      row<Xor>("torch.logical_xor(x, y)"),
      row<Not>("torch.logical_not(x)"),
      row<IsNan>("torch.isnan(x)"),
      row<Where>("torch.where(x > y, x, y)"),
      row<MaskedFill>("x.masked_fill(x > y, 0.3)"),
      row<AddProduct>("torch.addcmul(x, y, y)"),
      row<AddQuotient>("torch.addcdiv(x, y, y)"),
      row<Lerp>("torch.lerp(x, y, 0.3)"),
      row<Same>("x.to(6)"),  // float; 15 is bfloat16, 5 is float16
      row<RoundToBfloat16>("(x.to(6) * y).to(15)"),
      row<RoundToFloat16>("(x.to(6) * y).to(5)"),
      row<Neg>("-x"),
      row<Abs>("torch.abs(x)"),
      row<Sign>("torch.sign(x)"),
      row<Square>("torch.square(x)"),
      row<Square>("torch.pow(x, 2)"),
      row<Cube>("torch.pow(x, 3)"),
      row<InverseSquare>("torch.pow(x, -2)"),
      row<Pow>("torch.pow(x, y)"),
      row<Pow>("torch.pow(x, 1.7)"),
      row<Sqrt>("torch.sqrt(x)"),
      row<Sqrt>("torch.pow(x, 0.5)"),
      row<Rsqrt>("torch.rsqrt(x)"),
      row<Rsqrt>("torch.pow(x, -0.5)"),
      row<Reciprocal>("torch.reciprocal(x)"),
      row<Floor>("torch.floor(x)"),
      row<Ceil>("torch.ceil(x)"),
      row<Round>("torch.round(x)"),
      row<Trunc>("torch.trunc(x)"),
      row<Exp>("torch.exp(x)"),
      row<Expm1>("torch.expm1(x)"),
      row<Log>("torch.log(x)"),
      row<Log1p>("torch.log1p(x)"),
      row<Tanh>("torch.tanh(x)"),
      row<Sigmoid>("torch.sigmoid(x)"),
      row<Erf>("torch.erf(x)"),
      row<Silu>("torch.silu(x)"),
      row<GeluErf>("torch.gelu(x)"),
      row<GeluTanh>("torch.gelu(x, approximate='tanh')"),
      row<Elu>("torch.elu(x, 0.7)"),
      row<Softplus>("torch.softplus(x, 1.3, 2)"),
  };
}

// All values of 16 bits, in the dtype.
at::Tensor all_halves(c10::ScalarType dtype) {
  std::vector<std::int16_t> bits(1 << 16);
  std::iota(bits.begin(), bits.end(), std::numeric_limits<std::int16_t>::min());
  return at::tensor(bits, at::kShort).view(dtype).clone();
}

std::vector<InputSet> inputs() {
  at::manual_seed(11);
  std::vector<InputSet> sets;
  for (const c10::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    const at::Tensor x = all_halves(dtype);
    sets.push_back({x, x.index_select(0, at::randperm(x.numel(), at::kLong))});
    sets.push_back({x, at::randn(x.sizes()).to(dtype)});
  }
  sets.push_back({at::randn({999}, at::kDouble) * 3, at::randn({999}, at::kDouble)});
  sets.push_back({at::randint(-9, 9, {999}, at::kLong), at::randint(1, 5, {999}, at::kLong)});
  return sets;
}

at::Tensor are_same(const at::Tensor& a, const at::Tensor& b) {
  return a.eq(b).logical_or_(a.isnan().logical_and(b.isnan()));
}

// True if each result is the interpreter's, or as near to the result in doubles as the interpreter's or as
// one unit in the last place. LibTorch's functions flush small results to zero on some CPUs.
bool are_near(const at::Tensor& actual, const at::Tensor& expected, const at::Tensor& truth) {
  const bool is_half = actual.scalar_type() == at::kHalf;
  const double epsilon = is_half ? 0x1p-10 : 0x1p-7, least = 0x1p-21;
  const at::Tensor error = actual.to(at::kDouble).sub_(truth).abs_();
  const at::Tensor allowed = at::maximum(expected.to(at::kDouble).sub_(truth).abs_().nan_to_num_(0),
                                         truth.abs().mul_(epsilon).add_(least));
  return error.le(allowed)
      .logical_or_(are_same(actual, expected))
      .logical_or_(are_same(actual, truth.to(actual.scalar_type())))
      .all()
      .item<bool>();
}

InputSet as_doubles(const InputSet& set) {
  InputSet doubles;
  for (const c10::IValue& value : set) doubles.emplace_back(value.toTensor().to(at::kDouble));
  return doubles;
}

}  // namespace

TEST_CASE("every vector op keeps what it states about 16-bit floats, doubles and integers",
          "[ops][kernels]") {
  std::vector<bool> is_checked(vector_ops::Builtin::size, false);
  const std::vector<InputSet> sets = inputs();
  for (const Row& each : rows()) {
    is_checked[each.vector_op] = true;
    torch::jit::Module module = script("def forward(self, x, y):\n    return " + each.expression + "\n");
    StaticRuntime<> runtime{StaticModule(module)};
    for (const InputSet& set : sets) {
      CAPTURE(each.expression, set[0].toTensor().scalar_type());
      c10::IValue expected;
      try {
        expected = interpret(module, copy_inputs(set));
      } catch (const std::exception&) {
        continue;  // the operator does not take the dtype
      }
      c10::IValue actual;
      for (int call = 0; call < 3; ++call) actual = runtime(copy_inputs(set));
      REQUIRE(actual.toTensor().scalar_type() == expected.toTensor().scalar_type());
      const at::Tensor &wanted = expected.toTensor(), &found = actual.toTensor();
      if (each.is_exact) {
        CHECK(are_same(wanted, found).all().item<bool>());
      } else if (c10::isReducedFloatingType(wanted.scalar_type())) {
        CHECK(are_near(found, wanted, interpret(module, as_doubles(set)).toTensor()));
      }  // kernels/vector_ops.cpp states the bounds of others
    }
    CHECK(runtime.replayed_calls() > 0);
  }
  for (std::size_t i = 0; i < is_checked.size(); ++i) {
    CAPTURE(i);
    CHECK(is_checked[i]);
  }
}

}  // namespace sr::test::pointwise_traits_tests
