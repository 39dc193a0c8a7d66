// Makes modules and graphs from text.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/csrc/jit/ir/irparser.h>
#include <torch/script.h>

namespace sr::test {

using Attributes = std::vector<std::pair<std::string, c10::IValue>>;

// What C++'s `define` lacks against Python's scripting: `fork(function, arguments...)`, awaited with
// `torch.wait(future)`. The namespaces of torch.ops are reached without the
// prefix: `quantized`, `sr_test` and `fbgemm`.
struct ScriptResolver : torch::jit::Resolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(const std::string& name, torch::jit::GraphFunction&,
                                                         const torch::jit::SourceRange&) override {
    if (name == "torch") return std::make_shared<torch::jit::BuiltinModule>("aten");
    if (name == "RuntimeError") return std::make_shared<torch::jit::ExceptionValue>(name);
    if (name == "fork") return torch::jit::SpecialFormValue::create(c10::prim::fork);
    if (name == "quantized" || name == "sr_test" || name == "fbgemm")
      return std::make_shared<torch::jit::BuiltinModule>(name);
    return nullptr;
  }
};

// A scripted module in evaluation mode. `source` holds one or several methods ("def forward(self, x): ..."),
// not indented.
inline torch::jit::Module script(const std::string& source, const Attributes& attributes = {}) {
  torch::jit::Module module("M");
  for (const auto& [name, value] : attributes) {
    if (value.isTensor()) {
      module.register_buffer(name, value.toTensor());
    } else {
      module.register_attribute(name, value.type(), value);
    }
  }
  module.define(source, std::make_shared<ScriptResolver>());
  module.eval();
  return module;
}

inline std::shared_ptr<torch::jit::Graph> graph(const std::string& text) {
  auto parsed = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(text, parsed.get());
  return parsed;
}

// A module whose only method is this graph, whose first input is the module: for overloads that no source
// compiles to.
inline torch::jit::Module module_of(const std::string& text) {
  torch::jit::Module module("M");
  const auto body = graph(text);
  body->inputs()[0]->setType(module.type());
  torch::jit::Function* method =
      module._ivalue()->compilation_unit()->create_function(c10::QualifiedName("__torch__.M.forward"), body);
  module.type()->addMethod(method);
  module.eval();
  return module;
}

}  // namespace sr::test
