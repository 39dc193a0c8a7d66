// Operators that compute each element of the result from one element of each operand.
#include "fuzz/generator.hpp"

namespace sr::fuzz {

void Generator::unary() {
  struct Op {
    const char *before, *after;
    bool floating;     // converts integers to float
    bool keeps;        // bit-identical to the interpreter with every kernel
    double magnitude;  // of the result; below -50 stands for that of the operand
  };
  static const Op ops[] = {{"torch.relu(", ")", false, true, -99},
                           {"torch.leaky_relu(", ", 0.1)", false, false, -99},
                           {"torch.clamp(", ", -0.5, 0.75)", false, true, -99},
                           {"torch.sigmoid(", ")", true, false, 0},
                           {"torch.tanh(", ")", true, false, 0},
                           {"torch.exp(", ")", true, false, 2},
                           {"torch.log1p(torch.abs(", "))", true, false, -99},
                           {"torch.abs(", ")", false, true, -99},
                           {"torch.neg(", ")", false, true, -99},
                           {"-", "", false, true, -99},
                           {"torch.sqrt(torch.abs(", "))", true, false, -99},
                           {"torch.silu(", ")", false, false, -99},
                           // For infinity LibTorch returns NaN or not, depending on layout and size.
                           {"torch.gelu(torch.clamp(", ", -1e4, 1e4))", false, false, -99},
                           {"torch.clamp_min(", ", 0.0)", false, true, -99},
                           {"torch.sign(", ")", false, true, 0},
                           {"torch.floor(", ")", false, true, -99},
                           {"torch.pow(", ", 2)", false, false, 99},
                           {"torch.sin(", ")", true, false, 0},
                           {"torch.reciprocal(torch.abs(", ") + 0.5)", true, false, 1},
                           {"torch.cos(", ")", true, false, 0},
                           {"torch.erf(", ")", true, false, 0},
                           {"torch.rsqrt(torch.abs(", ") + 1.0)", true, false, 0},
                           {"torch.softplus(", ")", false, false, -99},
                           {"torch.expm1(", ")", true, false, 2},
                           {"torch.elu(", ")", false, false, -99},
                           {"torch.square(", ")", false, false, 99}};
  const Op& op = random_.of(ops);
  const std::string name = op.before;
  const bool jumps = name == "torch.sign(" || name == "torch.floor(";
  const bool grows = name == "torch.exp(" || name == "torch.expm1(";
  const bool halves = name.find("silu") != name.npos || name.find("gelu") != name.npos ||
                      name.find("softplus") != name.npos || name.find("elu(") != name.npos ||
                      name == "torch.floor(";
  const auto x = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && (!jumps || decides(v)) &&
           (!grows || v.magnitude < 1 || case_.exact_only) && (op.magnitude < 50 || room(2 * v.magnitude)) &&
           (!halves || is_floating(v.dtype)) && (v.dtype != Dtype::boolean || op.floating);
  });
  if (!x) return;
  const bool clamps = name.find("clamp") != name.npos;
  const Dtype dtype = is_floating(x->dtype) ? x->dtype : op.floating || clamps ? Dtype::f32 : x->dtype;
  const double magnitude = op.magnitude < -50  ? x->magnitude
                           : op.magnitude > 50 ? 2 * x->magnitude
                                               : op.magnitude;
  case_.mark(Feature::pointwise);
  define(op.before + x->name + op.after, dtype, x->shape, x->stable && (op.keeps || !is_floating(dtype)),
         magnitude);
}

