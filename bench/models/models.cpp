#include "models.hpp"

#include <regex>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

namespace sr::bench {

ModelBuilder::ModelBuilder(std::string name)
    : model_{std::move(name), torch::jit::Module("Model"), {}, {}, {}},
      generator_(at::make_generator<at::CPUGeneratorImpl>(20)) {}

at::Tensor ModelBuilder::weight(const std::string& name, at::IntArrayRef sizes, double scale) {
  return constant(name, at::randn(sizes, generator_).mul_(scale));
}

at::Tensor ModelBuilder::constant(const std::string& name, at::Tensor value) {
  model_.module.register_buffer(name, value);
  return value;
}

at::Tensor ModelBuilder::input(at::IntArrayRef sizes) {
  return input(at::randn(sizes, generator_));
}

at::Tensor ModelBuilder::input(at::Tensor value) {
  model_.inputs.emplace_back(value);
  return value;
}

Model ModelBuilder::finish(std::function<at::Tensor()> eager, std::function<void(float*)> light) {
  model_.eager = std::move(eager);
  model_.light = std::move(light);
  return std::move(model_);
}

std::vector<Model> models(const std::string& filter) {
  std::vector<Model> all;
  add_ranking_models(all);
  add_pointwise_models(all);
  add_perceptrons(all);
  add_transformers(all);
  add_large_models(all);
  const std::regex wanted(filter);
  std::erase_if(all, [&](const Model& model) { return !std::regex_search(model.name, wanted); });
  return all;
}

}  // namespace sr::bench
