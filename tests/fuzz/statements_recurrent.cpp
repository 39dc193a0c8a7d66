// Recurrent networks and their cells.
#include <string>
#include <vector>

#include "fuzz/generator.hpp"

namespace sr::fuzz {

namespace {

struct Network {
  std::string name;
  std::int64_t gates;
};
const std::vector<Network> kNetworks{{"lstm", 4}, {"gru", 3}, {"rnn_tanh", 1}, {"rnn_relu", 1}};

}  // namespace

void Generator::recurrent() {
  const auto x = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && v.dtype == Dtype::f32 && (v.shape.size() == 2 || v.shape.size() == 3) &&
           known(v.shape) && v.shape.back().a == v.shape.back().b && v.shape.back().a > 0 &&
           v.magnitude < 1.5 && numel(v.shape) <= 600;
  });
  if (!x) return;
  case_.mark(Feature::products);
  case_.mark(Feature::constant_weights);
  const Network& network = random_.of(kNetworks);
  const std::int64_t units = random_.between(1, 9);
  const Dim state{units, units}, rows{network.gates * units, network.gates * units};
  const bool is_lstm = network.name == "lstm", has_biases = random_.chance(70);
  const double magnitude = network.name == "rnn_relu" ? x->magnitude + 1 : 0.1;
  if (x->shape.size() == 2) {
    const std::string begin = "torch.zeros([" + size_text(*x, 0) + ", " + std::to_string(units) + "])";
    const std::string biases =
        has_biases ? ", " + attribute({rows}) + ", " + attribute({rows}) : std::string();
    define("torch." + network.name + "_cell(" + x->name + ", " +
               (is_lstm ? "[" + begin + ", " + begin + "]" : begin) + ", " + attribute({rows, x->shape[1]}) +
               ", " + attribute({rows, state}) + biases + ")" +
               (is_lstm ? "[" + std::to_string(random_.below(2)) + "]" : ""),
           Dtype::f32, {x->shape[0], state}, false, magnitude);
    return;
  }
  const std::int64_t layers = random_.between(1, 2), directions = random_.chance(30) ? 2 : 1;
  const bool batch_first = random_.chance(30);
  std::string weights;
  Dim in = x->shape[2];
  const Dim out{units * directions, units * directions};
  for (std::int64_t i = 0; i < layers * directions; ++i) {
    if (i == directions) in = out;
    weights += (i == 0 ? "" : ", ") + attribute({rows, in}) + ", " + attribute({rows, state});
    if (has_biases) weights += ", " + attribute({rows}) + ", " + attribute({rows});
  }
  const std::size_t batch_dim = batch_first ? 0 : 1;
  const std::string batch = size_text(*x, batch_dim);
  const std::string begin = "torch.zeros([" + std::to_string(layers * directions) + ", " + batch + ", " +
                            std::to_string(units) + "])";
  const auto python = [](bool value) { return std::string(value ? "True" : "False"); };
  // LibTorch's lstm reads memory behind the weights if the features are more than theirs, and corrupts the
  // heap if the input has another batch than the state.
  std::string given = x->name;
  if (is_lstm) {
    given += ".narrow(" + std::to_string(batch_dim) + ", 0, " + batch + ").narrow(2, 0, " +
             std::to_string(x->shape[2].a) + ")";
  }
  define("torch." + network.name + "(" + given + ", " + (is_lstm ? "[" + begin + ", " + begin + "]" : begin) +
             ", [" + weights + "], " + python(has_biases) + ", " + std::to_string(layers) + ", 0.0, False, " +
             python(directions == 2) + ", " + python(batch_first) + ")[0]",
         Dtype::f32, {x->shape[0], x->shape[1], out}, false, magnitude);
}

}  // namespace sr::fuzz
