// Writes one program, statement by statement, and tracks what each variable holds.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/program.hpp"
#include "fuzz/random.hpp"

namespace sr::fuzz {

enum class Kind { tensor, integer, real, boolean, list, other };

struct Variable {
  std::string name;
  Kind kind = Kind::tensor;
  Dtype dtype = Dtype::f32;
  Shape shape = {};
  // Our kernels give the interpreter's value to the last bit, so integers and branches may depend on it.
  bool stable = true;
  double magnitude = 1;    // absolute values are probably at most 10 to this power
  std::int64_t bound = 0;  // of indices
  int memory = 0;          // variables with the same number share memory, so a write to one writes all
  bool writable = false;   // made by the program, so a write to it does not write an input
  bool of_input = false;
  bool used = false;
  std::size_t line = 0;              // where it is defined, for early returns
  std::vector<Shape> elements = {};  // of a list
};

class Generator {
 public:
  Generator(std::uint64_t seed, std::uint64_t index, Theme theme);
  Case make();

 private:
  // generator.cpp: the frame of a program.
  void add_parameters();
  Parameter tensor_parameter(const std::string& name);
  Parameter image_parameter(const std::string& name);
  void add_statements(int count, bool nested);
  void add_results();
  void add_early_return();
  std::string result_like(const Variable& wanted, std::size_t before);

  // Each adds a statement or nothing.
  void pointwise();  // statements_pointwise.cpp
  void unary();
  void binary();
  void ternary();
  void view();  // statements_views.cpp
  void reshape();
  void reduction();  // statements_reductions.cpp
  void normalisation();
  void product();  // statements_matmul.cpp
  void weighted_product();
  void int8_product();
  void embedding();
  void lookup();  // statements_indexing.cpp
  void gather();
  void advanced_index();
  void bags();
  void image();  // statements_images.cpp
  void behind_convolution(Variable image);
  void int8_images();
  void batch_norm();
  Variable norm_of(const Variable& x);
  void attention();
  void recurrent();  // statements_recurrent.cpp
  void joining();    // statements_containers.cpp
  void pieces();
  void container();
  void given_list();
  void in_place();         // statements_in_place.cpp
  void weight_function();  // statements_weights.cpp
  void write_in_dead_branch(const std::string& target);
  void norm_with_dead_training();
  std::string begin_list();
  void append_to(const std::string& list, const std::string& value);
  void end_list(const std::string& list);
  void end_tensors(const std::string& list, const Variable& element);
  void branch();  // statements_control.cpp
  void loop();
  void change_dtype();  // statements_misc.cpp
  void factory();
  void rows_of_weight(const Variable& x);
  void arithmetic();
  void dynamic();
  void foreign();

  // scope.cpp: variables.
  void line(const std::string& text) { case_.body.push_back(std::string(4 * depth_, ' ') + text); }
  std::string fresh() { return "v" + std::to_string(next_name_++); }
  Variable add(Variable variable);
  // Adds a new tensor `name = expression`.
  Variable define(const std::string& expression, Dtype dtype, Shape shape, bool stable, double magnitude);
  // The same; it shares the memory of `base`.
  Variable define_view(const Variable& base, const std::string& expression, Shape shape);
  // These return copies of variables, since the scope grows while they are used.
  template <class Accept>
  std::optional<Variable> pick(const Accept& accept);
  // Picks a float32 tensor whose dimension 1 has one size in all runs, as norms over channels need.
  std::optional<Variable> with_channels();
  std::optional<Variable> any_tensor(std::size_t least_dims = 0);
  std::optional<Variable> floating(std::size_t least_dims = 0);
  std::optional<Variable> like(const Shape& shape, Dtype dtype);
  std::string number(Kind kind);
  std::string attribute(const Shape& shape, Dtype dtype = Dtype::f32);
  void wrote(const Variable& target, bool stable, double magnitude);
  std::string condition();  // for `if`

  // What a tensor must be so that integers and branches may depend on it.
  bool decides(const Variable& variable) const { return variable.stable || case_.exact_only; }
  bool room(double magnitude) const { return magnitude < 6 || case_.exact_only; }
  std::string size_text(const Variable& variable, std::size_t dim);
  std::string sizes_text(const Shape& shape);
  std::string axis(const Variable& variable, std::size_t dim) {
    return std::to_string(random_.chance(40) ? static_cast<std::int64_t>(dim) -
                                                   static_cast<std::int64_t>(variable.shape.size())
                                             : static_cast<std::int64_t>(dim));
  }
  std::string real_text() {
    static const char* const texts[] = {"0.5", "2.0", "-1.5", "0.25", "3.0", "1.0", "0.0", "-1.0"};
    return random_.of(texts);
  }
  std::string int_text() { return std::to_string(random_.between(-2, 4)); }
  Dim feature_dim();
  Dim any_dim();
  Dim unknown_dim() {
    ++unknown_;
    return {-unknown_, -unknown_};
  }

  Case case_;
  Random random_;
  bool is_of_images_;
  std::int64_t most_elements_;  // of a tensor
  std::vector<Variable> scope_;
  std::vector<Dim> dims_;  // the sizes that this program uses most
  std::vector<int> weights_;
  std::size_t next_name_ = 0, depth_ = 0;
  int next_memory_ = 1;
  std::int64_t unknown_ = 0;
};

template <class Accept>
std::optional<Variable> Generator::pick(const Accept& accept) {
  std::vector<Variable*> candidates;
  for (Variable& variable : scope_) {
    if (!accept(variable)) continue;
    // Prefers later variables and those that were not read yet, so that programs get deep.
    const int tickets = (variable.used ? 1 : 4) + (&variable + 6 > scope_.data() + scope_.size() ? 2 : 0);
    candidates.insert(candidates.end(), static_cast<std::size_t>(tickets), &variable);
  }
  if (candidates.empty()) return std::nullopt;
  Variable* chosen = random_.of(candidates);
  chosen->used = true;
  return *chosen;
}

// Shapes and dtypes as the operators compute them.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);
Dtype promote(const Variable& a, const Variable& b);
Dtype promote_number(Dtype tensor, Kind number);
std::int64_t numel(const Shape& shape);
bool known(const Shape& shape);

}  // namespace sr::fuzz
