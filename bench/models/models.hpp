// The timed models, built from text and fixed seeds, so that neither files nor Python are needed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

namespace sr::bench {

// One model with one set of arguments. The closures refer to the tensors of `module` and `inputs`, which must
// outlive them.
struct Model {
  std::string name;
  torch::jit::Module module;
  std::vector<c10::IValue> inputs;
  std::function<at::Tensor()> eager;  // handwritten calls of at:: that compute the same
  std::function<void(float*)>
      light;  // handwritten loops on raw floats that compute the same and write the result; may be empty
  bool optimize_memory = true;  // false: without reuse of memory, also in upstream
};

// By kind: the model that a benchmark is known for, then one of other sizes with operators that sr was not
// tuned for.
void add_ranking_models(std::vector<Model>& models);
void add_pointwise_models(std::vector<Model>& models);
void add_perceptrons(std::vector<Model>& models);
void add_transformers(std::vector<Model>& models);
void add_large_models(std::vector<Model>& models);

// The models whose names match the regular expression.
std::vector<Model> models(const std::string& filter);

// Deep & Wide of any batch size, for the benchmarks of shapes.
Model deep_wide(std::int64_t batch);

// Ten dependent pointwise operators on three inputs.
inline constexpr const char* kLongChain = R"(
def forward(self, a, b, c):
    ab = torch.relu(a * b)
    ac = torch.relu(a * c)
    product = torch.relu(ac * ab)
    square = torch.relu(product * product)
    return torch.relu(square * c)
)";

// Makes a module with normally distributed weights in the order of the calls, the same in every run.
class ModelBuilder {
 public:
  explicit ModelBuilder(std::string name);

  // A buffer of the module, `scale` times a standard normal variable. The pointer stays valid.
  at::Tensor weight(const std::string& name, at::IntArrayRef sizes, double scale = 1);
  at::Tensor constant(const std::string& name, at::Tensor value);
  at::Tensor input(at::IntArrayRef sizes);
  at::Tensor input(at::Tensor value);
  void input_number(double number) { model_.inputs.emplace_back(number); }
  void script(const std::string& forward) { model_.module.define(forward); }

  Model finish(std::function<at::Tensor()> eager, std::function<void(float*)> light = {});

 private:
  Model model_;
  at::Generator generator_;
};

inline const float* floats(const at::Tensor& tensor) {
  return tensor.const_data_ptr<float>();
}

}  // namespace sr::bench
