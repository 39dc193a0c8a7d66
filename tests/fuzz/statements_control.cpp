// Branches and loops that depend on shapes, on number arguments and on data.
#include "fuzz/generator.hpp"

namespace sr::fuzz {

std::string Generator::condition() {
  const auto x = any_tensor(random_.chance(80) ? 1 : 0);
  switch (random_.below(5)) {
    case 0:
    case 1:
      if (!x || x->shape.empty()) break;
      case_.mark(Feature::if_shape);
      return x->name + ".size(" + std::to_string(random_.below(x->shape.size())) + ") > " +
             std::to_string(random_.between(0, 5));
    case 2:
      if (const auto n = pick([](const Variable& v) { return v.kind == Kind::integer; })) {
        case_.mark(Feature::if_shape);
        return n->name + " > 1";
      }
      if (const auto flag = pick([](const Variable& v) { return v.kind == Kind::boolean; })) {
        case_.mark(Feature::if_data);
        return flag->name;
      }
      break;
    default:
      break;
  }
  const auto data = pick([&](const Variable& v) { return v.kind == Kind::tensor && decides(v); });
  if (!data) return x ? x->name + ".dim() == 2" : std::string();
  case_.mark(Feature::if_data);
  if (!is_floating(data->dtype) || case_.exact_only) return "bool((" + data->name + ".sum() > 0).item())";
  return "bool((" + data->name + " > 0.5).any())";
}

// A list of integers that blocks append to. Empty mostly: there is none.
std::string Generator::begin_list() {
  if (!random_.chance(20)) return {};
  const std::string list = fresh();
  line(list + " = [1, 2]");
  return list;
}
void Generator::append_to(const std::string& list, const std::string& value) {
  static const char* const changes[] = {".append(@)", ".append(@)", "[0] += @", ".insert(0, @)",
                                        ".extend([@, 4])"};
  if (list.empty() || !random_.chance(70)) return;
  std::string change = random_.of(changes);
  change.replace(change.find('@'), 1, value);
  line(list + change);
}
void Generator::end_list(const std::string& list) {
  if (list.empty()) return;
  Variable sum;
  sum.name = fresh();
  sum.kind = Kind::integer;
  sum.magnitude = 2;
  line(sum.name + " = len(" + list + ") * 10 + " + list + "[-1] + " + list + "[0]");
  add(sum);
}

// What becomes of a list of tensors that a loop has appended to. It may be empty.
void Generator::end_tensors(const std::string& list, const Variable& element) {
  if (list.empty()) return;
  Shape shape = element.shape;
  shape.insert(shape.begin(), unknown_dim());
  switch (random_.below(3)) {
    case 0:
      define("torch.stack(" + list + ") * 2 if len(" + list + ") > 0 else " + element.name + "[None]",
             element.dtype, shape, false, element.magnitude + 1);
      return;
    case 1:
      define(list + "[-1] if len(" + list + ") > 0 else " + element.name + " * 2", element.dtype,
             element.shape, false, element.magnitude + 1);
      scope_.back().writable = false;  // it may be the other variable
      return;
    default: {
      Variable length;
      length.name = fresh();
      length.kind = Kind::integer;
      length.magnitude = 1;
      line(length.name + " = len(" + list + ")");
      add(length);
    }
  }
}

void Generator::branch() {
  if (depth_ >= 2) return;
  const std::string test = condition();
  const auto wanted = any_tensor();
  if (test.empty() || !wanted) return;
  const std::string merged = fresh(), list = begin_list();
  const std::size_t before = scope_.size();
  bool stable = true;
  double magnitude = 0;
  const auto side = [&](const std::string& head) {
    line(head);
    ++depth_;
    append_to(list, "3");
    add_statements(static_cast<int>(random_.below(3)), true);
    auto last = like(wanted->shape, wanted->dtype);
    if (!last || random_.chance(20)) last = wanted;
    const bool floats = is_floating(last->dtype);
    const std::size_t how = random_.below(last->dtype == Dtype::boolean ? 1 : 3);
    line(merged + " = " +
         (how == 0   ? last->name
          : how == 1 ? "torch.relu(" + last->name + ")"
                     : last->name + " * 2"));
    stable = stable && last->stable && (how < 2 || !floats);
    magnitude = std::max(magnitude, last->magnitude + 0.3);
    --depth_;
    scope_.resize(before);
  };
  side("if " + test + ":");
  side("else:");
  Variable variable;
  variable.name = merged;
  variable.dtype = wanted->dtype;
  variable.shape = wanted->shape;
  variable.stable = stable;
  variable.magnitude = magnitude;
  add(variable);  // may be any of several tensors, so it is not written
  end_list(list);
}

void Generator::loop() {
  if (depth_ >= 2) return;
  const auto start = floating();
  if (!start || start->dtype == Dtype::f16 || start->magnitude > 3) return;
  const std::string carried = fresh(), counter = "i" + std::to_string(next_name_), list = begin_list();
  // A carried value is computed anew, passed on, or a copy that the loop may write.
  line(carried + " = " + start->name +
       (random_.chance(40)   ? " * 1.0"
        : random_.chance(40) ? ".clone()"
                             : ""));
  Variable variable;
  variable.name = carried;
  variable.dtype = start->dtype;
  variable.shape = start->shape;
  variable.stable = false;
  variable.magnitude = start->magnitude + 1;
  variable.used = true;
  const std::string tensors = random_.chance(20) ? fresh() : std::string();
  if (!tensors.empty()) line(tensors + ": List[Tensor] = []");
  const std::size_t kind = random_.below(4);
  const auto sized = any_tensor(1);
  const auto data = pick([&](const Variable& v) { return v.kind == Kind::tensor && decides(v); });
  const auto n = pick([](const Variable& v) { return v.kind == Kind::integer && v.magnitude < 2; });
  if (kind == 0 && sized) {
    case_.mark(Feature::loop_size);
    line("for " + counter + " in range(" + sized->name + ".size(" +
         std::to_string(random_.below(sized->shape.size())) + ") % 4):");
  } else if (kind == 1 && data) {
    case_.mark(Feature::loop_data);
    line(counter + " = 0");
    line("while " + counter + " < 3 and bool((" + data->name + " > " + real_text() + ").any()):");
    ++depth_;
    line(counter + " = " + counter + " + 1");
    --depth_;
  } else if (kind == 2 && n) {
    case_.mark(Feature::loop_data);
    line("for " + counter + " in range(" + n->name + " % 4):");
  } else {
    case_.mark(Feature::loop_constant);
    line("for " + counter + " in range(" + std::to_string(random_.below(4)) + "):");
  }
  ++depth_;
  const std::size_t before = scope_.size();
  add(variable);
  append_to(list, counter);
  if (!tensors.empty() && random_.chance(20)) line(tensors + ".append(" + carried + ")");
  add_statements(static_cast<int>(random_.below(3)), true);
  const auto other = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && v.dtype == start->dtype &&
           broadcast(start->shape, v.shape) == start->shape && v.magnitude < 2;
  });
  const std::string operand = other ? other->name : counter;
  switch (random_.below(5)) {
    case 0:
      line(carried + " = torch.tanh(" + carried + " + " + operand + ")");
      break;
    case 1:
      line(carried + " = " + carried + " * 0.5 + " + operand);
      break;
    case 2:
      line(carried + " = " + carried + " + " + operand);
      break;
    case 3:
      line(carried + " = torch.relu(" + operand + " - " + carried + ")");
      break;
    default:
      line(carried + " = torch.minimum(" + carried + ", " + carried + " * 0.5)");
  }
  if (!tensors.empty()) line(tensors + ".append(" + carried + ")");
  --depth_;
  scope_.resize(before);
  variable.used = false;
  add(variable);
  end_list(list);
  end_tensors(tensors, variable);
}

}  // namespace sr::fuzz
