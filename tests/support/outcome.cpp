#include "support/outcome.hpp"

#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/jit_exception.h>

namespace sr::test {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

Outcome run(const InputSet& inputs, const std::function<c10::IValue(std::vector<c10::IValue>)>& call) {
  Outcome outcome;
  outcome.inputs = copy_inputs(inputs);
  try {
    outcome.result = call(outcome.inputs);
  } catch (const torch::jit::JITException& error) {
    outcome.threw = outcome.is_jit_exception = true;
    outcome.message = error.what();
  } catch (const c10::Error& error) {
    outcome.threw = true;
    outcome.message = error.msg();
  } catch (const std::exception& error) {
    outcome.threw = true;
    outcome.message = error.what();
  }
  return outcome;
}

c10::IValue interpret(torch::jit::Module& module, const InputSet& inputs) {
  const torch::jit::GraphOptimizerEnabledGuard unoptimised(false);
  torch::jit::getProfilingMode() = false;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const at::NoGradGuard no_grad;
  return module.forward(inputs);
}

}  // namespace sr::test
