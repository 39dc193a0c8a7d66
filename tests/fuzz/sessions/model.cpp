#include "fuzz/sessions/model.hpp"

#include <utility>

#include "support/ir.hpp"

namespace sr::fuzz {

namespace {

// Writes statements on vectors of kWidth elements. The attributes are two buffers that are written in place,
// a view of one of them, a table of rows, two tensors that are assigned, a tensor that may be None, a history
// that keeps its last elements, a counter, a flag, a list, a dictionary and a weight.
class ModelWriter {
 public:
  explicit ModelWriter(Random& random) : random_(random) {}

  StatefulModel write() {
    add_attributes();
    line("v0 = x * self.w");
    values_ = 1;
    const auto statements = 2 + random_.below(7);
    const std::size_t throws_at = random_.below(2 * statements);
    for (std::size_t i = 0; i < statements; ++i) {
      if (i == throws_at) line(fresh() + " = x.view(" + std::to_string(kWidth) + ") + 1.0");
      statement(2);
    }
    line("return " + result());
    return {"def forward(self, x):\n" + source_, std::move(attributes_)};
  }

 private:
  void add(const std::string& name, c10::IValue value) {
    const c10::TypePtr type = value.isTensor() ? c10::TypePtr(c10::TensorType::get()) : value.type();
    attributes_.push_back({name, type, std::move(value)});
  }

  at::Tensor vector() {
    return at::arange(kWidth, at::kFloat) * (0.1 * static_cast<double>(random_.below(5)));
  }

  void add_attributes() {
    const at::Tensor memory = at::zeros({2 * kWidth});
    add("h", memory.slice(0, 0, kWidth));
    add("g", vector());
    add("tail", random_.chance(30) ? memory.slice(0, 1, 1 + kWidth) : vector());
    add("rows", at::zeros({kRows, kWidth}));
    add("a", vector());
    add("b", vector());
    attributes_.push_back({"maybe", c10::OptionalType::ofTensor(), c10::IValue()});
    add("past", at::zeros({1, kWidth}));
    add("n", c10::IValue(static_cast<std::int64_t>(random_.below(3))));
    add("on", c10::IValue(random_.chance(50)));
    c10::List<at::Tensor> list;
    for (std::size_t i = 0; i < 2; ++i) list.push_back(vector());
    add("all", list);
    c10::Dict<std::string, at::Tensor> dict;
    dict.insert("k", vector());
    add("d", dict);
    add("w", at::full({1}, 0.5));
  }

  void line(const std::string& text) { source_ += std::string(4 * depth_, ' ') + text + "\n"; }
  std::string fresh() { return "v" + std::to_string(names_++); }
  std::string number() { return std::to_string(random_.below(3)); }

  // Returns a vector, which may be a view of the state.
  std::string operand() {
    static const char* const attributes[] = {"self.h",
                                             "self.g",
                                             "self.tail",
                                             "self.a",
                                             "self.b",
                                             "self.all[0]",
                                             "self.all[-1]",
                                             "self.d['k']",
                                             "self.rows[0]",
                                             "self.rows[1]",
                                             "self.past[-1]",
                                             "self.w.expand(4)",
                                             "x",
                                             "x",
                                             "self.rows[self.n % 3]"};
    if (random_.chance(50)) return "v" + std::to_string(random_.below(values_));
    return random_.of(attributes);
  }

  std::string expression() {
    switch (random_.below(6)) {
      case 0:
        return "torch.tanh(" + operand() + " + " + operand() + ")";
      case 1:
        return operand() + " * 0.5 + " + operand();
      case 2:
        return operand() + " - " + operand() + ".mean()";
      case 3:
        return operand() + " * (self.n % 3 + 1) * 0.25";
      case 4:
        return "torch.cat([" + operand() + "[2:], " + operand() + "[:2]])";
      default:
        return operand() + ".clamp(-1.0, 1.0)";
    }
  }

  void statement(int deepest) {
    switch (random_.below(deepest > 0 ? 17 : 13)) {
      case 0:
      case 1:
        return write_whole();
      case 2:
      case 3:
        return write_part();
      case 4:
      case 5:
        return assign();
      case 6:
        return line("self.past = torch.cat([self.past, (" + expression() + ").view(1, 4)])[-" +
                    std::to_string(1 + random_.below(4)) + ":]");
      case 7:
        return line(random_.chance(70) ? "self.n += 1" : "self.n = int(x.size(0)) + " + number());
      case 8:
        return line(random_.chance(60) ? "self.on = not self.on" : "self.on = self.n > 2");
      case 9:
        return change_list();
      case 10:
        return line("self.d['" + std::string(random_.chance(70) ? "k" : "l") + "'] = " + expression());
      case 11: {
        const std::string name = fresh();
        line(name + " = self.maybe");
        line("if " + name + " is None:");
        line("    self.maybe = " + expression());
        line("else:");
        return line("    self.maybe = " + name + " * 0.5 + " + operand());
      }
      case 13:
        return block("if self.on:", deepest);
      case 14:
        return block("if self.n % 3 == " + number() + ":", deepest);
      case 15:
        return block("for i in range(" + number() + "):", deepest);
      case 16:
        // Not 0, which the sum of `x - x.mean()` is but for rounding.
        return block("if bool((" + operand() + ").sum() > 0.37):", deepest);
      default:
        return define();
    }
  }

