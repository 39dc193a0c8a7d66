// The frame of a program: inputs, statements with probabilities that vary from program to program, results.
#include "fuzz/generator.hpp"

#include <algorithm>
#include <span>

#include "fuzz/environment.hpp"

namespace sr::fuzz {

const std::array<std::string_view, kFeatureCount> kFeatureNames = {"pointwise",
                                                                   "number operand",
                                                                   "broadcast",
                                                                   "views",
                                                                   "reductions",
                                                                   "normalisation",
                                                                   "products",
                                                                   "constant weights",
                                                                   "int8 weights",
                                                                   "embedding",
                                                                   "images",
                                                                   "joining",
                                                                   "containers",
                                                                   "in place",
                                                                   "in place on view",
                                                                   "in place on input",
                                                                   "in place on attribute",
                                                                   "dead write",
                                                                   "changed weight",
                                                                   "modes",
                                                                   "if on shape",
                                                                   "if on data",
                                                                   "constant loop",
                                                                   "loop over size",
                                                                   "loop on data",
                                                                   "early return",
                                                                   "returns input",
                                                                   "returns view",
                                                                   "returns duplicate",
                                                                   "returns constant",
                                                                   "returns container",
                                                                   "dtype change",
                                                                   "integers",
                                                                   "half or bfloat16",
                                                                   "empty tensor",
                                                                   "0-dim tensor",
                                                                   "factories",
                                                                   "size arithmetic",
                                                                   "dynamic shape",
                                                                   "op without functor",
                                                                   "container input",
                                                                   "optional input",
                                                                   "exact only"};

Generator::Generator(std::uint64_t seed, std::uint64_t index, Theme theme)
    : random_(seed, index),
      is_of_images_(theme == Theme::images),
      most_elements_(is_of_images_ ? 30'000 : 800) {
  case_.seed = seed;
  case_.index = index;
  case_.data = random_.bits();
  case_.exact_only = random_.chance(35);
  if (case_.exact_only) case_.mark(Feature::exact_only);
}

// An image whose channels have one number in all runs. Two parameters may have the same sizes.
Parameter Generator::image_parameter(const std::string& name) {
  static const std::int64_t edges[] = {1, 2, 3, 5, 6, 7, 8, 9, 12, 13, 14, 17, 20, 28, 33, 40};
  const auto edge = [&] { return Dim{random_.of(edges), random_.of(edges)}; };
  TensorSpec spec;
  do {
    spec.shape = {dims_[0], feature_dim(), edge(), edge()};
  } while (numel(spec.shape) > most_elements_);
  if (random_.chance(60)) spec.shape[2].b = spec.shape[2].a, spec.shape[3].b = spec.shape[3].a;
  return {name, "Tensor", {spec}};
}

Parameter Generator::tensor_parameter(const std::string& name) {
  if (is_of_images_) return image_parameter(name);
  static const Dtype dtypes[] = {Dtype::f32, Dtype::f32, Dtype::f32, Dtype::f32,     Dtype::f32, Dtype::f32,
                                 Dtype::f32, Dtype::f32, Dtype::f32, Dtype::f32,     Dtype::f64, Dtype::f64,
                                 Dtype::i64, Dtype::i64, Dtype::i32, Dtype::boolean, Dtype::f16, Dtype::bf16};
  static const std::size_t ranks[] = {0, 1, 1, 2, 2, 2, 2, 2, 3, 3, 4};
  TensorSpec spec;
  spec.dtype = random_.of(dtypes);
  const std::size_t rank = random_.of(ranks);
  while (spec.shape.size() < rank) spec.shape.push_back(any_dim());
  while (numel(spec.shape) > 400) spec.shape.pop_back();
  if (spec.dtype == Dtype::i64 && random_.chance(60)) spec.bound = random_.between(1, 6);
  return {name, "Tensor", {spec}};
}

void Generator::add_parameters() {
  const auto declare = [&](const TensorSpec& spec, const std::string& name) {
    Variable variable;
    variable.name = name;
    variable.dtype = spec.dtype;
    variable.shape = spec.shape;
    variable.bound = spec.bound;
    variable.of_input = true;
    variable.magnitude = is_floating(spec.dtype) ? 0.5 : 0.8;
    if (spec.dtype == Dtype::f16 || spec.dtype == Dtype::bf16) case_.low_precision = true;
    add(variable);
  };
  const std::size_t count = 1 + random_.below(3);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "x" + std::to_string(i);
    Parameter parameter = tensor_parameter(name);
    if (i > 0 && random_.chance(30)) {  // two equal ones, so that one tensor may be passed twice
      if (case_.parameters[0].type == "Tensor") parameter.tensors = case_.parameters[0].tensors;
    }
    if (i > 0 && random_.chance(8)) {
      const std::size_t length = 1 + random_.below(3);
      const bool tuple = random_.chance(40);
      parameter.type = tuple ? "Tuple[Tensor" : "List[Tensor";
      parameter.tensors.resize(1);
      for (std::size_t k = 1; k < length; ++k) {
        parameter.tensors.push_back(parameter.tensors[0]);
        if (tuple) parameter.type += ", Tensor";
      }
      parameter.type += "]";
      case_.mark(Feature::container_input);
      for (std::size_t k = 0; k < length; ++k) {
        line(name + "_" + std::to_string(k) + " = " + name + "[" + std::to_string(k) + "]");
        declare(parameter.tensors[0], name + "_" + std::to_string(k));
      }
    } else if (i > 0 && random_.chance(6)) {
      parameter.type = "Optional[Tensor]";
      case_.mark(Feature::optional_input);
      const std::string chosen = fresh();
      line("if " + name + " is None:");
      line("    " + chosen + " = torch.ones(" + std::string("[2, 3]") + ")");
      line("else:");
      line("    " + chosen + " = " + name);
      declare(parameter.tensors[0], chosen);
    } else {
      declare(parameter.tensors[0], name);
    }
    case_.parameters.push_back(parameter);
  }
  static const char* const numbers[] = {"int", "float", "bool", "str", "List[int]"};
  for (int i = 0; i < 2; ++i) {
    if (!random_.chance(20)) continue;
    const std::string type = random_.of(numbers), name = "n" + std::to_string(i);
    case_.parameters.push_back({name, type, {}});
    Variable variable;
    variable.name = name;
    variable.kind = type == "int"     ? Kind::integer
                    : type == "float" ? Kind::real
                    : type == "bool"  ? Kind::boolean
                                      : Kind::other;
    add(variable);
  }
}

