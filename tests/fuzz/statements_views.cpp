// Other sizes and strides over the same bytes.
#include "fuzz/generator.hpp"

namespace sr::fuzz {

void Generator::view() {
  const auto x = any_tensor(random_.chance(90) ? 1 : 0);
  if (!x) return;
  case_.mark(Feature::views);
  const std::string& name = x->name;
  Shape shape = x->shape;
  const std::size_t rank = shape.size(), dim = random_.below(rank);
  const auto at = [&](std::size_t i) { return shape.begin() + static_cast<std::ptrdiff_t>(i); };
  switch (random_.below(rank == 0 ? 3 : 18)) {
    case 0: {
      const std::size_t place = random_.below(rank + 1);
      if (rank >= 5) return;
      shape.insert(at(place), Dim{});
      define_view(*x, name + ".unsqueeze(" + std::to_string(place) + ")", shape);
      return;
    }
    case 1:
      define_view(*x, name + (random_.chance(50) ? ".contiguous()" : ".detach()"), shape);
      return;
    case 2:
      if (rank >= 5) return;
      shape.insert(shape.begin(), Dim{});
      define_view(*x, name + "[None]", shape);
      return;
    case 3:
    case 4: {
      const std::size_t other = random_.below(rank);
      std::swap(shape[dim], shape[other]);
      static const char* const calls[] = {".transpose(", ".transpose(", ".swapaxes(", ".swapdims("};
      define_view(*x, name + random_.of(calls) + axis(*x, dim) + ", " + axis(*x, other) + ")", shape);
      return;
    }
    case 16: {
      const std::size_t to = random_.below(rank);
      shape.erase(at(dim));
      shape.insert(at(to), x->shape[dim]);
      define_view(*x, name + ".movedim(" + axis(*x, dim) + ", " + axis(*x, to) + ")", shape);
      return;
    }
    case 17: {
      if (rank != 2) return;  // LibTorch warns
      std::swap(shape[0], shape[1]);
      define_view(*x, name + (random_.chance(50) ? ".T" : ".mT"), shape);
      return;
    }
    case 5: {
      std::vector<std::size_t> order;
      while (order.size() < rank)
        order.insert(order.begin() + static_cast<std::ptrdiff_t>(random_.below(order.size() + 1)),
                     order.size());
      std::string text;
      for (std::size_t i = 0; i < rank; ++i) {
        shape[i] = x->shape[order[i]];
        text += (i ? ", " : "") + std::to_string(order[i]);
      }
      define_view(*x, name + ".permute([" + text + "])", shape);
      return;
    }
    case 6:
    case 7:
    case 8: {  // part of a dim
      const Dim size = shape[dim];
      if (!size.known()) return;
      const std::int64_t least = std::min(size.a, size.b), step = random_.chance(25) ? 2 : 1;
      const std::int64_t first = least == 0 ? 0 : random_.between(0, least - 1);
      if (random_.chance(50)) {  // to the end, or to the element before it
        const std::int64_t off = random_.chance(50) ? 0 : 1;
        const auto rest = [&](std::int64_t all) {
          return std::max<std::int64_t>(0, (all - off - first + step - 1) / step);
        };
        shape[dim] = {rest(size.a), rest(size.b)};
        std::string text = "[";
        for (std::size_t i = 0; i < dim; ++i) text += ":, ";
        define_view(
            *x, name + text + std::to_string(first) + ":" + (off ? "-1" : "") + (step == 2 ? ":2" : "") + "]",
            shape);
        return;
      }
      const std::int64_t length = random_.between(0, least - first);
      if (length == 0) case_.mark(Feature::empty);
      shape[dim] = {length, length};
      define_view(*x,
                  name + ".narrow(" + axis(*x, dim) + ", " + std::to_string(first) + ", " +
                      std::to_string(length) + ")",
                  shape);
      return;
    }
    case 9:
    case 10: {
      const std::int64_t least = std::min(shape[dim].a, shape[dim].b);
      if (least <= 0) return;
      const std::int64_t index = random_.between(0, least - 1);
      shape.erase(at(dim));
      if (dim == 0 && random_.chance(50)) {
        define_view(*x, name + "[" + std::to_string(random_.chance(70) ? index : -1) + "]", shape);
      } else {
        define_view(*x, name + ".select(" + axis(*x, dim) + ", " + std::to_string(index) + ")", shape);
      }
      return;
    }
    case 11:
      for (std::size_t i = rank; i-- > 0;) {
        if (shape[i] != Dim{}) continue;
        const std::string which = axis(*x, i);
        shape.erase(at(i));
        define_view(*x, name + ".squeeze(" + which + ")", shape);
        return;
      }
      return;
    case 12: {
      if (shape[dim] != Dim{}) return;
      shape[dim] = any_dim();
      if (numel(shape) > 400) return;
      Variable wide = define_view(*x, name + ".expand(" + sizes_text(shape) + ")", shape);
      scope_.back().writable = false;  // several elements share one address
      return;
    }
    case 13:
      if (rank != 2) return;
      std::swap(shape[0], shape[1]);
      define_view(*x, name + ".t()", shape);
      return;
    default: {
      const auto y = pick([&](const Variable& v) {
        return v.kind == Kind::tensor && broadcast(x->shape, v.shape) == v.shape && v.shape != x->shape;
      });
      if (!y) return;
      define_view(*x, name + ".expand_as(" + y->name + ")", y->shape);
      scope_.back().writable = false;
    }
  }
}

void Generator::reshape() {
  const auto x = any_tensor();
  if (!x) return;
  case_.mark(Feature::views);
  Shape shape = x->shape;
  const bool view = random_.chance(35);  // may be refused, for other strides
  const std::string call = view ? ".view(" : ".reshape(";
  const auto finish = [&](const std::string& sizes, const Shape& result) {
    define_view(*x, x->name + call + "[" + sizes + "])", result);
    if (!view) scope_.back().writable = scope_.back().of_input = false;  // a copy for some strides
  };
  if (shape.size() >= 2 && random_.chance(65)) {  // merges two neighbours
    const std::size_t dim = random_.below(shape.size() - 1);
    const Dim a = shape[dim], b = shape[dim + 1];
    if (!a.known() || !b.known()) return;
    shape[dim] = {a.a * b.a, a.b * b.b};
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1);
    if (random_.chance(40)) {
      define_view(
          *x, "torch.flatten(" + x->name + ", " + std::to_string(dim) + ", " + std::to_string(dim + 1) + ")",
          shape);
      scope_.back().writable = false;
      return;
    }
    bool open = numel(shape) > 0 && shape[dim].a != 0 && shape[dim].b != 0;
    std::string sizes;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::string size =
          i == dim ? size_text(*x, dim) + " * " + size_text(*x, dim + 1) : size_text(*x, i < dim ? i : i + 1);
      if (open && (i == dim ? random_.chance(60) : random_.chance(20))) {
        size = "-1";
        open = false;
      }
      sizes += (i ? ", " : "") + size;
    }
    finish(sizes, shape);
    return;
  }
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {  // splits one
    const Dim size = shape[dim];
    const std::int64_t part = random_.between(2, 4);
    if (shape.size() >= 5 || !size.known() || size.a % part != 0 || size.b % part != 0 || size.a == 0 ||
        size.b == 0)
      continue;
    shape[dim] = {part, part};
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim), Dim{size.a / part, size.b / part});
    std::string sizes;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::string text = i == dim       ? "-1"
                               : i == dim + 1 ? std::to_string(part)
                                              : size_text(*x, i < dim ? i : i - 1);
      sizes += (i ? ", " : "") + text;
    }
    finish(sizes, shape);
    return;
  }
  if (!known(shape)) return;
  std::int64_t a = 1, b = 1;
  for (const Dim& dim : shape) {
    a *= dim.a;
    b *= dim.b;
  }
  finish("-1", {{a, b}});
}

}  // namespace sr::fuzz
