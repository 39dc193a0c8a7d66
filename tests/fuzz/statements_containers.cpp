// Operators that join or split tensors, and containers of tensors.
#include <algorithm>

#include "fuzz/generator.hpp"

namespace sr::fuzz {

void Generator::joining() {
  const auto first = any_tensor();
  if (!first) return;
  case_.mark(Feature::joining);
  const bool stack = first->shape.empty() || random_.chance(35);
  const std::size_t rank = first->shape.size();
  const std::size_t dim = random_.below(stack ? rank + 1 : rank);
  std::vector<Variable> parts = {*first};
  const std::size_t count = 1 + random_.below(4);
  while (parts.size() < count) {
    const auto next = pick([&](const Variable& v) {
      if (v.kind != Kind::tensor || v.shape.size() != rank) return false;
      if (v.dtype != first->dtype && !random_.chance(15)) return false;
      for (std::size_t i = 0; i < rank; ++i) {
        if ((stack || i != dim) && v.shape[i] != first->shape[i]) return false;
      }
      return true;
    });
    if (!next) break;
    parts.push_back(*next);
  }
  std::string names;
  Variable merged = *first;
  Dim total{0, 0};
  bool open = false;
  for (const Variable& part : parts) {
    names += (names.empty() ? "" : ", ") + part.name;
    merged.dtype = promote(merged, part);
    merged.stable = merged.stable && part.stable;
    merged.magnitude = std::max(merged.magnitude, part.magnitude);
    if (stack) continue;
    open = open || !part.shape[dim].known();
    total = {total.a + part.shape[dim].a, total.b + part.shape[dim].b};
  }
  Shape shape = first->shape;
  if (stack) {
    const auto size = static_cast<std::int64_t>(parts.size());
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim), Dim{size, size});
  } else {
    shape[dim] = open ? unknown_dim() : total;
  }
  if (numel(shape) > most_elements_ || shape.size() > 5) return;
  define((stack ? "torch.stack([" : "torch.cat([") + names + "], " + std::to_string(dim) + ")", merged.dtype,
         shape, merged.stable, merged.magnitude);
}

void Generator::pieces() {
  const auto x = any_tensor(1);
  if (!x) return;
  case_.mark(Feature::views);
  const std::size_t dim = random_.below(x->shape.size());
  const Dim size = x->shape[dim];
  if (!size.known() || size.a == 0 || size.b == 0) return;
  std::vector<Shape> shapes;
  std::string call;
  Shape one = x->shape;
  const std::string along = axis(*x, dim);
  if (size.a == size.b && size.a <= 5 && random_.chance(35)) {
    one.erase(one.begin() + static_cast<std::ptrdiff_t>(dim));
    shapes.assign(static_cast<std::size_t>(size.a), one);
    call = "torch.unbind(" + x->name + ", " + along + ")";
  } else if (size.a == size.b && size.a >= 2 && random_.chance(40)) {
    const std::int64_t front = random_.between(1, size.a - 1);
    one[dim] = {front, front};
    shapes.push_back(one);
    one[dim] = {size.a - front, size.a - front};
    shapes.push_back(one);
    call = "torch.split_with_sizes(" + x->name + ", [" + std::to_string(front) + ", " +
           std::to_string(size.a - front) + "], " + along + ")";
  } else {
    const std::int64_t chunks = random_.between(1, 3);
    if (size.a % chunks != 0 || size.b % chunks != 0) return;
    one[dim] = {size.a / chunks, size.b / chunks};
    shapes.assign(static_cast<std::size_t>(chunks), one);
    const bool split = size.a == size.b && random_.chance(50);
    call = (split ? "torch.split(" : "torch.chunk(") + x->name + ", " +
           std::to_string(split ? one[dim].a : chunks) + ", " + along + ")";
  }
  Variable piece = *x;
  piece.used = false;
  if (shapes.size() >= 2 && random_.chance(60)) {
    std::string names;
    std::vector<Variable> made;
    for (const Shape& shape : shapes) {
      piece.name = fresh();
      piece.shape = shape;
      names += (names.empty() ? "" : ", ") + piece.name;
      made.push_back(piece);
    }
    line(names + " = " + call);
    for (const Variable& variable : made) add(variable);
    return;
  }
  piece.name = fresh();
  piece.kind = Kind::list;
  piece.elements = shapes;
  piece.shape.clear();
  line(piece.name + " = " + call);
  add(piece);
}

