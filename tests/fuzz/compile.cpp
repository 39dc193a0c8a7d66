#include "fuzz/compile.hpp"

#include <utility>

#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>

#include "fuzz/inputs.hpp"

namespace sr::fuzz {

namespace {

using torch::jit::SugaredValue;

// `torch` with the names of dtypes, which CompilationUnit::define does not know.
struct TorchModule : torch::jit::BuiltinModule {
  explicit TorchModule(at::ScalarType dtype) : BuiltinModule("aten"), single(dtype) {}

  std::shared_ptr<SugaredValue> attr(const torch::jit::SourceRange& place, torch::jit::GraphFunction& method,
                                     const std::string& field) override {
    const std::pair<const char*, at::ScalarType> dtypes[] = {
        {"float32", single}, {"float64", at::kDouble}, {"int64", at::kLong},
        {"int32", at::kInt}, {"int8", at::kChar},      {"uint8", at::kByte},
        {"bool", at::kBool}, {"float16", at::kHalf},   {"bfloat16", at::kBFloat16}};
    for (const auto& [spelled, dtype] : dtypes) {
      if (field != spelled) continue;
      return std::make_shared<torch::jit::SimpleValue>(
          method.graph()->insertConstant(static_cast<std::int64_t>(dtype), place));
    }
    return BuiltinModule::attr(place, method, field);
  }

  at::ScalarType single;  // what is called float32
};

struct Names : torch::jit::Resolver {
  explicit Names(at::ScalarType dtype) : single(dtype) {}
  std::shared_ptr<SugaredValue> resolveValue(const std::string& name, torch::jit::GraphFunction&,
                                             const torch::jit::SourceRange&) override {
    if (name == "torch") return std::make_shared<TorchModule>(single);
    return nullptr;
  }

  at::ScalarType single;
};

torch::jit::Module compile(const Case& program, at::ScalarType single) {
  torch::jit::Module module("M");
  for (const auto& [name, value] : make_attributes(program)) module.register_buffer(name, value.toTensor());
  module.define(source(program), std::make_shared<Names>(single));
  module.eval();
  return module;
}

}  // namespace

torch::jit::Module compile(const Case& program) {
  return compile(program, at::kFloat);
}

torch::jit::Module compile_in_double(const Case& program, const torch::jit::Module& weights) {
  torch::jit::Module module = compile(program, at::kDouble);
  for (const auto& buffer : weights.named_buffers()) module.setattr(buffer.name, buffer.value.clone());
  module.to(at::kDouble);
  return module;
}

}  // namespace sr::fuzz
