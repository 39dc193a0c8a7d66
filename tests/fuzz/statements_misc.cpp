// Dtypes, new tensors, numbers, sizes that depend on data, and operators that sr leaves to the interpreter.
#include <iterator>

#include "fuzz/generator.hpp"

namespace sr::fuzz {

namespace {

const char* torch_name(Dtype dtype) {
  static const char* const names[] = {"torch.float32", "torch.float64", "torch.int64",   "torch.int32",
                                      "torch.bool",    "torch.float16", "torch.bfloat16"};
  return names[static_cast<std::size_t>(dtype)];
}

}  // namespace

void Generator::change_dtype() {
  static const Dtype all[] = {Dtype::f32, Dtype::f32, Dtype::f32,     Dtype::f64, Dtype::f64, Dtype::i64,
                              Dtype::i64, Dtype::i32, Dtype::boolean, Dtype::f16, Dtype::bf16};
  const Dtype to = random_.of(all);
  const auto x =
      pick([&](const Variable& v) { return v.kind == Kind::tensor && (is_floating(to) || decides(v)); });
  if (!x) return;
  case_.mark(Feature::dtype_change);
  if (!is_floating(to)) case_.mark(Feature::integers);
  if (to == x->dtype) {  // the tensor itself
    define_view(*x, x->name + ".to(" + torch_name(to) + ")", x->shape);
    return;
  }
  if (is_floating(x->dtype) && !is_floating(to) && x->magnitude > 8) return;  // undefined for large values
  std::string call = std::string(".to(") + torch_name(to) + ")";
  if (to == Dtype::f32 && random_.chance(50)) call = ".float()";
  if (to == Dtype::i64 && random_.chance(50)) call = ".long()";
  define(x->name + call, to, x->shape, x->stable, x->magnitude);
}

void Generator::factory() {
  case_.mark(Feature::factories);
  const auto x = any_tensor();
  if (!x) return;
  if (random_.chance(40)) {
    static const char* const likes[] = {"torch.zeros_like(", "torch.ones_like(", "torch.full_like("};
    const std::size_t which = random_.below(3);
    define(likes[which] + x->name + (which == 2 ? ", 2)" : ")"), x->dtype, x->shape, true, 0.5);
    return;
  }
  if (random_.chance(35) && !x->shape.empty()) {
    const std::size_t dim = random_.below(x->shape.size());
    const bool floats = random_.chance(50);
    case_.mark(Feature::size_arithmetic);
    define("torch.arange(" + x->name + ".size(" + std::to_string(dim) + ")" +
               (floats ? ", dtype=torch.float32)" : ")"),
           floats ? Dtype::f32 : Dtype::i64, {x->shape[dim]}, true, 1);
    return;
  }
  if (random_.chance(25) && !x->shape.empty()) return rows_of_weight(*x);
  Shape shape;
  for (const Dim& dim : x->shape) {
    if (shape.size() < 3 && random_.chance(70)) shape.push_back(dim);
  }
  const std::string sizes = sizes_text(shape);
  if (random_.chance(60)) {
    define((random_.chance(50) ? "torch.ones(" : "torch.zeros(") + sizes + ")", Dtype::f32, shape, true, 0.3);
  } else {
    const bool floats = random_.chance(60);
    define("torch.full(" + sizes + ", " + (floats ? "1.5" : "3") + ")", floats ? Dtype::f32 : Dtype::i64,
           shape, true, 0.3);
  }
}

// As many rows of a weight as a tensor has elements in a dimension: positions, masks.
void Generator::rows_of_weight(const Variable& x) {
  case_.mark(Feature::constant_weights);
  case_.mark(Feature::size_arithmetic);
  const std::size_t dim = random_.below(x.shape.size());
  const Dim columns = feature_dim(), rows = {300, 300};
  const std::string size = x.name + ".size(" + std::to_string(dim) + ")";
  const std::string first = random_.chance(30) ? size : "", end = first.empty() ? size : "2 * " + size;
  const std::string view = attribute({rows, columns}) + "[" + first + ":" + end + "]";
  static const char* const calls[] = {"torch.cumsum(", "torch.softmax(", "torch.flip(", "torch.cumprod("};
  const std::size_t which = random_.below(6);
  if (which == 4) {
    define("torch.var(" + view + ", 0, unbiased=False)", Dtype::f32, {columns}, false, 2);
  } else if (which == 5) {
    define(view + " * 2", Dtype::f32, {x.shape[dim], columns}, true, 1);
  } else {
    const std::string axis = which == 2 ? ", [0])" : ", 0)";
    define(calls[which] + view + axis, Dtype::f32, {x.shape[dim], columns}, which == 2, which == 0 ? 4 : 1);
  }
}

void Generator::arithmetic() {
  Variable made;
  made.name = fresh();
  made.kind = Kind::integer;
  made.magnitude = 1;
  case_.mark(Feature::size_arithmetic);
  const auto x = any_tensor(1);
  const auto n = pick([](const Variable& v) { return v.kind == Kind::integer && v.magnitude < 3; });
  const std::string size =
      x ? x->name + ".size(" + std::to_string(random_.below(x->shape.size())) + ")" : "2";
  switch (random_.below(9)) {
    case 0:
      line(made.name + " = " + size);
      break;
    case 1:
      line(made.name + " = " + size + " * 2 - 1");
      break;
    case 2:
      line(made.name + " = " + (n ? n->name : size) + " // 2 + 1");
      break;
    case 3:
      line(made.name + " = " + (x ? x->name + ".dim()" : "1"));
      break;
    case 4:
      line(made.name + " = (" + (n ? n->name : size) + " + 3) % 5");
      break;
    case 5: {
      made.kind = Kind::real;
      line(made.name + " = 1.0 / (" + size + " + 1)");
      break;
    }
    case 6: {
      const auto data =
          pick([&](const Variable& v) { return v.kind == Kind::tensor && decides(v) && v.magnitude < 3; });
      if (!data) return;
      const bool floats = random_.chance(40) && is_floating(data->dtype);
      made.kind = floats ? Kind::real : Kind::integer;
      if (!floats && is_floating(data->dtype)) {
        line(made.name + " = int((" + data->name + " > 0).sum())");
      } else {
        line(made.name + (floats ? " = float(" : " = int(") + data->name + (floats ? ".max())" : ".sum())"));
      }
      made.magnitude = 1.9;
      break;
    }
    case 7: {
      const std::string other = n ? n->name : "4";
      const std::string texts[] = {"min(" + size + ", " + other + ")",
                                   "max([" + size + ", " + other + ", 3])",
                                   "9 - abs(" + size + " - 4)",
                                   "-" + size + " + 8",
                                   "(" + size + " << 1) - (" + size + " >> 1)",
                                   size + " if " + size + " > 3 else " + other,
                                   "sum([" + size + ", " + other + "])",
                                   "divmod(" + size + ", 3)[1] + 1"};
      line(made.name + " = " + texts[random_.below(std::size(texts))]);
      break;
    }
    default:
      made.kind = Kind::boolean;
      line(made.name + " = " + size + " > 2");
  }
  add(made);
}

void Generator::dynamic() {
  const auto x =
      pick([&](const Variable& v) { return v.kind == Kind::tensor && decides(v) && !v.shape.empty(); });
  if (!x) return;
  case_.mark(Feature::dynamic_shape);
  // The number of positive elements, of which a size follows.
  const std::string count = "int((" + x->name + " > 0).sum().item())";
  const std::size_t before = scope_.size();
  switch (random_.below(6)) {
    case 0: {
      const auto rank = static_cast<std::int64_t>(x->shape.size());
      define("torch.nonzero(" + x->name + ")", Dtype::i64, {unknown_dim(), {rank, rank}}, true, 1);
      break;
    }
    case 1:
      define("torch.masked_select(" + x->name + ", " + x->name + " > 0)", x->dtype, {unknown_dim()},
             x->stable, x->magnitude);
      break;
    case 2:
      define("torch.repeat_interleave(" + x->name + ".flatten(), (" + x->name + ".flatten() > 0).long() * 2)",
             x->dtype, {unknown_dim()}, x->stable, x->magnitude);
      break;
    case 3:
      define("torch.arange(" + count + ").expand(2, " + count + ")", Dtype::i64, {{2, 2}, unknown_dim()},
             true, 1);
      break;
    case 4:
      define(x->name + ".flatten()[" + count + " // 2:]", x->dtype, {unknown_dim()}, x->stable, x->magnitude);
      break;
    default:
      define(x->name + "[" + x->name + " > 0]", x->dtype, {unknown_dim()}, x->stable, x->magnitude);
  }
  // Operators that compute with the size.
  if (scope_.size() == before || !random_.chance(60)) return;
  const Variable made = scope_.back();
  if (made.dtype == Dtype::boolean) return;
  define(made.name + " * 2 + 1", made.dtype, made.shape, made.stable && !is_floating(made.dtype),
         made.magnitude + 0.5);
  if (random_.chance(50) && made.dtype != Dtype::f16)
    define("torch.relu(" + scope_.back().name + ").sum()", is_floating(made.dtype) ? made.dtype : Dtype::i64,
           {}, made.stable && !is_floating(made.dtype), made.magnitude + 2);
}

void Generator::foreign() {
  const auto x = any_tensor(1);
  if (!x || !known(x->shape) || numel(x->shape) == 0) return;
  case_.mark(Feature::foreign_op);
  const std::size_t rank = x->shape.size(), dim = random_.below(rank);
  const std::string along = axis(*x, dim);
  const bool sized = x->shape[dim].a > 0 && x->shape[dim].b > 0;
  switch (random_.below(8)) {
    case 0:
      define("torch.flip(" + x->name + ", [" + along + "])", x->dtype, x->shape, x->stable, x->magnitude);
      return;
    case 1:
      define("torch.roll(" + x->name + ", 1, " + along + ")", x->dtype, x->shape, x->stable, x->magnitude);
      return;
    case 2:
      if (rank < 2 || x->dtype == Dtype::boolean) return;
      define("torch.tril(" + x->name + ")", x->dtype, x->shape, x->stable, x->magnitude);
      return;
    case 3: {
      if (!is_floating(x->dtype)) return;
      Shape shape = x->shape;
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
      define("torch.logsumexp(" + x->name + ", " + along + ")", x->dtype, shape, false, x->magnitude + 1);
      return;
    }
    case 4:
      if (!sized || !decides(*x) || x->dtype == Dtype::boolean) return;
      define(
          "torch.topk(" + x->name + ", 1, " + along + ")[0]", x->dtype,
          [&] {
            Shape shape = x->shape;
            shape[dim] = Dim{};
            return shape;
          }(),
          x->stable, x->magnitude);
      return;
    case 5:
      if (!decides(*x) || x->dtype == Dtype::boolean) return;
      define("torch.sort(" + x->name + ", " + along + ")[0]", x->dtype, x->shape, x->stable, x->magnitude);
      return;
    case 6:
      define("torch.isnan(" + x->name + ")", Dtype::boolean, x->shape, true, 0);
      return;
    default:
      if (x->dtype == Dtype::boolean || rank > 3) return;
      define("torch.cumprod(" + x->name + ".clamp(-1, 1), " + along + ")",
             is_floating(x->dtype) ? x->dtype : Dtype::i64, x->shape, x->stable && !is_floating(x->dtype), 0);
  }
}

}  // namespace sr::fuzz
