// The variables of a program, and the shape and dtype that an operator gives a result.
#include <algorithm>

#include "fuzz/generator.hpp"

namespace sr::fuzz {

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = result[longer.size() - shorter.size() + i];
    if (dim == shorter[i] || shorter[i] == Dim{}) continue;
    if (dim != Dim{}) return std::nullopt;
    dim = shorter[i];
  }
  return result;
}

namespace {

int category(Dtype dtype) {
  return dtype == Dtype::boolean ? 0 : is_floating(dtype) ? 2 : 1;
}

Dtype promote_types(Dtype a, Dtype b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (category(a) == 1) return Dtype::i64;
  return a == Dtype::f64 || b == Dtype::f64 ? Dtype::f64 : Dtype::f32;  // half with bfloat16 is float
}

}  // namespace

Dtype promote(const Variable& a, const Variable& b) {
  if (a.shape.empty() == b.shape.empty()) return promote_types(a.dtype, b.dtype);
  const Variable& zero_dim = a.shape.empty() ? a : b;
  const Variable& other = a.shape.empty() ? b : a;
  return category(zero_dim.dtype) > category(other.dtype) ? promote_types(a.dtype, b.dtype) : other.dtype;
}

Dtype promote_number(Dtype tensor, Kind number) {
  if (number == Kind::real && !is_floating(tensor)) return Dtype::f32;
  return number == Kind::integer && tensor == Dtype::boolean ? Dtype::i64 : tensor;
}

bool known(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.known(); });
}

std::int64_t numel(const Shape& shape) {
  std::int64_t a = 1, b = 1;
  for (const Dim& dim : shape) {
    a *= dim.known() ? dim.a : 8;
    b *= dim.known() ? dim.b : 8;
  }
  return std::max(a, b);
}

Variable Generator::add(Variable variable) {
  variable.line = case_.body.size();
  if (variable.kind == Kind::tensor && variable.memory == 0) variable.memory = next_memory_++;
  scope_.push_back(variable);
  return variable;
}

Variable Generator::define(const std::string& expression, Dtype dtype, Shape shape, bool stable,
                           double magnitude) {
  if (dtype == Dtype::f16 || dtype == Dtype::bf16) case_.low_precision = true;
  if (shape.empty()) case_.mark(Feature::zero_dim);
  Variable variable;
  variable.name = fresh();
  variable.dtype = dtype;
  variable.shape = std::move(shape);
  variable.stable = stable;
  variable.magnitude = dtype == Dtype::boolean ? 0 : magnitude;
  variable.writable = true;
  line(variable.name + " = " + expression);
  return add(variable);
}

Variable Generator::define_view(const Variable& base, const std::string& expression, Shape shape) {
  Variable variable = base;
  variable.name = fresh();
  variable.shape = std::move(shape);
  variable.used = false;
  line(variable.name + " = " + expression);
  return add(variable);
}

std::optional<Variable> Generator::any_tensor(std::size_t least_dims) {
  return pick([&](const Variable& v) { return v.kind == Kind::tensor && v.shape.size() >= least_dims; });
}

std::optional<Variable> Generator::with_channels() {
  // If the optional input is absent, tensors have other ranks. LibTorch's batch_norm reads the second size of
  // a tensor with one dimension, which is uninitialised memory.
  if (case_.features[static_cast<std::size_t>(Feature::optional_input)]) return std::nullopt;
  return pick([&](const Variable& v) {
    return v.kind == Kind::tensor && v.dtype == Dtype::f32 && v.shape.size() >= 2 && v.shape[1].known() &&
           v.shape[1].a == v.shape[1].b && v.shape[1].a > 0 && room(v.magnitude + 1);
  });
}

std::optional<Variable> Generator::floating(std::size_t least_dims) {
  return pick([&](const Variable& v) {
    return v.kind == Kind::tensor && is_floating(v.dtype) && v.shape.size() >= least_dims;
  });
}

std::optional<Variable> Generator::like(const Shape& shape, Dtype dtype) {
  return pick(
      [&](const Variable& v) { return v.kind == Kind::tensor && v.dtype == dtype && v.shape == shape; });
}

// The name of a number, or a literal.
std::string Generator::number(Kind kind) {
  if (random_.chance(35)) {
    if (const auto found = pick([&](const Variable& v) { return v.kind == kind && v.magnitude < 2; })) {
      case_.mark(kind == Kind::integer ? Feature::size_arithmetic : Feature::number_operand);
      return found->name;
    }
  }
  return kind == Kind::integer ? int_text() : real_text();
}

// The name of a weight of that shape, which is made if there is none.
std::string Generator::attribute(const Shape& shape, Dtype dtype) {
  for (const Attribute& existing : case_.attributes) {
    if (existing.tensor.shape == shape && existing.tensor.dtype == dtype && random_.chance(60))
      return "self." + existing.name;
  }
  Attribute created{"w" + std::to_string(case_.attributes.size()), {dtype, shape}};
  case_.attributes.push_back(created);
  return "self." + created.name;
}

void Generator::wrote(const Variable& target, bool stable, double magnitude) {
  for (Variable& variable : scope_) {
    if (variable.kind != Kind::tensor || variable.memory != target.memory) continue;
    variable.stable = variable.stable && stable;
    variable.magnitude = std::max(variable.magnitude, magnitude);
    variable.bound = 0;
    variable.used = variable.used && variable.name != target.name;
  }
}

std::string Generator::size_text(const Variable& variable, std::size_t dim) {
  const Dim& size = variable.shape[dim];
  if (size.known() && size.a == size.b && random_.chance(70)) return std::to_string(size.a);
  return variable.name +
         (random_.chance(50) ? ".size(" + std::to_string(dim) + ")" : ".shape[" + std::to_string(dim) + "]");
}

Dim Generator::feature_dim() {
  static const std::int64_t sizes[] = {1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 16, 17};
  static const std::int64_t channels[] = {1, 2, 3, 4, 8, 12, 16, 16, 17, 24, 31, 32, 32, 33, 48, 64, 70};
  const std::int64_t size = random_.chance(2) ? 0 : is_of_images_ ? random_.of(channels) : random_.of(sizes);
  return {size, size};
}

Dim Generator::any_dim() {
  return random_.chance(85) ? random_.of(dims_) : random_.chance(60) ? Dim{} : feature_dim();
}

// The size of a tensor of the program if one has it, else a literal, which only fits the shapes of set A.
std::string Generator::sizes_text(const Shape& shape) {
  std::string text = "[";
  for (const Dim& dim : shape) {
    std::string size = std::to_string(dim.a);
    if (!dim.known() || dim.a != dim.b) {
      for (const Variable& variable : scope_) {
        if (variable.kind != Kind::tensor) continue;
        const auto found = std::find(variable.shape.begin(), variable.shape.end(), dim);
        if (found != variable.shape.end())
          size = variable.name + ".size(" + std::to_string(found - variable.shape.begin()) + ")";
      }
    }
    text += (text.size() > 1 ? ", " : "") + size;
  }
  return text + "]";
}

}  // namespace sr::fuzz
