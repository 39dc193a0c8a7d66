// Reductions, and normalisations over dimensions.
#include "fuzz/generator.hpp"

namespace sr::fuzz {

void Generator::reduction() {
  const auto x = any_tensor();
  if (!x) return;
  const std::size_t rank = x->shape.size(), dim = random_.below(rank);
  const bool keep = random_.chance(40);
  const std::string keepdim = keep ? ", keepdim=True)" : random_.chance(50) ? ", keepdim=False)" : ")";
  Shape shape = x->shape;
  const auto reduce = [&](std::size_t which) {
    if (keep) {
      shape[which] = Dim{};
    } else {
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(which));
    }
  };
  const Dtype sum = is_floating(x->dtype) ? x->dtype : Dtype::i64;
  const bool exact = x->stable && !is_floating(x->dtype);
  case_.mark(Feature::reductions);
  switch (random_.below(rank == 0 ? 3 : 13)) {
    case 0:
      define(x->name + ".sum()", sum, {}, exact, x->magnitude + 1.5);
      return;
    case 1:
      if (is_floating(x->dtype)) define(x->name + ".mean()", x->dtype, {}, false, x->magnitude);
      return;
    case 2: {
      for (const Dim& size : shape) {
        if (size.a <= 0 || size.b <= 0) return;
      }
      define(x->name + (random_.chance(50) ? ".max()" : ".min()"), x->dtype, {}, x->stable, x->magnitude);
      return;
    }
    case 3:
    case 4: {
      const std::string text = "torch.sum(" + x->name + ", [" + axis(*x, dim);
      if (rank >= 2 && random_.chance(35)) {
        const std::size_t other = dim == 0 ? rank - 1 : 0;
        reduce(std::max(dim, other));
        reduce(std::min(dim, other));
        define(text + ", " + axis(*x, other) + "]" + keepdim, sum, shape, exact, x->magnitude + 1.5);
        return;
      }
      reduce(dim);
      define(text + "]" + keepdim, sum, shape, exact, x->magnitude + 1);
      return;
    }
    case 5:
    case 6:
      if (!is_floating(x->dtype)) return;
      reduce(dim);
      define(x->name + ".mean([" + axis(*x, dim) + "]" + keepdim, x->dtype, shape, false, x->magnitude);
      return;
    case 7:
      if (shape[dim].a == 0 || shape[dim].b == 0) return;
      reduce(dim);
      define((random_.chance(60) ? "torch.amax(" : "torch.amin(") + x->name + ", [" + axis(*x, dim) + "]" +
                 keepdim,
             x->dtype, shape, x->stable, x->magnitude);
      return;
    case 8: {  // values and indices
      if (shape[dim].a == 0 || shape[dim].b == 0 || !decides(*x)) return;
      reduce(dim);
      Variable values = *x;
      values.name = fresh();
      values.shape = shape;
      values.memory = next_memory_++;
      values.used = values.of_input = false;
      values.writable = true;
      Variable indices = values;
      indices.name = fresh();
      indices.dtype = Dtype::i64;
      indices.memory = next_memory_++;
      indices.magnitude = 1;
      indices.bound = 0;
      line(values.name + ", " + indices.name + " = torch.max(" + x->name + ", " + axis(*x, dim) + keepdim);
      add(values);
      add(indices);
      return;
    }
    case 9:
      if (shape[dim].a == 0 || shape[dim].b == 0 || !decides(*x) || x->dtype == Dtype::boolean) return;
      reduce(dim);
      define(
          (random_.chance(60) ? "torch.argmax(" : "torch.argmin(") + x->name + ", " + axis(*x, dim) + keepdim,
          Dtype::i64, shape, true, 1);
      return;
    case 10: {
      if (!is_floating(x->dtype) || !room(2 * x->magnitude)) return;
      const std::string order = random_.chance(60) ? "2" : "1";
      reduce(dim);
      define("torch.norm(" + x->name + ", " + order + ", [" + axis(*x, dim) + "]" + keepdim, x->dtype, shape,
             false, x->magnitude + 1);
      return;
    }
    case 11:
      define("torch.cumsum(" + x->name + ", " + axis(*x, dim) + ")", sum, shape, exact, x->magnitude + 1);
      return;
    default:
      if (!decides(*x)) return;
      if (random_.chance(50)) {
        define((random_.chance(50) ? "torch.any(" : "torch.all(") + x->name + ")", Dtype::boolean, {}, true,
               0);
      } else {
        define("(" + x->name + " > 0).sum()", Dtype::i64, {}, true, 2);
      }
  }
}

void Generator::normalisation() {
  const auto x = floating(1);
  if (!x || !room(x->magnitude)) return;
  const std::size_t rank = x->shape.size();
  const std::size_t dim = random_.chance(60) ? rank - 1 : random_.below(rank);
  case_.mark(Feature::normalisation);
  switch (random_.below(7)) {
    case 0:
      define("torch.softmax(" + x->name + ", " + axis(*x, dim) + ")", x->dtype, x->shape, false, 0);
      return;
    case 1:
      define("torch.log_softmax(" + x->name + ", " + axis(*x, dim) + ")", x->dtype, x->shape, false,
             std::max(1.0, x->magnitude));
      return;
    case 2: {
      const Dim last = x->shape.back();
      if (!last.known() || last.a != last.b || last.a < 1) return;
      std::string weight = ", None";
      if (random_.chance(60) && x->dtype == Dtype::f32) weight = ", " + attribute({last});
      define("torch.rms_norm(" + x->name + ", [" + std::to_string(last.a) + "]" + weight +
                 (random_.chance(50) ? ", 0.01)" : ")"),
             x->dtype, x->shape, false, 1);
      return;
    }
    case 3:
    case 4: {
      if (rank < 2 || !x->shape[1].known() || x->shape[1].a != x->shape[1].b || !known(x->shape)) return;
      std::int64_t a = 1, b = 1;  // elements of a channel: LibTorch's variance of a single element is noise
      for (std::size_t i = 2; i < rank; ++i) {
        a *= x->shape[i].a;
        b *= x->shape[i].b;
      }
      const std::int64_t channels = x->shape[1].a;
      if (channels < 1 || std::min(a, b) < 2) return;
      std::string weights = ", None, None";
      if (random_.chance(60) && x->dtype == Dtype::f32)
        weights = ", " + attribute({x->shape[1]}) + ", " + attribute({x->shape[1]});
      if (random_.chance(35)) {
        define("torch.instance_norm(" + x->name + weights + ", None, None, True, 0.1, 0.01, False)", x->dtype,
               x->shape, false, 1);
        return;
      }
      const std::int64_t groups = channels % 2 == 0 && random_.chance(50) ? 2
                                  : random_.chance(50)                    ? 1
                                                                          : channels;
      define("torch.group_norm(" + x->name + ", " + std::to_string(groups) + weights + ", 0.01)", x->dtype,
             x->shape, false, 1);
      return;
    }
    default: {
      const Dim last = x->shape.back();
      if (!last.known() || last.a != last.b || last.a < 2) return;
      std::string weights = ", None, None";
      if (random_.chance(70) && x->dtype == Dtype::f32) {
        weights = ", " + attribute({last}) + ", " + (random_.chance(70) ? attribute({last}) : "None");
        case_.mark(Feature::constant_weights);
      }
      define("torch.layer_norm(" + x->name + ", [" + std::to_string(last.a) + "]" + weights + ")", x->dtype,
             x->shape, false, 1);
    }
  }
}

}  // namespace sr::fuzz
