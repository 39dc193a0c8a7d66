// What a program returns, at its end and before it.
#include <algorithm>

#include "fuzz/generator.hpp"

namespace sr::fuzz {

void Generator::add_results() {
  const std::size_t wanted = 1 + random_.below(4);
  std::vector<std::string>& results = case_.results;
  // Returns unread values first; they would be removed as dead code otherwise.
  for (std::size_t i = scope_.size(); i-- > 0 && results.size() < wanted + 1;) {
    if (scope_[i].used || scope_[i].of_input || scope_[i].kind == Kind::other) continue;
    if (results.size() >= wanted && scope_[i].kind != Kind::tensor) continue;
    results.push_back(scope_[i].name);
    scope_[i].used = true;
  }
  while (results.size() < wanted && random_.chance(70)) {
    if (const auto more = any_tensor()) results.push_back(more->name);
  }
  const auto input = [&] {
    return pick([](const Variable& v) { return v.kind == Kind::tensor && v.of_input; });
  };
  if (results.empty()) results.push_back(input()->name);
  if (random_.chance(8)) {
    case_.mark(Feature::returns_input);
    results.push_back(input()->name);
  }
  if (random_.chance(8)) {
    case_.mark(Feature::returns_view);
    const auto of = random_.chance(50) ? input() : any_tensor();
    results.push_back(of->name + (of->shape.size() == 2 ? ".t()" : ".unsqueeze(0)"));
  }
  if (random_.chance(10)) {
    case_.mark(Feature::returns_duplicate);
    results.push_back(random_.of(std::vector<std::string>(results)));
  }
  if (random_.chance(8)) {
    case_.mark(Feature::returns_constant);
    static const char* const constants[] = {"1", "2.5", "True", "\"text\"", "None", "-3"};
    // A model that writes in place may be taken for one that writes its weights, and then runs on copies of
    // them.
    const bool copied = case_.features[static_cast<std::size_t>(Feature::in_place)];
    const bool weight = !case_.attributes.empty() && !copied && random_.chance(40);
    results.push_back(weight ? "self." + random_.of(case_.attributes).name : random_.of(constants));
  }
  for (const Parameter& parameter : case_.parameters) {
    if (parameter.type.rfind("List", 0) == 0 && random_.chance(30)) results.push_back(parameter.name);
  }
  if (results.size() > 1 && random_.chance(15)) std::swap(results.front(), results.back());
  const bool all_tensors = std::all_of(results.begin(), results.end(), [&](const std::string& name) {
    return std::any_of(scope_.begin(), scope_.end(),
                       [&](const Variable& v) { return v.name == name && v.kind == Kind::tensor; });
  });
  if (results.size() > 1 && random_.chance(20)) {
    case_.mark(Feature::returns_container);
    const auto second = results.begin() + 1;
    if (all_tensors && random_.chance(35)) {
      results = {"[" + results[0] + ", " + results[1] + "]"};
    } else if (all_tensors && random_.chance(40)) {
      results = {"{\"a\": " + results[0] + ", \"b\": " + results[1] + "}"};
    } else {
      *second = "(" + results[0] + ", " + *second + ")";
    }
  }
}

// A value of the same type, made of what is defined before a line.
std::string Generator::result_like(const Variable& wanted, std::size_t before) {
  if (wanted.kind == Kind::integer) return "7";
  if (wanted.kind == Kind::real) return "0.5";
  if (wanted.kind == Kind::boolean) return "False";
  if (wanted.kind == Kind::other) return wanted.name;  // a parameter
  const auto found = pick([&](const Variable& v) { return v.kind == wanted.kind && v.line <= before; });
  return found ? found->name : std::string();
}

void Generator::add_early_return() {
  std::vector<std::size_t> places;  // between statements of the function itself, after the unpacked inputs
  std::size_t last_input = 0;
  for (const Variable& variable : scope_) {
    if (variable.of_input && variable.name[0] != 'v') last_input = std::max(last_input, variable.line);
  }
  for (std::size_t i = last_input; i < case_.body.size(); ++i) {
    if (case_.body[i][0] != ' ' && case_.body[i].rfind("else", 0) != 0) places.push_back(i);
  }
  if (places.empty()) return;
  const std::size_t place = random_.of(places);
  std::string values;
  for (const std::string& result : case_.results) {
    const auto variable =
        std::find_if(scope_.begin(), scope_.end(), [&](const Variable& v) { return v.name == result; });
    std::string value = result;
    if (variable != scope_.end()) {
      value = result_like(*variable, place);
    } else if (result.find('v') != std::string::npos || result.find('x') != std::string::npos) {
      return;  // a container or view of a value that may not exist there
    }
    if (value.empty()) return;
    values += (values.empty() ? "" : ", ") + value;
  }
  std::vector<Variable> all = std::move(scope_);
  scope_.clear();
  for (const Variable& variable : all) {
    if (variable.line <= place) scope_.push_back(variable);
  }
  const std::string test = condition();
  scope_ = std::move(all);
  if (test.empty()) return;
  case_.mark(Feature::early_return);
  const bool several = case_.results.size() > 1;
  case_.body.insert(case_.body.begin() + static_cast<std::ptrdiff_t>(place),
                    {"if " + test + ":", "    return " + (several ? "(" + values + ")" : values)});
}

std::string source(const Case& program) {
  std::string text = "def forward(self";
  for (const Parameter& parameter : program.parameters) text += ", " + parameter.name + ": " + parameter.type;
  text += "):\n";
  for (const std::string& statement : program.body) text += "    " + statement + "\n";
  std::string values;
  for (const std::string& result : program.results) values += (values.empty() ? "" : ", ") + result;
  return text + "    return " + (program.results.size() > 1 ? "(" + values + ")" : values) + "\n";
}

}  // namespace sr::fuzz
