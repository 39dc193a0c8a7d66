// Writes a failure as a text file, and reads it back.
#include <sstream>
#include <stdexcept>

#include "fuzz/program.hpp"

namespace sr::fuzz {

namespace {

std::string show(const TensorSpec& spec) {
  std::string text(name_of(spec.dtype));
  text += '[';
  for (std::size_t i = 0; i < spec.shape.size(); ++i) {
    text += (i ? "," : "") + std::to_string(spec.shape[i].a);
    if (spec.shape[i].a != spec.shape[i].b) text += "/" + std::to_string(spec.shape[i].b);
  }
  text += ']';
  return spec.bound == 0 ? text : text + "<" + std::to_string(spec.bound);
}

Dtype dtype_of(std::string_view name) {
  for (std::size_t i = 0; i < kDtypeNames.size(); ++i) {
    if (kDtypeNames[i] == name) return static_cast<Dtype>(i);
  }
  throw std::invalid_argument("no dtype is called '" + std::string(name) + "'");
}

TensorSpec spec_of(const std::string& text) {
  const auto open = text.find('['), close = text.find(']');
  if (open == text.npos || close == text.npos) throw std::invalid_argument("not a tensor: " + text);
  TensorSpec spec{dtype_of(text.substr(0, open))};
  std::istringstream sizes(text.substr(open + 1, close - open - 1));
  for (std::string size; std::getline(sizes, size, ',');) {
    const auto slash = size.find('/');
    const std::int64_t a = std::stoll(size);
    spec.shape.push_back({a, slash == size.npos ? a : std::stoll(size.substr(slash + 1))});
  }
  if (close + 1 < text.size()) spec.bound = std::stoll(text.substr(close + 2));
  return spec;
}

std::string show(const Run& run) {
  std::string text(kChangeNames[static_cast<std::size_t>(run.change)]);
  if (run.change != Change::none && run.change != Change::other_sizes)
    text += " " + std::to_string(run.which) + " " + std::to_string(run.other);
  if (run.change == Change::dtype) text += " " + std::string(name_of(run.dtype));
  if (run.setting == Setting::none) return text;
  return text + " with " + std::string(kSettingNames[static_cast<std::size_t>(run.setting)]) + " " +
         std::to_string(run.weight);
}

Setting setting_of(const std::string& name) {
  for (std::size_t i = 0; i < kSettingNames.size(); ++i) {
    if (kSettingNames[i] == name) return static_cast<Setting>(i);
  }
  throw std::invalid_argument("no setting is called '" + name + "'");
}

Run run_of(const std::string& text) {
  std::string name, dtype, setting;
  const auto with = text.find(" with ");
  std::istringstream words(text.substr(0, with));
  words >> name;
  Run run;
  if (with != text.npos) {
    std::istringstream rest(text.substr(with + 6));
    rest >> setting >> run.weight;
    run.setting = setting_of(setting);
  }
  while (kChangeNames[static_cast<std::size_t>(run.change)] != name) {
    if (run.change == Change::any_sizes)
      throw std::invalid_argument("no kind of run is called '" + name + "'");
    run.change = static_cast<Change>(static_cast<int>(run.change) + 1);
  }
  words >> run.which >> run.other >> dtype;
  if (run.change == Change::dtype) run.dtype = dtype_of(dtype);
  return run;
}

}  // namespace

std::string to_text(const Case& program) {
  std::ostringstream text;
  text << "# sr_fuzz --replay this file\n";
  std::istringstream failure(program.failure);
  for (std::string part; std::getline(failure, part);) text << "# " << part << '\n';
  text << "program " << program.seed << ' ' << program.index << "\ndata " << program.data << '\n';
  if (program.exact_only) text << "exact\n";
  if (program.low_precision) text << "low_precision\n";
  if (program.writes_attributes) text << "writes_attributes\n";
  if (!program.configuration.empty()) text << "configuration " << program.configuration << '\n';
  for (const Parameter& parameter : program.parameters) {
    text << "parameter " << parameter.name;
    for (const TensorSpec& spec : parameter.tensors) text << ' ' << show(spec);
    text << " : " << parameter.type << '\n';
  }
  for (const Attribute& attribute : program.attributes)
    text << "attribute " << attribute.name << ' ' << show(attribute.tensor) << '\n';
  for (const Run& run : program.runs) text << "run " << show(run) << '\n';
  for (const std::string& statement : program.body) text << "| " << statement << '\n';
  for (const std::string& result : program.results) text << "result " << result << '\n';
  return text.str();
}

Case from_text(const std::string& text) {
  Case program;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    const auto rest = [&] {
      return line.size() > kind.size() ? line.substr(kind.size() + 1) : std::string();
    };
    if (kind.empty() || kind[0] == '#') continue;
    if (kind == "|") {
      program.body.push_back(rest());
    } else if (kind == "result") {
      program.results.push_back(rest());
    } else if (kind == "program") {
      words >> program.seed >> program.index;
    } else if (kind == "data") {
      words >> program.data;
    } else if (kind == "exact") {
      program.exact_only = true;
    } else if (kind == "low_precision") {
      program.low_precision = true;
    } else if (kind == "writes_attributes") {
      program.writes_attributes = true;
    } else if (kind == "configuration") {
      program.configuration = rest();
    } else if (kind == "run") {
      program.runs.push_back(run_of(rest()));
    } else if (kind == "attribute") {
      std::string name, spec;
      words >> name >> spec;
      program.attributes.push_back({name, spec_of(spec)});
    } else if (kind == "parameter") {
      Parameter parameter;
      words >> parameter.name;
      for (std::string word; words >> word && word != ":";) parameter.tensors.push_back(spec_of(word));
      std::getline(words >> std::ws, parameter.type);
      program.parameters.push_back(parameter);
    } else {
      throw std::invalid_argument("a line starts with '" + kind + "': " + line);
    }
  }
  return program;
}

}  // namespace sr::fuzz
