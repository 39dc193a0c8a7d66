// Matrix products with tensors of the program and with weights, and embeddings.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "fuzz/generator.hpp"

namespace sr::fuzz {

namespace {

double growth(const Dim& inner) {
  return std::log10(static_cast<double>(std::max(std::max(inner.a, inner.b), std::int64_t{1})) + 1) / 2;
}

}  // namespace

void Generator::product() {
  const auto a = floating(1);
  if (!a) return;
  const Dim inner = a->shape.back();
  const std::size_t rank = a->shape.size();
  const auto fits = [&](const Variable& v) {
    return v.kind == Kind::tensor && v.dtype == a->dtype && room(a->magnitude + v.magnitude + growth(inner));
  };
  case_.mark(Feature::products);
  const auto define_product = [&](const std::string& text, const Shape& shape, const Variable& b) {
    if (numel(shape) <= 800) define(text, a->dtype, shape, false, a->magnitude + b.magnitude + growth(inner));
  };
  if (rank >= 2 && random_.chance(50)) {  // a tensor and its transpose always fit
    const auto b = pick([&](const Variable& v) {
      if (!fits(v) || v.shape.size() != rank || v.shape.back() != inner) return false;
      for (std::size_t i = 0; i + 2 < rank; ++i) {
        if (v.shape[i] != a->shape[i]) return false;
      }
      return true;
    });
    if (!b) return;
    Shape shape = a->shape;
    shape.back() = b->shape[rank - 2];
    if (rank <= 3 && random_.chance(25)) {
      const bool swaps = random_.chance(40);
      if (swaps) std::swap(shape[rank - 2], shape[rank - 1]);
      define_product(std::string("torch.einsum('") + (rank == 2 ? "ij,kj->" : "bij,bkj->b") +
                         (swaps ? "ki" : "ik") + "', [" + a->name + ", " + b->name + "])",
                     shape, *b);
      return;
    }
    const std::string transposed = b->name + ".transpose(-1, -2)";
    const char* const call = rank == 2 && random_.chance(60)   ? "torch.mm("
                             : rank == 3 && random_.chance(60) ? "torch.bmm("
                                                               : "torch.matmul(";
    const auto bias = pick([&](const Variable& v) {
      return fits(v) && rank == 2 && v.shape.size() <= 2 && broadcast(shape, v.shape) == shape;
    });
    if (bias && random_.chance(40)) {
      static const char* const extra[] = {")", ", beta=0.5, alpha=2.0)", ", beta=0.0)"};
      define_product("torch.addmm(" + bias->name + ", " + a->name + ", " + transposed + random_.of(extra),
                     shape, *b);
      return;
    }
    define_product(call + a->name + ", " + transposed + ")", shape, *b);
    return;
  }
  // Shapes that broadcast as in matmul.
  const auto b = pick([&](const Variable& v) {
    if (!fits(v) || v.shape.empty()) return false;
    if (v.shape.size() == 1) return v.shape[0] == inner;
    if (v.shape[v.shape.size() - 2] != inner) return false;
    return broadcast(Shape(a->shape.begin(), a->shape.end() - (rank == 1 ? 1 : 2)),
                     Shape(v.shape.begin(), v.shape.end() - 2))
        .has_value();
  });
  if (!b) return;
  const std::size_t other = b->shape.size();
  Shape shape = rank <= 2 ? Shape{} : Shape(a->shape.begin(), a->shape.end() - 2);
  if (other > 2) shape = *broadcast(shape, Shape(b->shape.begin(), b->shape.end() - 2));
  if (rank >= 2) shape.push_back(a->shape[rank - 2]);
  if (other >= 2) shape.push_back(b->shape.back());
  define_product("torch.matmul(" + a->name + ", " + b->name + ")", shape, *b);
}

void Generator::weighted_product() {
  const auto x = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && is_floating(v.dtype) && v.dtype != Dtype::f64 && !v.shape.empty() &&
           v.shape.back().known() && v.shape.back().a == v.shape.back().b && room(v.magnitude + 1);
  });
  if (!x) return;
  case_.mark(Feature::products);
  const Dim in = x->shape.back(), out = random_.chance(15) ? Dim{} : feature_dim();
  Shape shape = x->shape;
  shape.back() = out;
  if (numel(shape) > 800) return;
  const double magnitude = x->magnitude + growth(in) + 0.3;
  const auto computed = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && v.dtype == x->dtype && v.shape.size() == 2 && v.shape[1] == in &&
           room(v.magnitude + magnitude);
  });
  if (computed && random_.chance(40)) {
    shape.back() = computed->shape[0];
    if (numel(shape) <= 800)
      define("torch.linear(" + x->name + ", " + computed->name + ")", x->dtype, shape, false,
             magnitude + computed->magnitude);
    return;
  }
  case_.mark(Feature::constant_weights);
  const bool widens = x->dtype == Dtype::f32 && random_.chance(15);
  const auto constant = [&](const Shape& sizes) {
    if (!widens) return attribute(sizes, x->dtype);
    return attribute(sizes, random_.chance(50) ? Dtype::f16 : Dtype::bf16) + ".float()";
  };
  switch (random_.below(5)) {
    case 0:
      define("torch.matmul(" + x->name + ", " + constant({in, out}) + ")", x->dtype, shape, false, magnitude);
      return;
    case 1:
      if (x->shape.size() != 2) return;
      define("torch.addmm(" + constant({out}) + ", " + x->name + ", " + constant({out, in}) + ".t())",
             x->dtype, shape, false, magnitude);
      return;
    default:
      define("torch.linear(" + x->name + ", " + constant({out, in}) +
                 (random_.chance(60) ? ", " + constant({out}) : "") + ")",
             x->dtype, shape, false, magnitude);
  }
}