void Generator::add_statements(int count, bool nested) {
  struct Family {
    void (Generator::*add)();
    int weight;
    bool nests;
  };
  static const Family families[] = {{&Generator::unary, 10, false},
                                    {&Generator::binary, 16, false},
                                    {&Generator::ternary, 6, false},
                                    {&Generator::view, 14, false},
                                    {&Generator::reshape, 6, false},
                                    {&Generator::reduction, 9, false},
                                    {&Generator::normalisation, 5, false},
                                    {&Generator::product, 6, false},
                                    {&Generator::weighted_product, 7, false},
                                    {&Generator::int8_product, 3, false},
                                    {&Generator::embedding, 3, false},
                                    {&Generator::lookup, 4, false},
                                    {&Generator::image, 4, false},
                                    {&Generator::int8_images, 1, false},
                                    {&Generator::batch_norm, 2, false},
                                    {&Generator::attention, 2, false},
                                    {&Generator::recurrent, 2, false},
                                    {&Generator::joining, 7, false},
                                    {&Generator::pieces, 6, false},
                                    {&Generator::container, 6, false},
                                    {&Generator::given_list, 4, false},
                                    {&Generator::in_place, 11, false},
                                    {&Generator::weight_function, 3, false},
                                    {&Generator::norm_with_dead_training, 1, false},
                                    {&Generator::branch, 5, true},
                                    {&Generator::loop, 4, true},
                                    {&Generator::change_dtype, 4, false},
                                    {&Generator::factory, 4, false},
                                    {&Generator::arithmetic, 4, false},
                                    {&Generator::dynamic, 2, false},
                                    {&Generator::foreign, 3, false}};
  static const Family of_images[] = {{&Generator::image, 40, false},     {&Generator::int8_images, 12, false},
                                     {&Generator::batch_norm, 8, false}, {&Generator::unary, 8, false},
                                     {&Generator::binary, 10, false},    {&Generator::joining, 8, false},
                                     {&Generator::pieces, 6, false},     {&Generator::reduction, 5, false},
                                     {&Generator::view, 2, false},       {&Generator::reshape, 1, false},
                                     {&Generator::in_place, 4, false},   {&Generator::container, 2, false},
                                     {&Generator::branch, 2, true},      {&Generator::loop, 2, true}};
  const std::span<const Family> chosen_families =
      is_of_images_ ? std::span<const Family>(of_images) : std::span<const Family>(families);
  // Each program omits some families, so that the others meet more often.
  if (weights_.empty()) {
    for (const Family& family : chosen_families) {
      weights_.push_back(random_.chance(60) ? family.weight * static_cast<int>(1 + random_.below(3)) : 0);
    }
    weights_[random_.below(4)] += 5;
  }
  int total = 0;
  for (const int weight : weights_) total += weight;
  for (int i = 0; i < count; ++i) {
    int ticket = static_cast<int>(random_.below(static_cast<std::size_t>(total)));
    std::size_t chosen = 0;
    while (ticket >= weights_[chosen]) ticket -= weights_[chosen++];
    if (chosen_families[chosen].nests && nested && !random_.chance(15)) continue;
    (this->*chosen_families[chosen].add)();
  }
}

