// Writes to tensors that the program made, to views of them, and sometimes to an input or a weight.
#include <algorithm>

#include "fuzz/generator.hpp"

namespace sr::fuzz {

void Generator::in_place() {
  const bool on_input = random_.chance(5);
  if (random_.chance(2) && !case_.attributes.empty()) {
    case_.mark(Feature::in_place_attribute);
    case_.writes_attributes = true;
    line("self." + random_.of(case_.attributes).name + (random_.chance(50) ? ".add_(1.0)" : ".mul_(0.5)"));
    return;
  }
  auto found = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && (on_input ? v.of_input && !case_.parameters.empty() : v.writable);
  });
  if (!found) return;
  if (on_input) case_.mark(Feature::in_place_input);
  if (!on_input && random_.chance(35) && depth_ == 0) {  // a new tensor with the same values, to be written
    define(found->name + (random_.chance(50) ? ".clone()" : " + 1"),
           promote_number(found->dtype, Kind::integer), found->shape,
           found->stable && !is_floating(found->dtype), found->magnitude + 0.2);
    found = scope_.back();
    scope_.back().used = true;
  }
  const Variable target = *found;
  // Writes part of it through a view.
  std::string name = target.name;
  Shape shape = target.shape;
  if (!shape.empty() && std::min(shape[0].a, shape[0].b) >= 1 && random_.chance(40)) {
    case_.mark(Feature::in_place_view);
    if (random_.chance(50)) {
      name += "[0]";
      shape.erase(shape.begin());
    } else if (random_.chance(50)) {
      name += "[1:]";
      shape[0] = {shape[0].a - 1, shape[0].b - 1};
    } else if (shape.size() >= 2) {
      name += ".transpose(0, 1)";
      std::swap(shape[0], shape[1]);
    }
  }
  case_.mark(Feature::in_place);
  const bool floats = is_floating(target.dtype);
  if (target.dtype == Dtype::boolean) {
    line(name + ".logical_not_()");
    return;
  }
  const auto other = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && broadcast(shape, v.shape) == shape &&
           (floats || !is_floating(v.dtype)) && room(v.magnitude + target.magnitude);
  });
  const bool stable = target.stable && !floats;
  if (other && random_.chance(45)) {
    const bool steady = stable && other->stable;
    const double larger = std::max(target.magnitude, other->magnitude);
    switch (random_.below(5)) {
      case 0:
        line(name + ".add_(" + other->name + ")");
        break;
      case 1:
        line(name + ".mul_(" + other->name + ")");
        break;
      case 2:
        line(name + ".sub_(" + other->name + ", alpha=2)");
        break;
      case 3:
        if (name == target.name) {
          line(name + " += " + other->name);
        } else {
          line(name + ".add_(" + other->name + ")");
        }
        break;
      default:
        line(name + ".copy_(" + other->name + ")");
        wrote(target, other->stable, larger);
        return;
    }
    wrote(target, steady, target.magnitude + other->magnitude);
    return;
  }
  const std::string n = number(floats ? Kind::real : Kind::integer);
  switch (random_.below(floats ? 11 : 5)) {
    case 0:
      line(name + ".add_(" + n + ")");
      wrote(target, stable, target.magnitude + 0.5);
      return;
    case 1:
      line(name + ".mul_(" + n + ")");
      wrote(target, stable, target.magnitude + 0.5);
      return;
    case 2:
      if (name == target.name && shape.size() >= 1 && shape[0].a > 0 && shape[0].b > 0) {
        line(name + "[0] = " + (floats ? "0.25" : "2"));
      } else {
        line(name + ".fill_(" + (floats ? "0.25" : "2") + ")");
      }
      wrote(target, true, 0.5);
      return;
    case 3:
      line(name + ".zero_()");
      wrote(target, true, 0);
      return;
    case 4:
      line(name + ".neg_()");
      wrote(target, target.stable, target.magnitude);
      return;
    case 5:
    case 6:
      line(name + ".relu_()");
      return;
    case 7:
      line(name + ".clamp_(-0.5, 1.0)");
      return;
    case 8:
      line(name + ".tanh_()");
      wrote(target, false, 0);
      return;
    case 9:
      line("torch.leaky_relu_(" + name + ", 0.2)");
      wrote(target, false, target.magnitude);
      return;
    default:
      line(name + ".sigmoid_()");
      wrote(target, false, 0);
  }
}

}  // namespace sr::fuzz
