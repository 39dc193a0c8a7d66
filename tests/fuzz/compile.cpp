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
  TorchModule() : BuiltinModule("aten") {}

  std::shared_ptr<SugaredValue> attr(const torch::jit::SourceRange& place, torch::jit::GraphFunction& method,
                                     const std::string& field) override {
    static const std::pair<const char*, at::ScalarType> dtypes[] = {
        {"float32", at::kFloat}, {"float64", at::kDouble}, {"int64", at::kLong},
        {"int32", at::kInt},     {"int8", at::kChar},      {"uint8", at::kByte},
        {"bool", at::kBool},     {"float16", at::kHalf},   {"bfloat16", at::kBFloat16}};
    for (const auto& [spelled, dtype] : dtypes) {
      if (field != spelled) continue;
      return std::make_shared<torch::jit::SimpleValue>(
          method.graph()->insertConstant(static_cast<std::int64_t>(dtype), place));
    }
    return BuiltinModule::attr(place, method, field);
  }
};

struct Names : torch::jit::Resolver {
  std::shared_ptr<SugaredValue> resolveValue(const std::string& name, torch::jit::GraphFunction&,
                                             const torch::jit::SourceRange&) override {
    if (name == "torch") return std::make_shared<TorchModule>();
    return nullptr;
  }
};

}  // namespace

torch::jit::Module compile(const Case& program) {
  torch::jit::Module module("M");
  for (const auto& [name, value] : make_attributes(program)) module.register_buffer(name, value.toTensor());
  module.define(source(program), std::make_shared<Names>());
  module.eval();
  return module;
}

}  // namespace sr::fuzz
