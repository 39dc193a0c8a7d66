// Bound iterators against the interpreter, bit by bit: every operator that has one, every dtype LibTorch
// supports for it, every layout. The third and fourth call of a signature are replays.
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "iterator_layouts.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::iterators_tests {

namespace {

struct Row {
  std::string expression;
  int tensors = 1;
  bool condition = false;    // the first tensor has bools
  bool may_decline = false;  // LibTorch's operator runs for some dtypes or layouts
};

// Bit by bit; any NaN is a NaN.
bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || a.strides() != b.strides() || a.scalar_type() != b.scalar_type())
    return false;
  const at::Tensor x = a.contiguous(), y = b.contiguous();
  if (std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0) return true;
  if (!x.is_floating_point()) return false;
  return x.eq(y)
      .logical_and(x.signbit().eq(y.signbit()))
      .logical_or(x.isnan().logical_and(y.isnan()))
      .all()
      .item<bool>();
}

// How the replays of a row ran, over all dtypes and layouts.
struct Tally {
  std::size_t replayed = 0, declined = 0;
  std::string first_declined;
};

Tally check_row(const Row& row) {
  INFO(row.expression);
  const char* const names[] = {"x", "x, y", "x, y, z"};
  torch::jit::Module reference = script("def forward(self, " + std::string(names[row.tensors - 1]) +
                                        "):\n    return " + row.expression + "\n");
  StaticModuleOptions options;
  options.numerics = Numerics::exact;
  const StaticModule module(reference.deepcopy(), options);
  reference.eval();
  Tally tally;
  for (const at::ScalarType dtype : kDtypes) {
    for (const at::ScalarType second : {dtype, at::kFloat, at::kLong}) {
      if (second != dtype && (row.tensors < 2 || row.condition)) break;
      for (const auto& [layout, makers] : kLayouts) {
        const bool is_large = std::string(layout).starts_with("40,000");
        if (is_large &&
            (second != dtype || (dtype != at::kFloat && dtype != at::kBFloat16 && dtype != at::kLong))) {
          continue;
        }
        StaticRuntime<> runtime(module);
        bool supported = true;
        for (int call = 0; supported && call < 4; ++call) {
          InputSet inputs;
          for (int i = 0; i < row.tensors; ++i) {
            inputs.emplace_back(makers[static_cast<std::size_t>(i)](row.condition && i == 0 ? at::kBool
                                                                    : i == 1                ? second
                                                                                            : dtype));
          }
          at::Tensor expected;
          try {
            expected = interpret(reference, copy_inputs(inputs)).toTensor();
          } catch (const std::exception&) {
            supported = false;
            continue;
          }
          const at::Tensor actual = runtime(inputs).toTensor();
          if (!same_bits(expected, actual)) {
            const at::Tensor at = expected.eq(actual)
                                      .logical_and(expected.signbit().eq(actual.signbit()))
                                      .logical_or(expected.isnan().logical_and(actual.isnan()))
                                      .logical_not();
            UNSCOPED_INFO(expected.masked_select(at) << actual.masked_select(at));
            FAIL_CHECK(row.expression << ", " << dtype << ", " << second << ", " << layout << ", call "
                                      << call);
            supported = false;
          }
        }
        if (!supported) continue;
        const Report report = runtime.report();
        INFO(dtype << ", " << second << ", " << layout << ": "
                   << (report.bailouts.empty() ? "" : report.bailouts[0]));
        REQUIRE(report.plans.size() == 1);
        const PlanReport& plan = report.plans[0];
        // A copied plan of an earlier layout serves the first two calls, too.
        CHECK(plan.replays == 2 + 2 * report.copied_plans);
        if (plan.calls + plan.interpreted == 0) {
          ++tally.replayed;
        } else if (tally.declined++ == 0) {
          tally.first_declined = c10::str(dtype, ", ", second, ", ", layout);
        }
      }
    }
  }
  return tally;
}

// Operators that convert operands before they build an iterator, or whose results have layouts that no
// iterator would choose.
constexpr const char* kMayDecline[] = {"torch.square", "torch.relu6",   "torch.hardtanh", "torch.clamp_m",
                                       "torch.clamp(", "torch.pow(x, ", "torch.pow(2",    "torch.pow(0.7"};

void check_rows(std::vector<Row> rows) {
  at::manual_seed(0);
  for (Row& row : rows) {
    for (const char* start : kMayDecline)
      row.may_decline |= row.tensors == 1 && row.expression.starts_with(start);
    const Tally tally = check_row(row);
    INFO(row.expression << ": " << tally.declined << " declined, the first " << tally.first_declined);
    CHECK(tally.replayed > 0);
    if (tally.declined != 0 && !row.may_decline)
      FAIL_CHECK(row.expression << ": " << tally.declined << " of " << tally.declined + tally.replayed
                                << " declined, first " << tally.first_declined);
  }
}

}  // namespace