  void define() {
    const std::string text = expression();
    if (depth_ != 1) return write_whole();  // names of a block are not defined after it
    line("v" + std::to_string(values_) + " = " + text);
    ++values_;
  }

  void block(const std::string& head, int deepest) {
    line(head);
    ++depth_;
    for (std::size_t i = 1 + random_.below(2); i > 0; --i) statement(deepest - 1);
    --depth_;
  }

  std::string buffer() {
    static const char* const buffers[] = {"self.h", "self.h", "self.g", "self.tail"};
    return random_.of(buffers);
  }

  void write_whole() {
    const std::string to = buffer();
    switch (random_.below(5)) {
      case 0:
        return line(to + ".copy_(" + expression() + ")");
      case 1:
        return line(to + ".mul_(0.5).add_(" + operand() + ")");
      case 2:
        return line(to + " += " + operand());
      case 3:
        return line(to + (random_.chance(50) ? ".tanh_()" : ".clamp_(-2.0, 2.0)"));
      default:
        return line(random_.chance(30) ? to + ".zero_()" : to + ".copy_(" + operand() + ")");
    }
  }

  void write_part() {
    switch (random_.below(7)) {
      case 0:
        return line(buffer() + "[1:3] = (" + expression() + ")[:2]");
      case 1:
        return line(buffer() + "[0] = " + operand() + "[1]");
      case 2:
        return line("self.rows[self.n % 3] = " + expression());
      case 3:
        return line("self.rows[" + number() + "].add_(" + operand() + ")");
      case 4:
        return line("self.rows.index_copy_(0, torch.tensor([" + number() + "]), (" + expression() +
                    ").view(1, 4))");
      case 5:
        return line("self.rows[:, " + number() + "] = " + operand() + "[:3]");
      default:
        return line("self.rows = torch.cat([self.rows[1:], (" + expression() + ").view(1, 4)])");
    }
  }

  void assign() {
    switch (random_.below(9)) {
      case 0:
        return line("self.a, self.b = self.b, self.a");
      case 1:
        return line("self.a = x");
      case 2:
        return line("self.b = self.a");
      case 3:
        return line("self.b = " + buffer());
      case 4:
        return line("self.a = torch.outer(" + operand() + ", " + operand() + ")[:, 0]");
      case 5:
        return line("self.b = self.a.mul_(0.5)");
      case 6:
        return line("self.a = self.w.expand(4)");
      default:
        return line((random_.chance(50) ? "self.a = " : "self.b = ") + expression());
    }
  }

  void change_list() {
    switch (random_.below(4)) {
      case 0:
        return line("self.all = [" + expression() + ", self.all[0]]");
      case 1:
        return line("self.all[0] = " + expression());
      case 2:
        return line("self.all[-1].add_(" + operand() + ")");
      default:
        line("self.all.append(" + expression() + ")");
        line("if len(self.all) > 3:");
        return line("    self.all.pop(0)");
    }
  }

  std::string result() {
    switch (random_.below(8)) {
      case 0:
        return "self.h";
      case 1:
        return "self.a, " + operand();
      case 2:
        return "self.rows[0], self.rows";
      case 3:
        return "self.all";
      case 4:
        return operand() + " * 1.0, self.n";
      default:
        return expression();
    }
  }

  static constexpr std::int64_t kRows = 3;

  Random& random_;
  std::vector<StatefulAttribute> attributes_;
  std::string source_;
  std::size_t depth_ = 1;
  std::size_t values_ = 0;     // v0 to v(values_ - 1) are vectors
  std::size_t names_ = 1'000;  // of other values
};

}  // namespace

torch::jit::Module StatefulModel::compile() const {
  torch::jit::Module module("M");
  for (const StatefulAttribute& attribute : attributes)
    module.register_attribute(attribute.name, attribute.type, attribute.value);
  module.define(source, std::make_shared<test::ScriptResolver>());
  module.eval();
  return module;
}

StatefulModel random_model(Random& random) {
  return ModelWriter(random).write();
}

}  // namespace sr::fuzz
