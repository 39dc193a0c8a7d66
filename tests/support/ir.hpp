// From text to modules and graphs.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/jit/ir/irparser.h>
#include <torch/script.h>

namespace sr::test {

using Attributes = std::vector<std::pair<std::string, c10::IValue>>;

// A scripted module in evaluation mode. `source` is one method or several ("def forward(self, x): ..."), not indented.
inline torch::jit::Module script(const std::string& source, const Attributes& attributes = {}) {
  torch::jit::Module module("M");
  for (const auto& [name, value] : attributes) {
    if (value.isTensor()) {
      module.register_buffer(name, value.toTensor());
    } else {
      module.register_attribute(name, value.type(), value);
    }
  }
  module.define(source);
  module.eval();
  return module;
}

inline std::shared_ptr<torch::jit::Graph> graph(const std::string& text) {
  auto parsed = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(text, parsed.get());
  return parsed;
}

}  // namespace sr::test