void Generator::binary() {
  const auto x = any_tensor();
  if (!x) return;
  case_.mark(Feature::pointwise);
  if (random_.chance(30)) {  // with a number
    const Kind kind = random_.chance(50) ? Kind::real : Kind::integer;
    if (x->dtype == Dtype::boolean && random_.chance(70)) return;
    const std::string n = number(kind);
    const Dtype dtype = promote_number(x->dtype, kind);
    const bool keeps = x->stable && !is_floating(dtype);
    case_.mark(Feature::number_operand);
    switch (random_.below(8)) {
      case 0:
        define(x->name + " + " + n, dtype, x->shape, keeps, x->magnitude + 0.5);
        break;
      case 1:
        define(n + " * " + x->name, dtype, x->shape, keeps, x->magnitude + 0.5);
        break;
      case 2:
        define(n + " - " + x->name, dtype, x->shape, keeps, x->magnitude + 0.5);
        break;
      case 3:
        define(x->name + " - " + n, dtype, x->shape, keeps, x->magnitude + 0.5);
        break;
      case 4:
        define("torch.add(" + x->name + ", " + n + ", alpha=2)", dtype, x->shape, keeps, x->magnitude + 1);
        break;
      case 5:
        define(x->name + " / " + (kind == Kind::integer ? "4" : "2.5"),
               is_floating(dtype) ? dtype : Dtype::f32, x->shape, false, x->magnitude);
        break;
      default: {
        static const char* const tests[] = {" > ", " < ", " >= ", " <= ", " == ", " != "};
        if (decides(*x)) define(x->name + random_.of(tests) + n, Dtype::boolean, x->shape, true, 0);
      }
    }
    return;
  }
  const auto y = pick([&](const Variable& v) {
    if (v.kind != Kind::tensor) return false;
    const auto shape = broadcast(x->shape, v.shape);
    return shape && numel(*shape) <= 600 && room(x->magnitude + v.magnitude);
  });
  const bool weight = !y || random_.chance(12);
  if (weight && !(x->shape.empty() || (x->shape.back().known() && x->shape.back().a == x->shape.back().b)))
    return;
  Variable other = weight ? Variable{} : *y;
  if (weight) {
    other.shape = x->shape.empty() ? Shape{} : Shape{x->shape.back()};
    other.name = attribute(other.shape);
    case_.mark(Feature::constant_weights);
  }
  const bool swapped = random_.chance(50);
  const Variable &a = swapped ? other : *x, &b = swapped ? *x : other;
  const Shape shape = *broadcast(a.shape, b.shape);
  if (a.shape != b.shape) case_.mark(Feature::broadcast);
  const Dtype dtype = promote(a, b);
  const bool stable = a.stable && b.stable, keeps = stable && !is_floating(dtype);
  const double larger = std::max(a.magnitude, b.magnitude);
  const std::string pair = a.name + ", " + b.name;
  switch (random_.below(12)) {
    case 0:
    case 1:
      define(a.name + " + " + b.name, dtype, shape, keeps, larger + 0.3);
      break;
    case 2:
      if (dtype == Dtype::boolean) return;
      define(a.name + " - " + b.name, dtype, shape, keeps, larger + 0.3);
      break;
    case 3:
    case 4:
      define(a.name + " * " + b.name, dtype, shape, keeps, a.magnitude + b.magnitude);
      break;
    case 5:
      define(a.name + " / (torch.abs(" + b.name + ") + 1)", is_floating(dtype) ? dtype : Dtype::f32, shape,
             false, a.magnitude);
      break;
    case 6:
      define("torch.maximum(" + pair + ")", dtype, shape, stable, larger);
      break;
    case 7:
      define("torch.minimum(" + pair + ")", dtype, shape, stable, larger);
      break;
    case 8:
    case 9: {
      if (dtype == Dtype::boolean) return;
      const std::string alpha = is_floating(dtype) && random_.chance(50) ? "0.5" : "2";
      define((random_.chance(50) ? "torch.add(" : "torch.sub(") + pair + ", alpha=" + alpha + ")", dtype,
             shape, keeps, larger + 0.5);
      break;
    }
    default: {
      static const char* const tests[] = {" > ", " < ", " >= ", " <= ", " == ", " != "};
      if (decides(a) && decides(b))
        define(a.name + random_.of(tests) + b.name, Dtype::boolean, shape, true, 0);
    }
  }
}

void Generator::ternary() {
  const auto a = any_tensor();
  if (!a) return;
  const auto b = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && broadcast(a->shape, v.shape) && room(v.magnitude + a->magnitude);
  });
  if (!b) return;
  const Shape both = *broadcast(a->shape, b->shape);
  const Dtype dtype = promote(*a, *b);
  const double larger = std::max(a->magnitude, b->magnitude);
  case_.mark(Feature::pointwise);
  const auto mask = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && v.dtype == Dtype::boolean && broadcast(both, v.shape) &&
           numel(*broadcast(both, v.shape)) <= 600;
  });
  if (mask && random_.chance(70)) {
    const Shape shape = *broadcast(both, mask->shape);
    if (random_.chance(30)) {
      const auto filled = broadcast(a->shape, mask->shape);
      if (!is_floating(a->dtype) || !filled) return;
      define(a->name + ".masked_fill(" + mask->name + ", " + real_text() + ")", a->dtype, *filled, a->stable,
             a->magnitude);
      return;
    }
    define("torch.where(" + mask->name + ", " + a->name + ", " + b->name + ")", dtype, shape,
           a->stable && b->stable, larger);
  } else if (decides(*a) && decides(*b) && is_floating(dtype)) {
    define("torch.where(" + a->name + " > 0, " + a->name + ", " + b->name + ")", dtype, both,
           a->stable && b->stable, larger);
  } else if (is_floating(a->dtype) && is_floating(b->dtype)) {
    define("torch.addcmul(" + a->name + ", " + a->name + ", " + b->name + ")", dtype, both, false,
           a->magnitude + b->magnitude);
  }
}

}  // namespace sr::fuzz