// Changes a list of the arguments.
void Generator::given_list() {
  std::vector<Parameter> lists;
  for (const Parameter& parameter : case_.parameters) {
    if (parameter.type.rfind("List", 0) == 0) lists.push_back(parameter);
  }
  const auto x = any_tensor();
  if (lists.empty() || !x) return;
  case_.mark(Feature::container_input);
  const Parameter list = random_.of(lists);
  if (list.tensors.empty()) {
    static const char* const changes[] = {".append(2)", ".reverse()", "[0] += 1", ".insert(0, 3)", ".pop()"};
    line(list.name + random_.of(changes));
    if (random_.chance(50)) define(x->name + " * " + list.name + "[-1]", x->dtype, x->shape, false, 2);
    return;
  }
  static const char* const changes[] = {".append(@)", "[0] = @",  ".insert(0, @)", ".extend([@, @])",
                                        ".reverse()", ".clear()", ".pop()",        "[-1] = @"};
  std::string change = random_.chance(60) ? changes[random_.below(4)] : random_.of(changes);
  for (std::size_t at = change.find('@'); at != change.npos; at = change.find('@'))
    change.replace(at, 1, x->name);
  line(list.name + change);
  if (change[1] == 'a' && random_.chance(50)) define_view(*x, list.name + "[-1]", x->shape);
}

void Generator::container() {
  case_.mark(Feature::containers);
  const auto list = pick([](const Variable& v) { return v.kind == Kind::list && !v.elements.empty(); });
  if (list && random_.chance(60)) {
    const std::size_t index = random_.below(list->elements.size());
    Variable element = *list;
    element.kind = Kind::tensor;
    element.shape = list->elements[index];
    element.elements.clear();
    element.used = false;
    const std::size_t kind = random_.below(4);
    if (kind == 0 && depth_ == 0) {
      const auto more = like(element.shape, element.dtype);
      if (!more) return;
      line(list->name + ".append(" + more->name + ")");
      for (Variable& variable : scope_) {
        if (variable.name != list->name) continue;
        variable.elements.push_back(more->shape);
        variable.stable = variable.stable && more->stable;
        variable.magnitude = std::max(variable.magnitude, more->magnitude);
        variable.writable = false;  // its elements share memory with several variables
      }
      return;
    }
    element.name = fresh();
    if (kind == 1 && list->elements.size() >= 2 &&
        std::all_of(list->elements.begin(), list->elements.end(),
                    [&](const Shape& s) { return s == element.shape; })) {
      define(
          "torch.stack(" + list->name + ")", element.dtype,
          [&] {
            const auto size = static_cast<std::int64_t>(list->elements.size());
            Shape shape = element.shape;
            shape.insert(shape.begin(), Dim{size, size});
            return shape;
          }(),
          element.stable, element.magnitude);
      return;
    }
    const bool last = index + 1 == list->elements.size() && random_.chance(50);
    line(element.name + " = " + list->name + "[" + (last ? "-1" : std::to_string(index)) + "]");
    add(element);
    return;
  }
  const auto a = any_tensor();
  const auto b =
      a ? pick([&](const Variable& v) { return v.kind == Kind::tensor && v.dtype == a->dtype; }) : a;
  if (!a || !b) return;
  const std::string name = fresh();
  Variable made = *a;
  made.name = name;
  made.stable = a->stable && b->stable;
  made.magnitude = std::max(a->magnitude, b->magnitude);
  made.writable = made.used = false;
  made.bound = 0;
  const auto take = [&](const std::string& expression, const Variable& what) {
    define_view(what, expression, what.shape);
  };
  switch (random_.below(3)) {
    case 0:
      line(name + " = [" + a->name + ", " + b->name + "]");
      made.kind = Kind::list;
      made.elements = {a->shape, b->shape};
      made.shape.clear();
      add(made);
      return;
    case 1:
      line(name + " = (" + a->name + ", 3, " + b->name + ")");
      take(name + "[2]", *b);
      if (random_.chance(50)) take(name + "[0]", *a);
      return;
    default:
      line(name + " = {\"a\": " + a->name + ", \"b\": " + b->name + "}");
      if (random_.chance(40)) {
        line(name + "[\"b\"] = " + a->name);
        take(name + "[\"b\"]", *a);
      } else {
        take(name + "[\"b\"]", *b);
      }
  }
}

}  // namespace sr::fuzz
