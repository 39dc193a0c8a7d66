// Functions of weights as torch.nn.functional writes them in TorchScript: with branches on `inplace` and
// `training`, which could write the weight and which no call takes; and weights reached through views,
// slices, `detach` and `data`.
#include "fuzz/generator.hpp"

namespace sr::fuzz {

namespace {

// A way to reach memory of a weight, with the shape that it then has.
struct Reached {
  std::string text;
  Shape shape;
};

}  // namespace

void Generator::weight_function() {
  case_.mark(Feature::dead_write);
  const auto side = static_cast<std::int64_t>(2 + random_.below(4));
  const Dim rows{side, side}, columns{side + 1, side + 1};
  const std::string weight = attribute({rows, columns});
  Reached reached{weight, {rows, columns}};
  switch (random_.below(7)) {
    case 0:
      reached = {weight + "[0]", {columns}};
      break;
    case 1:
      reached = {weight + "[:, 1:].detach()", {rows, {side, side}}};
      break;
    case 2:
      reached = {weight + ".view(-1)", {{side * (side + 1), side * (side + 1)}}};
      break;
    case 3:
      reached.text = weight + ".data";
      break;
    case 4:
      reached = {weight + ".t()", {columns, rows}};
      break;
    default:
      break;
  }
  const std::string name = fresh();
  line(name + " = " + reached.text);
  write_in_dead_branch(name);
  static const char* const functions[] = {"torch.relu6",    "torch.relu",       "torch.celu",
                                          "torch.selu",     "torch.sigmoid",    "torch.tanh",
                                          "torch.hardtanh", "torch.leaky_relu", "torch.exp"};
  const std::string function = random_.of(functions);
  if (random_.chance(50)) {
    // As F.relu6(x, inplace) and its relatives are compiled.
    const std::string flag = fresh();
    line(flag + " = " + (random_.chance(50) ? "False" : "1 > 2"));
    const std::string in_place =
        function == "torch.exp" || function == "torch.sigmoid" || function == "torch.tanh"
            ? name + "." + function.substr(6) + "_()"
            : function + "_(" + name + ")";
    define(in_place + " if " + flag + " else " + function + "(" + name + ")", Dtype::f32, reached.shape,
           false, 1);
  } else {
    define(function + "(" + name + ")", Dtype::f32, reached.shape, false, 1);
  }
}

// A write that no call makes: a flag, a comparison of numbers or a size decides.
void Generator::write_in_dead_branch(const std::string& target) {
  if (random_.chance(30)) return;
  const auto known = pick(
      [](const Variable& v) { return v.kind == Kind::tensor && !v.shape.empty() && v.shape[0].known(); });
  static const char* const conditions[] = {"False", "3 < 2", "1 == 2 or 2 == 3"};
  const std::string condition =
      known && random_.chance(30) ? known->name + ".size(0) > 100000" : std::string(random_.of(conditions));
  line("if " + condition + ":");
  line("    " + target + (random_.chance(50) ? ".add_(1.0)" : ".mul_(0.5)"));
}

// A batch norm whose statistics it would write in training.
void Generator::norm_with_dead_training() {
  const auto x = with_channels();
  if (!x) return;
  case_.mark(Feature::dead_write);
  const Shape channels{x->shape[1]};
  const std::string flag = fresh(), spread = fresh(), mean = attribute(channels);
  line(flag + " = " + (random_.chance(50) ? "False" : "1 > 2"));
  line(spread + " = torch.abs(" + attribute(channels) + ") + 0.5");
  define("torch.batch_norm(" + x->name + ", None, None, " + mean + ", " + spread + ", " + flag +
             ", 0.1, 1e-5, True)",
         Dtype::f32, x->shape, false, std::max(1.0, x->magnitude) + 0.5);
}

}  // namespace sr::fuzz