TEST_CASE("bound iterators: one operand", "[replay]") {
  std::vector<Row> rows;
  for (const char* name :
       {"sigmoid",    "tanh",  "exp",         "expm1",       "exp2",       "log",      "log1p",
        "log2",       "log10", "sqrt",        "rsqrt",       "sin",        "cos",      "tan",
        "asin",       "acos",  "atan",        "sinh",        "cosh",       "asinh",    "acosh",
        "atanh",      "erf",   "erfc",        "erfinv",      "reciprocal", "lgamma",   "digamma",
        "neg",        "abs",   "sign",        "floor",       "ceil",       "round",    "trunc",
        "frac",       "sgn",   "bitwise_not", "logical_not", "relu",       "selu",     "square",
        "nan_to_num", "logit", "sinc",        "i0",          "signbit",    "isposinf", "isneginf"}) {
    rows.push_back({"torch." + std::string(name) + "(x)"});
  }
  for (const char* name : {"silu", "hardsigmoid", "hardswish", "mish", "softplus", "leaky_relu", "elu",
                           "hardtanh", "relu6", "gelu", "hardshrink", "softshrink"}) {
    rows.push_back({"torch." + std::string(name) + "(x)"});
  }
  for (const char* text :
       {"torch.gelu(x, approximate='tanh')", "torch.leaky_relu(x, 0.3)", "torch.threshold(x, 0.5, -2.0)",
        "torch.clamp(x, -1, 1)", "torch.clamp(x, -0.5, None)", "torch.clamp(x, None, 0.5)",
        "torch.clamp_min(x, 0.25)", "torch.clamp_max(x, 2)", "torch.clamp(x, float('nan'), 1.0)",
        "torch.nan_to_num(x, 1.0, 2.0, 3.0)", "torch.logit(x, 1e-3)"}) {
    rows.push_back({text});
  }
  for (const at::ScalarType to : kDtypes) {
    rows.push_back({"x.to(" + std::to_string(static_cast<int>(to)) + ", copy=True)"});
  }
  check_rows(rows);
}

TEST_CASE("bound iterators: a number", "[replay]") {
  std::vector<Row> rows;
  for (const char* name : {"add", "sub", "mul", "div", "fmod", "remainder", "pow", "eq", "ne", "lt", "le",
                           "gt", "ge", "bitwise_and", "bitwise_or", "bitwise_xor", "floor_divide"}) {
    rows.push_back({"torch." + std::string(name) + "(x, 2)"});
    if (std::string(name).starts_with("bit")) continue;
    rows.push_back({"torch." + std::string(name) + "(x, 0.3)"});
  }
  for (const char* text :
       {"torch.add(x, 2, alpha=3)", "torch.add(x, True)", "2 - x", "torch.rsub(x, 1.5, 2)", "1 / x",
        "torch.pow(x, 0)", "torch.pow(x, 1)", "torch.pow(x, 3)", "torch.pow(x, -1)", "torch.pow(x, 0.5)",
        "torch.pow(2, x)", "torch.pow(0.7, x)", "torch.div(x, 2, rounding_mode='floor')",
        "torch.div(x, 0.7, rounding_mode='trunc')", "x // 2", "x % 3"}) {
    rows.push_back({text});
  }
  check_rows(rows);
}

TEST_CASE("bound iterators: two operands", "[replay]") {
  std::vector<Row> rows;
  for (const char* name :
       {"add",         "sub",        "mul",         "div",          "maximum",    "minimum",
        "max",         "min",        "fmod",        "remainder",    "pow",        "atan2",
        "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and",  "logical_or", "logical_xor",
        "eq",          "ne",         "lt",          "le",           "gt",         "ge",
        "fmax",        "fmin",       "hypot",       "floor_divide", "copysign",   "heaviside",
        "xlogy",       "logaddexp",  "logaddexp2",  "nextafter",    "clamp_min",  "clamp_max",
        "rsub"}) {
    rows.push_back({"torch." + std::string(name) + "(x, y)", 2});
  }
  for (const char* text :
       {"torch.add(x, y, alpha=2)", "torch.sub(x, y, alpha=3)", "torch.div(x, y, rounding_mode='floor')",
        "torch.div(x, y, rounding_mode='trunc')", "torch.lerp(x, y, 0.3)", "torch.clamp(x, y)"}) {
    rows.push_back({text, 2});
  }
  check_rows(rows);
}

TEST_CASE("bound iterators: reductions", "[replay]") {
  std::vector<Row> rows;
  for (const char* name : {"sum", "mean", "prod", "any", "all"})
    rows.push_back({"torch." + std::string(name) + "(x)"});
  for (const char* name : {"sum", "mean", "amax", "amin", "nansum", "any", "all"}) {
    for (const char* dims : {"0", "-1", "[0, -1]", "[-1], keepdim=True"}) {
      rows.push_back({"torch." + std::string(name) + "(x, " + dims + ")"});
    }
  }
  for (const char* name : {"prod", "argmax", "argmin"}) {
    rows.push_back({"torch." + std::string(name) + "(x, 0)"});
    rows.push_back({"torch." + std::string(name) + "(x, -1, True)"});
  }
  rows.push_back({"torch.sum(x, dtype=7)"});
  rows.push_back({"torch.sum(x, 0, dtype=6)"});
  for (Row& row : rows) row.may_decline = true;  // for tensors without elements
  check_rows(rows);
}

TEST_CASE("bound iterators: three operands", "[replay]") {
  check_rows({{"torch.addcmul(x, y, z)", 3},
              {"torch.addcmul(x, y, z, value=2)", 3},
              {"torch.addcdiv(x, y, z, value=0.5)", 3},
              {"torch.lerp(x, y, z)", 3},
              {"torch.clamp(x, y, z)", 3},
              {"torch.where(x, y, z)", 3, true}});
}

}  // namespace sr::test::iterators_tests