Case Generator::make() {
  static const std::int64_t batches[] = {1, 2, 3, 4, 5, 6, 8, 20};
  const Dim batch{random_.of(batches), random_.of(batches)};
  dims_ = {batch, batch, feature_dim(), feature_dim()};
  if (random_.chance(30)) dims_.push_back({random_.of(batches), random_.of(batches)});
  // Uses more values than a few registers hold.
  if (random_.chance(6)) dims_[3] = {static_cast<std::int64_t>(60 + random_.below(90)), dims_[3].b};
  if (random_.chance(4)) dims_[0].a = 0;
  if (random_.chance(4)) dims_[0].b = 0;
  add_parameters();
  const std::size_t head = case_.body.size();
  const int wanted = static_cast<int>(3 + random_.below(12));
  for (int tries = 0; tries < 4 && case_.body.size() < head + static_cast<std::size_t>(wanted); ++tries) {
    add_statements(wanted - static_cast<int>(case_.body.size() - head), false);
  }
  add_results();
  if (random_.chance(10)) add_early_return();
  for (const Parameter& parameter : case_.parameters) {
    for (const TensorSpec& spec : parameter.tensors) {
      if (spec.shape.empty()) case_.mark(Feature::zero_dim);
      if (!is_floating(spec.dtype)) case_.mark(Feature::integers);
      for (const Dim& dim : spec.shape) {
        if (dim.a == 0 || dim.b == 0) case_.mark(Feature::empty);
      }
    }
  }
  if (case_.low_precision) case_.mark(Feature::low_precision);
  case_.runs = choose_runs(case_, random_.bits());
  for (const Run& run : case_.runs) {
    if (run.setting == Setting::none) continue;
    case_.mark(changes_weight(run) ? Feature::changed_weight : Feature::modes);
  }
  return std::move(case_);
}

Case generate(std::uint64_t seed, std::uint64_t index, Theme theme) {
  return Generator(seed, index, theme).make();
}

}  // namespace sr::fuzz