// With weights in int8: of activations that are quantized row by row, or of floats.
void Generator::int8_product() {
  const auto x = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && v.dtype == Dtype::f32 && v.shape.size() == 2 && v.stable &&
           v.shape[1].known() && v.shape[1].a == v.shape[1].b && v.shape[1].a >= 2 && room(v.magnitude + 1);
  });
  if (!x) return;
  const Dim in = x->shape[1], out = feature_dim();
  const Shape shape{x->shape[0], out};
  if (numel(shape) > 800) return;
  case_.mark(Feature::products);
  case_.mark(Feature::constant_weights);
  case_.mark(Feature::int8_weights);
  const auto weight_of = [&](const Shape& sizes) {
    return "torch.clamp(torch.round(" + attribute(sizes) + " * 90), -128, 127).to(torch.int8)";
  };
  const std::string weight = random_.chance(50) ? weight_of({in, out}) : weight_of({out, in}) + ".t()";
  const double magnitude = x->magnitude + growth(in) + 0.3;
  if (random_.chance(25)) {
    define("torch.mm(" + x->name + ", " + weight + ".to(torch.float32)) * 0.01", Dtype::f32, shape, false,
           magnitude);
    return;
  }
  const Variable scale =
      define("torch.clamp(torch.amax(torch.abs(" + x->name + "), [1], True) / 127.5, min=1e-5)", Dtype::f32,
             {x->shape[0], Dim{}}, true, x->magnitude);
  const std::string steps = "torch.round(" + x->name + " / " + scale.name + ")";
  if (random_.chance(35)) {  // floats again, as PT2E writes it
    const bool is_signed = random_.chance(50), has_column = random_.chance(40);
    const std::string zero = has_column  ? "torch.round(" + scale.name + " * 9 + 20)"
                             : is_signed ? "-3"
                                         : "128";
    const std::string integers = is_signed
                                     ? "torch.clamp(" + steps + " + " + zero + ", -128, 127).to(torch.int8)"
                                     : "torch.clamp(" + steps + " + " + zero + ", 0, 255).to(torch.uint8)";
    const Variable floats = define("(" + integers + ".to(torch.float32) - " + zero + ") * " + scale.name,
                                   Dtype::f32, x->shape, true, x->magnitude);
    define("torch.linear(" + floats.name + ", (" + weight_of({out, in}) + ".to(torch.float32) - 0) * " +
               (random_.chance(70) ? attribute({out, Dim{}}) : "0.01") +
               (random_.chance(60) ? ", " + attribute({out}) + ")" : ")"),
           Dtype::f32, shape, /*stable=*/false, magnitude + 2);  // a sum of integers is not rounded
    return;
  }
  const std::string left = random_.chance(80) ? "torch.clamp(" + steps + ", -128, 127).to(torch.int8)"
                                              : "torch.clamp(" + steps + " + 128, 0, 255).to(torch.uint8)";
  std::string text = "torch._int_mm(" + left + ", " + weight + ").to(torch.float32) * " + scale.name;
  text += random_.chance(70) ? " * " + attribute({out}) : " * 0.01";
  if (random_.chance(60)) text += " + " + attribute({out});
  if (random_.chance(40)) text = "torch.relu(" + text + ")";
  define(text, Dtype::f32, shape, true, magnitude);
}

void Generator::embedding() {
  const auto index = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && v.bound > 0 && v.shape.size() <= 3 && v.dtype == Dtype::i64;
  });
  if (!index) return;
  case_.mark(Feature::embedding);
  Dim rows{index->bound, index->bound};
  Shape shape = index->shape;
  if (index->shape.size() == 1 && random_.chance(30)) {  // slices along any dimension
    const auto x = any_tensor(1);
    if (!x) return;
    const std::size_t dim = random_.below(x->shape.size());
    if (std::min(x->shape[dim].a, x->shape[dim].b) < index->bound) return;
    Shape slices = x->shape;
    slices[dim] = shape[0];
    if (numel(slices) <= 800)
      define("torch.index_select(" + x->name + ", " + axis(*x, dim) + ", " + index->name + ")", x->dtype,
             slices, x->stable, x->magnitude);
    return;
  }
  const auto table = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && v.shape.size() == 2 && is_floating(v.dtype) &&
           std::min(v.shape[0].a, v.shape[0].b) >= index->bound;
  });
  if (table && random_.chance(40)) {
    shape.push_back(table->shape[1]);
    if (numel(shape) > 800) return;
    if (random_.chance(60) || index->shape.size() != 1) {
      define("torch.embedding(" + table->name + ", " + index->name + ")", table->dtype, shape, table->stable,
             table->magnitude);
    } else {
      define("torch.index_select(" + table->name + ", 0, " + index->name + ")", table->dtype, shape,
             table->stable, table->magnitude);
    }
    return;
  }
  const Dim width = feature_dim();
  shape.push_back(width);
  if (numel(shape) > 800) return;
  case_.mark(Feature::constant_weights);
  define("torch.embedding(" + attribute({rows, width}) + ", " + index->name + ")", Dtype::f32, shape, true,
         0.5);
}

}  // namespace sr::fuzz
