// Checks that every way to run a module follows a change of its weights.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/script.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"
#include "support/values.hpp"

namespace sr::test {

using Change = std::function<void(torch::jit::Module&)>;

inline at::Tensor weight(at::IntArrayRef sizes, bool requires_grad = false) {
  return at::rand(sizes).add_(0.5).requires_grad_(requires_grad);
}

// Like torch.nn.Module: parameters keep their tensor and get other data.
inline void to_dtype(torch::jit::Module& module, at::ScalarType dtype) {
  for (const at::Tensor& tensor : module.buffers()) tensor.set_data(tensor.detach().to(dtype));
}

// All ways to run one module. Each has seen the first inputs often enough to replay them.
class Ways {
 public:
  explicit Ways(const torch::jit::Module& module, const std::vector<c10::IValue>& inputs)
      : shared_(module),
        general_(module, {.debug = {.enable_replay = false}}),
        runtime_(shared_),
        clone_(runtime_.clone()),
        without_replay_(general_) {
    for (int i = 0; i < 3; ++i) each(inputs, [](const c10::IValue&, const std::string&) {});
  }

  template <class Visit>
  void each(const std::vector<c10::IValue>& inputs, const Visit& visit) {
    visit(shared_(inputs), "StaticModule");
    visit(runtime_(inputs), "StaticRuntime");
    visit(clone_(inputs), "clone");
    visit(StaticRuntime<>(shared_)(inputs), "new runtime");
    visit(without_replay_(inputs), "general path");
  }

  const StaticModule& module() const { return shared_; }
  StaticRuntime<>& runtime() { return runtime_; }

 private:
  StaticModule shared_, general_;
  StaticRuntime<> runtime_, clone_, without_replay_;
};

inline void check_agrees(Ways& ways, torch::jit::Module& module, const std::vector<c10::IValue>& inputs) {
  const at::NoGradGuard no_grad;
  for (int call = 1; call <= 3; ++call) {
    const c10::IValue expected = module.forward(inputs);
    ways.each(inputs, [&](const c10::IValue& result, const std::string& way) {
      INFO(way << ", call " << call);
      CHECK(compare_values(expected, result, {.rtol = 1e-4, .atol = 1e-4}, "result") == "");
    });
  }
}

// After the change, results equal the interpreter's, for inputs that were replayed before and for others.
inline void check_follows(torch::jit::Module module, const std::vector<c10::IValue>& inputs,
                          const std::vector<c10::IValue>& others, const Change& change) {
  Ways ways(module, inputs);
  check_agrees(ways, module, inputs);
  for (int time = 1; time <= 2; ++time) {
    INFO("change " << time);
    {
      const at::NoGradGuard no_grad;
      change(module);
    }
    check_agrees(ways, module, inputs);
    check_agrees(ways, module, others);
  }
}

inline Change add_to(const std::string& name, const at::Scalar& number = 0.75) {
  return [=](torch::jit::Module& module) { module.attr(name).toTensor().add_(number); };
}

inline torch::jit::Module linear(bool requires_grad = false) {
  torch::jit::Module module("M");
  module.register_parameter("w", weight({16, 8}, requires_grad), false);
  module.register_parameter("b", weight({16}, requires_grad), false);
  module.define("def forward(self, x):\n    return torch.relu(torch.linear(x, self.w, self.b))\n",
                std::make_shared<ScriptResolver>());
  module.eval();
  return module;
}

inline const std::vector<c10::IValue>& rows() {
  static const std::vector<c10::IValue> inputs{sample({4, 8})};
  return inputs;
}
inline const std::vector<c10::IValue>& more_rows() {
  static const std::vector<c10::IValue> inputs{sample({7, 8})};
  return inputs;
}

}  // namespace sr::test
