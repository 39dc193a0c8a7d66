// A program with its attributes, its inputs and the order of its runs: everything that reproduces a failure,
// without LibTorch.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sr::fuzz {

enum class Dtype { f32, f64, i64, i32, boolean, f16, bf16 };
constexpr std::array<std::string_view, 7> kDtypeNames = {"f32", "f64", "i64", "i32", "bool", "f16", "bf16"};
constexpr std::string_view name_of(Dtype dtype) {
  return kDtypeNames[static_cast<std::size_t>(dtype)];
}
constexpr bool is_floating(Dtype dtype) {
  return dtype != Dtype::i64 && dtype != Dtype::i32 && dtype != Dtype::boolean;
}

// One size for the input sets A and B; -1, -2, ... stand for sizes that only a run knows.
struct Dim {
  std::int64_t a = 1, b = 1;
  bool known() const { return a >= 0; }
  friend bool operator==(const Dim&, const Dim&) = default;
};
using Shape = std::vector<Dim>;

struct TensorSpec {
  Dtype dtype = Dtype::f32;
  Shape shape = {};
  std::int64_t bound = 0;  // of integers: values in [0, bound); 0 for small values of both signs
};

// `type` is the annotation in TorchScript. A tensor, a list or tuple of tensors, and an optional have one
// spec for each tensor; numbers have none.
struct Parameter {
  std::string name, type;
  std::vector<TensorSpec> tensors;
};

struct Attribute {
  std::string name;
  TensorSpec tensor;
};

// A run with shapes A, except for one change. any_sizes: sizes that differ between A and B are drawn anew.
enum class Change { none, other_sizes, dtype, same_tensor, overlap, layout, bad_size, absent, any_sizes };
constexpr std::array<std::string_view, 9> kChangeNames = {"A",      "B",        "dtype",  "same", "overlap",
                                                          "layout", "bad_size", "absent", "sizes"};

// A change of something other than the arguments. Changed weights stay changed.
enum class Setting {
  none,
  writes_weight,
  moves_weight,
  inference_mode,
  autocast,
  default_dtype,
  offset,
  two_threads,
  other_thread,
  filled_memory,
  flushed_denormals
};
constexpr std::array<std::string_view, 11> kSettingNames = {
    "none",   "writes_weight", "moves_weight", "inference_mode", "autocast",         "default_dtype",
    "offset", "two_threads",   "other_thread", "filled_memory",  "flushed_denormals"};

struct Run {
  Change change = Change::none;
  std::size_t which = 0, other = 0;  // positions among the tensors of all parameters; any_sizes: a seed
  Dtype dtype = Dtype::f64;          // for Change::dtype
  Setting setting = Setting::none;
  std::size_t weight = 0;  // the changed attribute
  friend bool operator==(const Run&, const Run&) = default;
};

enum class Feature {
  pointwise,
  number_operand,
  broadcast,
  views,
  reductions,
  normalisation,
  products,
  constant_weights,
  int8_weights,
  embedding,
  images,
  joining,
  containers,
  in_place,
  in_place_view,
  in_place_input,
  in_place_attribute,
  dead_write,
  changed_weight,
  modes,
  if_shape,
  if_data,
  loop_constant,
  loop_size,
  loop_data,
  early_return,
  returns_input,
  returns_view,
  returns_duplicate,
  returns_constant,
  returns_container,
  dtype_change,
  integers,
  low_precision,
  empty,
  zero_dim,
  factories,
  size_arithmetic,
  dynamic_shape,
  foreign_op,
  container_input,
  optional_input,
  exact_only,
  count
};
constexpr std::size_t kFeatureCount = static_cast<std::size_t>(Feature::count);
extern const std::array<std::string_view, kFeatureCount> kFeatureNames;

struct Case {
  std::uint64_t seed = 0, index = 0;
  std::uint64_t data = 0;   // seed of the values
  bool exact_only = false;  // a decision depends on values that our kernels may change in the last place
  bool low_precision = false;
  bool writes_attributes = false;
  std::string configuration;  // if empty, chosen by seed and index
  std::string failure;        // what was found, for the reader of the file
  std::vector<Parameter> parameters;
  std::vector<Attribute> attributes;
  std::vector<std::string> body;     // one statement a line, without the indentation of the function
  std::vector<std::string> results;  // expressions
  std::vector<Run> runs;
  std::array<bool, kFeatureCount> features = {};

  void mark(Feature feature) { features[static_cast<std::size_t>(feature)] = true; }
};

// The source text for torch::jit.
std::string source(const Case& program);
// What programs are about: any operators, or images of realistic sizes and the operators of vision networks.
enum class Theme { any, images };
// Program `index` of a seed; always the same.
Case generate(std::uint64_t seed, std::uint64_t index, Theme theme = Theme::any);
// The order of runs for a program whose parameters are known.
std::vector<Run> choose_runs(const Case& program, std::uint64_t seed);

// The text file of a failure.
std::string to_text(const Case& program);
Case from_text(const std::string& text);

}  // namespace sr::fuzz
